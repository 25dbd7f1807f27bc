# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one pass over the trials: counts, softirq by CPU, evidence kept once a visit."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._trials import digest as trials
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic


def digest(records, control="all_off"):
    digested = trials.Digest(control)
    for trial in records:
        digested.see(trial)
    return digested


@pytest.fixture
def records():
    return list(
        synthetic.make_trials(synthetic.make_plan(1, blocks=3, paths=("physical",)), cpus=4)
    )


def test_counts(records):
    records[0] = dict(records[0], error="no route", result={}, cpu=None)
    records[1] = dict(records[1], marks=[{"guard": "mss", "reason": "first", "excludes": True}])
    records[2] = dict(records[2], marks=[{"guard": "mss", "reason": "second", "excludes": False}])
    digested = digest(records)
    assert (digested.trials, digested.failed, digested.left_out) == (12, 1, 1)
    assert digested.guards == {"mss": {"trials": 2, "left_out": 1, "reason": "first"}}
    assert digested.errors == {"no route": 1} and [trial["id"] for trial in digested.listed] == [
        records[0]["id"],
        records[1]["id"],
    ]
    assert sum(map(len, digested.points.values())) == 12
    assert sum(point.used for points in digested.points.values() for point in points) == 10


def test_softirq_of_each_cpu(records):
    for trial in records:
        for end in trial["cpu"]["ends"].values():
            end["cpus"] = {str(cpu): {"softirq": 0.25 * cpu, "idle": 1.0} for cpu in range(4)}
    digested = digest(records)
    assert digested.softirq.get((("physical", 9000, "tcp_stream"), "all_off", "client")) == {
        0: 0,
        1: 25,
        2: 50,
        3: 75,
    }
    assert digested.softirq.get("unknown") is None


@pytest.mark.parametrize(("cpus", "drawn"), [(1, False), (2, True)])
def test_one_cpu_makes_no_heat_map(cpus, drawn):
    plan = synthetic.make_plan(1, blocks=1)
    assert bool(digest(list(synthetic.make_trials(plan, cpus=cpus))).softirq.sums) is drawn


def test_evidence_is_kept_once_a_visit_and_not_without_end():
    plan = synthetic.make_plan(1, blocks=trials.VISITS + 2, paths=("physical",))
    records = [
        dict(trial, evidence={"packets": {"client": {}}})
        for trial in synthetic.make_trials(plan, cpu=False)
    ]
    kept = digest(records).evidence
    assert len(kept) == 2 * trials.VISITS
    assert len({(trial["block"], trial["visit"]) for trial in kept}) == len(kept)
