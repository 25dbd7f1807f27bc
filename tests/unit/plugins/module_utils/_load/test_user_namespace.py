# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server becomes nobody where nobody has a number, and loses its capabilities everywhere."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._load import servers


@pytest.mark.parametrize(
    ("uid_map", "expected"),
    [
        ("         0          0 4294967295\n", True),
        ("         0       1000          1\n", False),
        ("         0       1000          1\n         1     100000      65536\n", True),
        ("         0       1000          1\n         1     100000      65533\n", False),
    ],
)
def test_whether_nobody_has_a_number(uid_map, expected):
    assert servers.has_nobody(uid_map) is expected


def test_both_ways_leave_no_capability():
    for words in (servers.WITHOUT_PRIVILEGES, servers.WITHOUT_CAPABILITIES):
        assert {"--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"} <= set(words)
