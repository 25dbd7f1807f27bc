# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of a campaign: campaign, plan, visit, cell, and the decisions of a campaign.

docs/data-format.md describes each key. In the plan of an import any key may be null: its log may lack
the value.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from ...module_utils._engines.engine import Workload
from .._paths.lab_paths import OwnPath
from .._paths.path import Pair
from .._statistics.looks import InterimTest

AS_FOUND = "as_found"  # a profile of design integrity: the hosts keep their settings
MIXED = "mixed"  # level of as_found: the factor is on at only some of its devices
UNKNOWN = "unknown"  # level of as_found: the level could not be read

Levels = dict[str, str]  # {factor: level}
Settings = dict[str, dict[str, Any]]  # {end: {device class: settings}}


class Factor(TypedDict):
    """A setting that a campaign varies."""

    name: str
    kind: str  # a name of KINDS in module_utils/_kinds
    levels: list[str]  # the first is "off"
    values: dict[str, Any]  # {level: value of all settings, or {setting: value}}
    settings: list[str]  # names
    devices: list[str]  # device classes
    sides: list[str]  # ends: "client", "server", "forwarder"
    needs: list[str]  # features without which it has no effect


class Cell(TypedDict):
    """One measurement of a visit."""

    id: str
    cell: int
    path: str
    workload: str
    pair: NotRequired[str]  # only if the campaign names pairs
    trial: NotRequired[int]  # only if each cell of a visit has several trials
    again: NotRequired[str]  # the id of the cell that it repeats


class Visit(TypedDict):
    """One visit of a profile: its cells are measured without a change of settings."""

    block: int
    visit: int
    mtu: int
    profile: str
    repeat: bool  # the control's second visit of its block
    cells: list[Cell]
    seconds: NotRequired[
        float
    ]  # of a cell, if the campaign chose the length after its first blocks
    part: NotRequired[str]  # "confirm" or "search"; a planned visit has no part
    again: NotRequired[bool]  # it repeats trials that the machine spoilt


class Profile(TypedDict):
    """The levels of all factors, and the settings of the nodes."""

    levels: Levels
    settings: Settings
    role: NotRequired[str]  # in a confirmation: "control", "chosen", "runner_up" or "all_on"


class Remeasure(TypedDict):
    """How many trials that the machine spoilt are repeated."""

    passes: int
    share: float  # the largest, of all planned cells


class Decided(TypedDict):
    """The decision of an interim test."""

    block: int
    alpha: float
    settled: list[str]  # profiles
    answered: bool
    open: dict[str, int]  # {profile: comparisons whose outcome is not known}
    named: NotRequired[list[str]]  # in a check of the payload: the conditions to blame


class CellScatter(TypedDict):
    """Standard deviations of logarithms: of a cell of 1 s, and of visits in addition."""

    cell: float
    visit: float | None


class TimePlan(TypedDict):
    """How a plan spends its time budget."""

    budget: float  # s, of all visits
    lengths: list[float]  # candidates for the seconds of a cell; empty: no choice
    workloads: dict[str, float]  # {workload with a chosen length: its shortest one}
    scatter: CellScatter | None  # of an earlier campaign that gave the length
    first: NotRequired[int]  # blocks before the first decision; earlier versions: 3


class Spending(TypedDict):
    """A decision on the rest of the time budget."""

    block: int  # the last one before the decision
    blocks: int  # of the campaign
    seconds: float | None  # of a cell of later blocks; None: no choice
    spent: float  # s
    beside: float  # s of a visit in addition to the cells whose length was chosen
    scatter: CellScatter | None


class Outline(TypedDict):
    """The common keys of a campaign and its plan."""

    name: str
    seed: int
    design: str
    factors: list[Factor]
    paths: list[str]
    mtus: list[int]  # bytes
    workloads: list[Workload]
    pairs: list[Pair]  # empty for the first two nodes
    concurrent: NotRequired[bool]  # of a campaign: all pairs measure simultaneously
    rounds: NotRequired[list[list[Pair]]]  # of a plan: pairs that measure simultaneously
    untestable: dict[str, str]  # {factor or profile: reason}
    matters: float  # %
    confirm: int  # blocks of the confirmation
    verify: NotRequired[Workload | None]  # a check of the payload at each visit of the confirmation
    study: NotRequired[str | None]
    steal_limit: NotRequired[float | None]  # % of the CPU time
    trials: NotRequired[int | None]  # of each cell at a visit
    control_visits: NotRequired[int | None]  # of a block
    spent: NotRequired[list[Spending]]  # of a plan, not in plan.json: decisions on its time budget


class Campaign(Outline):
    """A campaign as campaign_file.read_campaign completes it."""

    blocks: int | None
    control: str | None
    profiles: dict[str, dict[str, Any]]  # of design "profiles": {name: {factor: level}}
    time_budget: float | None  # s
    duration: float  # s of a cell, the default of a workload
    lengths: list[float]  # candidates for the seconds of a cell
    first: int | None  # blocks before the first decision; None: make_plan decides
    chosen: dict[str, float]  # {workload with a chosen length: its shortest one}
    scatter: CellScatter | None  # of an earlier campaign that gave the length
    sides: str | list[str]
    engine: str | None  # of workloads that name none
    goal: str  # of a search: "throughput", "cpu" or "latency"
    until: str | None  # "answered" or "named"
    as_found: NotRequired[Levels]  # of design integrity: the levels that the hosts have


class SearchLimits(TypedDict):
    """The limits of a search after its first visits."""

    rounds: int  # at most; each one is a visit
    limit: str  # of an unanswered search: "visits" or "time_budget"
    goal: str


class SearchStanding(TypedDict):
    """The best combination so far, its gain over the control as a ratio, and its probability."""

    visits: int  # with a value
    best: str | None
    gain: float | None
    low: float | None  # of the gain's interval
    high: float | None
    sure: float  # 0 to 1


class PartSource(TypedDict):
    """The profiles and visits of a plan, a confirmation or a round of a search."""

    profiles: dict[str, Profile]
    visits: list[Visit]


class SearchRound(PartSource):
    """Visits that a search chose from all visits before them."""

    round: int
    standing: SearchStanding
    trials: NotRequired[int]  # of each cell at its visits; files of earlier versions lack it


class Nominee(TypedDict):
    """A profile for the confirmation; the planned blocks may not have visited it."""

    role: str  # "chosen", "runner_up" or, of a search, "all_on"
    name: str
    levels: Levels  # every factor


class Search(TypedDict):
    """The decisions of a search."""

    schema: int
    campaign: str
    rounds: list[SearchRound]
    ended: str | None  # the reason, None before the end
    nominees: list[Nominee]
    standing: NotRequired[SearchStanding]  # at its end
    trials: NotRequired[int]  # at its end: of each cell at a visit of the confirmation


class Between(TypedDict):
    """The host that forwards between the nodes."""

    host: str
    does: str  # "routed", "nat", "bridged", or empty where the inventory does not say


class Plan(Outline):
    """The content of plan.json; files of earlier versions lack the keys ``plan_file.ADDED``."""

    schema: int
    created: str
    blocks: int
    control: str
    profiles: dict[str, Profile]
    estimated_s: float
    remeasure: NotRequired[Remeasure]
    time: NotRequired[TimePlan]
    sampling: NotRequired[str]  # the engine whose stream is sampled, where no workload makes one
    forwarder: NotRequired[Between]
    own_paths: NotRequired[dict[str, OwnPath]]  # paths that exist without the lab
    encapsulations: NotRequired[
        dict[str, str]
    ]  # {path: encapsulation}, in plans of earlier versions
    visits: list[Visit]
    until: NotRequired[str]  # "answered" or "named"; plans of earlier versions lack it
    looks: NotRequired[list[InterimTest]]  # interim tests
    looked: NotRequired[list[Decided]]  # not in the file: decisions of interim tests
    search: NotRequired[SearchLimits]
    decided: NotRequired[Search]  # not in the file: decisions of the search
    searched: NotRequired[bool]  # not in the file
    extended: NotRequired[bool]  # not in the file: the record has trials beyond the plan
    kind: NotRequired[str]  # "imported"
    source: NotRequired[str]  # of an import


class Confirmation(TypedDict):
    """The profiles and visits of a confirmation."""

    schema: int
    campaign: str
    control: str
    blocks: list[int]
    profiles: dict[str, Profile]
    visits: list[Visit]
