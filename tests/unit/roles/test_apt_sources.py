# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How role netperf enables the component that has netperf: a copy of the distribution's sources
with another component.

The expressions come from its tasks. The texts are in both formats of sources.list(5).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

TASKS = yaml.safe_load(
    (Path(__file__).resolve().parents[3] / "roles/netperf/tasks/apt.yml").read_text()
)
VARS = next(task["vars"] for task in TASKS if "vars" in task)
DEB822 = """\
Types: deb
# http://snapshot.example.org/archive/debian/20250520T000000Z
URIs: http://deb.example.org/debian
Suites: bookworm bookworm-updates
Components: {0}
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.example.org/debian-security
Suites: bookworm-security
Components: {0}
"""
LINES = """\
# main and more
deb http://archive.example.org/ubuntu noble {0}
deb\t[arch=amd64 signed-by=/usr/share/keyrings/ubuntu.gpg] http://archive.example.org/ubuntu noble-updates {0}
deb-src http://archive.example.org/ubuntu noble main
"""


def other_component(text, component):
    return re.sub(VARS["__offload_lab_other_component"].strip(), rf"\1 {component}", text)


@pytest.mark.parametrize(
    "text, before, after",
    [
        (DEB822, "main", "non-free"),
        (DEB822, "main contrib non-free-firmware", "non-free"),
        (LINES, "main", "multiverse"),
        (LINES, "main restricted universe", "multiverse"),
    ],
)
def test_a_copy_differs_in_its_components_only(text, before, after):
    assert other_component(text.format(before), after) == text.format(after)


def test_the_files_of_the_distributions_own_sources_are_found():
    """Lines in the form of apt-get indextargets; the number is the entry's position in its file."""
    files_found = [
        "Debian|/etc/apt/sources.list.d/debian.sources:1",
        "Debian|/etc/apt/sources.list.d/debian.sources:7",
        "Google LLC|/etc/apt/sources.list.d/google.list:1",
        "Ubuntu|/etc/apt/sources.list:2",
    ]
    keep, cut = re.findall(
        r"\('(?:match|regex_replace)', '([^']+)'", VARS["__offload_lab_source_files"]
    )
    assert [re.sub(cut, r"\1", line) for line in files_found if re.match(keep, line)] == [
        "/etc/apt/sources.list.d/debian.sources",
        "/etc/apt/sources.list.d/debian.sources",
        "/etc/apt/sources.list",
    ]
