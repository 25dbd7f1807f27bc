# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation: what the reference must have, links that lead somewhere, and commands that can
be typed.
"""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest
import yaml

from ansible_collections.offload.lab.plugins.module_utils._ethtool.features import LEGACY
from ansible_collections.offload.lab.plugins.module_utils._kinds.kinds import KINDS
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.tests.support import CHECKOUT, run


def tool(name):
    """Return a module of tools/docs."""
    spec = importlib.util.spec_from_file_location(name, CHECKOUT / f"tools/docs/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


reference, figure, pages, pictures, result = (
    tool(name) for name in ("reference", "figure", "pages", "pictures", "result")
)
TEXTS = {name: (CHECKOUT / name).read_text() for name in pages.page_names()}
CODE = re.compile(
    r"^```(?:text|sh|bash|console)?\n(.*?)^```|((?:^(?: {4}|\t).*\n?)+)", re.MULTILINE | re.DOTALL
)
WRITTEN_BY_TESTS = "tests/output/boundaries"
ASKED_BY_ANSIBLE = "docs/docsite/rst"
FOLDERS = ("docs", "inventories", "playbooks", "plugins", "roles", "tests", "tools")
SPECS = {
    path.parts[-3]: yaml.safe_load(path.read_text())["argument_specs"]
    for path in CHECKOUT.glob("roles/*/meta/argument_specs.yml")
}


def commands(program):
    """Return what the pages tell to type that begins with a program, ``[(page, command)]``, on one
    line each.
    """
    lines_found = []
    for page, text in TEXTS.items():
        for block in CODE.finditer(text):
            lines = re.sub(r"\\\n\s*", " ", block.group(0)).splitlines()
            lines_found += [
                (page, line.split(" # ")[0].strip())
                for line in lines
                if line.strip().startswith(program + " ")
            ]
    return lines_found


def test_every_variable_of_every_role_is_in_the_reference():
    page = reference.variables()
    variables = {
        name
        for specs in SPECS.values()
        for spec in specs.values()
        for name in spec.get("options") or {}
    }
    for path in CHECKOUT.glob("roles/*/defaults/main.yml"):
        variables |= {
            name for name in yaml.safe_load(path.read_text()) or () if not name.startswith("__")
        }
    assert len(variables) > 60
    assert sorted(name for name in variables if f"| `{name}` |" not in page) == []


def test_the_schema_of_the_analysis_and_the_tables_of_its_keys_follow_from_its_types():
    """Where this fails: python tools/docs/result.py."""
    assert result.SCHEMA.read_text() == result.schema()
    assert result.PAGE.read_text() == result.page()


def test_every_factor_is_in_the_reference():
    page = reference.factors()
    assert [kind for kind in KINDS if f"| `{kind}` |" not in page] == []
    assert [short for short, _long, _pattern in LEGACY if f"| `{short}` |" not in page] == []
    assert set(reference.FEATURES) <= {long for _short, long, _pattern in LEGACY}


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page):
    assert pages.broken(page, TEXTS[page]) == []


def anchors(text):
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)", prose, re.MULTILINE)
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_to_headings(page):
    missing = []
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", TEXTS[page]):
        path = (CHECKOUT / page).parent.joinpath(target) if target else CHECKOUT / page
        name = str(path.resolve().relative_to(CHECKOUT))
        if name in TEXTS and anchor not in anchors(TEXTS[name]):
            missing.append(f"{name}#{anchor}")
    assert missing == []


@pytest.mark.parametrize("page", [name for name in TEXTS if name != "CHANGELOG.md"])
def test_files_that_are_named_are_there(page):
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)(?:::\w+)?`", TEXTS[page])
    generic = re.compile(r"NAME|ROOM|STUDY|/$")
    files = {name for name in named if not generic.search(name)}
    files -= {WRITTEN_BY_TESTS, ASKED_BY_ANSIBLE}
    assert [name for name in sorted(files) if not (CHECKOUT / name).exists()] == []


def test_the_figure_is_the_one_that_is_drawn():
    """python tools/docs/figure.py draws it again."""
    assert figure.FILE.read_text() == figure.svg()


def test_make_commands_are_targets():
    targets = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    targets_named = [
        (page, line, re.findall(r"(?<=\s)[a-z][\w-]*(?![\w=])", line))
        for page, line in commands("make")
    ]
    assert len(targets_named) > 10
    assert [
        (page, line)
        for page, line, targets_of_line in targets_named
        if not targets_of_line or not set(targets_of_line) <= targets
    ] == []


def test_playbooks_and_variables_of_commands_are_there():
    lines = commands("ansible-playbook")
    assert len(lines) > 20
    known_names = "".join(
        path.read_text()
        for folder in ("playbooks", "roles", "inventories", "plugins/plugin_utils/_request")
        for path in (CHECKOUT / folder).rglob("*.*")
        if path.suffix in (".yml", ".py")
    )
    names = set()
    for page, line in lines:
        playbook = re.search(r"(?:offload\.lab\.|playbooks/)(\w+)", line)
        assert playbook, (page, line)
        names.add(playbook.group(1))
        assert [
            name for name in re.findall(r"offload_lab_\w+", line) if name not in known_names
        ] == [], (
            page,
            line,
        )
    assert [
        name for name in sorted(names) if not (CHECKOUT / f"playbooks/{name}.yml").is_file()
    ] == []
    checked = [
        f"playbooks/{name}.yml" for name in sorted(names) if not name.startswith("awx_")
    ]  # need awx.awx
    run(["ansible-playbook", "--syntax-check", *checked])


def test_each_heading_of_the_report_is_explained_in_its_order():
    folder = CHECKOUT / "plugins/plugin_utils/_report"
    figures = re.findall(r'_section\(\s*"\w+",\s*"(.+?)"', (folder / "sections.py").read_text())
    template = (folder / "templates/report.html.j2").read_text()
    headings = [
        name
        for heading in re.findall(r"<h[24]>(.+?)</h[24]>", template)
        for name in (figures if "section.title" in heading else [heading])
    ]
    headings_of_page = [
        {"details.title": "Setting by setting, table by table"}.get(name.strip("{} "), name)
        if "running" not in name
        else "The answer"
        for name in headings
    ]
    assert len(figures) > 3
    assert re.findall(r"^## (.+)", TEXTS["docs/report.md"], re.MULTILINE) == headings_of_page


def test_readme_lists_what_the_collection_has():
    table = TEXTS["README.md"].split("## What is in it", 1)[1].split("\n## ", 1)[0]
    rows = [row.split("|")[1:3] for row in table.splitlines() if "`" in row and row.startswith("|")]
    for kind, patterns in {
        "roles": ["roles/*"],
        "playbooks": ["playbooks/*.yml"],
        "modules": ["plugins/modules/*.py"],
        "filters": ["plugins/filter/*.yml"],
        "inventory": [
            f"plugins/{folder}/*.py" for folder in ("inventory", "connection", "callback")
        ],
    }.items():
        readme = " ".join(
            re.sub(r"\(.*?\)", "", names) for label, names in rows if label.strip().startswith(kind)
        )
        there = {path.stem for pattern in patterns for path in CHECKOUT.glob(pattern)}
        assert set(re.findall(r"`(\w+)`", readme)) == there, kind


def test_campaigns_that_the_pages_show_are_accepted():
    shown = [
        yaml.safe_load(block)
        for text in TEXTS.values()
        for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ]
    campaigns = [
        block for block in shown if isinstance(block, dict) and {"name", "design"} <= set(block)
    ]
    assert len(campaigns) > 2
    for campaign in campaigns:
        make_plan(read_campaign(campaign), "now")


def test_citation_has_the_version_and_the_licence_of_the_collection():
    cited = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    galaxy = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())
    assert cited["version"] == galaxy["version"]
    assert [cited["license"]] == galaxy["license"]
    assert cited["repository-code"] == galaxy["repository"]


STUDIES = [name for name in TEXTS if name.startswith("docs/studies/") and "README" not in name]


@pytest.mark.parametrize("page", STUDIES)
def test_a_study_names_its_source(page):
    """Title in italics or the patch by a link, and a year, or that none is known."""
    head = TEXTS[page].split("## ", 1)[0]
    assert re.search(r"\*[^*]{8,}\*|\]\(https://", head)
    assert re.search(r"\b20\d\d\b|without a named author or year|no year", head)


def test_pictures_are_there_and_shown():
    for picture, pages_of_it in {
        "report.png": ("README.md", "docs/first-report.md"),
        "effects.png": ("docs/first-report.md",),
        "console.svg": ("docs/first-report.md",),
        "offloads.svg": ("docs/offloads.md",),
    }.items():
        assert 0 < (pictures.FOLDER / picture).stat().st_size < 150_000, picture
        for page in pages_of_it:
            (alt_text,) = re.findall(
                rf"!\[([^\]]+)\]\([\w./]*figures/{re.escape(picture)}\)", TEXTS[page]
            )
            assert len(alt_text) > 40, "words for those who do not see the picture"


def test_the_console_is_the_one_that_is_drawn():
    """python tools/docs/pictures.py draws it again."""
    assert (pictures.FOLDER / "console.svg").read_text() == pictures.console()


def test_the_console_has_the_report_that_the_code_makes(tmp_path):
    """The recorded results, printed by the code of today."""
    pictures.report(tmp_path)
    printed = (pictures.RECORDED / "console.txt").read_text()
    assert (tmp_path / "demo/report.txt").read_text() in printed


def test_readme_shows_the_result_of_the_picture():
    block = TEXTS["README.md"].split("## What a result looks like", 1)[1].split("```")[1]
    printed = (pictures.RECORDED / "console.txt").read_text().splitlines()
    assert [
        line for line in block.strip().splitlines() if line != "..." and line not in printed
    ] == []


def test_the_pictures_of_the_report_can_be_made(chromium_required, tmp_path):
    pictures.make(tmp_path)
    for picture in pictures.PARTS:
        picture_bytes = (tmp_path / picture).read_bytes()
        now = (pictures.FOLDER / picture).read_bytes()
        assert picture_bytes[16:24] == now[16:24], "width and height"
        assert len(picture_bytes) > len(now) / 2, "an empty page is smaller"


@pytest.mark.nightly
def test_the_site_is_built_without_a_warning():
    run(["make", "--silent", "docs"], timeout=1200)
    site = CHECKOUT / ".build/docs/html"
    assert "tcp-segmentation-offload" in (site / "reference/factors.html").read_text()
    assert (site / "collections/offload/lab/ethtool_module.html").is_file()
    assert "tenant_vxlan" in (site / "example-report.html").read_text()
    first = (site / "index.html").read_text()
    galaxy = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())
    newest = f'Version {galaxy["version"]}. <a href="{galaxy["documentation"]}">'
    doors = ("docs/first-report.html", "docs/two-hosts.html", "docs/is-it-broken.html")
    files_expected = (newest, "report.png", "example-report.html", *doors)
    assert [text for text in files_expected if text not in first] == []
