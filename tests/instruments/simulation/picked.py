# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often intervals of what ``on_off`` recommends hold the truth, after it was picked for looking
good.

Run it as: PYTHONPATH=.build/live OPENBLAS_NUM_THREADS=1 .venv/bin/python
tests/instruments/simulation/picked.py CAMPAIGNS [SEED]. At +2 %, which is seldom recommended, it
simulates four times as many.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._report import answer as gains_of
from ansible_collections.offload.lab.tests.instruments.simulation import decisions

NOISES = ("plain", "AR(1)", "heavy tails", "skewed", "interference", "random walk")
RATIOS = (1.02, 1.03, 1.05, 1.1)
UNLIKE = (1.0, 1.0, 1.1, 1.3)  # what a set does in four tables
BLOCKS = 9


def holds(estimate, truth):
    """Return whether an interval of ratios holds a logarithm."""
    return bool(np.log(estimate.low) <= truth <= np.log(estimate.high))


def _one(outcome, ratios, counts):
    """Count what one campaign says: of its score, its rows, and the numbers of the answer."""
    recommended = outcome.recommendation
    if not recommended.score:
        return
    names = [table.id for table in outcome.judged[0].cube.tables]
    gains = dict(zip(names, np.log(ratios)))
    score = holds(recommended.score, 0.75 * np.mean([*gains.values()]))
    counts["recommended"] += 1
    counts["score"] += score
    shown = []
    for row in recommended.by:
        share = 1.0 if row.metric == "throughput" else -0.5
        held = holds(row, share * gains[row.table])
        counts["rows"] += 1
        counts["rows held"] += held
        shown += [held] if gains_of.is_named(row) else []
    counts["named"] += bool(shown)
    counts["answer"] += np.mean(shown) if shown else score


def picked(noise, ratios, campaigns, seed=1):
    """Return counts over campaigns in which a set does so much in each table."""
    plan = decisions.plan_of("on_off", ["tso", "gso"], BLOCKS, tables=len(ratios))
    generator = np.random.default_rng(seed)

    def truth(levels, table):
        return float(np.log(ratios[table])) if levels["tso"] == "on" else 0.0

    counts = Counter()
    for _campaign in range(campaigns):
        _one(decisions.campaign(plan, noise, truth, generator), ratios, counts)
    return counts


def line(noise, name, ratios, campaigns, seed):
    """Return a row of the table."""
    counts = picked(noise, ratios, campaigns, seed)
    often = max(1, counts["recommended"])
    shares = [
        counts["recommended"] / campaigns,
        counts["score"] / often,
        counts["rows held"] / max(1, counts["rows"]),
        counts["answer"] / often,
        counts["named"] / often,
    ]
    cells = [f"{100 * share:.1f} %" for share in shares]
    return f"| {noise}, {name} | {' | '.join(cells)} |"


def main(campaigns="400", seed="1"):
    """Print the table: in four tables alike, in one table, and in four that differ."""
    truths = {}
    for ratio in RATIOS:
        gain = f"+{100 * (ratio - 1):.0f} %"
        truths[gain] = (ratio,) * 4
        truths[f"{gain}, one table"] = (ratio,)
    truths["0, 0, +10, +30 %"] = UNLIKE
    for noise in NOISES:
        for name, ratios in truths.items():
            often = 4 if max(ratios) == RATIOS[0] else 1
            print(line(noise, name, ratios, often * int(campaigns), int(seed)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
