# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release asks for, in addition to what "make release" tries: versions, links, fragments."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

GALAXY = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())
DOCUMENTED = sorted(
    [
        *CHECKOUT.glob("plugins/modules/*.py"),
        *CHECKOUT.glob("plugins/filter/*.yml"),
        *CHECKOUT.glob("plugins/inventory/*.py"),
        *CHECKOUT.glob("plugins/connection/*.py"),
    ]
)


def test_links_are_of_one_repository():
    links = [GALAXY[key] for key in ("documentation", "homepage", "issues")]
    assert [link for link in links if not link.startswith(GALAXY["repository"])] == []


@pytest.mark.parametrize("path", DOCUMENTED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_plugins_say_since_when_they_are_there(path):
    assert "version_added: " in path.read_text()


@pytest.mark.parametrize(
    "path", sorted(CHECKOUT.glob("roles/*/meta/argument_specs.yml")), ids=lambda path: path.parent
)
def test_entry_points_of_roles_say_since_when_they_are_there(path):
    specs = yaml.safe_load(path.read_text())["argument_specs"]
    assert [name for name, spec in specs.items() if "version_added" not in spec] == []


def test_the_changelog_says_what_is_stable():
    summary = yaml.safe_load((CHECKOUT / "changelogs/fragments/1.0.0.yml").read_text())
    text = " ".join(summary["release_summary"].split())
    assert "Stable from 1.0.0 on" in text and "Not stable" in text
    assert "releases" in yaml.safe_load((CHECKOUT / "changelogs/changelog.yaml").read_text())


def test_versions_agree():
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    assert citation["version"] == GALAXY["version"]


@pytest.mark.nightly
def test_the_changelog_renders(tmp_path):
    for name in ("galaxy.yml", "changelogs", "plugins", "roles", "meta", "CHANGELOG.md"):
        run(["cp", "-r", CHECKOUT / name, tmp_path])
    run(
        [
            "python",
            CHECKOUT / "tools/release/render_changelog.py",
            "antsibull-changelog",
            "2000-01-01",
        ],
        cwd=tmp_path,
    )
    text = (tmp_path / "CHANGELOG.md").read_text()
    assert "v" + GALAXY["version"].replace(".", "\\.") in text and "New Modules" in text
