# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nouns of analysis.json; docs/data-format.md describes each key, schemas/analysis.json checks
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from .._campaign.nouns import Levels, Nominee, SearchStanding
from .._statistics.states import Needs
from .cube import Table
from .metrics import Described

if TYPE_CHECKING:
    from .campaign_verdicts import DeviceVerdict
    from .failures import Failures
    from .payload_findings import PayloadFindings
    from .recommend import Recommendation
    from .scatter import Scattered
    from .unfinished import Unfinished


class Estimate(TypedDict):
    """An effect as a ratio, and its 95 % interval; None where it is not known."""

    ratio: float | None
    low: float | None
    high: float | None


class Spread(TypedDict):
    """How trials are spread; None where there is no value."""

    n: int
    median: float | None
    q1: float | None
    q3: float | None


class ProfileSpread(Spread):
    """How the trials of a profile are spread."""

    profile: str


class ComparedEffect(Estimate):
    """What was compared inside blocks."""

    n: int  # blocks
    p: float | None
    p_report: float | None  # corrected for the whole report
    significant: bool
    state: str | None  # better, worse, same, unknown; None where no direction is better
    needs: Needs | None
    differences: NotRequired[list[float | None]]  # the ratio of each block


class ProfileEffect(ComparedEffect):
    """A profile against the control. Of a metric that is not compared it has the spread alone."""

    profile: str
    median: float | None
    q1: float | None
    q3: float | None


class FactorEffect(ComparedEffect):
    """A level of a factor against its first one, on average over all else."""

    factor: str
    level: str
    base: str


class InteractionEffect(ComparedEffect):
    """What two factors do together beyond what each does alone."""

    factors: list[str]
    aliases: NotRequired[list[list[str]]]  # pairs that a screen cannot separate from it


class AnalysedMetric(Described):
    """One metric of a table. What is not required is there where the metric is compared."""

    compared: bool
    control: ProfileSpread
    rows: list[ProfileEffect]
    main_effects: NotRequired[list[FactorEffect]]  # of a full factorial or a screen
    interactions: NotRequired[list[InteractionEffect]]
    noise_floor: NotRequired[float | None]  # as a ratio above 1, like the next one
    smallest_detectable: NotRequired[float | None]
    aa: NotRequired[dict[str, float | None]]  # the control's second visit against its first
    trial_sd: NotRequired[float | None]
    drift: NotRequired[dict[str, float | None]]
    warnings: NotRequired[list[str]]


class FailedIn(TypedDict):
    """What failed of a profile's trials in one table."""

    profile: str
    trials: int
    failed: int
    kinds: dict[str, int]


class AnalysedTable(Table):
    """What was measured over one path, at one MTU, with one workload."""

    id: str
    saturated: bool  # a CPU was busy all the time
    failures: list[FailedIn]
    metrics: list[AnalysedMetric]


class Contender(FactorEffect):
    """A setting that may lead, and its rank; None where there is no test."""

    rank: int | None


class Attributed(TypedDict):
    """Which settings lead for one goal in one table; the contender with the largest gain first."""

    goal: str
    side: str
    table: str
    metric: str
    end: str | None
    leaders: list[str]  # factors
    separated: bool  # one leads, and is held apart from all others
    undecided: list[str]  # factors
    candidates: list[Contender]


class ConfirmedPart(TypedDict):
    """The second part of a campaign: what was chosen, in fresh blocks."""

    blocks: int
    profiles: list[str]
    tables: list[AnalysedTable]
    failures: list[Failures]


class StoodRound(TypedDict):
    """How a search stood before a round, and what it visited then."""

    round: int
    standing: SearchStanding
    profiles: list[str]


class SearchPath(TypedDict):
    """The path of a search."""

    goal: str
    ended: str | None
    first_visits: int
    rounds: list[StoodRound]
    nominees: list[Nominee]
    standing: SearchStanding | None


class ErrorRate(TypedDict):
    """How often a report like this one claims what is not so."""

    alpha: float
    tested: int
    by_kind: dict[str, int]
    text: str


class Methods(TypedDict):
    """How effects were computed."""

    estimate: str
    weights: NotRequired[list[float]]  # what each block counts, where they do not count alike
    interval: str
    confidence: float
    test: str
    correction: str
    alpha: float
    power: float
    fewest_blocks: int
    matters_percent: float
    include_marked: bool
    one_host: bool


class AnalysedFactor(TypedDict):
    """What an analysis says of a factor."""

    name: str
    kind: str
    levels: list[str]
    devices: list[str]
    sides: list[str]
    needs: list[str]


class Analysis(TypedDict):
    """The content of analysis.json."""

    schema: int
    campaign: str
    kind: str
    design: str
    seed: int
    created: str
    blocks: int
    control: str
    methods: Methods
    error_rate: ErrorRate
    trials: dict[str, Any]  # counts, and counts by guard and by kind of failure
    factors: list[AnalysedFactor]
    profiles: dict[str, Levels]
    tables: list[AnalysedTable]
    scatter: Scattered | None
    attribution: list[Attributed]
    failures: list[Failures]
    recommendation: Recommendation
    confirmation: ConfirmedPart | None
    search: SearchPath | None
    unfinished: Unfinished | None
    verdicts: list[DeviceVerdict]
    untestable: dict[str, str]
    warnings: list[str]
    payload: NotRequired[PayloadFindings]  # where the payload was checked
    nominated: NotRequired[list[Nominee]]  # of a running campaign
