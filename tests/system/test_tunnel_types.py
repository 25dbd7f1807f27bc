# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other tunnels on the userspace datapath, a VLAN and IPv6 inside them: MSS, VNI and overhead of a
campaign's packets, and nothing is left of the lab.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.tests.system.lab import Lab, changed, left_behind, traces

pytestmark = pytest.mark.nightly
UNDERLAY_MTU = 9000
VNI = 77
IPV6 = {"tenant_network": "fd00:10::/64"}
HEADERS = {4: 40 + 12, 6: 60 + 12}  # bytes of IP, TCP and its timestamps
# The tunnel, the lab's other variables, the IP version inside, the bytes of the tunnel in packets (a
# device of the kernel sends super-packets, which show none)
LABS = {
    "geneve, VLAN and IPv6 inside": ("geneve", {"tenant_vlan": 100, **IPV6}, 6, 50 + 4),
    "gre": ("gre", {}, 4, 42),
    "gre, with a checksum": ("gre", {"tunnel_csum": True}, 4, 46),
    "vxlan, VLAN and IPv6 inside": ("vxlan", {"tenant_vlan": 100, **IPV6}, 6, None),
}


@pytest.fixture(scope="module")
def lab(lab_packages_required):
    before = traces()
    new_lab = Lab("systesttypes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OFFLOAD_LAB_UPLINK", "yes")
        new_lab.clear()
        new_lab.play("nodes")
        yield new_lab
        new_lab.down()
    assert left_behind(before, new_lab.name) == {}


def wanted(tunnel, more):
    return {"tunnel_type": tunnel, "vni": VNI, **more}


@pytest.mark.parametrize("name", LABS)
def test_what_its_packets_show(lab, tmp_path, name):
    tunnel, more, version, overhead = LABS[name]
    path = f"tenant_{tunnel}"
    campaign = {
        "name": "types",
        "paths": [path],
        "mtus": [UNDERLAY_MTU],
        "factors": ["gro"],
        "workloads": ["tcp_stream"],
        "blocks": 1,
        "duration": 1,
    }
    options = wanted(tunnel, more)
    lab.play("lab", **options)
    assert changed(lab.play("lab", **options)) == {"node1": 0, "node2": 0}
    lab.play("measure", campaign=campaign, results_dir=str(tmp_path), **options)
    records = (tmp_path / "types/trials.jsonl").read_text().splitlines()
    trials = [json.loads(line) for line in records]
    assert trials and not any(trial["error"] for trial in trials)
    bytes_left = network.OVERHEAD[tunnel][4] + (network.VLAN_TAG if "VLAN" in name else 0)
    for trial in trials:
        marks = {mark["guard"] for mark in trial["marks"]}
        assert not marks & {"mss", "encapsulation"}, trial["marks"]
        assert trial["result"]["mss"] == UNDERLAY_MTU - bytes_left - HEADERS[version]
        sampled = trial["evidence"]["underlay"]["client"]
        assert sampled["vnis"] == [VNI]
        assert sampled["outer_csum"] == [bool(more.get("tunnel_csum", False))]
    if overhead:
        samples = [trial["evidence"]["packets"]["client"]["uplink0"] for trial in trials]
        longest = max(sample["out"]["longest"] for sample in samples)
        assert longest == UNDERLAY_MTU - bytes_left + overhead


def test_without_an_uplink_it_is_refused_before_anything_is_changed(lab):
    before = lab.state()
    output = lab.play("lab", rc=2, tunnel_type="geneve", uplink_device="")
    assert "Set offload_lab_uplink_device" in " ".join(output.split())
    assert lab.state() == before
