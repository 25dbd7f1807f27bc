# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a campaign: one value from the statistics to the templates and the exports.

``analysis.json`` is this value, encoded (encode.py). A field that has a default is not in the file
while it has it. The comments of the fields are the tables of docs/data-format.md.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ...module_utils._engines.payload.result import Example, Pings, Size
from .._campaign.nouns import Levels, Nominee, SearchStanding
from .._campaign.profiles import names_of_sets
from .._statistics.states import Needs
from .._trials.payload import Corrupted

SCHEMA = 1
Count = Annotated[int, {"minimum": 0}]
Share = Annotated[float, {"minimum": 0, "maximum": 1}]
Ratio = Annotated[float, {"minimum": 0}]
Outcome = Annotated[str, {"enum": ["better", "worse", "same", "unknown"]}]
Better = Annotated[str, {"enum": ["higher", "lower"]}]
End = Annotated[str, {"enum": ["client", "server", "forwarder", "combined"]}]
Goal = Annotated[
    str,
    {
        "enum": [
            "tcp_throughput",
            "udp_throughput",
            "tcp_cpu",
            "udp_cpu",
            "tcp_transactions",
            "udp_transactions",
            "tcp_latency",
            "udp_latency",
        ]
    },
]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An effect as a ratio, and its 95 % interval; None where it is not known."""

    ratio: Ratio | None
    low: Ratio | None
    high: Ratio | None


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How trials are spread; None where there is no value."""

    n: Count
    median: float | None
    q1: float | None
    q3: float | None


@dataclass(frozen=True, kw_only=True)
class ProfileSpread(Spread):
    """How the trials of a profile are spread."""

    profile: str


@dataclass(frozen=True, kw_only=True)
class Effect(Estimate):
    """What was compared inside blocks."""

    n: Count  # blocks
    p: Share | None
    p_report: Share | None  # corrected for the whole report
    significant: bool
    state: Outcome | None  # None where no direction is better
    needs: Needs | None
    differences: list[Ratio | None] | None = None  # of each block, where the effect may be claimed

    @property
    def outcome(self) -> str:
        """How it came out: better, worse, same or unknown."""
        return self.state or "unknown"


@dataclass(frozen=True, kw_only=True)
class ProfileEffect(Effect, ProfileSpread):
    """A profile against the control; ``n`` is how many blocks have both."""


@dataclass(frozen=True, kw_only=True)
class FactorEffect(Effect):
    """A level of a factor against its first one, on average over all else."""

    factor: str
    level: str
    base: str


@dataclass(frozen=True, kw_only=True)
class InteractionEffect(Effect):
    """What two factors do together beyond what each does alone."""

    factors: list[str]
    aliases: list[list[str]] | None = None  # pairs that a screen cannot separate from it


@dataclass(frozen=True, kw_only=True)
class Described:
    """What a metric is in a table."""

    # such as `throughput`, `latency_p99`, `service_demand_client`, `cpu_server_softirq`
    metric: str
    label: str  # in words
    unit: str  # of its values
    better: Better | None  # None where it depends on the throughput
    end: End | None


@dataclass(frozen=True, kw_only=True)
class Metric(Described):
    """One metric of a table that has medians alone."""

    compared: bool  # false for rare kinds of CPU time: medians alone
    control: ProfileSpread  # both its visits
    rows: Sequence[ProfileSpread]  # every other profile


@dataclass(frozen=True, kw_only=True)
class SelfEffect(Estimate):
    """The control's second visit against its first."""

    p: Share | None


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The trend over blocks."""

    ratio_per_block: Ratio | None
    p: Share | None


@dataclass(frozen=True, kw_only=True)
class Comparison(Metric):
    """One metric of a table, whose profiles are compared with the control."""

    rows: Sequence[ProfileEffect]  # every other profile, against the control
    main_effects: list[FactorEffect] | None = None  # of a full factorial or a screen
    interactions: list[InteractionEffect] | None = None  # two factors, beyond what each does alone
    noise_floor: Ratio | None  # the largest likely ratio of two control visits
    smallest_detectable: Ratio | None  # the smallest effect that the test can show, above 1
    aa: SelfEffect  # the control's second visit against its first
    trial_sd: float | None  # the scatter of a trial, a logarithm
    drift: Drift  # the trend over blocks
    warnings: list[str]  # sentences

    @property
    def effects(self) -> Sequence[Effect]:
        """The effects that the design is made for."""
        return self.main_effects or self.rows


@dataclass(frozen=True, kw_only=True)
class FailedIn:
    """What failed of a profile's trials in one table."""

    profile: str
    trials: Count
    failed: Count
    kinds: dict[str, Count]


@dataclass(frozen=True, kw_only=True)
class PacketCounts:
    """The packets of a profile at one end, or at both ends of one kernel; medians of trials."""

    profile: str  # its name
    end: End
    n: Count  # trials
    per_mb: Ratio  # packets that crossed the stack, each way, per MB of data
    cut_per_mb: Ratio  # packets that the device cut
    merged_per_mb: Ratio  # packets that GRO merged into others
    checksum_left: Share  # share of the packets sent whose checksum the device fills in
    cpu_us: Ratio | None  # CPU time for each packet that crossed the stack


@dataclass(frozen=True, kw_only=True)
class Table:
    """A part of a campaign whose effects belong together: one path, MTU and workload."""

    id: str
    pair: str | None  # None where there is one alone
    path: str
    mtu: int | None  # None where an imported log does not say it
    workload: str
    test: str


@dataclass(frozen=True, kw_only=True)
class AnalysedTable(Table):
    """What was measured over one path, at one MTU, with one workload."""

    saturated: bool  # a CPU was busy all the time
    failures: list[FailedIn]
    metrics: list[Comparison | Metric]
    counts: list[PacketCounts] | None = None  # of packets, where the kernels counted them

    @property
    def comparisons(self) -> list[Comparison]:
        """The metrics that are compared with the control."""
        return [metric for metric in self.metrics if isinstance(metric, Comparison)]


@dataclass(frozen=True, kw_only=True)
class Contender(FactorEffect):
    """A setting that may lead."""

    rank: Annotated[int, {"minimum": 1, "maximum": 6}] | None  # None where there is no test


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Which settings lead for one goal in one table; the contender with the largest gain first."""

    goal: Goal
    side: Annotated[str, {"enum": ["transmitter", "receiver", "both", "forwarder"]}]
    table: str
    metric: str
    end: End | None
    leaders: list[str]  # factors
    separated: bool  # one leads, and is held apart from all others
    undecided: list[str]  # factors
    candidates: list[Contender]


@dataclass(frozen=True, kw_only=True)
class Failures:
    """What failed of one profile's trials."""

    profile: str
    trials: Count
    failed: Count
    share: Share | None
    p_report: Share | None
    shown: bool
    forbids: str | None  # why the profile is not recommended


@dataclass(frozen=True, kw_only=True)
class ConfirmedPart:
    """The second part of a campaign: what was chosen, in fresh blocks."""

    blocks: Count
    profiles: list[str]
    tables: list[AnalysedTable]
    failures: list[Failures]


@dataclass(frozen=True, kw_only=True)
class RoundStanding:
    """How a search stood before a round, and what it visited then."""

    round: Annotated[int, {"minimum": 1}]
    standing: SearchStanding
    profiles: list[str]


@dataclass(frozen=True, kw_only=True)
class SearchPath:
    """The path of a search."""

    goal: Annotated[str, {"enum": ["throughput", "cpu", "latency"]}]
    ended: (
        Annotated[str, {"enum": ["answered", "visits", "time_budget", "nothing measured"]}] | None
    )
    first_visits: Count
    rounds: list[RoundStanding]
    nominees: list[Nominee]
    standing: SearchStanding | None


@dataclass(frozen=True, kw_only=True)
class SetEffect(Estimate):
    """The recommended set against the control in one table."""

    table: str
    metric: str
    end: End | None
    goal: Goal
    n: Count
    state: Outcome | None
    planned: Ratio | None = None  # the ratio in the plan's blocks, or the ratio of all its changes


@dataclass(frozen=True, kw_only=True)
class Score(Estimate):
    """The score of a set over all tables against the control's."""

    n: Count


@dataclass(frozen=True, kw_only=True)
class Against(Score):
    """The score of the recommended set divided by another set's, inside the blocks that confirm it."""

    profile: str


@dataclass(frozen=True, kw_only=True)
class Forbidden:
    """A set that cannot be recommended."""

    profile: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """What to set; ``name`` is None where nothing is recommended, and ``why`` says why."""

    name: str | None  # the profile; null where nothing is recommended
    levels: Levels  # all of them
    changes: Levels  # the levels that differ from the control
    settings: dict[str, Any]  # of the whole profile, by end and device class
    goals: list[Goal]  # in which it is shown to be better
    confirmed: bool  # whether its numbers come from blocks that did not choose it
    # fresh blocks, or a plan with one candidate
    confirmed_by: Annotated[str, {"enum": ["plan", "confirmation"]}] | None
    # the mean gain over all tables; CPU time has half the weight
    score: Score | None
    by: list[SetEffect]  # the set against the control in each table
    costs_unknown_in: list[SetEffect]  # where it may cost more than `matters`
    best: bool  # whether no other set may score more by `matters`
    not_told_apart: list[str]  # sets that may score more
    against: list[Against]  # its score against each other confirmed set's
    forbidden: list[Forbidden]  # sets that cannot be recommended
    why: str  # why nothing is recommended


@dataclass(frozen=True, kw_only=True)
class ErrorRate:
    """How often a report like this one claims what is not so."""

    alpha: float
    tested: Count
    by_kind: dict[str, Count]
    text: str


@dataclass(frozen=True, kw_only=True)
class Methods:
    """How effects were computed."""

    estimate: str
    weights: list[float] | None = None  # of the blocks, where they do not count alike
    interval: str
    confidence: float
    test: str
    correction: str
    alpha: float
    power: float
    fewest_blocks: Count
    matters_percent: float
    include_marked: bool
    one_host: bool


@dataclass(frozen=True, kw_only=True)
class FailedTrial:
    """A trial that failed."""

    id: str | None
    error: str


@dataclass(frozen=True, kw_only=True)
class TrialCounts:
    """The trials of a campaign, by what became of them."""

    planned: Count
    recorded: Count
    used: Count
    failed: Count
    excluded: Count
    unplanned: Count
    twice: Count
    missing: Count
    marks: dict[str, Count]
    excluded_by: dict[str, Count]
    failures: list[FailedTrial]


@dataclass(frozen=True, kw_only=True)
class AnalysedFactor:
    """What an analysis says of a factor."""

    name: str
    kind: str
    levels: list[str]
    devices: list[str]
    sides: list[str]
    needs: list[str]


@dataclass(frozen=True, kw_only=True)
class Meanwhile:
    """What the machine did meanwhile, and the associated share of the variance inside blocks."""

    what: Annotated[str, {"enum": ["steal", "user"]}]
    share: Share


@dataclass(frozen=True, kw_only=True)
class Scattered:
    """Standard deviations of logarithms: of single cells, of whole visits beyond them (None where one
    table cannot hold them apart), and of blocks.
    """

    cell: float
    visit: float | None
    block: float
    meanwhile: list[Meanwhile]
    text: str


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """What is missing, or what was added; ``text`` says it."""

    visits_missing: Count
    trials_missing: Count
    seconds: float | None
    extended: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a factor's setting did on one device, and how that is known."""

    verdict: str
    reason: str
    proof: str
    share_on: float | None
    share_off: float | None
    others: list[str]  # features that it changed, too


@dataclass(frozen=True, kw_only=True)
class DeviceVerdict(Verdict):
    """The verdict of a factor on a device; ``confounded``: other factors differed, too."""

    factor: str
    path: str
    end: str
    node: str
    device: str
    confounded: bool


@dataclass(frozen=True, kw_only=True)
class Trials:
    """How many trials there were, and how many in trouble."""

    trials: Count  # checks of the payload
    troubled: Count  # checks in trouble


@dataclass(frozen=True, kw_only=True)
class Blame:
    """A condition under which more trials are in trouble than without it."""

    settings: dict[str, bool]  # {factor: is it on?}, or {AS_FOUND: True}
    under: Trials
    without: Trials
    kind: str  # what was wrong most often
    p: Share


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What is known of one setting that was on."""

    setting: str
    messages: Share  # the share of messages that may arrive wrong
    trials: Share  # the share of trials that may be in trouble


@dataclass(frozen=True, kw_only=True)
class AsFound(Trials):
    """The checks in the state as found, and the checks with all off."""

    all_off: Trials
    off: list[str]  # factors that are off as found
    mixed: list[str]  # factors that are on at some of their devices
    cured: bool  # what is broken under a profile is off as found, and nothing was in trouble


@dataclass(frozen=True)
class Hop:
    """A setting at one class of devices of one end."""

    settings: tuple[str, ...]
    side: Annotated[str, {"enum": ["client", "server", "forwarder"]}]
    devices: str  # a device class


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A known case that is like a verdict."""

    name: str
    link: str


@dataclass(frozen=True, kw_only=True)
class PathVerdict(Trials):
    """What the payload says of one path."""

    path: str  # of the trials
    mtu: int  # of the trials
    # `broken`, `broken without` (all off too), `broken everywhere` (all off was not visited),
    # `suspect`, `lossy`, `clean`
    verdict: str
    blames: list[Blame]  # the condition, its trials, and Fisher's p
    off: list[str]  # the fewest settings to switch off here
    messages: Count  # sent
    lost: Count  # messages that arrived wrong or not at all
    bounds: list[Bound]  # the largest shares that may be wrong with a setting on, at 95 % together
    kind: str  # what was wrong most often
    first: Example | None  # the smallest message that was wrong
    sizes: dict[str, Size]  # by direction, if packets of the MTU were lost and no ICMP reported it
    pings: Pings | None  # whether all were answered
    as_found: AsFound | None  # the state as found
    corrupted: dict[str, Corrupted]  # by node, if checksums are wrong under every profile


@dataclass(frozen=True, kw_only=True)
class PathFinding(PathVerdict):
    """The verdict of a path, where it breaks, and the report's sentence."""

    hops: list[
        list[Hop]
    ]  # by broken end: the likeliest hop, and those that the trials do not separate from it
    reports: list[Reported]  # known cases like this
    text: str  # the report's sentence


@dataclass(frozen=True, kw_only=True)
class NamedCure(Trials):
    """The settings to switch off on the hosts, for all paths together; the trials with the cure are
    those on the paths that are broken.
    """

    off: Levels  # the levels that differ from all on
    profile: str  # with these levels; "cure" where none was visited
    confirmed: bool


@dataclass(frozen=True, kw_only=True)
class PayloadFindings:
    """What checks of the payload say."""

    paths: list[PathFinding]
    cure: NamedCure | None = None


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """The content of analysis.json."""

    schema: int  # the version of these keys
    campaign: str  # its name
    kind: Annotated[str, {"enum": ["measured", "imported"]}]
    design: str  # of the plan
    seed: int | None  # of the plan
    created: str | None  # when the plan was made
    blocks: Annotated[int, {"minimum": 1}]  # of the plan
    control: str  # the control profile
    methods: Methods  # how effects were computed
    error_rate: ErrorRate  # how many effects were tested together
    trials: TrialCounts  # counts; `failures` are the first 20
    factors: list[AnalysedFactor]  # what was varied
    profiles: dict[str, Levels]  # the levels of each factor
    tables: list[AnalysedTable]  # one for each pair, path, MTU and workload
    scatter: Scattered | None  # standard deviations of logarithms, and associated causes
    attribution: list[Attribution]  # which setting leads, by goal and table
    # by profile, over all tables; `forbids`: why it is not recommended
    failures: list[Failures]
    recommendation: Recommendation  # what to set
    confirmation: ConfirmedPart | None  # what was chosen, in fresh blocks
    search: SearchPath | None  # its rounds, its end and its nominees
    unfinished: Unfinished | None  # what is missing or was added
    verdicts: list[DeviceVerdict]  # what each setting did on each device
    untestable: dict[str, str]  # factors and profiles, each with the reason
    warnings: list[str]  # sentences
    payload: PayloadFindings | None = None  # where the payload was checked
    nominated: list[Nominee] | None = None  # of a running campaign

    @property
    def claimed(self) -> list[AnalysedTable]:
        """The tables whose effects may be claimed: a search claims only what was confirmed."""
        if self.search and self.confirmation and self.confirmation.tables:
            return self.confirmation.tables
        return self.tables

    @property
    def is_searching(self) -> bool:
        """Whether nothing of a search is confirmed yet."""
        return self.search is not None and self.claimed is self.tables

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """How the report calls each profile, and the sets that were predicted or nominated."""
        standings: list[SearchStanding | None] = []
        nominees = list(self.nominated or ())
        if self.search:
            standings = [search_round.standing for search_round in self.search.rounds]
            standings.append(self.search.standing)
            nominees += self.search.nominees
        factors = {factor.name: factor.levels for factor in self.factors}
        return names_of_sets(factors, self.profiles, standings, nominees)
