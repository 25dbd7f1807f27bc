# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the userspace datapath cannot do is said before anything is changed."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
    with_engine,
)
from ansible_collections.offload.lab.plugins.plugin_utils._lab.tunnels import InTunnel
from ansible_collections.offload.lab.plugins.plugin_utils._request.hosts import (
    refused,
    tunnel_asked,
)

TOGETHER = {"name": "datagrams", "engine": "sockets", "test": "UDP_STREAM", "message_size": 1000}


def campaign(path, **keys):
    return read_campaign(
        {"name": "x", "blocks": 6, "paths": [path], "workloads": [{**TOGETHER, **keys}]}
    )


@pytest.mark.parametrize(
    ("path", "keys", "datapath", "wrong"),
    [
        ("routed_vxlan", {}, "netdev", True),
        ("tenant_vxlan", {"udp_segment": True}, "netdev", True),
        ("tenant_vxlan", {"udp_segment": False}, "netdev", False),
        ("tenant_vxlan", {}, "system", False),
        ("routed", {}, "netdev", False),
        ("tenant_vxlan", {"test": "TCP_STREAM"}, "netdev", False),
    ],
)
def test_datagrams_that_one_call_sends_together(path, keys, datapath, wrong):
    problems = list(refused(datapath, InTunnel(), campaign(path, **keys)))
    assert bool(problems) == wrong
    if wrong:
        assert f"loses or joins on {path}. Give it udp_segment: false." in problems[0]


def test_the_engine_of_the_lab_makes_them_where_the_workload_names_none():
    workload = {key: value for key, value in TOGETHER.items() if key != "engine"}
    lab = {"name": "x", "blocks": 6, "paths": ["tenant_vxlan"], "workloads": [workload]}
    for engine, wrong in (("sockets", True), ("netperf", False)):
        campaign_asked = read_campaign(with_engine(lab, engine))
        assert bool(list(refused("netdev", InTunnel(), campaign_asked))) == wrong


@pytest.mark.parametrize(
    ("variables", "datapath", "message"),
    [
        ({"tunnel_type": "geneve"}, "netdev", "Set offload_lab_uplink_device"),
        ({"tunnel_type": "geneve", "uplink_device": "eth2"}, "netdev", None),
        ({"tunnel_type": "gre", "tunnel_per_port": "yes"}, "system", "tunnel for each port"),
        ({"tenant_vlan": "20", "uplink_device": "eth2"}, "system", "the uplink has this VLAN"),
        ({}, "netdev", None),
    ],
)
def test_a_tunnel_that_the_lab_cannot_have(variables, datapath, message):
    tunnel = tunnel_asked({f"offload_lab_{name}": value for name, value in variables.items()})
    problems = list(refused(datapath, tunnel, None))
    assert bool(problems) == bool(message)
    assert message is None or message in problems[0]
