# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lying node, or somebody who writes to a results folder, puts into one field; and what no
file that the controller makes of it may hold.
"""

from __future__ import annotations

import csv
import re
from xml.etree import ElementTree

import yaml

CANARY = "/tmp/offload-lab-canary"  # noqa: S108 # nothing may ever make it
LIES = {
    "template": f"{{{{ lookup('pipe', 'touch {CANARY}') }}}}",
    "statement": "{% for a in [1] %}{{ a }}{% endfor %}{# x #}",
    "header": f"#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'touch {CANARY}') ]]",
    "lines": "x\noffload_lab_health_checks: [[sh, -c, id]]\n---\ny: 1",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;",
    "markdown": "`a` [b](http://c) |d| **e** # f",
    "formula": "=cmd|' /C calc'!A0",
    "at": "@SUM(1)",
    "escapes": "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2028",
}
# All of it in one text, for the fields that are too many.
EVERYTHING = "".join(
    LIES[name] for name in ("formula", "template", "statement", "html", "escapes", "lines")
)
FORMULA = tuple("=+-@\t\r\n")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]")
TEMPLATE = re.compile(r"\{\{|\{%|\{#|#jinja2:")


class Loader(yaml.SafeLoader):
    """Reads recommended.yml as Ansible does; a text with the tag has the type Unsafe."""


class Unsafe(str):
    """A text that Ansible does not take for a template."""

    __slots__ = ()


Loader.add_constructor("!unsafe", lambda loader, node: Unsafe(loader.construct_scalar(node)))


def texts_of(value):
    """Yield all texts of a document, its keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts_of(key)
            yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)


def wrong_yaml(text, top):
    """Return what is wrong with variables that a user loads with -e @file."""
    loaded = yaml.load(text, Loader)  # noqa: S506 # of SafeLoader
    errors = [] if set(loaded) == {top} else [f"variables {sorted(loaded)}"]
    for loaded_text in texts_of(loaded):
        if not isinstance(loaded_text, Unsafe) and (
            TEMPLATE.search(loaded_text) or loaded_text.startswith("#")
        ):
            errors.append(f"a template {loaded_text[:60]!r}")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    return errors + [f"a comment {line!r}" for line in comments if re.search(r"[{<|`\x1b]", line)]


def wrong_csv(text):
    """Return the cells that are formulas."""
    rows = list(csv.reader(text.splitlines()))
    cells = [cell for row in rows[1:] for cell in row]
    return [cell for cell in cells if cell.startswith(FORMULA) and not _is_number(cell)]


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def wrong_text(text):
    """Return the control characters of a text of several lines."""
    return [f"control character {character!r}" for character in CONTROL.findall(text)]


def wrong_markup(text):
    """Return the HTML of the lies that a browser would take."""
    return [tag for tag in ("<script", "<img") if tag in text]


def wrong_markdown(text):
    """Return HTML and links of the lies."""
    links = re.findall(r"(?<!\\)\]\(", text)
    return wrong_markup(text) + (["a link"] if links else [])


def wrong_files(folder):
    """Return what is wrong with the files of a report, by their names."""
    errors_by_file = {}

    def see(name, *problems):
        problems = [problem for part in problems for problem in part]
        if problems:
            errors_by_file[name] = problems[:5]

    def read(name):
        return (folder / name).read_text(encoding="utf-8")

    see("recommended.yml", wrong_yaml(read("recommended.yml"), "offload_lab_recommended"))
    see("trials.csv", wrong_csv(read("trials.csv")), wrong_text(read("trials.csv")))
    see("report.md", wrong_markdown(read("report.md")), wrong_text(read("report.md")))
    if (folder / "issue.md").exists():
        see("issue.md", wrong_markdown(read("issue.md")), wrong_text(read("issue.md")))
    see("report.html", wrong_markup(read("report.html")), wrong_text(read("report.html")))
    for name in ("report.txt", "metrics.prom"):
        see(name, wrong_text(read(name)))
    see("junit.xml", wrong_text(read("junit.xml")))
    ElementTree.fromstring(read("junit.xml"))  # noqa: S314 # our own file
    see("analysis.json", [text for text in TEMPLATE.findall(read("analysis.json"))])
    return errors_by_file
