# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role measure as jobs of AWX run it, on nodes that only pretend: each job's folder is thrown away
when it ends.
"""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta

import pytest

from ansible_collections.offload.lab.tests.support import run
from ansible_collections.offload.lab.tests.unit.roles.test_measure_role import Pretended

SHORT = 0.001  # minutes; 0 stands for no limit
CAMPAIGN = {
    "name": "x",
    "duration": 1,
    "paths": ["physical"],
    "design": "on_off",
    "factors": ["tso"],
    "workloads": ["tcp_stream"],
    "blocks": 1,
    "confirm": 0,
}


@pytest.mark.slow
@pytest.mark.nightly  # by day target results_store, and a campaign on the oldest ansible-core
@pytest.mark.parametrize(("blocks", "limits"), [(1, [SHORT, 0]), (2, [SHORT] * 4)])
def test_a_campaign_in_some_jobs_has_the_record_of_one(tmp_path, blocks, limits):
    campaign = Pretended(tmp_path)
    campaign.results("job")
    store = tmp_path / "store"
    variables = {
        "offload_lab_campaign": {**CAMPAIGN, "blocks": blocks},
        "offload_lab_results_host": "node2",
        "offload_lab_results_store": str(store),
    }
    for job, minutes in enumerate(limits, 1):
        variables["offload_lab_max_minutes"] = minutes
        run([*campaign.argv, "-e", json.dumps(variables)], cwd=tmp_path, **campaign.variables)
        shutil.rmtree(tmp_path / "job")
        plan = json.loads((store / "x/plan.json").read_text())
        planned = [cell["id"] for visit in plan["visits"] for cell in visit["cells"]]
        trials = map(json.loads, (store / "x/trials.jsonl").read_text().splitlines())
        recorded = [trial["id"] for trial in trials if not trial.get("again")]
        assert recorded == planned[: len(recorded)]
        assert job <= len(recorded) < len(planned) or job == len(limits)
        assert not list(store.glob("x/*.lock"))
    assert recorded == planned


@pytest.mark.slow
def test_outside_the_hours_nothing_is_begun(tmp_path):
    campaign = Pretended(tmp_path)
    campaign.results("job")
    later = [datetime.now() + timedelta(hours=hours) for hours in (2, 3)]
    variables = {
        "offload_lab_campaign": CAMPAIGN,
        "offload_lab_only_between": "-".join(f"{time:%H:%M}" for time in later),
    }
    argv = [*campaign.argv, "-e", json.dumps(variables)]
    output = run(argv, rc=2, cwd=tmp_path, **campaign.variables)
    assert f"may be measured from {later[0]:%H:%M} to {later[1]:%H:%M} only" in output
    assert not (tmp_path / "job").exists()
