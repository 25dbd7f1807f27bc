# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collections and Python packages that users must install are used, and what is used is declared."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT

SHIPPED = ("playbooks", "roles", "plugins")
NAME = re.compile(
    r"\b((?:community\.(?:general|dns|crypto)|openvswitch\.openvswitch|containers\.podman"
    r"|ansible\.(?:utils|posix|netcommon)))\.[a-z]\w+"
)
# What plugins of these collections need of Python, on the controller.
PYTHON = {
    "jmespath": r"community\.general\.json_query",
    "netaddr": r"ansible\.utils\.ip(addr|v4|v6|subnet)\b",
}


def grep(pattern):
    """Return the lines of what is shipped that match."""
    return subprocess.run(
        ["git", "-C", str(CHECKOUT), "grep", "-hIP", pattern, "--", *SHIPPED, ":!*.md"],
        text=True,
        capture_output=True,
        check=False,
    ).stdout


def test_collections():
    declared = set(yaml.safe_load((CHECKOUT / "galaxy.yml").read_text())["dependencies"])
    used = {
        match.group(1)
        for match in NAME.finditer(grep(NAME.pattern))
        if "import" not in match.group()
    }
    assert used == declared


@pytest.mark.parametrize("package", PYTHON)
def test_python_packages_of_filters(package):
    declared = (CHECKOUT / "requirements/controller.in").read_text().split()
    assert grep(PYTHON[package]) and package in declared
