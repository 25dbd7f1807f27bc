# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many files a task of a campaign imports, directly or not: the numbers may only fall."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.tests.lint.test_rules import imports, our_file
from ansible_collections.offload.lab.tests.support import CHECKOUT

MOST_FILES = {
    "plugins/action/report.py": 112,
    "plugins/action/steps.py": 99,
    "plugins/action/visit.py": 80,
    "plugins/modules/visit.py": 62,
}


def closure(path):
    """Return all files of ours that a file imports, itself among them."""
    visited = {path}
    to_see = [path]
    while to_see:
        imported = {our_file(name) for name in imports(to_see.pop())} - {None}
        to_see += imported - visited
        visited |= imported
    return visited


@pytest.mark.parametrize("name", MOST_FILES)
def test_the_files_that_a_task_imports(name):
    assert len(closure(CHECKOUT / name)) <= MOST_FILES[name]
