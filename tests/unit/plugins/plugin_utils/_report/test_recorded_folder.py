# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A results folder that an earlier version began: it is read, goes on where it stopped, and is
reported.
"""

from __future__ import annotations

import json
import shutil

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.chosen import load_campaign
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    differences,
    read_confirmation,
    read_plan,
    with_defaults_of_plan,
)
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.plugins.plugin_utils._trials.records import Records
from ansible_collections.offload.lab.plugins.plugin_utils._trials.steps import (
    Part,
    blocks_left,
    steps_of,
)
from ansible_collections.offload.lab.tests.support import CHECKOUT

RECORDED = (
    CHECKOUT / "tests/unit/recorded/demo"
)  # of 0.1.0: two blocks of six, and a trial of the third
PAIRS = [{"client": "node1", "server": "node2"}]


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(RECORDED, tmp_path / "demo")


def test_it_is_still_the_plan_of_its_campaign(folder):
    """What plans have since is not missed: neither is the folder refused, nor does the campaign
    change.
    """
    demo = load_campaign(str(CHECKOUT / "playbooks/campaigns/demo.yml"))
    campaign = read_campaign({**demo, "blocks": 6})  # as the demo had them
    old = read_plan(str(folder / "plan.json"))
    assert not {"confirm", "remeasure", "control_visits"} & set(old)
    assert differences(old, make_plan(with_defaults_of_plan(campaign, old), "now")) == []


def test_it_goes_on_where_it_stopped(folder):
    plan, records_known = (
        read_plan(str(folder / "plan.json")),
        Records(str(folder / "trials.jsonl")).known,
    )
    assert len(records_known) == 25
    part = Part(plan, plan["visits"], plan["profiles"], records_known, PAIRS, 9000)
    blocks = blocks_left(part)
    assert [(block["block"], len(block["steps"])) for block in blocks] == [
        (3, 6),
        (4, 6),
        (5, 6),
        (6, 6),
    ]
    assert [step["do"] for step in blocks[0]["steps"]] == ["apply", "measure"] * 3
    assert steps_of(part, 9000, 1) == [] and read_confirmation(str(folder)) is None


def test_it_is_reported(folder):
    new_report = make_report(str(folder))
    analysis = json.loads((folder / "analysis.json").read_text())
    assert (
        new_report["changed"]
        and analysis["trials"]["recorded"] == 25
        and analysis["trials"]["missing"] == 47
    )
    assert "demo" in (folder / "report.md").read_text()
