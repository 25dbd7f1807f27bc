# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate campaigns with a known truth and put the tables into docs/statistics.md and docs/decisions/intervals.md.

Run it as: make live; PYTHONPATH=.build/live python tools/truth_tables.py. Takes about ten minutes. Names of tables,
such as noise or coverage, make only these.
"""
from __future__ import annotations

import os
import re
import sys

import numpy as np

from ansible_collections.offload.lab.tests import truth, truth_candidates

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")


def _percent(share):
    return "{0:.1f} %".format(100 * share)


def _name(design):
    return "{0}, {1} factor{2}".format(design[0], design[1], "" if design[1] == 1 else "s"), str(design[2])


def _table(head, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]]
    print("\n".join(lines), end="\n\n", flush=True)
    return "\n".join(lines)


def false_claims():
    """Return the table of null campaigns."""
    return _table(["design", "blocks", *truth.NOISES], [[*_name(design), *(
        "{0} (≤ {1})".format(*map(_percent, truth.false_claims(truth.plan_of(*design), noise, seeds=range(1, 5))))
        for noise in truth.NOISES.values())] for design in truth.DESIGNS])


def coverage():
    """Return the table of intervals that hold the truth, for effects of 2, 5 and 20 per cent."""
    return _table(["design", "blocks", *truth.NOISES], [[*_name(design), *(
        " / ".join(_percent(truth.coverage(truth.plan_of(*design), noise, ratio, seed=int(100 * ratio))[0])
                   for ratio in (1.02, 1.05, 1.2)) for noise in truth.NOISES.values())] for design in truth.DESIGNS])


def _smallest(design, noise):
    plan = truth.plan_of(*design)
    right, stated = truth.true_smallest(plan, noise), truth.stated_smallest(plan, noise)
    near = np.mean(np.abs(stated / right - 1) <= 0.25)
    return "{0} / {1} / {2:.0f} %".format(*(_percent(np.expm1(log)) for log in (np.median(stated), right)), 100 * near)


def smallest():
    """Return the table of smallest detectable effects: stated, true, and how often within a quarter."""
    return _table(["design", "blocks", *truth.NOISES], [
        [*_name(design), *(_smallest(design, noise) for noise in truth.NOISES.values())]
        for design in truth.DESIGNS if design[0] != "full_factorial"])


def leaders():
    """Return the table of campaigns that rank one of two equal effects first."""
    plan = truth.plan_of("one_at_a_time", 6, 10)
    return _table(["design", "blocks", *truth.NOISES], [[*_name(("one_at_a_time", 6, 10)), *(
        "{0} (≤ {1})".format(*map(_percent, truth.false_leaders(plan, noise, 3.0)))
        for noise in truth.NOISES.values())]])


def intervals():
    """Return the table of the intervals that were tried."""
    places = [(name, blocks) for name in truth.NOISES for blocks in (6, 8, 12)]
    found = [truth_candidates.compare(truth.NOISES[name], blocks) for name, blocks in places]
    return _table(["noise, blocks", *truth_candidates.CANDIDATES], [
        ["{0}, {1}".format(*place), *("{0} ({1:.1f})".format(_percent(share), width) for share, width in row.values())]
        for place, row in zip(places, found)])


def noise():
    """Return what the recorded noise is."""
    kept = truth.recorded_noise()
    text = ("Recorded noise: {0}; {1} trials; a trial scatters by {2}, a block by {3}, drift {4} a block.".format(
        kept["source"], kept["trials"], *(_percent(kept[key]) for key in ("trial_sd", "block_sd", "drift_per_block"))))
    print(text, end="\n\n")
    return text


def fill(path, makers):
    """Replace what stands between the markers of each table in a page."""
    with open(path, encoding="utf-8") as stream:
        page = stream.read()
    for make in makers:
        start, end = "<!-- {0} -->".format(make.__name__), "<!-- end -->"
        page = re.sub("{0}\n.*?{1}".format(start, end), lambda _found: "{0}\n{1}\n{2}".format(start, make(), end),  # noqa: B023
                      page, flags=re.DOTALL)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(page)


PAGES = {"statistics.md": [noise, false_claims, coverage, smallest, leaders], "decisions/intervals.md": [intervals]}

if __name__ == "__main__":
    asked = sys.argv[1:] or [make.__name__ for makers in PAGES.values() for make in makers]
    for page, makers in PAGES.items():
        fill(os.path.join(DOCS, page), [make for make in makers if make.__name__ in asked])
