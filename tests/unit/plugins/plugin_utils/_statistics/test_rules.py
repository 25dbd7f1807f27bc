# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The constants on which claims rest have their numbers in one file."""

from __future__ import annotations

import re

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._statistics import rules
from ansible_collections.offload.lab.tests.support import CHECKOUT

NAMES = [name for name in vars(rules) if name.isupper()]
# The hop's campaign has a number of blocks of its own: nearly each of its trials is in trouble.
OTHERS = {"FEWEST_BLOCKS": ["hop.py"]}


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_has_its_number_once(name):
    number = re.compile(rf"^{name} = [0-9.]", re.MULTILINE)
    files = (CHECKOUT / "plugins").rglob("*.py")
    names = sorted(path.name for path in files if number.search(path.read_text()))
    assert [name for name in names if name != "rules.py"] == OTHERS.get(name, [])
