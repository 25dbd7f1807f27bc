# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pair with two ports and a tunnel over each: tenants are dealt to them, nothing loops, both
measure together.
"""

from __future__ import annotations

import json
import time

import pytest

from ansible_collections.offload.lab.tests.system.lab import Lab, changed, left_behind, traces

TENANTS = 3
WANTED = {"tenant_count": TENANTS, "tunnel_per_port": True}


@pytest.fixture(scope="module")
def lab(lab_packages_required):
    before = traces()
    new_lab = Lab("systesttunnels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OFFLOAD_LAB_PORTS", "2")
        new_lab.clear()
        new_lab.up(**WANTED)
        yield new_lab
        new_lab.down()
    assert left_behind(before, new_lab.name) == {}


def sent(lab, what="packets"):
    """Return what each port of node 1 has sent."""
    return [
        int(lab.inside(1, "cat", f"/sys/class/net/{port}/statistics/tx_{what}"))
        for port in ("underlay0", "underlay1")
    ]


def ping(lab, tenant, other, rc=0):
    """Ping from a tenant of node 1 to one of node 2, five times."""
    lab.inside(
        1,
        "ping",
        "-c",
        "5",
        "-i",
        "0.1",
        "-W",
        "1",
        f"192.168.10.{2 * other}",
        netns=f"tenant{tenant}",
        rc=rc,
    )


def added(lab, before):
    return [now - then for now, then in zip(sent(lab), before)]


@pytest.mark.parametrize("tenant", range(1, TENANTS + 1))
def test_a_tenant_is_reached_by_its_tunnel(lab, tenant):
    before = sent(lab)
    ping(lab, tenant, tenant)
    used, unused = added(lab, before)[:: 1 if tenant % 2 else -1]
    assert used >= 5 > unused


def test_tenants_of_one_tunnel_see_each_other_and_no_others(lab):
    ping(lab, 1, 3)
    ping(lab, 1, 2, rc=1)


def test_a_broadcast_does_not_loop(lab):
    for tenant in (1, 2):
        lab.inside(
            1,
            "ping",
            "-b",
            "-c",
            "3",
            "-W",
            "1",
            "192.168.10.255",
            netns=f"tenant{tenant}",
            rc=None,
        )
    before = sent(lab)
    time.sleep(1)
    assert max(added(lab, before)) < 20


@pytest.mark.nightly  # test_lab has a second run, with one tunnel
def test_the_second_run_changes_nothing(lab):
    assert changed(lab.play("lab", **WANTED)) == {"node1": 0, "node2": 0}


@pytest.mark.nightly  # that each tenant has a tunnel of its own is seen above
def test_streams_of_two_tenants_use_both_ports_together(lab, tmp_path):
    load = {"name": "both", "test": "TCP_STREAM", "tenants": 2, "duration": 2}
    campaign = {
        "name": "tunnels",
        "blocks": 1,
        "paths": ["tenant_vxlan"],
        "mtus": [9000],
        "design": "on_off",
        "factors": ["tso"],
        "workloads": [load],
    }
    before = sent(lab, "bytes")
    lab.play("measure", **WANTED, campaign=campaign, results_dir=str(tmp_path))
    trials = [
        json.loads(line) for line in (tmp_path / "tunnels/trials.jsonl").read_text().splitlines()
    ]
    assert [len(trial["streams"]) for trial in trials] == [2] * 2
    assert [trial["error"] for trial in trials] == [None] * 2
    bytes_sent = [now - then for now, then in zip(sent(lab, "bytes"), before)]
    assert min(bytes_sent) > 0.1 * max(bytes_sent), bytes_sent
    carried = sum(
        trial["result"]["throughput_mbps"] * 1e6 / 8 * trial["result"]["window_s"]
        for trial in trials
    )
    assert sum(bytes_sent) > carried


@pytest.mark.nightly  # test_lab has a tunnel that changes and comes back
def test_one_tunnel_again_leaves_nothing_of_the_second(lab):
    lab.play("lab", tenant_count=TENANTS)
    assert changed(lab.play("lab", tenant_count=TENANTS)) == {"node1": 0, "node2": 0}
    assert "vxlan1" not in lab.inside(1, "ip", "link") + lab.inside(1, "ovs-vsctl", "show")
    before = sent(lab)
    ping(lab, 1, 2)
    assert added(lab, before)[0] >= 5
