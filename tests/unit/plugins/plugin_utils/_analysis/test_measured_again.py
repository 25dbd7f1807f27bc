# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.tests.instruments.simulation.synthetic import make_plan


def trial(plan, visit, cell, **more):
    return {
        "id": cell["id"],
        **{key: visit[key] for key in ("block", "visit", "mtu", "profile", "repeat")},
        "path": cell["path"],
        "pair": "node1-node2",
        "result": {"throughput_mbps": 9000.0 + visit["visit"]},
        "workload": next(work for work in plan["workloads"] if work["name"] == cell["workload"]),
        "cpu": None,
        "marks": [],
        "error": None,
        **more,
    }


def test_what_was_measured_again_takes_the_place_of_what_the_machine_spoilt():
    plan = make_plan(1, blocks=9, paths=["physical"], workloads=["tcp_stream"])
    [*good, last] = [
        trial(plan, visit, cell) for visit in plan["visits"] for cell in visit["cells"]
    ]
    spoilt = dict(
        last, marks=[{"guard": "steal", "reason": "the hypervisor took 9 %", "excludes": True}]
    )
    again = dict(last, id=last["id"] + "-again", again=last["id"], visit=last["visit"] + 2)
    counts = analyse(plan, [*good, spoilt, again]).trials
    assert [
        getattr(counts, key) for key in ("recorded", "used", "excluded", "twice", "missing")
    ] == [
        19,
        18,
        1,
        0,
        0,
    ]
    assert analyse(plan, [*good[1:], spoilt, again]).trials.missing == 1
