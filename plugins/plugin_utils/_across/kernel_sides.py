# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaigns of a search over kernels, read from their folders: how the two ends differ, and the side of
each measured kernel.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ...module_utils._base.errors import InputError
from .._analysis.integrity import is_broken, verdicts
from .._analysis.result import PathVerdict
from .._statistics import text
from .._statistics.libraries import np
from .._statistics.states import margin_of
from .._trials.payload import checks_of
from .._trials.records import stream_records
from . import bisect
from .bisect import BAD, GOOD, MOST_MEASURED, UNKNOWN, Counted, Range, Samples
from .campaigns import MeasuredCampaign, logs_of, read_campaign_folder, table_indexes
from .compare import compare_pairs, rows_of

AGAIN = "-again"  # the folder of further measurements, next to the results
FINISHED = "finished"


class Measured(NamedTuple):
    """One measurement of a kernel."""

    campaign: MeasuredCampaign
    payload: list[PathVerdict]


class Effect(NamedTuple):
    """The effect that is worse under the bad end."""

    table: str
    metric: str
    profile: str
    ratio: float

    def __str__(self) -> str:
        return f"{self.table}, {self.metric}, effect of {self.profile}: {text.change(self.ratio)}"

    def of(self, measured: Sequence[Measured]) -> np.ndarray:
        """Return the effect by block, logarithms."""
        blocks = [np.empty(0)]
        for campaign, _payload in measured:
            index = table_indexes(campaign).get(self.table)
            if index is not None and self.metric in campaign.cube.values:
                names = [self.profile, campaign.cube.profiles[0]]
                profile, control = logs_of(campaign, self.metric, index, names)
                blocks.append(profile - control)
        return np.concatenate(blocks)

    def side(self, name: str, ends: Ends, level: float) -> str:
        """Return the side of a kernel."""
        good, bad = self.of(ends.measured[ends.good]), self.of(ends.measured[ends.bad])
        return bisect.side_by_effect(Samples(self.of(ends.measured[name]), good, bad), level)


class BrokenPath(NamedTuple):
    """The path on which the payload is broken under the bad end."""

    path: str
    mtu: int

    def __str__(self) -> str:
        return f"the payload on {self.path} at MTU {self.mtu} is broken"

    def of(self, measured: Sequence[Measured]) -> Counted:
        """Return the sum of the checks on this path."""
        rows: list[PathVerdict] = []
        for _campaign, payload in measured:
            rows += [row for row in payload if (row.path, row.mtu) == self]
        return Counted(
            sum(row.trials for row in rows),
            sum(row.troubled for row in rows),
            any(is_broken(row.verdict) for row in rows),
        )

    def side(self, name: str, ends: Ends, level: float) -> str:
        """Return the side of a kernel."""
        kernel, bad = self.of(ends.measured[name]), self.of(ends.measured[ends.bad])
        return bisect.side_by_payload(kernel, bad, level)


class Ends(NamedTuple):
    """The first and the last kernel, and the measurements of all kernels."""

    good: str
    bad: str
    measured: Mapping[str, list[Measured]]

    def oracle(self, slower_percent: float) -> Effect | BrokenPath:
        """Return the difference between the ends that the search follows."""
        good, bad = self.measured[self.good], self.measured[self.bad]
        if slower_percent:
            return _effect(good[0].campaign, bad[0].campaign, slower_percent)
        clean = {(row.path, row.mtu) for row in good[0].payload if not row.troubled}
        for row in bad[0].payload:
            if is_broken(row.verdict) and (row.path, row.mtu) in clean:
                return BrokenPath(row.path, row.mtu)
        raise InputError(
            "no path has a broken payload under the bad kernel and a clean one under the good kernel",
            f"{self.good}, {self.bad}",
            "Use other kernels, more blocks, or offload_lab_kernel_slower_percent for an effect.",
        )


def _effect(good: MeasuredCampaign, bad: MeasuredCampaign, percent: float) -> Effect:
    """Return the clearest effect that is worse by this much under the bad end."""
    margin = margin_of(percent)
    compared = compare_pairs([(good, bad)], margin).compared
    worse_effects: list[tuple[float, Effect]] = []
    for _campaign, table, metric, row in rows_of(compared):
        p = row["p_holm"]
        worse = row["verdict"] == "worse" and abs(np.log(row["ratio"])) >= margin
        if worse and p is not None and p <= bisect.LEVEL:
            worse_effects.append(
                (p, Effect(table["id"], metric["metric"], row["profile"], row["ratio"]))
            )
    if not worse_effects:
        raise InputError(
            f"no effect is shown to be worse by {percent:g} % or more under the bad kernel",
            f"{good.name}, {bad.name}",
            "Use other kernels, more blocks, or a smaller offload_lab_kernel_slower_percent.",
        )
    return min(worse_effects, key=lambda item: item[0])[1]


class Step(NamedTuple):
    """Where a search is: the next kernel and the folder for it, else the range."""

    next: str | None
    folder: str
    sides: dict[str, str]
    range: Range | None
    follows: str  # the difference between the ends


def name_of(kernel: str) -> str:
    """Return the name of a kernel's folder."""
    return os.path.basename(kernel).removeprefix("linux-image-")


def folders_of(results: str, kernel: str) -> list[str]:
    """Return the folders for the measurements of a kernel."""
    name = name_of(kernel)
    more = [
        os.path.join(results.rstrip("/") + AGAIN, f"{name}-{number}")
        for number in range(2, MOST_MEASURED + 1)
    ]
    return [os.path.join(results, name), *more]


def _is_finished(folder: str, question: str) -> bool:
    try:
        with open(os.path.join(folder, FINISHED), encoding="utf-8") as stream:
            return stream.read() == question
    except OSError:
        return False


def _read(folder: str) -> Measured:
    inside = [entry.path for entry in os.scandir(folder) if entry.is_dir()]
    campaigns = [path for path in inside if os.path.exists(os.path.join(path, "plan.json"))]
    if len(campaigns) != 1:
        raise InputError("not one campaign is in this folder", folder, "Remove the other folders.")
    campaign = read_campaign_folder(campaigns[0], os.path.basename(folder))
    checks = checks_of(stream_records(os.path.join(campaigns[0], "trials.jsonl"), []))
    return Measured(campaign, verdicts(campaign.plan, checks))


class Next(NamedTuple):
    """The next measurement, or the range."""

    kernel: str | None
    sides: dict[str, str]
    range: Range | None
    follows: str


def next_of(
    kernels: Sequence[str],
    measured: Mapping[str, list[Measured]],
    slower_percent: float,
    failed: Collection[str] = (),
) -> Next:
    """Return what to measure next. The kernels are in order; the first is good, the last is bad."""
    for end in (kernels[0], kernels[-1]):
        if end in failed:
            raise InputError(
                "one end of the search could not be measured", end, "Choose another kernel."
            )
        if not measured[end]:
            return Next(end, {}, None, "")
    ends = Ends(kernels[0], kernels[-1], measured)
    oracle = ends.oracle(slower_percent)
    sides = _sides(kernels, ends, oracle)
    undecided = [kernel for kernel in kernels if kernel not in sides]
    spent = {kernel for kernel in undecided if len(measured[kernel]) >= MOST_MEASURED}
    following = bisect.next_kernel(kernels, sides, spent | set(failed))
    ends_range = None if following else bisect.range_of(kernels, sides)
    return Next(following, sides, ends_range, str(oracle))


def step_of(
    results: str,
    kernels: Sequence[str],
    question: str,
    slower_percent: float,
    failed: Collection[str],
) -> Step:
    """Return the next step of a search, from the folders of its results."""
    measured: dict[str, list[Measured]] = {}
    for kernel in kernels:
        folders = folders_of(results, kernel)
        measured[kernel] = [_read(path) for path in folders if _is_finished(path, question)]
    following = next_of(kernels, measured, slower_percent, failed)
    name = following.kernel
    folder = folders_of(results, name)[len(measured[name])] if name else ""
    return Step(name, folder, following.sides, following.range, following.follows)


def _sides(kernels: Sequence[str], ends: Ends, oracle: Effect | BrokenPath) -> dict[str, str]:
    """Return the sides that are decided."""
    level = bisect.level_of(len(kernels))
    sides = {ends.good: GOOD, ends.bad: BAD}
    for kernel in kernels[1:-1]:
        side = oracle.side(kernel, ends, level) if ends.measured[kernel] else UNKNOWN
        if side != UNKNOWN:
            sides[kernel] = side
    return sides
