# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time to a shown effect on a real lab: cells of 1 s against ``duration: auto``, in turn.

Both ways have the same time budget and the same test, so the same error. Each pair measures both, in
random order, each from its own start of the playbook. A report is made of the first six blocks, of
the first seven, and so on. An effect is shown by the block from which on all these reports show it, at
the time at which that block ended. What one way does not show counts as shown at its last trial's end:
the ratio is then nearer to 1 than it is. What neither shows is left out, and so is what the two show in
opposite directions, which is printed. Two ratios are printed: of the first effect that a campaign
shows,
and of all.

Two campaigns, each of eight tables, two paths with one stream, four, one connection of transactions and
four: "offloads" turns all four offloads on together at an MTU of 9000, "tso" two of them at 1500. Run
alone, as root. BENCH_PAIRS (3) are the pairs of each campaign, BENCH_BUDGET (260) the seconds of a time
budget, which has room for six short blocks from about 250 on. With BENCH_BEFORE, a checkout of an
earlier version after its ``make live``, that version measures the cells of 1 s, in a lab of its own.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.metrics import MAIN
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    read_current_plan,
)
from ansible_collections.offload.lab.tests.system.lab import Lab

PAIRS = int(os.environ.get("BENCH_PAIRS", "3"))
BUDGET = int(os.environ.get("BENCH_BUDGET", "260"))
BEFORE = os.environ.get("BENCH_BEFORE")
LEAST = 6  # the fewest blocks with which a report can show anything
PATHS = ["physical", "tenant_vxlan"]
WORKLOADS = [
    "tcp_stream",
    {"name": "tcp_streams", "test": "TCP_STREAM", "streams": 4},
    "tcp_rr",
    {"name": "tcp_rrs", "test": "TCP_RR", "streams": 4},
]
CAMPAIGNS = {
    "offloads": {"mtus": [9000], "factors": ["tx", "tso", "gso", "gro"]},
    "tso": {"mtus": [1500], "factors": ["tx", "tso"]},
}
WAYS = {"cells of 1 s": 1, "auto": "auto"}


# Run with the path of another checkout: one call of its own labs.
CALL = """
import json, sys
from ansible_collections.offload.lab.tests.system.lab import Lab
name, method, arguments, options = json.loads(sys.argv[1])
getattr(Lab(name), method)(*arguments, **options)
"""


class LabBefore:
    """A lab of an earlier version: its own checkout makes it and measures in it."""

    def __init__(self, checkout, name):
        self.path = str(Path(checkout, ".build/live"))
        self.name = name

    def _do(self, method, *arguments, **options):
        message = json.dumps([self.name, method, arguments, options])
        environment = {**os.environ, "PYTHONPATH": self.path}
        subprocess.run([sys.executable, "-c", CALL, message], env=environment, check=True)

    def up(self):
        self._do("up")

    def play(self, playbook, **options):
        self._do("play", playbook, **options)

    def down(self):
        self._do("down")


class Shown(NamedTuple):
    """What a report claims of one table."""

    table: str
    state: str  # better or worse


class Run(NamedTuple):
    """One campaign, as it went."""

    when: dict[Shown, float]  # s from the start of the playbook
    blocks: int
    seconds: float  # of the last cells
    end: float  # s from the start of the playbook to the end of the last trial


def measured(lab, folder, name, way):
    """Measure a campaign one way in its lab, and return when it showed what."""
    start = time.time()
    campaign = {**CAMPAIGNS[name], "name": f"{name}-{WAYS[way]}-{start:.0f}", "design": "on_off"}
    campaign.update(paths=PATHS, workloads=WORKLOADS)
    spent = {"duration": WAYS[way], "time_budget": BUDGET, "confirm": 0}
    options = {"results_dir": folder, "campaign": {**campaign, **spent}, "live_report": False}
    lab.play("measure", timeout=3600, **options)
    results = Path(folder, campaign["name"])
    plan = read_current_plan(str(results / "plan.json"))
    trials = [json.loads(row) for row in (results / "trials.jsonl").read_text().splitlines()]
    chosen = [spent["seconds"] for spent in plan.get("spent") or [] if spent["seconds"]]
    return Run(
        shown_by(plan, trials, start),
        plan["blocks"],
        chosen[-1] if chosen else 1.0,
        max(trial["finished"] for trial in trials) - start,
    )


def shown_by(plan, trials, start):
    """Return of each effect when it was shown for good, in seconds from the start."""
    shown_of = {}
    for blocks in range(LEAST, plan["blocks"] + 1):
        within = [trial for trial in trials if trial["block"] <= blocks]
        now = max(trial["finished"] for trial in within) - start
        shown = said_of(plan, within, blocks)
        shown_of = {effect: shown_of.get(effect, now) for effect in shown}
    return shown_of


def said_of(plan, trials, blocks):
    """Return what a report of the first blocks shows."""
    visits = [visit for visit in plan["visits"] if visit["block"] <= blocks]
    analysis = analyse({**plan, "blocks": blocks, "visits": visits}, trials)
    return {
        Shown(f"{table.id} {metric.metric}", row.state)
        for table in analysis.tables
        for metric in table.comparisons
        if metric.metric in MAIN
        for row in metric.rows
        if row.significant
    }


class Ratios(NamedTuple):
    """Auto's times by the other's."""

    first: list[float]  # of the first effect that either shows; empty where none is
    every: list[float]


def compared(runs):
    """Return the :class:`Ratios` of a pair, and print the times."""
    before, auto = (runs[way] for way in WAYS)
    ratios = Ratios([], [])
    for effect in sorted({*before.when, *auto.when}):
        opposite = effect._replace(state="worse" if effect.state == "better" else "better")
        if opposite in {*before.when, *auto.when}:
            print(f"  {effect.table}: better one way, worse the other")
            continue
        ratios.every.append(auto.when.get(effect, auto.end) / before.when.get(effect, before.end))
        times = " / ".join(time_said(run, effect) for run in (before, auto))
        print(f"  {effect.table} {effect.state}: {times}")
    if ratios.every:
        first, other = (min([*run.when.values(), run.end]) for run in (auto, before))
        ratios.first.append(first / other)
    return ratios


def time_said(run, effect):
    """Return when a run showed an effect, as text."""
    if effect in run.when:
        return f"{run.when[effect]:.0f} s"
    return f"not in {run.end:.0f} s"


def main():
    """Print the times of each pair, and the geometric means of their ratios."""
    lab = Lab("bench")
    before = LabBefore(BEFORE, "before") if BEFORE else lab
    labs = dict(zip(WAYS, (before, lab)))
    different = list(dict.fromkeys((before, lab)))
    with tempfile.TemporaryDirectory(prefix="offload-lab-bench-") as folder:
        try:
            for row in different:
                row.up()
            for name in CAMPAIGNS:
                pairs = [pair(labs, folder, name, number) for number in range(PAIRS)]
                first = chain.from_iterable(pair.first for pair in pairs)
                every = chain.from_iterable(pair.every for pair in pairs)
                print(f"{name}, the first effect: {told(list(first))}")
                print(f"{name}, all effects: {told(list(every))}", flush=True)
        finally:
            for row in different:
                row.down()


def told(ratios):
    """Return the geometric mean of ratios, and the least and the largest, as text."""
    if not ratios:
        return "none is shown"
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    return f"{mean:.2f} ({min(ratios):.2f} to {max(ratios):.2f}) of the time, in {len(ratios)}"


def pair(labs, folder, name, number):
    """Measure both ways in random order; return the ratios of the times."""
    order = random.Random(f"{name}{number}").sample(list(WAYS), len(WAYS))
    runs = {way: measured(labs[way], folder, name, way) for way in order}
    for way in WAYS:
        print(
            f"{name}, pair {number + 1}, {way}: {runs[way].blocks} blocks, at last "
            f"{runs[way].seconds:g} s a cell"
        )
    return compared(runs)


if __name__ == "__main__":
    main()
