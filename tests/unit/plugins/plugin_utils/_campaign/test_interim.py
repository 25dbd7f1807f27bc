# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign that ends when it is answered: looks are functions of the record, and what is settled
leaves the plan.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.judge import decide
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import design, interim
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    write_interim,
    write_plan,
)
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.plugins.plugin_utils._trials import steps
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic

PAIRS = [{"client": "node1", "server": "node2"}]


def plan(**changed):
    campaign = {
        "name": "x",
        "design": "one_at_a_time",
        "factors": list(synthetic.FEATURES[:3]),
        "paths": ["physical"],
        "blocks": 12,
        "until": "answered",
        "duration": 1,
        "confirm": 0,
        "workloads": [{**synthetic.WORKLOADS["tcp_stream"], "name": "tcp_stream"}],
        **changed,
    }
    return design.make_plan(read_campaign(campaign, "test"), "2026-01-05T08:00:00Z")


def trials(campaign_plan, **ratios):
    truth = synthetic.Truth(
        {synthetic.FEATURES[int(name[1:])]: ratio for name, ratio in ratios.items()}, noise=0.02
    )
    return list(synthetic.make_trials(campaign_plan, truth))


def play(campaign_plan, record, before=()):
    """Return the looks of a campaign whose trials would be ``record``, going on after those
    ``before``.
    """
    decided_looks = list(before)
    for block in range(1, campaign_plan["blocks"] + 2):
        remaining = [
            visit
            for visit in interim.with_decisions(campaign_plan, decided_looks)["visits"]
            if visit["block"] >= block
        ]
        while (look := interim.due(campaign_plan, decided_looks, remaining)) is not None:
            trials_before = [trial for trial in record if trial["block"] < block]
            decided_looks.append(
                json.loads(json.dumps(decide(campaign_plan, trials_before, look, decided_looks)))
            )
            remaining = [
                visit
                for visit in interim.with_decisions(campaign_plan, decided_looks)["visits"]
                if visit["block"] >= block
            ]
    return decided_looks


def test_what_is_shown_everywhere_leaves_and_the_rest_goes_on():
    campaign_plan = plan()
    decided_looks = play(campaign_plan, trials(campaign_plan, f1=1.6, f2=1.02))
    assert (
        f"{synthetic.FEATURES[1]}=on" in decided_looks[0]["settled"]
        and not decided_looks[0]["answered"]
    )
    visits_left = interim.with_decisions(campaign_plan, decided_looks)["visits"]
    after = [
        visit["profile"] for visit in visits_left if visit["block"] > decided_looks[0]["block"]
    ]
    assert after and f"{synthetic.FEATURES[1]}=on" not in after and after.count("all_off") >= 2


def test_a_campaign_ends_when_all_is_answered_and_its_report_claims_it(tmp_path):
    campaign_plan = plan()
    record = trials(campaign_plan, f0=1.5, f1=1.6, f2=1.4)
    decided_looks = play(campaign_plan, record)
    assert decided_looks[-1]["answered"] and len(decided_looks) == 1
    kept = {
        visit["block"] for visit in interim.with_decisions(campaign_plan, decided_looks)["visits"]
    }
    assert max(kept) == decided_looks[0]["block"]
    synthetic.write(
        str(tmp_path), campaign_plan, [trial for trial in record if trial["block"] in kept]
    )
    write_plan(str(tmp_path / "plan.json"), campaign_plan)
    write_interim(str(tmp_path), campaign_plan, decided_looks)
    report_texts = make_report(str(tmp_path))
    assert (
        report_texts["states"].get("better", 0) >= 3 and "not measured" not in report_texts["table"]
    )
    assert "1 interim test" in (tmp_path / "report.md").read_text()


def test_resumed_after_any_interim_test_it_decides_the_same():
    campaign_plan = plan(blocks=20)
    record = trials(campaign_plan, f1=1.12, f2=1.5)
    decided_looks = play(campaign_plan, record)
    assert len(decided_looks) > 1
    for number in range(len(decided_looks)):
        assert play(campaign_plan, record, decided_looks[:number]) == decided_looks


def test_no_interim_test_while_something_is_left_of_its_blocks():
    campaign_plan = plan()
    first = campaign_plan["looks"][0]["block"]
    early = [visit for visit in campaign_plan["visits"] if visit["block"] >= first]
    late = [visit for visit in campaign_plan["visits"] if visit["block"] > first]
    assert (
        interim.due(campaign_plan, [], early) is None
        and interim.due(campaign_plan, [], late) == campaign_plan["looks"][0]
    )
    spoilt = {
        ("node1-node2", cell["id"]): False
        for visit in campaign_plan["visits"]
        if visit["block"] <= first
        for cell in visit["cells"]
    }
    spoilt[next(iter(spoilt))] = True  # is measured again first
    assert (
        interim.due(campaign_plan, [], steps.left_with_again(campaign_plan, spoilt, PAIRS)) is None
    )


def test_all_mtus_are_visited_before_an_interim_test():
    campaign_plan = plan(mtus=[1500, 9000])
    ends = [0, *(look["block"] for look in campaign_plan["looks"]), 12]
    stage = [
        next(number for number, end in enumerate(ends) if visit["block"] <= end)
        for visit in campaign_plan["visits"]
    ]
    assert stage == sorted(stage) and {visit["mtu"] for visit in campaign_plan["visits"][:60]} == {
        1500,
        9000,
    }


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"design": "full_factorial"}, "cannot end when it is answered"),
        ({"blocks": 8}, "leave no room for an interim test"),
    ],
)
def test_what_cannot_have_interim_tests_is_refused(changed, what):
    with pytest.raises(InputError, match=what):
        plan(**changed)


def test_without_until_a_plan_has_no_interim_tests():
    assert "looks" not in plan(until=None)
