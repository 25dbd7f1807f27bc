# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a campaign decides as it runs, and what is left of it: interim tests, time budget, search and
confirmation.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._analysis import judge, named, spend
from .._analysis.nominate import nominate
from .._campaign import looks, spending
from .._campaign.confirmation import PART, confirmation_of, with_search
from .._campaign.nouns import Confirmation, PartSource, Plan, Profile, Search, Spending
from .._campaign.plan_file import (
    read_confirmation,
    read_looks,
    read_search,
    read_spending,
    write_confirmation,
    write_looks,
    write_search,
    write_spending,
)
from .._paths.path import Pair
from .._report.phrases import set_names
from .._search import decide
from .._trials import steps
from .._trials.records import Records, stream_records

PARTS = ["planned", decide.PART, PART]


@dataclass(frozen=True)
class Measuring:
    """How the hosts of a play measure a campaign."""

    pairs: list[Pair]
    lab_mtu: int | None  # that the underlay has
    together: bool  # all hosts can run a task at the same time
    store: bool  # something is done between two visits
    check: bool  # decide nothing
    memory: str | None = None  # a folder of this run, for what its tasks know of the record


class CampaignFolder:
    """A results folder, and what is decided in it as the campaign goes on."""

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
            self.plan = self.looked(plan)
        if plan.get("time"):
            self.plan = self.timed(plan)

    def looked(self, plan: Plan) -> Plan:
        """Return the plan without what looks have dropped; a look that is due is decided and kept
        now.
        """
        with self._alone():
            made = read_looks(self.folder)
            while not self.check:
                visits = steps.left_with_again(looks.with_looks(plan, made), self.known, self.pairs)
                look = looks.due(plan, made, visits)
                if look is None:
                    break
                decided = (named if named.names_faults(plan) else judge).decide
                made.append(decided(plan, stream_records(self.record, []), look, made))
                write_looks(self.folder, plan, made)
                self.say(f"  {looks.look_text(made[-1])}")
        return looks.with_looks(plan, made)

    def timed(self, plan: Plan) -> Plan:
        """Return the plan with the blocks that its time budget was found to allow; what is due is
        decided and kept now.
        """
        with self._alone():
            made = read_spending(self.folder)
            while not self.check:
                now = self._decided(plan, made)
                visits = steps.left_with_again(now, self.known, self.pairs)
                if not spending.is_due(made, visits):
                    break
                made.append(spend.decide(now, stream_records(self.record, []), made))
                write_spending(self.folder, plan, made)
                self.say(f"  {spending.spending_text(made[-1])}")
        return self._decided(plan, made)

    @staticmethod
    def _decided(plan: Plan, made: list[Spending]) -> Plan:
        """Return the plan as far as it is decided."""
        return spending.with_spending(plan, made) if made else spending.first_part(plan)

    def parts(self, part: str, decided_only: bool) -> list[steps.Part]:
        """Return the parts of a campaign that are asked for; each round of a search is one."""
        if part == decide.PART:
            search = read_search(self.folder) if decided_only else self.search()
            return [self._part(round_) for round_ in search["rounds"]] if search else []
        if part == PART:
            confirmation = read_confirmation(self.folder) if decided_only else self.confirmation()
            return [self._part(confirmation)] if confirmation else []
        return [self._part(self.plan)]

    def block_answer(self, part: str, mtu: int, block: int) -> dict[str, Any]:
        """Return how far a part is, and the steps of one of its blocks that are left."""
        parts = self.parts(part, decided_only=True)
        standing = {
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

    def part_answer(self, part: str) -> dict[str, Any]:
        """Return the blocks of a part that are left, and the settings of its profiles."""
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

    def _made(self, sources: Iterable[PartSource]) -> bool:
        """Return whether nothing is left to measure of these parts."""
        return not any(steps.blocks_left(self._part(source)) for source in sources)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Every node of the campaign asks at the same time: one decides, the others read."""
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def search(self) -> Search | None:
        """Return what the search decided; the next round, or its end, is decided now where all
        visits are made.
        """
        if self.plan["design"] != "search":
            return None
        with self._alone():
            decided = read_search(self.folder) or decide.begin(self.plan)
            if decided["ended"] or self.check or not self._made([self.plan, *decided["rounds"]]):
                return decided
            decided = decide.decide(self.plan, decided, stream_records(self.record, []))
            write_search(self.folder, decided)
        self._show_search(decided)
        return decided

    def _show_search(self, decided: Search) -> None:
        standing = decided["standing"] if decided["ended"] else decided["rounds"][-1]["standing"]
        last = decided["rounds"][-1]["profiles"] if decided["rounds"] else {}
        names = self._called(last, decided)
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

    def _called(self, profiles: Mapping[str, Profile], search: Search | None) -> dict[str, str]:
        """Return how the report calls each set."""
        return set_names(
            self.plan["factors"],
            {name: profile["levels"] for name, profile in profiles.items()},
            search,
        )

    def confirmation(self) -> Confirmation | None:
        """Return the confirmation, decided now where all visits before it are made; None where
        there is none.
        """
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
            nominees = (
                search["nominees"] if search else nominate(plan, stream_records(self.record, []))
            )
            decided = confirmation_of(plan, nominees)
            write_confirmation(self.folder, decided)
        called = self._called(decided["profiles"], None)
        names = [
            f"{called[name]} ({profile['role'].replace('_', ' ')})"
            for name, profile in decided["profiles"].items()
        ]
        text = f"{'; '.join(names)}: {len(decided['visits'])} visits in {len(decided['blocks'])} blocks"
        self.say(f"  confirmation: {text if decided['visits'] else 'nothing to confirm'}")
        return decided
