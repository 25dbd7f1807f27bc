# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/decisions/runtime.md names files and functions that are there."""

from __future__ import annotations

import ast
import re

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT

PAGE = (CHECKOUT / "docs/decisions/runtime.md").read_text()
FILES = sorted(set(re.findall(r"`([\w/]+\.py)`", PAGE)))
FUNCTIONS = sorted(
    {
        *re.findall(r"`([\w/]+\.py)` `(\w+)`", PAGE),
        *((path, name) for name, path in re.findall(r"`(\w+)` in `([\w/]+\.py)`", PAGE)),
    }
)
TASKS = sorted(set(re.findall(r"`(\w+\.yml)`", PAGE)))


@pytest.mark.parametrize("path", FILES)
def test_a_file_is_there(path):
    assert (CHECKOUT / "plugins" / path).exists()


@pytest.mark.parametrize(("path", "name"), FUNCTIONS)
def test_a_function_is_in_its_file(path, name):
    tree = ast.parse((CHECKOUT / "plugins" / path).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", TASKS)
def test_tasks_are_those_of_the_role(name):
    assert (CHECKOUT / "roles/measure/tasks" / name).exists()
