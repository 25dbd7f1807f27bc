# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel VXLAN device is kept in the snapshot, and recreated where the kernel cannot change it
back.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.network import OWNER
from ansible_collections.offload.lab.plugins.module_utils._lab import vxlan_devices
from ansible_collections.offload.lab.plugins.module_utils._lab.vxlan_devices import EVERY, OURS

FDB = [(EVERY, "198.18.0.2"), ("02:00:00:00:00:02", "198.18.0.2")]
PORT = {
    "bridge": "br-int",
    "external_ids": {OWNER: "tunnel"},
    "other_config": {},
    "protected": False,
    "tag": [],
    "interface": {"type": ""},
}


def state(csum=False, there=True, port=True):
    """Return links, forwarding databases and Open vSwitch of a node."""
    device = {
        "name": "vxlan0",
        "mtu": 8900,
        "kind": "vxlan",
        "alias": OURS,
        "up": True,
        "addresses": [],
        "data": {"id": 10, "port": 4789, "local": "198.18.0.1", "udp_csum": csum},
    }
    ovs = {
        "running": True,
        "vswitchd": True,
        "root": {},
        "bridges": {"br-int": {}},
        "ports": {"vxlan0": PORT} if port else {},
    }
    return ({"vxlan0": device}, {"vxlan0": FDB}, ovs) if there else ({}, {}, ovs)


def restoring(*now, port=True):
    """Return what is run, with a snapshot of a device without outer checksum, to and from its file."""
    kept = json.loads(json.dumps(vxlan_devices.saved(*state(port=port))))
    restoring_steps = vxlan_devices.steps(kept, *now)
    return [" ".join(step.argv) + "\n" + (step.stdin or "") for step in restoring_steps]


def test_a_device_is_recreated_and_is_in_its_bridge_again():
    released, created, remotes, port = restoring(*state(csum=True))
    assert "del-port br-int vxlan0" in released
    assert created.splitlines()[1:] == [
        "link del dev vxlan0",
        "link add name vxlan0 mtu 8900 type vxlan id 10 dstport 4789 local 198.18.0.1 noudpcsum",
        "link set dev vxlan0 alias offload.lab:tunnel up",
    ]
    assert remotes.splitlines()[1:] == [f"fdb append {EVERY} dev vxlan0 dst 198.18.0.2"]
    assert "add-port br-int vxlan0" in port and f'external_ids:"{OWNER}"="tunnel"' in port


def test_a_device_in_no_bridge_is_recreated():
    assert [text.split()[0] for text in restoring(*state(csum=True, port=False), port=False)] == [
        "ip",
        "bridge",
    ]


def test_what_a_stopped_restore_left_out_is_done():
    (port,) = restoring(*state(port=False))
    assert "add-port br-int vxlan0" in port


@pytest.mark.parametrize(
    "now", [state(), state(there=False, port=False)], ids=["as it was", "gone"]
)
def test_nothing_is_done(now):
    assert restoring(*now) == []


def test_a_device_of_others_is_not_kept():
    links, fdbs, ovs = state()
    assert vxlan_devices.saved(links, {}, ovs) == {}
    assert restoring(links, {}, ovs) == []
