# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role measure as jobs of AWX run it, on nodes that only pretend: each job's folder is thrown away when it ends."""
from __future__ import annotations

import json
import shutil

import pytest

from ansible_collections.offload.lab.tests.support import run
from ansible_collections.offload.lab.tests.unit.roles.test_measure_role import Pretended

VISITS = 4
CAMPAIGN = {"name": "x", "duration": 1, "paths": ["physical"], "design": "one_at_a_time", "factors": ["tso", "gro"],
            "workloads": ["tcp_stream"], "blocks": 1, "confirm": 0}


@pytest.mark.slow
def test_a_campaign_in_four_jobs_has_the_record_of_one(tmp_path):
    campaign = Pretended(tmp_path)
    campaign.results("job")
    store = tmp_path / "store"
    variables = {"offload_lab_campaign": CAMPAIGN, "offload_lab_results_host": "node2",
                 "offload_lab_results_store": str(store), "offload_lab_max_minutes": 0.001}
    for job in range(1, VISITS + 1):
        run([*campaign.argv, "-e", json.dumps(variables)], cwd=tmp_path, **campaign.variables)
        shutil.rmtree(tmp_path / "job")
        plan = json.loads((store / "x/plan.json").read_text())
        planned = [cell["id"] for visit in plan["visits"] for cell in visit["cells"]]
        recorded = [json.loads(line)["id"] for line in (store / "x/trials.jsonl").read_text().splitlines()]
        assert recorded == planned[:len(recorded)]
        assert job <= len(recorded) < len(planned) or job == VISITS
        assert not list(store.glob("x/*.lock"))
    assert recorded == planned
