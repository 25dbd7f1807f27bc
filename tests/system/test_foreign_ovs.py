# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open vSwitch that others use too: what is theirs is the same before, during and after all that
the lab does.
"""

from __future__ import annotations

import json
import subprocess
import time
from operator import itemgetter

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, environment
from ansible_collections.offload.lab.tests.system.lab import Lab
from ansible_collections.offload.lab.tests.system.test_apply import recommended

OURS = "userspace-tso-enable"  # the lab's key of other_config; teardown removes it
COUNTERS = ("statistics", "status")
FOREIGN = [
    "add-br",
    "br-ex",
    "--",
    "set",
    "Bridge",
    "br-ex",
    "datapath_type=netdev",
    "other_config:hwaddr=02:00:00:00:00:07",
    "--",
    "add-port",
    "br-ex",
    "vxlan-neutron",
    "--",
    "set",
    "Interface",
    "vxlan-neutron",
    "type=vxlan",
    "options:remote_ip=198.18.9.9",
    "options:key=77",
    "options:dst_port=8472",
]
CAMPAIGN = {
    "name": "foreign",
    "paths": ["physical_vxlan"],
    "factors": ["tunnel_csum"],
    "blocks": 1,
    "workloads": ["tcp_stream"],
    "duration": 1,
}


@pytest.fixture(scope="module")
def lab(lab_packages_required):
    made = Lab("systestforeign")
    made.clear()
    made.up()
    made.inside(1, "ovs-vsctl", *FOREIGN)
    yield made
    made.down()


def dump(lab):
    """Return all that the database of node 1 has of others, as text."""
    documents, decoder = [], json.JSONDecoder()
    text = lab.inside(
        1,
        "ovs-vsctl",
        "--format=json",
        "list",
        "Open_vSwitch",
        "--",
        "list",
        "Bridge",
        "--",
        "list",
        "Port",
        "--",
        "list",
        "Interface",
    )
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        documents.append([dict(zip(document["headings"], row)) for row in document["data"]])
        text = text.lstrip()[end:]
    root, *tables = documents
    config = [pair for pair in root[0]["other_config"][1] if pair[0] != OURS]
    foreign = [
        {column: value for column, value in row.items() if column not in COUNTERS}
        for rows in tables
        for row in sorted(rows, key=itemgetter("name"))  # else in the order of a hash table
        if row["name"] in ("br-ex", "vxlan-neutron")
    ]
    return json.dumps([config, foreign], indent=1, sort_keys=True)


def set_by_hand(lab, value):
    """Set a key of other_config and an option of a port, as an administrator does, and return the
    dump.
    """
    lab.inside(
        1,
        "ovs-vsctl",
        "set",
        "Open_vSwitch",
        ".",
        f"other_config:max-idle={value}",
        "--",
        "set",
        "Interface",
        "vxlan-neutron",
        f"options:tos={value % 64}",
    )
    return dump(lab)


def test_a_campaign_leaves_it(lab, tmp_path):
    before = set_by_hand(lab, 30001)
    variables = {"campaign": CAMPAIGN, "results_dir": str(tmp_path), "evidence_seconds": 0}
    with (tmp_path / "output").open("w") as stream:
        campaign = subprocess.Popen(
            [
                "ansible-playbook",
                "playbooks/measure.yml",
                "-e",
                json.dumps({f"offload_lab_{key}": value for key, value in variables.items()}),
            ],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment(OFFLOAD_LAB_NAME=lab.name, OFFLOAD_LAB_NODES="2"),
        )
    during, changed = set(), None
    while campaign.poll() is None:
        if changed is None and (tmp_path / "foreign/trials.jsonl").exists():
            assert during == {before}
            changed, during = set_by_hand(lab, 30002), set()
        during.add(dump(lab))
        time.sleep(0.3)  # without a pause the readings take one of two CPUs from the campaign
    assert campaign.returncode == 0, (tmp_path / "output").read_text()[-3000:]
    assert changed is not None and changed != before
    assert during | {dump(lab)} == {changed}


def test_apply_and_restore_leave_it(lab, tmp_path):
    set_by_hand(lab, 30003)
    lab.play("apply", *recommended(tmp_path / "recommended.yml", "veth"))
    by_hand = set_by_hand(lab, 30004)
    lab.play("restore revert")
    assert dump(lab) == by_hand


def test_teardown_leaves_it(lab):
    by_hand = set_by_hand(lab, 30005)
    lab.play("teardown")
    assert dump(lab) == by_hand
    lab.inside(1, "ovs-vsctl", "del-br", "br-ex")
    lab.inside(1, "/usr/share/openvswitch/scripts/ovs-ctl", "stop")
