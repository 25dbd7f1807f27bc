# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign of each engine in virtual machines: its servers have no privileges."""

from __future__ import annotations

import json
import shlex
import time

import pytest

from ansible_collections.offload.lab.tests.machines.guests import Guests, left_behind
from ansible_collections.offload.lab.tests.security.seen_servers import (
    PROCESSES,
    WORKLOADS,
    check_servers,
    is_server,
)

pytestmark = pytest.mark.guests
NODES = ("node1", "node2")
PAUSE_S = 10  # an emulated guest needs a second to answer
CAMPAIGN = """\
name: {name}
design: {design}
blocks: 1
paths: [physical, tenant_vxlan]
factors: [gro]
workloads: [{workload}]
duration: 1
"""


@pytest.fixture(scope="module")
def guests(root_required):
    new_guests = Guests("systest-engines")
    try:
        new_guests.play("machines")
        new_guests.play("lab")
        yield new_guests
    finally:
        new_guests.play("machines_absent")
    assert left_behind(new_guests.name) == []


def features(guests):
    return [guests.inside(node, "ethtool -k underlay0") for node in NODES]


@pytest.mark.parametrize("name", WORKLOADS)
def test_servers_of_each_engine_have_no_privileges(guests, tmp_path, name):
    before = features(guests)
    design = "integrity" if name == "payload" else "on_off"
    file = tmp_path / "campaign.yml"
    file.write_text(CAMPAIGN.format(name=name, design=design, workload=WORKLOADS[name]))
    log = tmp_path / "measure.log"
    process = guests.begin("measure", log, campaign_file=str(file), results_dir=str(tmp_path))
    seen_on = {node: [] for node in NODES}
    while process.poll() is None:
        time.sleep(PAUSE_S)
        for node in NODES:
            text = guests.inside(node, f"python3 -I -c {shlex.quote(PROCESSES)}")
            seen_on[node] += filter(is_server, json.loads(text))
    assert process.returncode == 0, log.read_text()[-6000:]
    lines = (tmp_path / f"{name}/trials.jsonl").read_text().splitlines()
    trials = [json.loads(line) for line in lines]
    assert trials and not [trial["error"] for trial in trials if trial["error"]]
    assert features(guests) == before
    for servers in seen_on.values():
        print(name, sorted({(server["name"], server["unit"]) for server in servers}))
        check_servers(servers)
