# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decisions of a campaign as it runs (interim tests, time budget, search, confirmation), and its
remaining steps.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypedDict

from .._analysis import judge, named, spend
from .._analysis.nominate import nominate
from .._campaign import interim, spending
from .._campaign.confirmation import confirmation_of
from .._campaign.loop import VisitStep
from .._campaign.nouns import (
    Confirmation,
    PartSource,
    Plan,
    Profile,
    Search,
    Settings,
    Spending,
    Visit,
)
from .._campaign.plan_file import (
    PART,
    read_confirmation,
    read_interim,
    read_search,
    read_spending,
    with_search,
    write_confirmation,
    write_interim,
    write_search,
    write_spending,
)
from .._paths.path import Pair
from .._report.phrases import set_names
from .._search import decide
from .._trials import steps
from .._trials.nouns import Trial
from .._trials.records import Records, stream_records

PARTS = ["planned", decide.PART, PART]


@dataclass(frozen=True)
class Measuring:
    """How the hosts of a play measure a campaign."""

    pairs: list[Pair]
    lab_mtu: int | None  # the underlay has it now
    together: bool  # all hosts can run a task simultaneously
    store: bool  # trials go into a results store between two visits
    check: bool  # check mode: decide nothing
    memory: str | None = None  # a folder of this run: its tasks share the record that they read


class Standing(TypedDict):
    """The progress of a part."""

    campaign: str
    part: str
    mtu: int
    block: int
    blocks: int  # of the plan, before any decision
    recorded: int  # trials
    planned: int  # trials of the part


class BlockAnswer(TypedDict):
    """The remaining steps of a block."""

    standing: Standing
    steps: list[VisitStep]


class PartAnswer(TypedDict):
    """The remaining blocks of a part."""

    blocks: list[steps.Block] | list[steps.BlockPlace]
    profiles: dict[str, Settings]


class CampaignFolder:
    """The results folder of a campaign, with its decisions so far."""

    def __init__(self, plan: Plan, folder: str, how: Measuring, say: Callable[[str], None]) -> None:
        self.plan = plan
        self.planned_blocks = plan["blocks"]
        self.folder = folder
        self.pairs = how.pairs
        self.how = how
        self.say = say
        self.check = how.check
        self.record = os.path.join(folder, "trials.jsonl")
        self.known = Records(self.record, dry=True, memory=how.memory).known
        if plan.get("looks"):
            self.plan = self._with_interim_tests(plan)
        if plan.get("time"):
            self.plan = self._within_time_budget(plan)

    def _with_interim_tests(self, plan: Plan) -> Plan:
        """Make the interim tests that are due; return the plan without the visits that they drop."""
        with self._alone():
            decisions = read_interim(self.folder)
            while not self.check:
                remaining = self._remaining(interim.with_decisions(plan, decisions))
                test = interim.due(plan, decisions, remaining)
                if test is None:
                    break
                decide_test = (named if named.names_faults(plan) else judge).decide
                decisions.append(decide_test(plan, self._trials(), test, decisions))
                write_interim(self.folder, plan, decisions)
                self.say(f"  {interim.decision_text(decisions[-1])}")
        return interim.with_decisions(plan, decisions)

    def _within_time_budget(self, plan: Plan) -> Plan:
        """Decide on the time budget where that is due; return the plan with the decided blocks."""
        with self._alone():
            decisions = read_spending(self.folder)
            while not self.check:
                decided = self._decided(plan, decisions)
                if not spending.is_due(decisions, self._remaining(decided)):
                    break
                decisions.append(spend.decide(decided, self._trials(), decisions))
                write_spending(self.folder, plan, decisions)
                self.say(f"  {spending.spending_text(decisions[-1])}")
        return self._decided(plan, decisions)

    @staticmethod
    def _decided(plan: Plan, decisions: list[Spending]) -> Plan:
        """Return the plan with the blocks that are decided so far."""
        return spending.with_spending(plan, decisions) if decisions else spending.first_part(plan)

    def _remaining(self, plan: Plan) -> list[Visit]:
        return steps.left_with_again(plan, self.known, self.pairs)

    def _trials(self) -> Iterator[Trial]:
        return stream_records(self.record, [])

    def parts(self, part: str, decided_only: bool) -> list[steps.Part]:
        """Return a part of the campaign as a list: each round of a search is an item.

        With ``decided_only``, make no new decision.
        """
        if part == decide.PART:
            search = read_search(self.folder) if decided_only else self.search()
            return [self._part(round_) for round_ in search["rounds"]] if search else []
        if part == PART:
            confirmation = read_confirmation(self.folder) if decided_only else self.confirmation()
            return [self._part(confirmation)] if confirmation else []
        return [self._part(self.plan)]

    def block_answer(self, part: str, mtu: int, block: int) -> BlockAnswer:
        """Return the progress of a part, and the remaining steps of one of its blocks."""
        parts = self.parts(part, decided_only=True)
        standing: Standing = {
            "campaign": self.plan["name"],
            "part": part,
            "mtu": mtu,
            "block": block,
            "blocks": self.planned_blocks,
            "recorded": len(self.known),
            "planned": sum(map(steps.planned, parts)),
        }
        to_do = itertools.chain.from_iterable(steps.steps_of(each, mtu, block) for each in parts)
        return {"standing": standing, "steps": list(to_do)}

    def part_answer(self, part: str) -> PartAnswer:
        """Return the remaining blocks of a part, and the settings of its profiles."""
        blocks: list[steps.Block] = []
        profiles = {}
        for source in self.parts(part, decided_only=False):
            blocks += steps.blocks_left(source)
            for name, profile in source.profiles.items():
                profiles[name] = profile["settings"]
        return {"blocks": steps.told(blocks), "profiles": profiles}

    def _part(self, source: PartSource) -> steps.Part:
        return steps.Part(
            self.plan,
            source["visits"],
            source["profiles"],
            self.known,
            self.pairs,
            self.how.lab_mtu,
            self.how.together and not self.how.store,
            self.how.store,
        )

    def _complete(self, sources: Iterable[PartSource]) -> bool:
        """Return whether all trials of these parts are recorded."""
        return not any(steps.blocks_left(self._part(source)) for source in sources)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the decisions: all hosts of a play come simultaneously, one decides, the others read."""
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def search(self) -> Search | None:
        """Return the search, None in other designs.

        If its visits are complete, decide on its next round or its end.
        """
        if self.plan["design"] != "search":
            return None
        with self._alone():
            decided = read_search(self.folder) or decide.begin(self.plan)
            if (
                decided["ended"]
                or self.check
                or not self._complete([self.plan, *decided["rounds"]])
            ):
                return decided
            decided = decide.decide(self.plan, decided, self._trials())
            write_search(self.folder, decided)
        self._show_search(decided)
        return decided

    def _show_search(self, decided: Search) -> None:
        standing = decided["standing"] if decided["ended"] else decided["rounds"][-1]["standing"]
        last = decided["rounds"][-1]["profiles"] if decided["rounds"] else {}
        names = self._set_names(last, decided)
        text = "no value"
        if standing["best"]:
            gain, low, high = (f"{standing[name]:.3g}" for name in ("gain", "low", "high"))
            text = (
                f"best so far {names[standing['best']]}, {gain} times {self.plan['control']} "
                f"({low} to {high}), {standing['sure']:.0%} sure"
            )
        after = (
            f"ended: {decided['ended'].replace('_', ' ')}"
            if decided["ended"]
            else (f"round {len(decided['rounds'])}: {'; '.join(names[name] for name in last)}")
        )
        self.say(f"  search: {text}; {after}")

    def _set_names(self, profiles: Mapping[str, Profile], search: Search | None) -> dict[str, str]:
        """Return the name of each profile in the report."""
        return set_names(
            self.plan["factors"],
            {name: profile["levels"] for name, profile in profiles.items()},
            search,
        )

    def confirmation(self) -> Confirmation | None:
        """Return the confirmation; decide it if all visits before it are complete, else return None."""
        if not self.plan.get("confirm"):
            return None
        search = self.search()
        if search is not None and not search["ended"]:
            return None
        with self._alone():
            decided = read_confirmation(self.folder)
            if (
                decided is not None
                or self.check
                or steps.left(self.plan["visits"], self.known, self.pairs)
            ):
                return decided
            plan = with_search(self.plan, search)
            nominees = search["nominees"] if search else nominate(plan, self._trials())
            decided = confirmation_of(plan, nominees)
            write_confirmation(self.folder, decided)
        names_in_report = self._set_names(decided["profiles"], None)
        names = [
            f"{names_in_report[name]} ({profile['role'].replace('_', ' ')})"
            for name, profile in decided["profiles"].items()
        ]
        text = f"{'; '.join(names)}: {len(decided['visits'])} visits in {len(decided['blocks'])} blocks"
        self.say(f"  confirmation: {text if decided['visits'] else 'nothing to confirm'}")
        return decided
