# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nouns of a campaign as plan.json and confirmation.json have them; docs/data-format.md tells each key."""
from __future__ import annotations

from typing import Any, TypedDict

Levels = dict[str, str]  # {factor: level}
Settings = dict[str, dict[str, Any]]  # {end: {device class: settings}}


class Pair(TypedDict):
    """Two nodes that measure together."""

    client: str
    server: str


class _Cell(TypedDict):
    id: str
    cell: int
    path: str
    workload: str


class Cell(_Cell, total=False):
    """One measurement of a visit."""

    pair: str  # only where the campaign names pairs
    again: str  # the id of the cell that it measures again


class _Visit(TypedDict):
    block: int
    visit: int
    mtu: int
    profile: str
    repeat: bool
    cells: list[Cell]


class Visit(_Visit, total=False):
    """One stay at a profile."""

    part: str  # "confirm"; of a planned visit there is none
    again: bool  # measures what the machine spoilt


class _Profile(TypedDict):
    levels: Levels
    settings: Settings


class Profile(_Profile, total=False):
    """What the nodes are set to."""

    role: str  # of a confirmation: "control", "chosen" or "runner_up"


class Remeasure(TypedDict):
    """How much of what the machine spoilt is measured again."""

    passes: int
    share: float


class Confirmation(TypedDict):
    """Who is visited again, and when."""

    schema: int
    campaign: str
    control: str
    blocks: list[int]
    profiles: dict[str, Profile]
    visits: list[Visit]
