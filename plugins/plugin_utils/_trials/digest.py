# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One pass over the trials: what the report shows in addition to the analysis (CPU, time, marks).

Records are large (raw text, each CPU) and a campaign may have 100,000, so none is kept.

The CPU of a node whose tenants are the ends has a window a visit, which lasts until the next visit's
profile is set. It is never added to the CPU of the ends. It holds what a node did between two trials,
too, so it compares profiles and is no service demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple, TypedDict, cast

from .._untrusted.texts import clean, clean_all
from . import damage, guards, payload, progress
from .nouns import NOTHING, Trial

KINDS = (
    "user",
    "system",
    "softirq",
    "irq",
    "steal",
    "iowait",
)  # user includes nice, as most tools show it
ENDS = ("client", "server", "forwarder", "combined")
FEWEST_CPUS = 2  # of one, the bars say as much as a heat map
VISITS = 10  # to a profile on a path whose evidence is kept: more of the same says nothing new
LISTED = 40  # trials named one by one in the report; trials.csv has them all
OF_LISTED = ("id", "block", "path", "mtu", "profile", "workload", "marks", "error")
PLACE = (
    "id",
    "campaign",
    "block",
    "visit",
    "cell",
    "repeat",
    "pair",
    "client",
    "server",
    "forwarder",
    "path",
    "mtu",
    "profile",
    "started",
    "finished",
)


PERCENTILES = ("p50", "p90", "p99", "p999")
Table = tuple[str, "int | None", "str | None"]  # path, MTU, name of the workload
Key = tuple[Table, str, str]  # table, profile, end
IDLE = ("idle", "iowait")
LONGEST = 3600  # seconds of a window: beyond it the campaign was interrupted


class TrialPoint(NamedTuple):
    """One trial as the figures show it; ``value`` is its throughput or transaction rate, None where
    it has none.
    """

    started: float
    value: float | None
    block: int
    profile: str
    used: bool


class LoadedLatency(NamedTuple):
    """The :data:`PERCENTILES` of a trial's requests in us, before its streams and during them."""

    unloaded: list[float]
    loaded: list[float]


class Guarded(TypedDict):
    """What a guard marked."""

    trials: int
    left_out: int
    reason: str  # of the first


class Means:
    """Running means by key; nothing else is kept."""

    def __init__(self) -> None:
        self.counts: dict[Key, int] = {}
        self.sums: dict[Key, dict[int, float]] = {}

    def add(self, key: Key, values: Mapping[int, float]) -> None:
        """Add one observation ``{name: number}`` to the key's."""
        self.counts[key] = self.counts.get(key, 0) + 1
        sums = self.sums.setdefault(key, {})
        for name, value in values.items():
            sums[name] = sums.get(name, 0.0) + value

    def get(self, key: Key) -> dict[int, float] | None:
        """Return ``{name: mean}`` of a key, or None."""
        count = self.counts.get(key)
        return {name: total / count for name, total in self.sums[key].items()} if count else None


class Digest:
    """What the report keeps of the trials; :meth:`see` takes them in."""

    def __init__(self, control: str) -> None:
        self.control = control
        self.softirq = Means()  # (table, profile, end): softirq per cent of each CPU
        self.points: dict[Table, list[TrialPoint]] = {}  # of each table
        self.latencies: dict[tuple[Table, str], list[LoadedLatency]] = {}  # of each profile
        self.trials = self.failed = self.left_out = 0
        self.guards: dict[str, Guarded] = {}
        self.damaged: dict[str, dict[str, int]] = {}  # {profile: {guard of damage: trials}}
        self.checks = payload.Checks({}, {})  # of the payload
        self.errors: dict[str, int] = {}  # error text: trials
        self.evidence: list[
            dict[str, Any]
        ] = []  # of each path, some visits to each profile, slim, for the verdicts
        # (path, MTU, pair, profile): visits whose evidence is kept
        self._visits: dict[tuple[Any, ...], set[tuple[int, int]]] = {}
        self.listed: list[
            dict[str, Any]
        ] = []  # the first LISTED trials that were left out or failed
        self.first: float | None = None  # seconds since the epoch
        self.last: float | None = None
        self.starts: progress.Starts = {}
        self.ids: set[str] = set()
        self.nodes: dict[str, set[str]] = {}  # that were each end
        self.node_cpu = NodeCpu()

    def see(self, trial: Trial) -> None:
        """Take one record in."""
        self.trials += 1
        self.ids.add(trial["id"])
        self._see_ends(trial)
        self.node_cpu.see(trial)
        progress.see_start(self.starts, trial)
        self._see_times(trial)
        self._see_marks(trial)
        self.checks.see_trial(trial)
        self._keep_evidence(trial)
        used = not (trial.get("error") or guards.excluded(trial))
        self._keep_point(trial, used)
        if used:
            self._measured(trial)
        else:
            self._unused(trial)

    def _see_ends(self, trial: Trial) -> None:
        ends = {"client": trial.get("client"), "server": trial.get("server")}
        for end, node in ends.items():
            if node:
                self.nodes.setdefault(end, set()).add(node)

    def _see_times(self, trial: Trial) -> None:
        if trial.get("started") is not None:
            self.first = min(trial["started"], self.first or trial["started"])
            self.last = max(trial.get("finished") or trial["started"], self.last or 0)

    def _see_marks(self, trial: Trial) -> None:
        for mark in trial.get("marks") or ():
            marked = self.guards.setdefault(
                mark["guard"], {"trials": 0, "left_out": 0, "reason": mark["reason"]}
            )
            marked["trials"] += 1
            marked["left_out"] += bool(mark.get("excludes", True))
        for guard in damage.seen_in(trial):
            of_profile = self.damaged.setdefault(trial["profile"], {})
            of_profile[guard] = of_profile.get(guard, 0) + 1

    def _unused(self, trial: Trial) -> None:
        """Count a trial that failed or was left out, and list it if it is one of the first."""
        error = trial.get("error")
        if error:
            self.failed += 1
            self.errors[error] = self.errors.get(error, 0) + 1
        else:
            self.left_out += 1
        if len(self.listed) < LISTED:
            self.listed.append({name: trial.get(name) for name in OF_LISTED})

    def _keep_evidence(self, trial: Trial) -> None:
        """Keep the evidence of a visit once: all of its trials on a path carry the same."""
        evidence = trial.get("evidence") or NOTHING
        if not (evidence.get("packets") or evidence.get("settings")):
            return
        visits = self._visits.setdefault(
            tuple(trial.get(name) for name in ("path", "mtu", "pair", "profile")), set()
        )
        visit = trial.get("block"), trial.get("visit")
        if visit not in visits and len(visits) < VISITS:
            visits.add(visit)
            kept = {name: trial.get(name) for name in PLACE}
            self.evidence.append({**kept, "evidence": clean_all(evidence, "evidence")})

    def _keep_point(self, trial: Trial, used: bool) -> None:
        result = trial.get("result") or NOTHING
        value = result.get("throughput_mbps")
        value = result.get("transactions_per_s") if value is None else value
        if trial.get("started") is not None and (value is not None or not used):
            self.points.setdefault(_table(trial), []).append(
                TrialPoint(trial["started"], value, trial.get("block"), trial.get("profile"), used)
            )

    def _measured(self, trial: Trial) -> None:
        table = _table(trial)
        latency = _loaded_latency(trial)
        if latency:
            self.latencies.setdefault((table, trial["profile"]), []).append(latency)
        for end, use in ((trial.get("cpu") or NOTHING).get("ends") or NOTHING).items():
            if len(use.get("cpus") or ()) >= FEWEST_CPUS and use.get("window_s"):
                self.softirq.add(
                    (table, trial.get("profile"), end), softirq_shares(use["cpus"], use["window_s"])
                )


def _table(trial: Trial) -> Table:
    """Return which table a trial belongs to."""
    return trial.get("path"), trial.get("mtu"), (trial.get("workload") or NOTHING).get("name")


def _loaded_latency(trial: Trial) -> LoadedLatency | None:
    """Return the percentiles of requests before streams and during them."""
    result = trial["result"]
    phases = []
    for latency in (result.get("unloaded_us"), result.get("latency_us")):
        values = [(latency or NOTHING).get(name) for name in PERCENTILES]
        phases.append([value for value in values if value])
    complete = all(len(values) == len(PERCENTILES) for values in phases)
    return LoadedLatency(*phases) if complete else None


def softirq_shares(cpus: Mapping[int, Mapping[str, float]], window: float) -> dict[int, float]:
    """Return ``{CPU number: softirq time in per cent of the window}``; ``window`` is in seconds."""
    return {
        int(cpu): min(100.0, 100.0 * seconds.get("softirq", 0.0) / window)
        for cpu, seconds in cpus.items()
    }


class NodeReading(TypedDict):
    """What a node's CPUs had done when a visit began, and whose the visit is."""

    profile: str
    time: float
    boot_id: str
    seconds: dict[str, float]


def _busy_percent(before: NodeReading, now: NodeReading) -> float | None:
    """Return how busy a node was between two readings; None where they make no window."""
    if now["boot_id"] != before["boot_id"] or not 0 < now["time"] - before["time"] < LONGEST:
        return None
    spent = {
        kind: max(0.0, seconds - before["seconds"][kind])
        for kind, seconds in now["seconds"].items()
    }
    total = sum(seconds for kind, seconds in spent.items() if kind != "steal")
    busy = total - sum(spent[kind] for kind in IDLE)
    return 100 * busy / total if total else None


class NodeCpu:
    """Readings by node, and the windows between them."""

    def __init__(self) -> None:
        self.last: dict[tuple[str, str], NodeReading] = {}  # (end, node)
        self.windows: dict[
            tuple[str, str], dict[str, list[float]]
        ] = {}  # {(end, node): {profile: [busy %]}}

    def see(self, trial: Trial) -> None:
        """Take in one trial, in the order of the record: each trial of a visit has the visit's
        reading.
        """
        for end, home in ((trial.get("evidence") or NOTHING).get("nodes") or NOTHING).items():
            key = (end, home["node"])
            before = self.last.get(key)
            now = cast(NodeReading, {"profile": trial["profile"], **home["cpu"]})
            if before and now["time"] == before["time"]:
                continue
            self.last[key] = now
            percent = _busy_percent(before, now) if before else None
            if before and percent is not None:
                profiles = self.windows.setdefault(key, {})
                profiles.setdefault(before["profile"], []).append(percent)

    def rows(self) -> list[tuple[str, str, str, int, float]]:
        """Return ``(profile, node, end, windows, median busy %)``."""
        rows = []
        for (end, node), profiles in sorted(self.windows.items()):
            for profile, percents in profiles.items():
                rows.append((profile, clean(node), clean(end), len(percents), median(percents)))
        return rows
