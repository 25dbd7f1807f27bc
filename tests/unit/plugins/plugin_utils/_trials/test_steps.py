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
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import summary
from ansible_collections.offload.lab.plugins.plugin_utils._trials import steps

PAIRS = [{"client": "node1", "server": "node2"}]
NAME = "node1-node2"
LARGEST_EVENT = 200_000  # characters; AWX shows nothing of an event with 700,000


def plan(**campaign):
    asked = {
        "name": "x",
        "duration": 1,
        "design": "one_at_a_time",
        "factors": ["tso", "gro"],
        "blocks": 4,
        "workloads": ["tcp_stream"],
        **campaign,
    }
    return make_plan(read_campaign(asked), "2026-01-05T08:00:00Z")


def part_of(made, known, pairs=None, source=None, lab_mtu=9000):
    source = source or made
    return steps.Part(made, source["visits"], source["profiles"], known, pairs or PAIRS, lab_mtu)


class Campaign:
    """A campaign without nodes: each step is done immediately.

    ``spoils`` says which trials the machine spoils.
    """

    def __init__(self, made, spoils=lambda _name: False, pairs=None, known=None):
        self.plan = made
        self.spoils = spoils
        self.pairs = pairs or PAIRS
        self.known = dict(known or {})
        self.order = []
        self.confirmation = None

    def run(self, trials=10**9):
        """Do what role measure does, until so many trials are recorded; return whether all is done."""
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
            (one, again)
            for one, again in made_up
            if all(one[key] == step[key] for key in ("mtu", "block", "visit"))
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
    made = plan()
    blocks = steps.blocks_left(part_of(made, {}))
    assert [block["block"] for block in blocks] == [1, 2, 3, 4]
    todo = [step for block in blocks for step in block["steps"]]
    assert [(step["do"], step["block"], step["visit"], step["profile"]) for step in todo] == [
        (do, visit["block"], visit["visit"], visit["profile"])
        for visit in made["visits"]
        for do in ("apply", "measure")
    ]


def test_a_hundred_thousand_trials_do_not_flood_the_events():
    made = plan(
        blocks=1000,
        paths=["physical", "tenant_vxlan"],
        mtus=[1500, 9000],
        workloads=["tcp_stream", "udp_stream", "tcp_rr", "udp_rr", "tcp_crr", "tcp_maerts"],
        confirm=0,
    )
    assert sum(len(visit["cells"]) for visit in made["visits"]) == 96_000
    blocks = steps.blocks_left(part_of(made, {}))
    for told in (steps.told(blocks), steps.told(blocks[:90]), summary(made, "/results/x")):
        assert len(json.dumps(told)) < LARGEST_EVENT
    assert [
        {**place, "steps": steps.steps_of(part_of(made, {}), place["mtu"], place["block"])}
        for place in steps.told(blocks)[:1]
    ] == blocks[:1]


def test_the_mtu_is_set_where_it_changes_and_at_the_start():
    made = plan(mtus=[9000, 1500])
    todo = [step for block in steps.blocks_left(part_of(made, {})) for step in block["steps"]]
    assert [
        (step["mtu"], step["block"], step["visit"]) for step in todo if step["do"] == "settings"
    ] == [(mtu, 1, 1) for mtu in dict.fromkeys(visit["mtu"] for visit in made["visits"])]
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
    made = plan(pairs=pairs)
    first = steps.blocks_left(part_of(made, {}, pairs))[0]["steps"][:3]
    assert [(step["do"], step["pairs"]) for step in first] == [
        ("apply", []),
        ("measure", pairs[:2]),
        ("measure", pairs[2:]),
    ]
    known = {("a-b", cell["id"]): False for cell in made["visits"][0]["cells"]}
    assert steps.blocks_left(part_of(made, known, pairs))[0]["steps"][1]["pairs"] == pairs[1:2]


def test_what_the_machine_spoilt_is_measured_again_at_its_visit():
    made = plan(confirm=0)
    first = made["visits"][1]["cells"][0]["id"]
    second = made["visits"][5]["cells"][1]["id"]
    campaign = Campaign(made, spoils={first, second}.__contains__)
    assert campaign.run()
    assert [name for _pair, name in campaign.order if name.endswith("-again")] == [
        f"{first}-again",
        f"{second}-again",
    ]
    ids = [name for _pair, name in campaign.order]
    last_of_visit = made["visits"][1]["cells"][-1]["id"]
    assert ids.index(f"{first}-again") == ids.index(last_of_visit) + 1
    assert len(set(campaign.order)) == len(campaign.order)


def test_there_is_one_pass_and_the_plan_bounds_it():
    made = plan(confirm=0)
    planned = sum(len(visit["cells"]) for visit in made["visits"])
    campaign = Campaign(made, spoils=lambda _name: True)
    assert campaign.run()
    again = [name for _pair, name in campaign.order if name.endswith("-again")]
    assert len(again) == planned // 4 and len(campaign.order) == planned + len(again)
    assert steps.blocks_left(part_of(made, campaign.known)) == []


def test_a_plan_without_a_budget_measures_nothing_again():
    made = plan(confirm=0)
    del made["remeasure"]
    campaign = Campaign(made, spoils=lambda _name: True)
    assert campaign.run() and not any(name.endswith("-again") for _pair, name in campaign.order)


def test_no_profile_is_favoured():
    """The machine spoils trials without looking at the profile: so are those that are measured
    again.
    """
    counts = collections.Counter()
    for seed in range(40):
        made = plan(seed=seed, confirm=0, blocks=6)
        names = {
            cell["id"]: visit["profile"] for visit in made["visits"] for cell in visit["cells"]
        }
        campaign = Campaign(made, spoils=lambda name: not name.endswith("-again"))
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
    made = plan(confirm=2, **campaign)
    whole = Campaign(made, spoils_some)
    assert whole.run() and any("-again" in name for _pair, name in whole.order)
    assert any(visit["block"] > made["blocks"] for visit in whole.confirmation["visits"])
    for stop in range(len(whole.order)):
        killed = Campaign(made, spoils_some)
        assert not killed.run(stop) and len(killed.order) == stop
        resumed = Campaign(made, spoils_some, known=killed.known)
        assert resumed.run()
        assert killed.order + resumed.order == whole.order


def test_two_pairs_have_a_budget_each():
    pairs = [{"client": "a", "server": "b"}, {"client": "c", "server": "d"}]
    made = plan(pairs=pairs, confirm=0)
    campaign = Campaign(made, lambda name: True, pairs)
    assert campaign.run()
    again = collections.Counter(pair for pair, name in campaign.order if name.endswith("-again"))
    assert again["a-b"] == again["c-d"] > 0
