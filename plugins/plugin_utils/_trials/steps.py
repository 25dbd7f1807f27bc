# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a campaign does next, from its plan and its record: blocks, and the steps of each, in their
order. Pure.

A step is one file of tasks of role measure: ``settings`` sets what module ethtool does not (MTU,
the tunnel), ``apply`` sets the rest of the profile, ``measure`` measures with the
``pairs`` of one round. ``visit`` is these two in one task, in which the hosts wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, product
from typing import NamedTuple, TypedDict

from ...module_utils._kinds.tunnel_csum import TUNNEL_CSUM
from .._campaign import loop
from .._campaign.loop import VisitStep
from .._campaign.nouns import Cell, Plan, Profile, Visit
from .._paths.own_paths import TUNNEL
from .._paths.path import Pair

# The keys of a device's settings that module ethtool leaves to role tunnel
NOT_BY_ETHTOOL = TUNNEL_CSUM.settings
MOST_STEPS = 800  # of an event, which must stay small: about 130 bytes each
Known = Mapping[tuple[str, str], bool]  # {(pair, id of a trial): was it spoilt by the machine?}


class BlockPlace(TypedDict):
    """A block of a part."""

    part: str
    mtu: int
    block: int


class Block(BlockPlace):
    """A block with its steps that are not done."""

    steps: list[VisitStep]


class Part(NamedTuple):
    """One part of a campaign, planned or confirmation, and what is known of it."""

    plan: Plan
    visits: list[Visit]
    profiles: Mapping[str, Profile]
    known: Known
    pairs: list[Pair]  # those that measure; the plan names none where they are the first two nodes
    lab_mtu: int | None = None  # that the underlay has
    together: bool = False  # the hosts can wait for each other in one task
    store: bool = False  # something is done between two visits

    def rounds(self) -> list[list[Pair]]:
        """Return the pairs that measure at the same time."""
        return self.plan.get("rounds") or [self.pairs]

    def mtu(self) -> int | None:
        """Return the MTU that the devices have before the first step, None where a step may have
        left another.
        """
        return self.lab_mtu if self.plan["mtus"] == [self.lab_mtu] else None


def name_of(pair: Pair) -> str:
    """Return a pair as trials are recorded under it."""
    return f"{pair['client']}-{pair['server']}"


def _own(visit: Visit, pair: str) -> list[Cell]:
    return [cell for cell in visit["cells"] if cell.get("pair") in (None, pair)]


def _mtu_and_block(visit: Visit) -> tuple[int, int]:
    return visit["mtu"], visit["block"]


def make_up_visits(visits: list[Visit]) -> list[Visit]:
    """Return for each visit the one that measures its cells again, under a number of its own. It
    follows its visit immediately, while the profile is applied.
    """
    last: dict[tuple[int, int], int] = {}
    for visit in visits:
        last[_mtu_and_block(visit)] = max(visit["visit"], last.get(_mtu_and_block(visit), 0))
    return [_made_up(visit, last[_mtu_and_block(visit)]) for visit in visits]


def _made_up(visit: Visit, last: int) -> Visit:
    return {
        **visit,
        "visit": last + visit["visit"],
        "again": True,
        "cells": [
            {**cell, "id": _repeated(cell["id"]), "again": cell["id"]} for cell in visit["cells"]
        ],
    }


def _repeated(trial: str) -> str:
    """Return the id of the trial that measures this one again."""
    return f"{trial}-again"


def _ids(visit: Visit, pair: str) -> set[str]:
    """Return the ids of the cells that a pair measures at a visit."""
    return {cell["id"] for cell in _own(visit, pair)}


def due_again(plan: Plan, visits: list[Visit], recorded: Known, pair: str) -> set[str]:
    """Return the ids of the cells of a pair that are measured again, of one part of a campaign.

    These are the first that the machine spoilt, in the order of the visits, as far as the plan's
    budget goes. That order is random, so no profile is favoured. It follows from the visits' own
    trials alone: what was measured again changes nothing.
    """
    remeasure = plan.get("remeasure") or {"passes": 0, "share": 0}
    planned: list[str] = []
    for visit in visits:
        planned += (cell["id"] for cell in _own(visit, pair))
    budget = int(remeasure["share"] * len(planned)) if remeasure["passes"] else 0
    spoilt = [name for name in planned if recorded.get((pair, name))]
    return set(map(_repeated, spoilt[:budget]))


def planned(part: Part) -> int:
    """Return the number of trials of a part, without those that are measured again."""
    names = [name_of(pair) for pair in part.pairs]
    return sum(len(_own(visit, name)) for visit, name in product(part.visits, names))


def _is_left(ids: set[str], recorded: Known, pair: str) -> bool:
    """Return whether one of these trials of a pair is not recorded."""
    return any((pair, trial) not in recorded for trial in ids)


def left(
    visits: Iterable[Visit], recorded: Known, pairs: list[Pair]
) -> list[tuple[Visit, set[str]]]:
    """Return the visits with trials that are not recorded, and the pairs that have them."""
    names = [name_of(pair) for pair in pairs]
    open_visits = []
    for visit in visits:
        missing = {name for name in names if _is_left(_ids(visit, name), recorded, name)}
        if missing:
            open_visits.append((visit, missing))
    return open_visits


def _to_measure(part: Part, visits: list[Visit]) -> list[tuple[Visit, set[str]]]:
    """Return the visits with trials that are not recorded, also those that measure again, and the pairs
    that have them.
    """
    names = [name_of(pair) for pair in part.pairs]
    due = {name: due_again(part.plan, part.visits, part.known, name) for name in names}
    open_visits = []
    for visit in visits:
        missing = {
            name for name in names if _is_left(_wanted(visit, name, due[name]), part.known, name)
        }
        if missing:
            open_visits.append((visit, missing))
    return open_visits


def _wanted(visit: Visit, pair: str, due: set[str]) -> set[str]:
    """Return the ids of the trials of a pair at a visit: its own, and those that are due again."""
    planned_ids = _ids(visit, pair)
    return planned_ids | (due & set(map(_repeated, planned_ids)))


def _more_to_set(profile: Profile) -> bool:
    """Return whether a profile sets, at either end, what module ethtool does not."""
    devices = chain.from_iterable(end.values() for end in profile["settings"].values())
    return any(not device.keys().isdisjoint(NOT_BY_ETHTOOL) for device in devices)


def _csum(profile: Profile) -> dict[str, bool]:
    """Return by end whether a profile has the tunnel's outer packets carry a checksum."""
    csum = {}
    for end, devices in profile["settings"].items():
        if "csum" in devices.get(TUNNEL, {}):
            csum[end] = devices[TUNNEL]["csum"]
    return csum


def _steps(part: Part, todo: list[tuple[Visit, set[str]]], mtu: int | None) -> Iterator[VisitStep]:
    """Yield the steps of visits; ``mtu`` is what the devices have."""
    for visit, missing in todo:
        step: VisitStep = {
            "do": "settings",
            "tasks": "settings",
            "block": visit["block"],
            "visit": visit["visit"],
            "mtu": visit["mtu"],
            "profile": visit["profile"],
            "new_mtu": visit["mtu"] != mtu,
            "pairs": [],
        }
        mtu = visit["mtu"]
        profile = part.profiles[visit["profile"]]
        if step["new_mtu"] or _more_to_set(profile):
            yield {**step, "csum": _csum(profile)}
        yield from _visit_steps(part, step, missing)


def _visit_steps(part: Part, step: VisitStep, missing: set[str]) -> Iterator[VisitStep]:
    """Yield the steps that set a profile and measure under it, round by round."""
    rounds = []
    for members in part.rounds():
        measuring = [pair for pair in members if name_of(pair) in missing]
        if measuring:
            rounds.append(measuring)
    if part.together:
        yield _made(part, step, "visit", rounds.pop(0))
    else:
        yield _made(part, step, "apply", [])
    for measuring in rounds:
        yield _made(part, step, "measure", measuring)


def _made(part: Part, step: VisitStep, do: str, pairs: list[Pair]) -> VisitStep:
    return {**step, "do": do, "tasks": loop.tasks_of(do, part.store), "pairs": pairs}


def blocks_left(part: Part) -> list[Block]:
    """Return the blocks in which something is left to do, with their steps."""
    mtu = part.mtu()
    blocks = list[Block]()
    todo: dict[tuple[int, int], list[tuple[Visit, set[str]]]] = {}
    for visit, missing in _to_measure(part, part.visits):
        todo.setdefault(_mtu_and_block(visit), []).append((visit, missing))
    for where, visits in todo.items():
        blocks.append(
            {
                "part": visits[0][0].get("part", "planned"),
                "mtu": where[0],
                "block": where[1],
                "steps": list(_steps(part, visits, mtu)),
            }
        )
        mtu = where[0]
    return blocks


def told(blocks: list[Block]) -> list[Block] | list[BlockPlace]:
    """Return blocks as an event has them: where they are many, each is asked for its own steps
    later.
    """
    if sum(len(block["steps"]) for block in blocks) <= MOST_STEPS:
        return blocks
    return [
        BlockPlace(part=block["part"], mtu=block["mtu"], block=block["block"]) for block in blocks
    ]


def steps_of(part: Part, mtu: int, block: int) -> list[VisitStep]:
    """Return the steps of a block that are left."""
    visits = [visit for visit in part.visits if _mtu_and_block(visit) == (mtu, block)]
    return list(_steps(part, _to_measure(part, visits), part.mtu()))


def left_with_again(plan: Plan, recorded: Known, pairs: list[Pair]) -> list[Visit]:
    """Return the visits with trials that are not recorded, also those that measure again."""
    part = Part(plan, plan["visits"], plan["profiles"], recorded, pairs)
    return [visit for visit, _missing in _to_measure(part, part.visits)]
