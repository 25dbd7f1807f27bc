# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter.parse_netperf import FilterModule

parse = FilterModule().filters()["parse_netperf"]


def test_text_of_a_run():
    runs = parse("OMNI Send TEST from a () port 0 AF_INET to b\nTHROUGHPUT=941.50\nTHROUGHPUT_UNITS=10^6bits/s\n")
    assert [run["throughput_mbps"] for run in runs] == [941.5]


@pytest.mark.parametrize("value", [None, 3, ["TCP STREAM TEST"], {}, b"TCP STREAM TEST"])
def test_no_text(value):
    with pytest.raises(AnsibleFilterError, match="expected the text that netperf printed"):
        parse(value)
