# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole campaigns by the thousand, from the plan over nomination and confirmation to the
recommendation.

Run it as: PYTHONPATH=.build/live OPENBLAS_NUM_THREADS=1 .venv/bin/python
tests/instruments/simulation/long_form.py FILE [CELL ...]. It adds a line of JSON for each 100 campaigns of a
cell and goes on where the file ends, all cells in turn: it may be stopped at any time.
tests/instruments/simulation/truth_tables.py makes tables of the file.
"""

from __future__ import annotations

import json
import os
import sys
import zlib

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.sets import interval
from ansible_collections.offload.lab.tests.instruments.simulation import decisions, worlds

DESIGNS = {  # name: (design, factors, blocks, tables)
    "on_off": ("on_off", 2, 9, 4),
    "one_at_a_time": ("one_at_a_time", 6, 9, 8),
    "leave_one_out": ("leave_one_out", 6, 8, 4),
    "full_factorial": ("full_factorial", 3, 8, 4),
    "levels": (
        "one_at_a_time",
        [{"name": "rings", "kind": "rings", "levels": [256, 512, 1024, 4096]}],
        8,
        4,
    ),
    "screen": ("screen", 6, 3, 4),
}
PAIRED = {
    name: (name, ["tso", "gso"], 9 if name == "on_off" else 8, 4)
    for name in ("on_off", "one_at_a_time", "leave_one_out", "full_factorial")
}
SMALL = {"+2 %": 1.02, "+3 %": 1.03, "+5 %": 1.05}
LINE = 100  # campaigns
LINES = 20


def no_difference(design, noise):
    """Return how to draw a campaign in which nothing differs."""
    plan = decisions.plan_of(*DESIGNS[design][:3], tables=DESIGNS[design][3])
    return lambda generator: (
        decisions.campaign(plan, noise, decisions.null, generator),
        decisions.null,
        {},
    )


def trap(design, name):
    """Return how to draw a campaign whose truth fools naive rules."""
    plan, (truth, stalls) = decisions.plan_of(*PAIRED[design][:3]), decisions.TRAPS[name]
    return lambda generator: (
        decisions.campaign(plan, "plain", truth, generator, stalls),
        truth,
        stalls,
    )


def random(design, noise):
    """Return how to draw a campaign with a random truth of three factors."""
    plan = decisions.plan_of(design, 3, PAIRED[design][2])

    def draw(generator):
        truth = decisions.random_truth(3, 4, generator)
        return decisions.campaign(plan, noise, truth, generator), truth, {}

    return draw


def small(design, name):
    """Return how to draw a campaign in which one factor helps a little, everywhere."""
    plan = decisions.plan_of(*PAIRED[design][:3])
    truth = decisions.pair(SMALL[name], 1.0, SMALL[name])
    return lambda generator: (decisions.campaign(plan, "plain", truth, generator), truth, {})


CELLS = {
    **{
        f"null/{design}/{noise}": (no_difference, design, noise)
        for noise in worlds.NOISES
        for design in DESIGNS
    },
    **{
        f"trap/{design}/{name}": (trap, design, name)
        for name in decisions.TRAPS
        for design in PAIRED
    },
    **{f"random/{design}/plain": (random, design, "plain") for design in PAIRED},
    **{f"small/{design}/{name}": (small, design, name) for name in SMALL for design in PAIRED},
}


def _held(outcome, truth):
    """Return (held, confirmed): does the headline's interval hold the truth, and is its set
    recommended as confirmed?

    The headline belongs to the first nominee in the confirmation, or to the only candidate; None
    where there is none.
    """
    recommended = outcome.recommendation
    part = outcome.judged[-1].part
    profiles = outcome.plan["profiles"]
    confirmed = bool(recommended["name"] and recommended["confirmed"] and recommended["score"])
    if not confirmed and len(outcome.judged) == 1 and len(part.names) > 1:
        return None, False
    name = recommended["name"] if confirmed else part.names[0]
    control = profiles[outcome.plan["control"]]["levels"]
    score_of_set = decisions.score(
        truth, profiles[name]["levels"], control, len(outcome.judged[0].cube.tables)
    )
    _mean, low, high = interval(part.scores[part.index_of(name)])
    if confirmed:
        low, high = np.log([recommended["score"]["low"], recommended["score"]["high"]])
    return bool(low <= score_of_set <= high), confirmed


def line(cell, number):
    """Return what 100 campaigns of a cell came to, as a line of the file."""
    make, *design = CELLS[cell]
    draw = make(*design)
    generator = np.random.default_rng([number, zlib.crc32(cell.encode())])
    result = {
        "cell": cell,
        "line": number,
        "campaigns": LINE,
        "claimed": 0,
        "recommended": 0,
        "either": 0,
        "headlines": 0,
        "held": 0,
        "confirmed": 0,
        "covered": 0,
        "wrong": {},
        "names": {},
    }
    for _campaign in range(LINE):
        outcome, truth, stalls = draw(generator)
        name, (held, confirmed) = outcome.recommendation["name"], _held(outcome, truth)
        result["claimed"] += outcome.false
        result["recommended"] += bool(name)
        result["either"] += bool(outcome.false or name)
        result["headlines"] += held is not None
        result["held"] += bool(held)
        result["confirmed"] += confirmed
        result["covered"] += bool(confirmed and held)
        why = decisions.wrong(outcome, truth, stalls)
        for counts, key in ((result["wrong"], why), (result["names"], name)):
            if key:
                counts[key] = counts.get(key, 0) + 1
    return result


def read(path):
    """Return the lines of a file, that may not be there yet."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as stream:
        return [json.loads(text) for text in stream]


def main(path, *cells_asked):
    """Add lines until each cell has all."""
    done = {(row["cell"], row["line"]) for row in read(path)}
    for number in range(LINES):
        for cell in CELLS:
            if (cell, number) not in done and (
                not cells_asked or any(cell.startswith(start) for start in cells_asked)
            ):
                with open(path, "a", encoding="utf-8") as stream:
                    stream.write(json.dumps(line(cell, number)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
