# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive hashing and channels of each model that QEMU has: applied, or unsupported with the driver's words.

The table that this prints is that of docs/virtual-machines.md.
"""
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.tests.machines.guests import Guests, left_behind

pytestmark = pytest.mark.guests
# Two queues of virtio-net, without and with QEMU's receive hashing, and two models of real cards.
NICS = [{"name": "underlay0", "model": "virtio-net-pci", "queues": 2},
        {"name": "underlay1", "model": "virtio-net-pci", "queues": 2, "properties": {"rss": "on", "hash": "on"}},
        {"name": "underlay2", "model": "e1000e"},
        {"name": "underlay3", "model": "vmxnet3"}]
ASKED = [("rx_flow_hash", {"udp4": "sdfn"}), ("rx_flow_hash", {"udp4": "sd"}),
         ("channels", {"combined": 1}), ("channels", {"combined": 2})]


@pytest.fixture
def guests(root_required):
    made = Guests("systest-models", machine_cpus=2, machine_nics=[
        {**nic, "address": f"198.18.{number}.{{{{ offload_lab_index | default(0) }}}}/24"}
        for number, nic in enumerate(NICS)])
    made.play("machines")
    yield made
    made.play("machines_absent")
    assert left_behind(made.name) == []


def outcome(guests, device, kind, asked):
    """Return what a device makes of a setting, in words; the driver's own where it refuses."""
    told = guests.ask("offload.lab.ethtool", "node1", devices=[device], fixed="report", **{kind: asked})
    told = told["devices"][device]
    [name] = asked
    if told.get("fixed", {}).get(kind):
        return f"unsupported: {told['fixed'][kind][name]['reason']}"
    if told.get("failed_steps"):
        return f"refused: {told['failed_steps'][0]['reason']}"
    kept = told["not_honoured"].get(kind, {}).get(name)
    return f"not honoured: stays {kept['active'] or 'none'}" if kept else "applied"


def test_each_model(guests):
    for nic in NICS:
        driver = guests.inside("node1", f"ethtool -i {nic['name']} | sed -n 's/^driver: //p'").strip()
        row = [outcome(guests, nic["name"], kind, asked) for kind, asked in ASKED]
        print("|", " | ".join([nic["model"], driver, str(nic.get("properties", "")), *row]), "|")
        assert all(cell.startswith(("applied", "unsupported: ", "refused: ", "not honoured: ")) for cell in row), row
