# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines a lab and its campaign need, and which one offload_lab_engine: auto stands for."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._request.engines import (
    available,
    engines_needed,
)

NETPERF = {"netperf": "/usr/bin/netperf", "netserver": "/usr/bin/netserver"}
NO_NETPERF = dict.fromkeys(NETPERF)
IPERF3 = {"iperf3": "/usr/bin/iperf3"}


def campaign(*workloads, **keys):
    return read_campaign({"name": "x", "blocks": 6, "workloads": list(workloads), **keys})


@pytest.mark.parametrize(
    ("engine_asked", "workloads", "has_lab", "engine", "needed"),
    [
        ("netperf", None, True, "netperf", ["netperf"]),
        ("auto", None, True, "auto", ["netperf", "iperf3"]),
        ("sockets", ["tcp_stream"], True, "sockets", ["sockets", "netperf"]),
        ("netperf", ["payload"], True, "netperf", ["netperf", "payload"]),
        ("netperf", ["payload"], False, "sockets", ["payload"]),
        ("netperf", ["payload", "tcp_rr"], False, "netperf", ["netperf", "payload"]),
        ("netperf", None, False, "netperf", ["netperf"]),
    ],
)
def test_the_engines_of_a_play(engine_asked, workloads, has_lab, engine, needed):
    asked_for = campaign(*workloads) if workloads else None
    assert engines_needed(engine_asked, asked_for, has_lab) == (engine, needed)


@pytest.mark.parametrize(
    ("engine_asked", "nodes", "engine"),
    [
        ("auto", [{**NETPERF, **IPERF3}, {**NETPERF, "iperf3": None}], "netperf"),
        ("auto", [{**NETPERF, **IPERF3}, {**NO_NETPERF, **IPERF3}], "iperf3"),
        ("auto", [{**NO_NETPERF, "iperf3": None}], "iperf3"),
        ("auto", [NETPERF, {"ip": "/sbin/ip"}], "netperf"),  # the second forwards
        ("netperf", [NO_NETPERF], "netperf"),
    ],
)
def test_the_engine_that_auto_stands_for(engine_asked, nodes, engine):
    assert available(engine_asked, nodes) == engine
