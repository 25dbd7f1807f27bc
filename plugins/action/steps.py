# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module steps: what a campaign does next, from its results folder."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from ..module_utils._base.errors import InputError
from ..plugin_utils._action.console import say
from ..plugin_utils._action.controller import ControllerAction, Spec
from ..plugin_utils._analysis import judge, named, spend
from ..plugin_utils._analysis.nominate import nominate
from ..plugin_utils._campaign import looks, spending
from ..plugin_utils._campaign.confirmation import (
    PART,
    confirmation_of,
    with_search,
)
from ..plugin_utils._campaign.nouns import (
    Confirmation,
    PartSource,
    Plan,
    Profile,
    Search,
    Spending,
)
from ..plugin_utils._campaign.plan_file import (
    read_confirmation,
    read_looks,
    read_plan,
    read_search,
    read_spending,
    write_confirmation,
    write_looks,
    write_search,
    write_spending,
)
from ..plugin_utils._paths.path import Pair
from ..plugin_utils._report.phrases import set_names
from ..plugin_utils._search import decide
from ..plugin_utils._trials import steps
from ..plugin_utils._trials.records import Records, stream_records

SPEC: Spec = {
    "plan": {"type": "path", "required": True},
    "pairs": {"type": "list", "elements": "dict", "required": True},
    "part": {"type": "str", "choices": ["planned", decide.PART, PART], "default": "planned"},
    "block": {"type": "int"},
    "mtu": {"type": "int"},
    "lab_mtu": {"type": "int"},
}


class ActionModule(ControllerAction):
    """Say what is left of a part of a campaign, or of one of its blocks."""

    SPEC = SPEC
    NEEDS: ClassVar[dict[str, Any]] = {"required_together": [("block", "mtu")]}

    def answer(self, options: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        plan = read_plan(options["plan"])
        if plan is None:
            raise InputError(
                "there is no such plan", options["plan"], "Make it with module offload.lab.plan."
            )
        folder = os.path.dirname(options["plan"])
        campaign = CampaignFolder(
            plan, folder, options["pairs"], options["lab_mtu"], self._task.check_mode
        )
        parts = campaign.parts(options["part"], decided_only=options["block"] is not None)
        if options["block"] is not None:
            found = (steps.steps_of(part, options["mtu"], options["block"]) for part in parts)
            return {
                "changed": False,
                "standing": {
                    "campaign": plan["name"],
                    "part": options["part"],
                    "mtu": options["mtu"],
                    "block": options["block"],
                    "blocks": plan["blocks"],
                    "recorded": len(campaign.known),
                    "planned": sum(map(steps.planned, parts)),
                },
                "steps": list(itertools.chain.from_iterable(found)),
            }
        blocks: list[steps.Block] = []
        profiles = {}
        for part in parts:
            blocks += steps.blocks_left(part)
            for name, profile in part.profiles.items():
                profiles[name] = profile["settings"]
        return {"changed": False, "blocks": steps.told(blocks), "profiles": profiles}


class CampaignFolder:
    """A results folder, and what is decided in it as the campaign goes on."""

    def __init__(
        self, plan: Plan, folder: str, pairs: list[Pair], lab_mtu: int | None, check: bool
    ) -> None:
        self.plan = plan
        self.folder = folder
        self.pairs = pairs
        self.lab_mtu = lab_mtu
        self.check = check
        self.record = os.path.join(folder, "trials.jsonl")
        self.known = Records(self.record, dry=True).known
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
                left = steps.left_with_again(looks.with_looks(plan, made), self.known, self.pairs)
                look = looks.due(plan, made, left)
                if look is None:
                    break
                decided = (named if named.names_faults(plan) else judge).decide
                made.append(decided(plan, stream_records(self.record, []), look, made))
                write_looks(self.folder, plan, made)
                say(f"  {looks.look_text(made[-1])}")
        return looks.with_looks(plan, made)

    def timed(self, plan: Plan) -> Plan:
        """Return the plan with the blocks that its time budget was found to allow; what is due is
        decided and kept now.
        """
        with self._alone():
            made = read_spending(self.folder)
            while not self.check:
                now = self._decided(plan, made)
                left = steps.left_with_again(now, self.known, self.pairs)
                if not spending.is_due(made, left):
                    break
                made.append(spend.decide(now, stream_records(self.record, []), made))
                write_spending(self.folder, plan, made)
                say(f"  {spending.spending_text(made[-1])}")
        return self._decided(plan, made)

    @staticmethod
    def _decided(plan: Plan, made: list[Spending]) -> Plan:
        """Return the plan as far as it is decided."""
        return spending.with_spending(plan, made) if made else spending.first_part(plan)

    def parts(self, part: str, decided_only: bool) -> list[steps.Part]:
        """Return the parts of a campaign that are asked for; each round of a search is one."""
        if part == decide.PART:
            search = read_search(self.folder) if decided_only else self.search()
            return [self._part(own) for own in search["rounds"]] if search else []
        if part == PART:
            confirmation = read_confirmation(self.folder) if decided_only else self.confirmation()
            return [self._part(confirmation)] if confirmation else []
        return [self._part(self.plan)]

    def _part(self, source: PartSource) -> steps.Part:
        return steps.Part(
            self.plan, source["visits"], source["profiles"], self.known, self.pairs, self.lab_mtu
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
        say(f"  search: {text}; {after}")

    def _called(self, profiles: Mapping[str, Profile], search: Search | None) -> dict[str, str]:
        """Return how the report calls each set."""
        return set_names(
            self.plan["factors"], {name: own["levels"] for name, own in profiles.items()}, search
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
            f"{called[name]} ({own['role'].replace('_', ' ')})"
            for name, own in decided["profiles"].items()
        ]
        text = f"{'; '.join(names)}: {len(decided['visits'])} visits in {len(decided['blocks'])} blocks"
        say(f"  confirmation: {text if decided['visits'] else 'nothing to confirm'}")
        return decided
