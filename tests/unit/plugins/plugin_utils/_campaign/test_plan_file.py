# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the loop over visits gets of a plan."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign import (
    campaign_file,
    design,
    pace,
)


@pytest.mark.parametrize(
    ("workloads", "engine", "servers"),
    [
        (["tcp_stream"], None, {"netperf"}),
        (["tcp_stream"], "iperf3", {"iperf3"}),
        (["payload"], None, {"payload", "netperf"}),
        (["payload"], "iperf3", {"payload", "iperf3"}),
        (["payload", "tcp_stream"], "iperf3", {"payload", "iperf3"}),
    ],
)
def test_the_servers_are_those_of_engines_that_the_hosts_have(workloads, engine, servers):
    """Packets are sampled in every campaign, also in one that checks nothing but the payload."""
    campaign_keys = {
        "name": "x",
        "paths": ["physical"],
        "factors": ["tx"],
        "workloads": workloads,
        "engine": engine,
    }
    campaign = campaign_file.read_campaign({k: v for k, v in campaign_keys.items() if v}, "x")
    plan = design.make_plan(campaign, "2026-11-27T00:00:00Z")
    assert pace.summary(plan, "results/x")["servers"].keys() == servers
