# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/security.md: each promise names a test that exists."""

from __future__ import annotations

import re

from ansible_collections.offload.lab.tests.support import CHECKOUT

PAGE = (CHECKOUT / "docs/security.md").read_text()
NAMED = re.compile(r"`((?:tests/)?[a-z_/]*test_\w+\.py(?:::\w+)?)`")
PROMISES = ("what stops them", "what stops it", "what is promised")


def rows():
    """Return the rows of all tables of promises."""
    table_rows = []
    for table in PAGE.split("\n\n"):
        lines = table.splitlines()
        if lines and any(f"| {promise} |" in lines[0] for promise in PROMISES):
            table_rows += lines[2:]
    return table_rows


def test_each_promise_names_its_test():
    assert rows()
    assert [row for row in rows() if "`test_" not in row and "`tests/" not in row] == []


def test_each_test_that_is_named_exists():
    named = NAMED.findall(PAGE)
    assert named
    for name in named:
        path, _colons, function = name.partition("::")
        file = CHECKOUT / (path if "/" in path else f"tests/security/{path}")
        assert file.is_file(), name
        assert f"def {function}" in file.read_text(), name
