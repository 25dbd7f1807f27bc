# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounds: the pairs of nodes that measure simultaneously. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from ...module_utils._base.errors import InputError
from .._paths.path import Pair
from .nouns import Settings


def everybody(nodes: Sequence[str]) -> list[Pair]:
    """Return each pair of nodes once, in the order of a round robin tournament (circle method).

    One node keeps its seat and the others move on by one seat per round. With an odd number of nodes,
    one node rests in each round. The client changes from round to round.
    """
    seats: list[str | None] = list(nodes) + [None] * (len(nodes) % 2)
    fixed = seats[:1]
    moving = seats[1:]
    pairs: list[Pair] = []
    for turn in range(len(moving)):
        order = fixed + moving[turn:] + moving[:turn]
        for first, second in zip(order[: len(order) // 2], reversed(order)):
            client, server = (first, second) if turn % 2 == 0 else (second, first)
            if client is not None and server is not None:
                pairs.append({"client": client, "server": server})
    return pairs


def _nodes(pairs: Iterable[Pair]) -> set[object]:
    return set(chain.from_iterable(pair.values() for pair in pairs))


def rounds_of(pairs: Iterable[Pair], concurrent: bool = False) -> list[list[Pair]]:
    """Return the rounds: lists of pairs that measure simultaneously.

    Each pair gets the first round in which both its nodes are free. ``concurrent`` puts all pairs
    into one round; there a node may be the server of several clients, for a study of contention.
    """
    rounds: list[list[Pair]] = []
    for pair in pairs:
        ends = set(pair.values())
        free = (members for members in rounds if concurrent or ends.isdisjoint(_nodes(members)))
        members = next(free, None)
        if members is None:
            rounds.append([pair])
        else:
            members.append(pair)
    return rounds


def _check_clients(members: list[Pair], where: str) -> None:
    clients = [pair["client"] for pair in members]
    twice = sorted({name for name in clients if clients.count(name) > 1})
    if twice:
        raise InputError(
            f"{twice[0]} is the client of two pairs that measure simultaneously",
            where,
            "Swap the ends of one of them, or leave out 'concurrent'.",
        )


def check(
    pairs: list[Pair], rounds: list[list[Pair]], profiles: Mapping[str, Settings], where: str
) -> None:
    """Raise InputError for pairs that no node can measure with these profiles."""
    for pair in pairs:
        if pair["client"] == pair["server"]:
            raise InputError(f"{pair['client']} is both ends of a pair", where, "Give two nodes.")
    for members in rounds:
        _check_clients(members, where)
    both = {pair["client"] for pair in pairs} & {pair["server"] for pair in pairs}
    differing = [
        name for name, settings in profiles.items() if settings["client"] != settings["server"]
    ]
    if both and differing:
        raise InputError(
            f"{sorted(both)[0]} is the client of one pair and the server of another, and profile "
            f"{differing[0]} sets the two ends differently",
            where,
            "Use 'sides: both', or pairs in which a node is always the same end.",
        )
