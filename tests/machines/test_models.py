# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive hashing and channels of each model that QEMU has: applied, or unsupported with the
driver's words.

What is applied is also seen in the work of the CPUs that receive: UDP packets of many flows come
in, and /proc/softirqs says on which CPUs. It prints the table of docs/virtual-machines.md.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.tests.machines.guests import Guests, left_behind

pytestmark = pytest.mark.guests
# Two queues of virtio-net, without and with QEMU's receive hashing, and two models of real cards.
NICS = [
    {"name": "underlay0", "model": "virtio-net-pci", "queues": 2},
    {
        "name": "underlay1",
        "model": "virtio-net-pci",
        "queues": 2,
        "properties": {"rss": "on", "hash": "on"},
    },
    {"name": "underlay2", "model": "e1000e"},
    {"name": "underlay3", "model": "vmxnet3"},
]
ASKED = [
    ("features", {"tx-udp_tnl-segmentation": True}),
    ("rx_flow_hash", {"udp4": "sdfn"}),
    ("rx_flow_hash", {"udp4": "sd"}),
    ("channels", {"combined": 1}),
    ("channels", {"combined": 2}),
]
FLOWS = 32
PACKETS = 40
SEND = f"""python3 - <<'END'
import socket, time
for number in range({FLOWS}):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
        flow.bind(("", 20000 + number))
        for _packet in range({PACKETS}):
            flow.sendto(bytes(100), ("ADDRESS", 20000 + number))
            time.sleep(0.002)
END"""
COUNTS = """awk '$1 == "NET_RX:" { print "[" $2 ", " $3 "]" }' /proc/softirqs"""


@pytest.fixture
def guests(root_required):
    new_guests = Guests(
        "systest-models",
        machine_cpus=2,
        machine_nics=[
            {**nic, "address": f"198.18.{number}.{{{{ offload_lab_index | default(0) }}}}/24"}
            for number, nic in enumerate(NICS)
        ],
    )
    new_guests.play("machines")
    yield new_guests
    new_guests.play("machines_absent")
    assert left_behind(new_guests.name) == []


def outcome(guests, device, kind, settings):
    """Return what a device makes of a setting, in words; the driver's own where it refuses."""
    answer = guests.ask(
        "offload.lab.ethtool", "node1", devices=[device], fixed="report", **{kind: settings}
    )
    answer = answer["devices"][device]
    [name] = settings
    if answer.get("fixed", {}).get(kind):
        return f"unsupported: {answer['fixed'][kind][name].get('reason', '[fixed]')}"
    if answer.get("failed_steps"):
        return f"refused: {answer['failed_steps'][0]['reason']}"
    kept = answer.get("not_honoured", {}).get(kind, {}).get(name)
    return f"not honoured: stays {kept['active'] or 'none'}" if kept else "applied"


def shares(guests, number):
    """Return the percentage of its receive work that each CPU of node1 does for packets of many
    flows.
    """
    before = json.loads(guests.inside("node1", COUNTS))
    guests.inside("node2", SEND.replace("ADDRESS", f"198.18.{number}.1"))
    counts = [after - was for was, after in zip(before, json.loads(guests.inside("node1", COUNTS)))]
    return [round(100 * count / sum(counts)) for count in counts]


def test_each_model(guests):
    for number, nic in enumerate(NICS):
        driver = guests.inside(
            "node1", f"ethtool -i {nic['name']} | sed -n 's/^driver: //p'"
        ).strip()
        row = []
        for kind, settings in ASKED:
            outcome_words = outcome(guests, nic["name"], kind, settings)
            assert outcome_words.startswith(
                ("applied", "unsupported: ", "refused: ", "not honoured: ")
            ), outcome_words
            if outcome_words == "applied" and kind != "features":
                work = shares(guests, number)
                outcome_words += ", {} % / {} % of NET_RX".format(*work)
                assert (kind, settings) != ("channels", {"combined": 1}) or max(work) >= 80, (
                    outcome_words
                )
            row.append(outcome_words)
        print(
            "|",
            " | ".join([nic["model"], driver, str(nic.get("properties", "")), *row]),
            "|",
            flush=True,
        )
