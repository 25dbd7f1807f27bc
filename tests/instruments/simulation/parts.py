# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each part of the report's test buys, and which interval holds the truth: the same simulated
campaigns with a part and without it.

Run it as: PYTHONPATH=.build/live OPENBLAS_NUM_THREADS=1 .venv/bin/python
tests/instruments/simulation/parts.py parts|intervals CAMPAIGNS. It prints rows of
docs/decisions/report-wide-error-rate.md and docs/decisions/intervals.md.
"""

from __future__ import annotations

import sys

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._statistics import (
    effects,
    joint,
    signflip,
)
from ansible_collections.offload.lab.tests.instruments.simulation import claims, decisions, worlds

FIVE = np.log(1.05)
DESIGNS = {  # name: (design, factors, blocks, tables, control visits)
    "on_off": ("on_off", 2, 9, 4, 1),
    "on_off, control twice": ("on_off", 2, 6, 4, 2),
    "one_at_a_time": ("one_at_a_time", 6, 9, 8, 2),
    "leave_one_out": ("leave_one_out", 6, 8, 4, 2),
    "full_factorial": ("full_factorial", 3, 8, 4, 2),
}
FALSE = (  # design, noise
    ("on_off", "plain"),
    ("on_off", "skewed"),
    ("on_off", "interference"),
    ("one_at_a_time", "plain"),
    ("one_at_a_time", "skewed"),
    ("one_at_a_time", "long tail"),
    ("one_at_a_time", "stalls"),
    ("leave_one_out", "skewed"),
    ("full_factorial", "skewed"),
    ("on_off, control twice", "slow first visits"),
)
TRUE = (  # design, noise, how many profiles are better, by what ratio
    ("on_off", "plain", 1, 1.05),
    ("on_off", "interference", 1, 1.05),
    ("on_off, control twice", "plain", 1, 1.1),
    ("one_at_a_time", "plain", 1, 1.1),
    ("one_at_a_time", "plain", 4, 1.1),
    ("leave_one_out", "plain", 4, 1.1),
)


def plan_of(name):
    """Return the plan of a named design, and how many tables it has."""
    design, factors, blocks, tables, visits = DESIGNS[name]
    more = {"control_visits": visits} if design == "on_off" else {}
    return decisions.plan_of(design, factors, blocks, tables=tables, **more), tables


def single_step(scaled, sizes):
    """Return p values by the largest effect of all, without steps."""
    largest = np.abs(scaled @ signflip.sign_patterns(scaled.shape[1])).max(axis=0)
    return (largest >= sizes[:, None] * joint.TIE).mean(axis=1)


def by_parts(drawn, weights):
    """Return ({what is used: p values}, means, kinds) of one campaign, ``drawn`` by metric."""
    differences, scale, kinds = claims.members_of(drawn, weights)
    n = (~np.isnan(differences)).sum(axis=1)
    kept = np.flatnonzero(n >= effects.FEWEST_BLOCKS)
    scale = np.maximum(scale, joint.usual_size(differences, n) / joint.MOST_OF_ITS_SIZE)
    scaled = (np.nan_to_num(differences) / (scale * np.sqrt(np.maximum(n, 1)))[:, None])[kept]
    sizes = np.abs(scaled.sum(axis=1))
    less = joint._sizes(
        differences[kept], n[kept], scaled.sum(axis=1), claims.groups_of(kinds)[kept]
    )
    p_by_part = {"step": single_step(scaled, less), "skewness": joint._step_down(scaled, sizes)}
    p_by_part["closed"] = joint._step_down(scaled, less)
    few = len(kept) <= joint.MOST_CLOSED
    p_by_part["order"] = joint._closed(scaled) if few else p_by_part["closed"]
    p = {}
    for name, p_values in p_by_part.items():
        p[name] = np.ones(len(differences))
        p[name][kept] = p_values
    p["all"] = p["order"]
    for name in ("all", "closed", "step", "skewness"):
        p[name] = in_order(p[name], differences, drawn, kinds)
    return p, effects.t_interval(differences)[1], kinds


def in_order(p, differences, drawn, kinds):
    """Return p values that are claims, no smaller than what the order of visits alone gives."""
    again = [values[:, -1] - values[:, 0] for values in drawn]
    if np.isnan(again).all():
        return p
    p = p.copy()
    profiles = drawn[0].shape[1] - 2
    rows = [index for index, kind in enumerate(kinds) if kind[0] in ("rows", "sets")]
    noise = np.concatenate([*again, ((again[0] - again[1]) / 2).mean(axis=0)[None]])
    for column in np.array(rows).reshape(-1, profiles).T:
        claimed = column[p[column] <= effects.ALPHA]
        if len(claimed):
            p[claimed] = np.maximum(p[claimed], signflip.order_p(differences[column], noise))
    return p


def shares(design, noise, campaigns, better=0, ratio=1.0, *, seed=1):
    """Return {what the test is without, or "all": (share of reports with a false claim, share of
    the true effects on throughput that are shown)}.
    """
    plan, tables = plan_of(design)
    generator = np.random.default_rng(seed)
    weights = claims.families(plan)
    truth = np.zeros((tables, len(plan["profiles"])))
    truth[:, 1 : 1 + better] = np.log(ratio)
    rows = np.concatenate([truth, truth[:, :1]], axis=1)[..., None]
    true = claims.true_effects(truth, weights)
    totals = {}
    for _campaign in range(campaigns):
        noises = worlds.draw_metrics(noise, generator, tables, plan, (1.0, -claims.CPU_NOISE))
        drawn = [direction * rows + noise for direction, noise in zip(claims.METRICS, noises)]
        parts, means, kinds = by_parts(drawn, weights)
        real = np.abs(true) > 1e-9
        real_first = real & np.array([kind == ("rows", 0) for kind in kinds])
        for name, p in parts.items():
            shown = p <= effects.ALPHA
            false = (shown & (~real | (np.sign(means) != np.sign(true)))).any()
            totals.setdefault(name, []).append(
                (false, shown[real_first].mean() if better else np.nan)
            )
    return {name: np.mean(counts, axis=0) for name, counts in totals.items()}


def covers(noise, blocks, campaigns, seed=1):
    """Return (share of intervals that hold +5 %, median width) by Student's t, and by the sign-flip
    test, of single differences in four tables.
    """
    plan = decisions.plan_of("on_off", 2, blocks)
    generator = np.random.default_rng(seed)
    drawn = [worlds.draw(noise, generator, 4, plan) for _campaign in range(campaigns)]
    differences = np.concatenate([values[:, 1] - values[:, 0] + FIVE for values in drawn])
    covered = []
    for interval in (effects.t_interval, effects.intervals):
        _n, _mean, low, high = interval(differences)
        has_interval = ~np.isnan(low)
        held = (low[has_interval] <= FIVE) & (high[has_interval] >= FIVE)
        covered += [held.mean(), np.median((high - low)[has_interval])]
    return covered


def main(what, campaigns):
    """Print the rows of a table."""
    number = int(campaigns)
    if what == "intervals":
        for noise in worlds.NOISES:
            shares_by_blocks = [covers(noise, blocks, number) for blocks in (6, 9, 12)]
            cells = [f"{a:.1%} ({b:.3f}) / {c:.1%} ({d:.3f})" for a, b, c, d in shares_by_blocks]
            print(f"| {noise} | {' | '.join(cells)} |".replace("%", " %"), flush=True)
        return
    for case in (*FALSE, *TRUE):
        result = shares(*case[:2], number, *case[2:])
        has_more = len(case) > 2
        names = ("all", "closed", "step", "skewness", "order")
        cells = [f"{result[name][int(has_more)]:.1%}" for name in names]
        about = f"{case[2]} better by {case[3] - 1:.0%}: shown" if has_more else "false claims"
        print(
            f"| {case[0]}, {case[1]}, {about} | {' | '.join(cells)} |".replace("%", " %"),
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
