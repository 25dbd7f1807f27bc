# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trials of a campaign as arrays: for each metric, tables by visits by blocks. One pass,
nothing else is kept.

Row 0 is the control, the last row its second visit; between them the other profiles, in the plan's
order.
"""

from __future__ import annotations

import copy
from itertools import product
from statistics import median
from typing import Any, Iterable, Sequence, TypedDict

from ...module_utils._engines.engine import PlannedWorkload
from .._campaign.nouns import Plan, Visit
from .._campaign.spending import block_weights
from .._campaign.visits import seconds_of, workloads_at
from .._statistics.effects import Scatter, components, logs
from .._statistics.libraries import np
from .._trials import payload
from .._trials.damage import Counts, counts_of
from .._trials.guards import excluded
from .._trials.nouns import Trial
from .metrics import MAIN, order, values_of
from .result import FailedTrial, PacketCounts, Table

LISTED = 20  # failures that are named one by one


class Contents(TypedDict):
    """What checks of the payload say of one profile."""

    trials: int  # in addition to the campaign's trials
    troubled: int  # of these
    altered: int  # trials, the campaign's own too, in which the payload arrived wrong


class Cube:
    """``tables``, ``profiles`` [name], ``values`` {metric:
    array}, ``counts``.

    ``attempts`` and ``stalls`` count trials, and those that failed or received nothing, in the same
    places; trials that are left out for a cause outside count in neither. ``first_block`` is the
    number of the block before the first. ``weights`` are what each block counts; None: all alike.
    """

    def __init__(self, plan: Plan, first_block: int = 0) -> None:
        control = plan["control"]
        self.plan = plan
        self.profiles = [control] + [name for name in plan["profiles"] if name != control]
        self.blocks = plan["blocks"]
        self.first_block = first_block
        weights = block_weights(plan)
        self.weights = None if weights is None else np.array(weights)
        self.tables = tables_of(plan)
        shape = len(self.tables), len(self.profiles) + 1, self.blocks
        self.attempts = np.zeros(shape, dtype=int)
        self.stalls = np.zeros(shape, dtype=int)
        self.stall_kinds: dict[
            tuple[int, str], dict[str, int]
        ] = {}  # by table and profile, then by kind
        self.contents: dict[str, Contents] = {
            name: {"trials": 0, "troubled": 0, "altered": 0} for name in self.profiles
        }
        self.used_in = np.zeros(len(self.tables), dtype=int)
        self.saturated = np.zeros(
            len(self.tables), dtype=int
        )  # used trials with a CPU that was busy all the time
        self.crossed: dict[tuple[int, str, str], list[Counts]] = {}  # by table, profile and end
        self.confirmation: Cube | None = None  # of the second part
        self.again = 0  # trials that replace one that the machine spoilt
        self.values: dict[str, np.ndarray] = {}
        self.counts = {
            "planned": sum(len(visit["cells"]) for visit in plan["visits"]),
            "recorded": 0,
            "used": 0,
            "failed": 0,
            "excluded": 0,
            "unplanned": 0,
            "twice": 0,
        }
        self.marks: dict[str, int] = {}
        self.excluded_by: dict[str, int] = {}
        self.failures: list[FailedTrial] = []
        self.unusable: dict[Any, str] = {}  # {profile: why its first trial that was left out is}
        self._rows: dict[Any, int] = {name: row for row, name in enumerate(self.profiles)}
        self._tables: dict[tuple[Any, ...], int] = {
            (table.pair, table.path, table.mtu, table.workload): index
            for index, table in enumerate(self.tables)
        }
        self._seen: dict[
            tuple[int, int, int], list[Any]
        ] = {}  # {place: the numbers of its trials that were used}
        self.visited: set[tuple[Any, ...]] = set()  # (MTU, block, visit) with a recorded trial
        self.beyond = 0  # trials of blocks that the plan does not have

    def upto(self, blocks: int) -> Cube:
        """Return the cube of the first blocks, as it was when they were measured."""
        cube = copy.copy(self)
        cube.blocks = blocks
        cube.confirmation = None
        cube.attempts = self.attempts[..., :blocks]
        cube.stalls = self.stalls[..., :blocks]
        cube.weights = None if self.weights is None else self.weights[:blocks]
        first = {name: values[..., :blocks] for name, values in self.values.items()}
        cube.values = {name: values for name, values in first.items() if not np.isnan(values).all()}
        return cube

    def indices_of(self, trial: Trial) -> tuple[int, int, int] | None:
        """Return (table, row, block) of a trial in the arrays, or None where the plan has no such
        trial.
        """
        workload = trial.get("workload") or {}
        where: tuple[Any, ...] = (trial.get("path"), trial.get("mtu"), workload.get("name"))
        table = self._tables.get((trial.get("pair"), *where), self._tables.get((None, *where)))
        row = self._rows.get(trial.get("profile"))
        block = trial.get("block")
        if table is None or row is None or not isinstance(block, int):
            return None
        if not 1 <= block - self.first_block <= self.blocks:
            return None
        return (
            table,
            len(self.profiles) if row == 0 and trial.get("repeat") else row,
            block - self.first_block - 1,
        )

    def add(self, trial: Trial, one_host: bool = False) -> None:
        """Add one trial, or count why it is left out."""
        self._recorded(trial)
        cell = self.indices_of(trial)
        is_content_check = self._see_content(trial)
        if cell is not None:
            self._outcome(trial, cell)
        if trial.get("error"):
            self._failed(trial)
        elif is_content_check:
            self.counts["used"] += 1
        elif cell is None:
            self.counts["unplanned"] += 1
        elif trial.get("trial") in self._seen.get(cell, ()):
            self.counts["twice"] += 1
        elif excluded(trial):
            self._excluded(trial)
        else:
            self._used(trial, cell, one_host)

    def _recorded(self, trial: Trial) -> None:
        """Count a trial, whether it is used or not."""
        self.counts["recorded"] += 1
        self.again += bool(trial.get("again"))
        block = trial.get("block")
        self.visited.add((trial.get("mtu"), block, trial.get("visit")))
        self.beyond += isinstance(block, int) and block > self.first_block + self.blocks
        for guard in _guards(trial):
            self.marks[guard] = self.marks.get(guard, 0) + 1

    def _used(self, trial: Trial, cell: tuple[int, int, int], one_host: bool) -> None:
        """Take in what a trial measured; where a visit has several, the mean of them."""
        used = self._seen.setdefault(cell, [])
        used.append(trial.get("trial"))
        self.counts["used"] += 1
        self.used_in[cell[0]] += 1
        self.saturated[cell[0]] += "cpu_saturation" in _guards(trial)
        for end, counts in counts_of(trial).items():
            self.crossed.setdefault((cell[0], trial["profile"], end), []).append(counts)
        for name, value in values_of(trial, one_host).items():
            if name not in self.values:
                self.values[name] = np.full(self.attempts.shape, np.nan)
            values = self.values[name]
            if len(used) == 1 or np.isnan(values[cell]):
                values[cell] = value
            else:
                values[cell] += (value - values[cell]) / len(used)

    def _outcome(self, trial: Trial, cell: tuple[int, int, int]) -> None:
        """Count a trial as an outcome of its profile: with a result, or stalled."""
        kind = stall(trial)
        if kind is None and excluded(trial):
            return  # for a cause outside
        self.attempts[cell] += 1
        if kind:
            self.stalls[cell] += 1
            kinds = self.stall_kinds.setdefault((cell[0], trial["profile"]), {})
            kinds[kind] = kinds.get(kind, 0) + 1

    def _see_content(self, trial: Trial) -> bool:
        """Count the result of a payload check; return whether the check is additional to the
        campaign's trials.
        """
        counts = self.contents.get(trial.get("profile"))
        if counts is None:
            return False
        checked = (trial.get("result") or {}).get("payload")
        counts["altered"] += bool(checked and payload.altered(checked))
        check = self.plan.get("verify")
        is_content_check = (
            check is not None and (trial.get("workload") or {}).get("name") == check["name"]
        )
        if is_content_check and (trial.get("error") or not excluded(trial)):
            counts["trials"] += 1
            counts["troubled"] += bool(trial.get("error"))
        return is_content_check

    def _failed(self, trial: Trial) -> None:
        self.counts["failed"] += 1
        self.unusable.setdefault(trial.get("profile"), str(trial["error"]))
        if len(self.failures) < LISTED:
            self.failures.append(FailedTrial(id=trial.get("id"), error=str(trial["error"])))

    def _excluded(self, trial: Trial) -> None:
        self.counts["excluded"] += 1
        marks = [mark for mark in trial["marks"] if mark.get("excludes", True)]
        self.unusable.setdefault(trial["profile"], "{guard}: {reason}".format(**marks[0]))
        for guard in {mark["guard"] for mark in marks}:
            self.excluded_by[guard] = self.excluded_by.get(guard, 0) + 1

    def metrics(self) -> list[str]:
        """Return the names of the metrics that were measured, in the order in which they are shown."""
        return sorted(self.values, key=order)


def _guards(trial: Trial) -> set[str]:
    """Return the guards that marked a trial."""
    return {mark["guard"] for mark in trial.get("marks") or ()}


def stall(trial: Trial) -> str | None:
    """Return how a trial failed, ``failed`` or ``nothing_received``, or None: an outcome of its
    profile.
    """
    if trial.get("error"):
        return "failed"
    result = trial.get("result") or {}
    rates = [
        result[name]
        for name in ("throughput_mbps", "transactions_per_s")
        if result.get(name) is not None
    ]
    nothing = "nothing_received" in _guards(trial)
    return "nothing_received" if nothing or (rates and not any(rates)) else None


def tables_of(plan: Plan) -> list[Table]:
    """Return the tables of a plan: one for each pair, path, MTU and workload."""
    pairs: list[str | None] = [
        f"{pair['client']}-{pair['server']}" for pair in plan.get("pairs") or ()
    ]
    places = product(pairs or [None], plan["paths"], plan["mtus"], plan["workloads"])
    return [_table(pair, path, mtu, workload) for pair, path, mtu, workload in places]


def _table(pair: str | None, path: str, mtu: int, workload: PlannedWorkload) -> Table:
    """Return a table; its id has the pair where there are several, path, MTU and workload."""
    parts = (pair, path, mtu, workload["name"])
    return Table(
        id="/".join(str(part) for part in parts if part is not None),
        pair=pair,
        path=path,
        mtu=mtu,
        workload=workload["name"],
        test=workload["test"],
    )


def split(plan: Plan) -> tuple[Plan, Plan | None]:
    """Return the planned part and the part of the confirmation (or None), each with its profiles
    and blocks.
    """
    parts: dict[str, list[Visit]] = {"plan": [], "confirm": []}
    for visit in plan["visits"]:
        parts["confirm" if visit.get("part") == "confirm" else "plan"].append(visit)
    if not parts["confirm"]:
        return plan, None
    confirmed = max(visit["block"] for visit in parts["confirm"]) - plan["blocks"]

    def own(part: str) -> Plan:
        visited = {visit["profile"] for visit in parts[part]} | {plan["control"]}
        profiles = {name: profile for name, profile in plan["profiles"].items() if name in visited}
        return {**plan, "visits": parts[part], "profiles": profiles}

    return own("plan"), {
        **own("confirm"),
        "blocks": confirmed,
        "design": "profiles",
        "searched": plan["design"] == "search",
    }


def collect(plan: Plan, trials: Iterable[Trial], one_host: bool = False) -> Cube:
    """Return the :class:`Cube` of an iterable of trial records, with the one of its confirmation."""
    planned, second = split(plan)
    cube = Cube(planned)
    if second:
        cube.confirmation = Cube(second, plan["blocks"])
    for trial in trials:
        part = cube.confirmation if cube.confirmation and trial.get("part") == "confirm" else cube
        part.add(trial, one_host)
    return cube


def scatter_of(plan: Plan, trials: Iterable[Trial]) -> Scatter | None:
    """Return what scattered in a campaign's throughput and transactions; None where it measured too
    little. Of visits whose cells differ in length ``seconds`` is a mean that gives the same scatter.
    """
    values = collect(plan, trials).values
    logarithms = [logs(values[name]) for name in MAIN if name in values]
    if not logarithms:
        return None
    tables = np.concatenate(logarithms)
    names = [load["name"] for load in plan["workloads"]]
    shares = list[float]()
    for visit in plan["visits"]:
        loads = workloads_at(plan, visit)
        shares += (1 / seconds_of(loads[name]) for name in names)
    return components(tables[~np.isnan(tables).all(axis=(1, 2))], len(shares) / sum(shares))


def _median_counts(profile: str, end: str, counts: Sequence[Counts]) -> PacketCounts:
    """Return the medians of the trials of a profile at an end."""
    cpu = [count.cpu_us for count in counts if count.cpu_us is not None]
    return PacketCounts(
        profile=profile,
        end=end,
        n=len(counts),
        per_mb=median(count.per_mb for count in counts),
        cut_per_mb=median(count.cut_per_mb for count in counts),
        merged_per_mb=median(count.merged_per_mb for count in counts),
        checksum_left=median(count.checksum_left for count in counts),
        cpu_us=median(cpu) if cpu else None,
    )


def counts_of_table(cube: Cube, table: int) -> list[PacketCounts]:
    """Return the packets of each profile and end of a table, medians of its trials, the control first."""
    rows = [
        _median_counts(profile, end, counts)
        for (place, profile, end), counts in cube.crossed.items()
        if place == table
    ]
    order = {name: number for number, name in enumerate(cube.profiles)}
    return sorted(rows, key=lambda row: (row.end, order[row.profile]))
