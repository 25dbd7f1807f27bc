# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time from the lab to a shown +5 % in four tables, on recorded noise: offload.lab, a loop of netperf
with a t test, LNST's evaluation and benchstat, all at the same error.

The noise is a series that netperf recorded, the throughput of each quarter of a second for minutes;
each tool measures when it would, so that it meets what the machine did then. A series begins at a
random place and goes round. It was recorded on a machine that others kept busy, where +5 % drowns for
hours: its logarithms are scaled so that cells of 1 s scatter by 5 %, and keep their order in time.

- *offload.lab* compares in random blocks; its test is the report's, at its own 5 %. As before: cells
  of 1 s. auto: the length of cells and the number of blocks are chosen from the first blocks.
- *netperf loop*: n runs of 1 s without the setting, then n with it, table after table;
  Welch's t test.
- *LNST*: the same runs; a difference of the means beyond a threshold in per cent is one.
- *benchstat*: the same runs; the Mann-Whitney U test.

Same error: of campaigns in which nothing differs, one in twenty claims anything. offload.lab is
unchanged. The others are given the threshold with which they keep it on this noise, which nobody
knows
on a machine of their own; what they claim falsely with their usual one is printed, too.

BENCH_CAMPAIGNS (100) are simulated for each tool and time. Other series:
.venv/bin/python tests/instruments/benchmarks/record_series.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from scipy import stats

from ansible_collections.offload.lab.tests.instruments.simulation import worlds
from ansible_collections.offload.lab.tests.instruments.simulation.spending import (
    BESIDE,
    TABLES,
    VISITS,
    Begun,
    Measured,
    begin,
    choose,
    judged,
)

CAMPAIGNS = int(os.environ.get("BENCH_CAMPAIGNS", "100"))
SERIES = Path(__file__).parent / "noise_series.json"
STEP = 0.25  # s of a value of a series
# s of a run of offload.lab, and of a start of netperf: docs/decisions/overhead.md
ONCE = 14.4
START = 0.15
TIMES = (60, 120, 240, 480, 960, 1920)  # s
CELL = 0.05
RATIO = 1.05
POWER = 0.8
ERROR = 0.05
LNST_PERCENT = 10  # its usual threshold
MOST = 100  # blocks


def scaled(values):
    """Return a series whose cells of 1 s scatter by :data:`CELL`."""
    logarithms = np.log(np.array(values, dtype=float))
    many = round(1 / STEP)
    trimmed = logarithms[: len(logarithms) // many * many].reshape(-1, many)
    cells = np.log(np.exp(trimmed).mean(axis=1)).std()
    return np.exp((logarithms - logarithms.mean()) * CELL / cells)


class Machine:
    """What a campaign meets, from a random moment of a recorded series on."""

    def __init__(self, series, generator, ratio):
        self.sums = np.concatenate([[0.0], np.cumsum(np.concatenate([series, series]))])
        self.length = len(series)
        self.effect = ratio
        self.now = generator.uniform(0, len(series) * STEP)

    def cell(self, seconds, treated):
        """Return the mean throughput of a cell that is measured now."""
        first = int(self.now / STEP) % self.length
        count = max(1, round(seconds / STEP))
        self.now += seconds
        blocks_done, rest = divmod(count, self.length)
        part = self.sums[first + rest] - self.sums[first]
        total = blocks_done * self.sums[self.length] + part
        return total / count * (self.effect if treated else 1.0)


def block(machine, order, seconds):
    """Return the logarithms of a block's visits, (tables, rows)."""
    logs = np.zeros((TABLES, VISITS))
    for row in order:
        machine.now += BESIDE
        logs[:, row] = [np.log(machine.cell(seconds, row == 1)) for _table in range(TABLES)]
    return logs


def blocks_of(machine, generator, budget, auto):
    """Return the values of all blocks that a time budget allows, (tables, rows) each, and what each
    block counts.
    """
    orders = worlds.order_of(generator, VISITS, MOST)
    begun = begin(budget) if auto else Begun(MOST, 1.0)
    fitting = int(budget * begun.blocks / begun.cost())
    first = min(MOST, begun.blocks, fitting)
    blocks_found = [
        block(machine, np.argsort(orders[:, number]), begun.seconds) for number in range(first)
    ]
    if not auto or fitting <= begun.blocks:
        return blocks_found, np.ones(len(blocks_found))
    chosen = choose(blocks_found, begun, budget)
    for number in range(begun.blocks, min(MOST, chosen.blocks)):
        blocks_found.append(block(machine, np.argsort(orders[:, number]), chosen.seconds))
    return blocks_found, chosen.weights(len(blocks_found))


def ours(machine, generator, seconds, auto):
    """Return the share of the tables that a campaign shows, and whether it claims anything."""
    values, weights = blocks_of(machine, generator, seconds - ONCE, auto)
    if len(values) < 6:
        return 0.0, False
    cpu = [-value / 2 for value in values]  # a faster cell costs less CPU
    both = [np.stack(metrics) for metrics in zip(values, cpu)]
    judgement = judged(Measured(both, weights), np.log(machine.effect))
    return judgement.shown.mean(), judgement.claims


def runs(machine, seconds):
    """Return what a loop measures in ``seconds``, [(without, with)], a pair a table."""
    each = max(2, int(seconds / (2 * TABLES * (1 + START))))
    results = []
    for _table in range(TABLES):
        pair = []
        for treated in (False, True):
            values = []
            for _run in range(each):
                machine.now += START
                values.append(machine.cell(1.0, treated))
            pair.append(np.array(values))
        results.append(pair)
    return results


def t_test(without, treated):
    """Return the p value of Welch's test."""
    return stats.ttest_ind(without, treated, equal_var=False).pvalue


def lnst(without, treated):
    """Return how small the difference is: minus the per cent between the means."""
    return -100 * abs(treated.mean() / without.mean() - 1)


def benchstat(without, treated):
    """Return the p value of the Mann-Whitney U test."""
    return stats.mannwhitneyu(without, treated, alternative="two-sided").pvalue


LOOPS = {  # name: (what is small where a difference is claimed, its usual limit)
    "netperf loop, t test": (t_test, ERROR),
    "LNST": (lnst, -LNST_PERCENT),
    "benchstat": (benchstat, ERROR),
}


def loop_scores(series, seconds, score, ratio, seed):
    """Return (campaigns, tables) of scores; of what points the wrong way the largest."""
    generator = np.random.default_rng(seed)
    scores = []
    for _campaign in range(CAMPAIGNS):
        pairs = runs(Machine(series, generator, ratio), seconds)
        scores.append([score(*pair) if ratio == 1 or right(pair) else np.inf for pair in pairs])
    return np.array(scores)


def right(pair):
    """Return whether what is better looks better."""
    return pair[1].mean() > pair[0].mean()


def loop(series, seconds, score, usual):
    """Return (share of tables shown at the same error, false claims with the usual limit)."""
    nothing = loop_scores(series, seconds, score, 1.0, seed=1).min(axis=1)
    limit = np.quantile(nothing, ERROR)
    shown = loop_scores(series, seconds, score, RATIO, seed=2) < limit
    return shown.mean(), (nothing <= usual).mean()


def campaigns(series, seconds, auto):
    """Return (share of tables shown, false claims) of offload.lab."""
    results = []
    for ratio, index, seed in ((RATIO, 0, 2), (1.0, 1, 1)):
        generator = np.random.default_rng(seed)
        own_results = [
            ours(Machine(series, generator, ratio), generator, seconds, auto)[index]
            for _campaign in range(CAMPAIGNS)
        ]
        results.append(np.mean(own_results))
    return results


def reached(shares):
    """Return after how many seconds a share of the tables is shown, between the times that were
    tried; None where it is not.
    """
    before = last = 0.0
    for seconds, share in zip(TIMES, shares):
        if share >= POWER:
            return last + (seconds - last) * (POWER - before) / (share - before)
        before = share
        last = seconds
    return None


def main():
    """Print a line for each series."""
    recorded = json.loads(SERIES.read_text(encoding="utf-8"))
    for name, series_entry in recorded["series"].items():
        series = scaled(series_entry)
        results = {
            "offload.lab, 1 s": [campaigns(series, seconds, False) for seconds in TIMES],
            "offload.lab, auto": [campaigns(series, seconds, True) for seconds in TIMES],
        }
        for tool, (score, usual) in LOOPS.items():
            results[tool] = [loop(series, seconds, score, usual) for seconds in TIMES]
        times = {tool: reached([row[0] for row in rows]) for tool, rows in results.items()}
        base = times["offload.lab, auto"]
        print(
            json.dumps(
                {
                    "noise": name,
                    "campaigns": CAMPAIGNS,
                    "seconds_to_80_percent": {
                        tool: took and round(took) for tool, took in times.items()
                    },
                    "ratio": {
                        tool: round(took / base, 2) for tool, took in times.items() if took and base
                    },
                    "shown": {
                        tool: [round(float(row[0]), 2) for row in rows]
                        for tool, rows in results.items()
                    },
                    "false_with_usual_limit": {
                        tool: [round(float(row[1]), 3) for row in rows]
                        for tool, rows in results.items()
                    },
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
