# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random feature states are kept and restored, bit for bit, on every kind of device that this
machine can make.
"""

from __future__ import annotations

import json
import os
import random

import pytest

from ansible_collections.offload.lab.plugins.module_utils._ethtool.features import (
    parse_features,
    single_bits,
    wanted,
)
from ansible_collections.offload.lab.plugins.module_utils._kinds.info import read as gather
from ansible_collections.offload.lab.plugins.module_utils._kinds.info import restore_item
from ansible_collections.offload.lab.plugins.module_utils._restore import restore, snapshot
from ansible_collections.offload.lab.plugins.modules import ethtool
from ansible_collections.offload.lab.tests.support import each_day, run

NETNS = "systest-restore"
STATES = int(
    os.environ.get("OFFLOAD_LAB_RESTORE_STATES", "10")
)  # of each kind of device; make faults takes 200
MAKE = {
    "veth": ["link add re-veth type veth peer name re-peer"],
    "vxlan": ["link add re-vxlan type vxlan id 7 dstport 4789 remote 198.18.9.2"],
    "bridge": ["link add re-bridge type bridge"],
    "tap": ["tuntap add dev re-tap mode tap"],
}
OPTIONS = {
    "netns": None,
    "rx_flow_hash": {},
    "channels": {},
    "rings": {},
    "coalesce": {},
    "fixed": "report",
    "protect": [],
    "features": {},
}


@pytest.fixture(scope="module", autouse=True)
def namespace(root_required):
    run(["ip", "netns", "add", NETNS])
    try:
        for lines in MAKE.values():
            for line in lines:
                run(["ip", "-netns", NETNS, *line.split()])
        yield
    finally:
        run(["ip", "netns", "del", NETNS])


def listing(name):
    """Return everything that can be read of a device, not through our parsers."""
    features = run(["ip", "netns", "exec", NETNS, "ethtool", "--json", "-k", name])
    link = json.loads(run(["ip", "-netns", NETNS, "-json", "-details", "link", "show", name]))[0]
    return json.loads(features), {key: link[key] for key in ("mtu", "flags", "linkinfo")}


def changeable(name):
    text = run(["ip", "netns", "exec", NETNS, "ethtool", "-k", name])
    return {
        bit: wanted(row)
        for bit, row in single_bits(parse_features(text)[name]).items()
        if not row["fixed"]
    }


def set_all(name, bits):
    ethtool.change(
        dict(OPTIONS, devices=[{"name": name, "netns": NETNS, "features_wanted": bits}]), False
    )


def set_mtu(name, mtu):
    run(["ip", "-netns", NETNS, "link", "set", name, "mtu", mtu])


def keep(path, name):
    device = {"name": name, "netns": NETNS}
    state_kept = gather(
        {
            "devices": [device],
            "netns": None,
            "flow_types": [],
            "gather": ["features", "channels", "rings", "coalesce"],
        }
    )
    snapshot.write(
        path, snapshot.merge(None, [restore_item(row) for row in state_kept.values()], {})
    )


@pytest.mark.parametrize("kind", each_day(["veth", "vxlan"], MAKE))
def test_random_states_are_restored_twice_in_a_row(kind, tmp_path):
    name = f"re-{kind}"
    path = str(tmp_path / "snapshot.json")
    generator = random.Random(f"restore {kind}")
    bits = changeable(name)
    assert bits
    states_seen = set()
    for number in range(STATES):
        set_all(name, {bit: generator.random() < 0.5 for bit in bits})
        set_mtu(name, generator.choice([1400, 1500, 1280]))
        before = listing(name)
        states_seen.add(json.dumps(before[0]))
        keep(path, name)
        for _again in range(2):
            set_all(name, {bit: generator.random() < 0.5 for bit in bits})
            set_mtu(name, generator.choice([1400, 1500, 1280]))
            assert restore.restore(path, keep=True)["exists"]
            assert listing(name) == before, f"state {number}"
        assert restore.restore(path)["commands"] == []
        assert not os.path.exists(path)
    print(f"{kind}: {STATES} states, {len(states_seen)} of them different, {len(bits)} bits")
    assert len(states_seen) > min(STATES, 2 ** len(bits)) / 4


def test_a_bit_that_cannot_be_restored_keeps_the_snapshot(tmp_path):
    path = str(tmp_path / "snapshot.json")
    keep(path, "re-veth")
    kept = json.loads((tmp_path / "snapshot.json").read_text())
    kept["devices"][0]["channels"] = {"rx": 1, "tx": 1}
    kept["links"][0]["mtu"] = 70000
    (tmp_path / "snapshot.json").write_text(json.dumps(kept))
    with pytest.raises(Exception, match="70000"):
        restore.restore(path)
    assert os.path.exists(path)


def test_a_device_that_is_gone_is_told(tmp_path):
    path = str(tmp_path / "snapshot.json")
    run(["ip", "-netns", NETNS, "link", "add", "re-gone", "type", "bridge"])
    keep(path, "re-gone")
    run(["ip", "-netns", NETNS, "link", "del", "re-gone"])
    assert restore.restore(path)["missing"] == [f"{NETNS}/re-gone"]
    assert not os.path.exists(path)
