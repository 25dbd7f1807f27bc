# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a campaign does next: what is left, what is measured again, and a campaign that is killed at
any trial.
"""

from __future__ import annotations

import collections
import json

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.confirmation import (
    confirmation_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.pace import summary
from ansible_collections.offload.lab.plugins.plugin_utils._trials import steps

PAIRS = [{"client": "node1", "server": "node2"}]
NAME = "node1-node2"
LARGEST_EVENT = 200_000  # characters; AWX shows nothing of an event with 700,000


def plan(**campaign):
    campaign_keys = {
        "name": "x",
        "duration": 1,
        "design": "one_at_a_time",
        "factors": ["tso", "gro"],
        "blocks": 4,
        "workloads": ["tcp_stream"],
        **campaign,
    }
    return make_plan(read_campaign(campaign_keys), "2026-01-05T08:00:00Z")


def part_of(campaign_plan, trials_known, pairs=None, source=None, lab_mtu=9000):
    source = source or campaign_plan
    return steps.Part(
        campaign_plan, source["visits"], source["profiles"], trials_known, pairs or PAIRS, lab_mtu
    )


class Campaign:
    """A campaign without nodes: each step is done immediately.

    ``spoils`` says which trials the machine spoils.
    """

    def __init__(self, campaign_plan, spoils=lambda _name: False, pairs=None, trials_known=None):
        self.plan = campaign_plan
        self.spoils = spoils
        self.pairs = pairs or PAIRS
        self.known = dict(trials_known or {})
        self.order = []
        self.confirmation = None

    def run(self, trials=10**9):
        """Do what role measure does, until that number of trials is recorded; return whether all is
        done."""
        try:
            self._part(self.plan, trials)
            if self.plan["confirm"]:
                self.confirmation = confirmation_of(
                    self.plan,
                    [
                        {
                            "role": "chosen",
                            "name": "tso=on,gro=on",
                            "levels": {"tso": "on", "gro": "on"},
                        }
                    ],
                )
                self._part(self.confirmation, trials)
        except StopIteration:
            return False
        return True

    def _part(self, source, trials):
        part = part_of(self.plan, self.known, self.pairs, source)
        for block in steps.blocks_left(part):
            for step in block["steps"]:
                self._do(part, step, trials)

    def _do(self, part, step, trials):
        """Do a step; as module visit does, measure a visit's spoilt trials again when it is made."""
        made_up = zip(part.visits, steps.make_up_visits(part.visits))
        [(visit, make_up)] = [
            (first, again)
            for first, again in made_up
            if all(first[key] == step[key] for key in ("mtu", "block", "visit"))
        ]
        assert visit["profile"] == step["profile"]
        for pair in map(steps.name_of, step["pairs"] if step["do"] == "measure" else ()):
            self._measure(pair, [cell["id"] for cell in visit["cells"] if own(cell, pair)], trials)
            due = steps.due_again(part.plan, part.visits, self.known, pair)
            again = [cell["id"] for cell in make_up["cells"] if own(cell, pair)]
            self._measure(pair, [name for name in again if name in due], trials)

    def _measure(self, pair, names, trials):
        for key in ((pair, name) for name in names if (pair, name) not in self.known):
            if len(self.known) >= trials:
                raise StopIteration
            self.known[key] = self.spoils(key[1])
            self.order.append(key)


def own(cell, pair):
    """Return whether a cell of a plan is of this pair."""
    return cell.get("pair") in (None, pair)


def test_every_visit_is_applied_and_measured_in_the_order_of_the_plan():
    campaign_plan = plan()
    blocks = steps.blocks_left(part_of(campaign_plan, {}))
    assert [block["block"] for block in blocks] == [1, 2, 3, 4]
    todo = [step for block in blocks for step in block["steps"]]
    assert [(step["do"], step["block"], step["visit"], step["profile"]) for step in todo] == [
        (do, visit["block"], visit["visit"], visit["profile"])
        for visit in campaign_plan["visits"]
        for do in ("apply", "measure")
    ]


def test_a_hundred_thousand_trials_do_not_flood_the_events():
    campaign_plan = plan(
        blocks=1000,
        paths=["physical", "tenant_vxlan"],
        mtus=[1500, 9000],
        workloads=["tcp_stream", "udp_stream", "tcp_rr", "udp_rr", "tcp_crr", "tcp_maerts"],
        confirm=0,
    )
    assert sum(len(visit["cells"]) for visit in campaign_plan["visits"]) == 96_000
    blocks = steps.blocks_left(part_of(campaign_plan, {}))
    for step in (steps.told(blocks), steps.told(blocks[:90]), summary(campaign_plan, "/results/x")):
        assert len(json.dumps(step)) < LARGEST_EVENT
    assert [
        {**step, "steps": steps.steps_of(part_of(campaign_plan, {}), step["mtu"], step["block"])}
        for step in steps.told(blocks)[:1]
    ] == blocks[:1]


def test_the_mtu_is_set_where_it_changes_and_at_the_start():
    campaign_plan = plan(mtus=[9000, 1500])
    todo = [
        step for block in steps.blocks_left(part_of(campaign_plan, {})) for step in block["steps"]
    ]
    assert [
        (step["mtu"], step["block"], step["visit"]) for step in todo if step["do"] == "settings"
    ] == [(mtu, 1, 1) for mtu in dict.fromkeys(visit["mtu"] for visit in campaign_plan["visits"])]
    set_at = {
        mtu: [
            step["visit"]
            for block in steps.blocks_left(part_of(plan(), {}, lab_mtu=mtu))
            for step in block["steps"]
            if step["do"] == "settings"
        ]
        for mtu in (9000, 1500)
    }
    assert set_at == {9000: [], 1500: [1]}


def test_what_ethtool_does_not_set_is_a_step_of_its_own():
    todo = [
        step
        for block in steps.blocks_left(part_of(plan(factors=["tunnel_csum"]), {}))
        for step in block["steps"]
    ]
    assert [step["do"] for step in todo][:6] == ["settings", "apply", "measure"] * 2


def test_the_pairs_of_each_round_measure_at_the_same_time():
    pairs = [
        {"client": "a", "server": "b"},
        {"client": "c", "server": "d"},
        {"client": "a", "server": "d"},
    ]
    campaign_plan = plan(pairs=pairs)
    first = steps.blocks_left(part_of(campaign_plan, {}, pairs))[0]["steps"][:3]
    assert [(step["do"], step["pairs"]) for step in first] == [
        ("apply", []),
        ("measure", pairs[:2]),
        ("measure", pairs[2:]),
    ]
    trials_known = {("a-b", cell["id"]): False for cell in campaign_plan["visits"][0]["cells"]}
    assert (
        steps.blocks_left(part_of(campaign_plan, trials_known, pairs))[0]["steps"][1]["pairs"]
        == pairs[1:2]
    )


def test_hosts_that_can_wait_for_each_other_make_a_visit_in_one_step():
    pairs = [{"client": "a", "server": "b"}, {"client": "a", "server": "d"}]
    made = plan(pairs=pairs)
    part = part_of(made, {}, pairs)._replace(together=True)
    assert [
        (one["do"], one["tasks"], one["pairs"]) for one in steps.blocks_left(part)[0]["steps"][:3]
    ] == [
        ("visit", "visit", pairs[:1]),
        ("measure", "measure", pairs[1:]),
        ("visit", "visit", pairs[:1]),
    ]


def test_with_a_store_the_tasks_of_a_visit_are_others():
    part = part_of(plan(), {}, lab_mtu=None)._replace(store=True)
    first = steps.blocks_left(part)[0]["steps"][:3]
    assert [one["tasks"] for one in first] == ["settings", "store_apply", "store_measure"]


def test_a_step_says_which_checksum_the_tunnel_has_at_each_end():
    part = part_of(plan(factors=["tunnel_csum"], blocks=1), {})
    settings = [one for one in steps.blocks_left(part)[0]["steps"] if one["do"] == "settings"]
    assert {(one["profile"], *sorted(one["csum"].items())) for one in settings} == {
        ("all_off", ("client", False), ("server", False)),
        ("tunnel_csum=on", ("client", True), ("server", True)),
    }


def test_what_the_machine_spoilt_is_measured_again_at_its_visit():
    campaign_plan = plan(confirm=0)
    first = campaign_plan["visits"][1]["cells"][0]["id"]
    second = campaign_plan["visits"][5]["cells"][1]["id"]
    campaign = Campaign(campaign_plan, spoils={first, second}.__contains__)
    assert campaign.run()
    assert [name for _pair, name in campaign.order if name.endswith("-again")] == [
        f"{first}-again",
        f"{second}-again",
    ]
    ids = [name for _pair, name in campaign.order]
    last_of_visit = campaign_plan["visits"][1]["cells"][-1]["id"]
    assert ids.index(f"{first}-again") == ids.index(last_of_visit) + 1
    assert len(set(campaign.order)) == len(campaign.order)


def test_there_is_one_pass_and_the_plan_bounds_it():
    campaign_plan = plan(confirm=0)
    planned = sum(len(visit["cells"]) for visit in campaign_plan["visits"])
    campaign = Campaign(campaign_plan, spoils=lambda _name: True)
    assert campaign.run()
    again = [name for _pair, name in campaign.order if name.endswith("-again")]
    assert len(again) == planned // 4 and len(campaign.order) == planned + len(again)
    assert steps.blocks_left(part_of(campaign_plan, campaign.known)) == []


def test_a_plan_without_a_budget_measures_nothing_again():
    campaign_plan = plan(confirm=0)
    del campaign_plan["remeasure"]
    campaign = Campaign(campaign_plan, spoils=lambda _name: True)
    assert campaign.run() and not any(name.endswith("-again") for _pair, name in campaign.order)


def test_no_profile_is_favoured():
    """The machine spoils trials without looking at the profile: so are those that are measured
    again.
    """
    counts = collections.Counter()
    for seed in range(40):
        campaign_plan = plan(seed=seed, confirm=0, blocks=6)
        names = {
            cell["id"]: visit["profile"]
            for visit in campaign_plan["visits"]
            for cell in visit["cells"]
        }
        campaign = Campaign(campaign_plan, spoils=lambda name: not name.endswith("-again"))
        campaign.run()
        counts.update(names[name[:-6]] for _pair, name in campaign.order if name.endswith("-again"))
    share = counts["all_off"] / sum(counts.values())
    assert share == pytest.approx(
        0.5, abs=0.06
    )  # the control has two of the four visits of a block
    assert counts["tso=on"] / counts["gro=on"] == pytest.approx(1, abs=0.25)


def spoils_some(name):
    return sum(name.encode()) % 7 == 0


@pytest.mark.parametrize(
    "campaign", [{}, {"mtus": [9000, 1500], "blocks": 2}], ids=["one_mtu", "two_mtus"]
)
def test_a_campaign_that_is_killed_at_any_trial_goes_on_with_the_same_visits(campaign):
    campaign_plan = plan(confirm=2, **campaign)
    whole_campaign = Campaign(campaign_plan, spoils_some)
    assert whole_campaign.run() and any("-again" in name for _pair, name in whole_campaign.order)
    assert any(
        visit["block"] > campaign_plan["blocks"] for visit in whole_campaign.confirmation["visits"]
    )
    for stop in range(len(whole_campaign.order)):
        killed = Campaign(campaign_plan, spoils_some)
        assert not killed.run(stop) and len(killed.order) == stop
        resumed = Campaign(campaign_plan, spoils_some, trials_known=killed.known)
        assert resumed.run()
        assert killed.order + resumed.order == whole_campaign.order


def test_two_pairs_have_a_budget_each():
    pairs = [{"client": "a", "server": "b"}, {"client": "c", "server": "d"}]
    campaign_plan = plan(pairs=pairs, confirm=0)
    campaign = Campaign(campaign_plan, lambda name: True, pairs)
    assert campaign.run()
    again = collections.Counter(pair for pair, name in campaign.order if name.endswith("-again"))
    assert again["a-b"] == again["c-d"] > 0
