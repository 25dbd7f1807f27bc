# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``duration: auto`` on a real lab: short cells first, then those that the scatter asks for."""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    read_current_plan,
)
from ansible_collections.offload.lab.plugins.plugin_utils._trials.trials import (
    visit_cells,
)

CAMPAIGN = {
    "name": "auto",
    "paths": ["physical"],
    "factors": ["tso"],
    "workloads": ["tcp_stream", {"name": "streams", "test": "TCP_STREAM", "streams": 4}],
    "duration": "auto",
    "time_budget": 25,
    "confirm": 0,
}


def planned_lengths(plan):
    """Return how long each cell of a plan measures, by its id."""
    lengths = {}
    for visit in plan["visits"]:
        for cell in visit_cells(plan, visit, None, 12865, "node1-node2"):
            lengths[cell["id"]] = cell["workload"]["duration"]
    return lengths


@pytest.mark.nightly  # by day what is spent is decided without a lab, in test_spending.py
def test_a_time_budget_is_spent_as_it_was_decided(lab, tmp_path):
    lab.play("measure", campaign=CAMPAIGN, results_dir=str(tmp_path))
    folder = tmp_path / "auto"
    plan = read_current_plan(str(folder / "plan.json"))
    trials = [json.loads(row) for row in (folder / "trials.jsonl").read_text().splitlines()]
    first = plan["spent"][0]
    assert (first["block"], first["seconds"] in plan["time"]["lengths"]) == (3, True)
    assert not any(trial["error"] for trial in trials)
    lengths = planned_lengths(plan)
    assert {lengths[trial["id"]] for trial in trials if trial["block"] <= 3} == {0.5}
    first_trials = [trial for trial in trials if not trial.get("again")]
    assert all(trial["workload"]["duration"] == lengths[trial["id"]] for trial in first_trials)
    assert {trial["id"] for trial in first_trials} == set(lengths)
    # Four streams begin one after the other on a busy machine: that alone leaves no trial out.
    marks = [mark["guard"] for trial in trials for mark in trial["marks"]]
    assert marks.count("overlap") <= len(trials) / 4
    rows = analyse(plan, trials).tables[0].metrics[0].rows
    assert rows[0].n > 0
