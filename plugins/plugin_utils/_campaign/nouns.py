# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nouns of a campaign: campaign, plan and what is in it. docs/data-format.md describes each key
of the files.

What an import's log does not say is null in its plan, whatever the type here.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from ...module_utils._engines.workload import Workload
from .._paths.own_paths import OwnPath
from .._paths.path import Pair
from .._statistics.looks import Look

Levels = dict[str, str]  # {factor: level}
Settings = dict[str, dict[str, Any]]  # {end: {device class: settings}}


class Factor(TypedDict):
    """What is varied."""

    name: str
    kind: str  # a row of factors.KINDS
    levels: list[str]  # the first is "off"
    values: dict[str, Any]  # {level: what the settings take, or {setting: value}}
    settings: list[str]  # that take the value
    devices: list[str]  # device classes
    sides: list[str]  # ends: "client", "server", "forwarder"
    needs: list[str]  # features that it cannot act without


class Cell(TypedDict):
    """One measurement of a visit."""

    id: str
    cell: int
    path: str
    workload: str
    pair: NotRequired[str]  # only where the campaign names pairs
    trial: NotRequired[int]  # only where each cell of a visit has several trials
    again: NotRequired[str]  # the id of the cell that it measures again


class Visit(TypedDict):
    """One stay at a profile."""

    block: int
    visit: int
    mtu: int
    profile: str
    repeat: bool  # the control's second visit of its block
    cells: list[Cell]
    seconds: NotRequired[float]  # of its cells, where that was decided after the first blocks
    part: NotRequired[str]  # "confirm" or "search"; of a planned visit there is none
    again: NotRequired[bool]  # measures what the machine spoilt


class Profile(TypedDict):
    """What the nodes are set to."""

    levels: Levels
    settings: Settings
    role: NotRequired[str]  # of a confirmation: "control", "chosen", "runner_up" or "all_on"


class Remeasure(TypedDict):
    """How much of what the machine spoilt is measured again."""

    passes: int
    share: float  # of all planned cells, at most


class Decided(TypedDict):
    """What a look decided."""

    block: int
    alpha: float
    settled: list[str]  # profiles
    answered: bool
    open: dict[str, int]  # {profile: comparisons that are not known yet}
    named: NotRequired[list[str]]  # of a check of the payload: the conditions that are to blame


class CellScatter(TypedDict):
    """Standard deviations of logarithms: of a cell of 1 s, and of whole visits beyond that."""

    cell: float
    visit: float | None


class TimePlan(TypedDict):
    """How a plan spends its time budget."""

    budget: float  # s, of all visits
    lengths: list[float]  # s of a cell, of which one is chosen; empty: they stay as they are
    workloads: dict[str, float]  # whose cells these are, with the shortest that they can have
    scatter: CellScatter | None  # of an earlier campaign, from which the length was chosen
    first: NotRequired[int]  # blocks, after which it is decided; 3 of earlier versions


class Spending(TypedDict):
    """What was decided after a block on the rest of the time budget."""

    block: int
    blocks: int  # of the campaign
    seconds: float | None  # of a cell of later blocks, where that was chosen
    spent: float  # s
    beside: float  # s of a visit, beside the cells whose length was chosen
    scatter: CellScatter | None


class Outline(TypedDict):
    """What a campaign and its plan both say."""

    name: str
    seed: int
    design: str
    factors: list[Factor]
    paths: list[str]
    mtus: list[int]  # bytes
    workloads: list[Workload]
    pairs: list[Pair]  # empty for the first two nodes
    concurrent: NotRequired[bool]  # of a campaign: all pairs measure at the same time
    rounds: NotRequired[list[list[Pair]]]  # of a plan: pairs that measure at the same time
    untestable: dict[str, str]  # {factor or profile: reason}
    matters: float  # %
    confirm: int  # blocks of the confirmation
    verify: NotRequired[Workload | None]  # a check of the payload at each visit of the confirmation
    study: NotRequired[str | None]
    steal_limit: NotRequired[float | None]  # % of the CPU time
    trials: NotRequired[int | None]  # of each cell at a visit
    control_visits: NotRequired[int | None]  # of a block
    spent: NotRequired[list[Spending]]  # of a plan, not in the file: what was decided


class Campaign(Outline):
    """A campaign as campaign_file.read_campaign completes it."""

    blocks: int | None
    control: str | None
    profiles: dict[str, dict[str, Any]]  # of design "profiles": {name: {factor: level}}
    time_budget: float | None  # s
    duration: float  # s of a cell, where its workload has no own
    lengths: list[float]  # s of a cell, of which one is chosen by scatter
    first: int | None  # blocks, after which that is decided; None: the plan says
    chosen: dict[str, float]  # workloads whose cells have that length, or this shortest one
    scatter: CellScatter | None  # by which it was chosen before the first block
    sides: str | list[str]
    engine: str | None  # of workloads that name none
    goal: str  # of a search: "throughput", "cpu" or "latency"
    until: str | None  # "answered" or "named"
    as_found: NotRequired[Levels]  # of design integrity: in which state the hosts are


class SearchLimits(TypedDict):
    """What a search may do after its first visits."""

    rounds: int  # at most, a visit each
    limit: str  # what ends it where the question stays open: "visits" or "time_budget"
    goal: str


class SearchStanding(TypedDict):
    """The best combination so far, its gain over the control as a ratio, and how sure it is."""

    visits: int  # that gave a value
    best: str | None
    gain: float | None
    low: float | None  # of the gain's interval
    high: float | None
    sure: float  # 0 to 1


class PartSource(TypedDict):
    """What a part of a campaign is measured from: a plan, a confirmation or a round of a search."""

    profiles: dict[str, Profile]
    visits: list[Visit]


class SearchRound(PartSource):
    """Visits that a search chose by what was known before them."""

    round: int
    standing: SearchStanding
    trials: NotRequired[int]  # of each cell at its visits; not in the files of earlier versions


class Nominee(TypedDict):
    """A profile that is visited again in fresh blocks; it may be one that the planned blocks never
    visited.
    """

    role: str  # "chosen", "runner_up" or, of a search, "all_on"
    name: str
    levels: Levels  # every factor


class Search(TypedDict):
    """What a search has decided so far."""

    schema: int
    campaign: str
    rounds: list[SearchRound]
    ended: str | None  # why
    nominees: list[Nominee]
    standing: NotRequired[SearchStanding]  # at its end
    trials: NotRequired[int]  # at its end: of each cell at the visits of the confirmation


class Between(TypedDict):
    """The host that forwards between the nodes."""

    host: str
    does: str  # "routed", "nat", "bridged", or empty where that was not said


class Plan(Outline):
    """The content of plan.json. Of earlier versions it lacks keys: ``plan_file.ADDED``."""

    schema: int
    created: str
    blocks: int
    control: str
    profiles: dict[str, Profile]
    estimated_s: float
    remeasure: NotRequired[Remeasure]
    time: NotRequired[TimePlan]
    sampling: NotRequired[str]  # the engine whose streams are sampled, where no workload makes one
    forwarder: NotRequired[Between]
    own_paths: NotRequired[dict[str, OwnPath]]  # those that exist without the lab
    encapsulations: NotRequired[dict[str, str]]  # the same in plans of earlier versions, by path
    visits: list[Visit]
    until: NotRequired[str]  # "answered" or "named"; plans of earlier versions lack it
    looks: NotRequired[list[Look]]
    looked: NotRequired[list[Decided]]  # not in the file: the looks that were made
    search: NotRequired[SearchLimits]
    decided: NotRequired[Search]  # not in the file: what the search has decided
    searched: NotRequired[bool]  # not in the file
    extended: NotRequired[bool]  # not in the file: trials were added beyond the plan
    kind: NotRequired[str]  # "imported"
    source: NotRequired[str]  # of an import


class Confirmation(TypedDict):
    """Who is visited again, and when."""

    schema: int
    campaign: str
    control: str
    blocks: list[int]
    profiles: dict[str, Profile]
    visits: list[Visit]
