# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Features toggled one after the other on a real lab: the packets must say what each did."""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._ethtool.settings import parse_statistics
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.verdicts import (
    share_of,
    verdict,
)
from ansible_collections.offload.lab.plugins.plugin_utils._trials.evidence import flat
from ansible_collections.offload.lab.tests.support import CHECKOUT, run
from ansible_collections.offload.lab.tests.system.trial import token_of

READ_COUNTERS = f"""
import json, socket, sys
sys.path.insert(0, {str(CHECKOUT / ".build/live")!r})
from ansible_collections.offload.lab.plugins.module_utils._observe import sampler
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    read = sampler.read_counters(sock, "underlay0")
print(json.dumps({{name: counter for name, counter in read.items() if "xdp" in name}}))
"""
UNDERLAY = {"name": "underlay0"}
TENANT = {"name": "tenant1-veth0", "netns": "tenant1"}
TUNNEL = {"name": "vxlan0"}
TSO = [
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
]
START = {"tx": True, "tso": True, "gso": True, "gro": False, "tx-udp_tnl-segmentation": True}
SENDER = "node1"
RECEIVER = "node2"

# what, on whom, device, feature asked, its bits, path, the sender's TSO meanwhile, verdict
CASES = [
    ("TSO of the underlay", SENDER, UNDERLAY, "tso", TSO, "physical", None, "applied"),
    (
        "GSO of the underlay",
        SENDER,
        UNDERLAY,
        "gso",
        ["generic-segmentation-offload"],
        "physical",
        None,
        "applied",
    ),
    (
        "GRO of the underlay, segments arrive",
        RECEIVER,
        UNDERLAY,
        "gro",
        ["generic-receive-offload"],
        "physical",
        False,
        "applied",
    ),
    (
        "GRO of the underlay, super-packets arrive",
        RECEIVER,
        UNDERLAY,
        "gro",
        ["generic-receive-offload"],
        "physical",
        True,
        "no_op",
    ),
    (
        "TX checksum of the underlay",
        SENDER,
        UNDERLAY,
        "tx",
        ["tx-checksum-ip-generic"],
        "physical",
        None,
        "changed_others",
    ),
    (
        "tunnel segmentation of the underlay",
        SENDER,
        UNDERLAY,
        "tx-udp_tnl-segmentation",
        ["tx-udp_tnl-segmentation"],
        "tenant_vxlan",
        None,
        "applied",
    ),
    (
        "tunnel segmentation with checksum, tunnel without",
        SENDER,
        UNDERLAY,
        "tx-udp_tnl-csum-segmentation",
        ["tx-udp_tnl-csum-segmentation"],
        "tenant_vxlan",
        None,
        "masked",
    ),
    ("TSO of the tenant", SENDER, TENANT, "tso", TSO, "tenant_vxlan", None, "applied"),
    (
        "GSO of the tenant",
        SENDER,
        TENANT,
        "gso",
        ["generic-segmentation-offload"],
        "tenant_vxlan",
        None,
        "applied",
    ),
    (
        "TX checksum of the tenant",
        SENDER,
        TENANT,
        "tx",
        ["tx-checksum-ip-generic"],
        "tenant_vxlan",
        None,
        "changed_others",
    ),
    (
        "tunnel segmentation of the tenant",
        SENDER,
        TENANT,
        "tx-udp_tnl-segmentation",
        ["tx-udp_tnl-segmentation"],
        "tenant_vxlan",
        None,
        "no_op",
    ),
    (
        "tunnel segmentation of the tunnel device",
        SENDER,
        TUNNEL,
        "tx-udp_tnl-segmentation",
        ["tx-udp_tnl-segmentation"],
        "tenant_vxlan",
        None,
        "unsupported",
    ),
]
# Verdicts that packets give, once more with data and acknowledgements in both directions of each
# device.
BOTH_WAYS = [
    case
    for case in CASES
    if case[0] in ("TSO of the underlay", "tunnel segmentation of the tenant")
]
BOTH_WAYS_NIGHTLY = [
    case
    for case in CASES
    if case[0]
    in (
        "GRO of the underlay, segments arrive",
        "TX checksum of the underlay",
        "tunnel segmentation of the underlay",
    )
]
ENDS = {
    "physical": {"local_address": "198.18.0.1", "address": "198.18.0.2"},
    "tenant_vxlan": {
        "netns": "tenant1",
        "local_address": "192.168.10.1",
        "address": "192.168.10.2",
    },
}
DEVICES = {
    "physical": [UNDERLAY],
    "tenant_vxlan": [UNDERLAY, TENANT, TUNNEL],
}  # sampling waits until all see traffic


def key(device):
    return f"{device['netns']}/{device['name']}" if device.get("netns") else device["name"]


def start(lab):
    """Set everything on both nodes to a known start."""
    for node in (SENDER, RECEIVER):
        lab.ask("offload.lab.ethtool", node, devices=[UNDERLAY, TENANT], features=START)


@pytest.fixture(scope="module")
def probe(lab, probe):
    yield probe
    start(lab)
    run(["ip", "netns", "exec", f"{lab.name}-fabric", "ethtool", "-K", "node2", "tso", "on"])


def observe(lab, probe, case, level, tests):
    """Set everything to a known start, then one feature to a level; return what verdict() wants to
    know.
    """
    _what, node, device, feature, bits, path, sender_tso, _verdict = case
    start(lab)
    if sender_tso is not None:
        lab.ask("offload.lab.ethtool", SENDER, devices=[UNDERLAY], features={"tso": sender_tso})
        # A veth gives its receiver's GRO only what a peer without TSO sends
        # (veth_skb_is_eligible_for_gro).
        port_tso = ["ethtool", "-K", "node2", "tso", "on" if sender_tso else "off"]
        run(["ip", "netns", "exec", f"{lab.name}-fabric", *port_tso])
    report = lab.ask(
        "offload.lab.ethtool", node, devices=[device], features={feature: level}, fixed="report"
    )
    way = dict(ENDS[path], name=path, client_devices=DEVICES[path], server_devices=DEVICES[path])
    sampled = lab.ask(
        "offload.lab.evidence", SENDER, probe=probe, token=token_of(lab), tests=tests, paths=[way]
    )["packets"][path]["TCP_STREAM"]
    assert "error" not in sampled, sampled
    sample = sampled["client" if node == SENDER else "server"][key(device)]
    return dict(flat(report["devices"][key(device)]), share=share_of(sample, bits))


def judge(lab, probe, case, tests):
    on = observe(lab, probe, case, True, tests)
    off = observe(lab, probe, case, False, tests)
    judged = verdict(case[4], [on], [off], tunnel_csum=False)
    print(
        f"{case[0]}: on {on['share']}, off {off['share']}: {judged.verdict} ({judged.reason or judged.proof})"
    )
    assert judged.verdict == case[-1], judged


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_verdict_follows_from_what_was_seen(lab, probe, case):
    judge(lab, probe, case, ["TCP_STREAM"])


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, id=case[0]) for case in BOTH_WAYS),
        *(pytest.param(case, id=case[0], marks=pytest.mark.nightly) for case in BOTH_WAYS_NIGHTLY),
    ],
)
def test_the_verdict_is_the_same_with_streams_both_ways(lab, probe, case):
    judge(lab, probe, case, ["TCP_STREAM", "TCP_MAERTS"])


def test_driver_counters_are_those_of_ethtool(lab):
    """Of a veth, whose driver counts per queue, read without a process: the names and the values
    that stand still.
    """
    text = lab.inside(1, "ethtool", "-S", "underlay0")
    printed = {name: counter for name, counter in parse_statistics(text).items() if "xdp" in name}
    read = lab.inside(1, "python3", "-I", "-c", READ_COUNTERS, timeout=20)
    assert printed and json.loads(read) == printed
