# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole campaigns with a known truth, from the plan to the recommendation, judged by the code that
judges real ones.

A truth is a function of (levels, table) that returns the logarithm of throughput. With the plan's
blocks the nominees are picked, visited again in fresh blocks, and judged once more, as a campaign
does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._analysis import contrasts
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cube import Cube, split
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.judge import judge, recommend
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.nominate import nominees_of
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.confirmation import (
    confirmation_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.tests.instruments.simulation import worlds

FACTORS = ["tx", "sg", "tso", "gso", "rx", "gro"]
PATHS = ["physical", "physical_vxlan", "tenant", "tenant_vxlan"]
MBPS = 5000.0


@dataclass
class Outcome:
    """What one simulated campaign came to: false claims by kind, the recommendation, the parts as
    judged.
    """

    plan: dict
    recommendation: dict
    judged: list
    false: bool
    hits: dict


def plan_of(design, factors, blocks, tables=4, confirm=6, **more):
    """Return a plan with ``tables`` tables, each a path and MTU."""
    mtus = [9000, 1500, 4000, 3000][: max(1, tables // 4)]
    names = FACTORS[:factors] if isinstance(factors, int) else list(factors)
    campaign = {
        "name": "truth",
        "design": design,
        "factors": names,
        "blocks": blocks,
        "paths": PATHS[: min(tables, 4)],
        "mtus": mtus,
        "workloads": ["tcp_stream"],
        "confirm": confirm,
        **more,
    }
    return make_plan(read_campaign(campaign), "")


def _fill(cube, noise, truth, stalls, generator):
    """Draw the trials of one part: throughput, and the CPU they cost, which falls by half of what
    throughput gains.
    """
    rows = [*cube.profiles, cube.profiles[0]]
    means = np.array(
        [
            [truth(cube.plan["profiles"][name]["levels"], table) for name in rows]
            for table in range(len(cube.tables))
        ]
    )
    shape = len(cube.tables), len(rows), cube.blocks
    work, busy = worlds.draw_metrics(noise, generator, len(cube.tables), cube.plan, (1.0, -0.5))
    values = means[..., None] + work
    stalled = generator.random(shape) < np.array([stalls.get(name, 0.0) for name in rows])[:, None]
    cube.attempts[...] = ~np.isnan(values)
    cube.stalls[...] = stalled & ~np.isnan(values)
    cube.values["throughput"] = np.where(stalled, np.nan, MBPS * np.exp(values))
    cube.values["service_demand_client"] = np.where(
        stalled, np.nan, np.exp(busy - 0.5 * means[..., None])
    )
    cube.used_in[...] = 1


def campaign(plan, noise, truth, generator, stalls=None):
    """Return the :class:`Outcome` of one campaign."""
    stalls = stalls or {}
    cube = Cube(plan)
    _fill(cube, noise, truth, stalls, generator)
    nominees = nominees_of(cube) if plan["confirm"] else []
    if nominees:
        nominees_measured = confirmation_of(plan, nominees)
        plan = {
            **plan,
            "profiles": {**plan["profiles"], **nominees_measured["profiles"]},
            "visits": [*plan["visits"], *nominees_measured["visits"]],
        }
        cube.confirmation = Cube(split(plan)[1], plan["blocks"])
        _fill(cube.confirmation, noise, truth, stalls, generator)
    judged, _family = judge(cube)
    recommended = recommend(judged, ())
    false, hits = _claims(judged, truth)
    return Outcome(plan, recommended, judged, false, hits)


def _claims(judged, truth):
    """Return (whether any claim is false, {true effect: [claimed]} of the throughput of the plan's
    profiles).
    """
    false = False
    hits = {}
    for judged_part in judged:
        profiles = judged_part.cube.plan["profiles"]
        for metric in judged_part.metrics:
            sign = 1.0 if metric.name == "throughput" else -0.5
            means = sign * np.array(
                [
                    [truth(profiles[name]["levels"], table) for name in judged_part.cube.profiles]
                    for table in range(len(judged_part.cube.tables))
                ]
            )
            for family, (_labels, weights) in metric.families.items():
                effects = means @ weights.T
                shown = metric.estimates[family]["significant"]
                mean = metric.estimates[family]["mean"]
                false |= bool(
                    (shown & ((np.abs(effects) < 1e-9) | (np.sign(mean) != np.sign(effects)))).any()
                )
                if family == "rows" and metric.name == "throughput" and judged_part is judged[0]:
                    for effect, judged_effect in zip(
                        effects.ravel().round(6).tolist(), shown.ravel().tolist()
                    ):
                        hits.setdefault(effect, []).append(judged_effect)
            labels, _gains, _found = metric.by_factor()
            if labels and metric.apart is not None and judged_part is judged[0] and len(labels) > 1:
                false |= _false_pairs(metric, means, judged_part.cube.plan)
    return false, hits


def _false_pairs(metric, means, plan):
    """Return whether two candidates that do not differ are held apart."""
    labels, gains, _found = metric.by_factor()
    if "main_effects" in metric.families:
        weights = metric.families["main_effects"][1]
    else:
        _labels, places, signs = contrasts.single_effects(plan)
        weights = metric.families["rows"][1][places] * np.array(signs, dtype=float)[:, None]
    true = means @ weights.T
    equal = np.abs(true[:, :, None] - true[:, None, :]) < 1e-9
    return bool((metric.apart & equal & ~np.eye(len(labels), dtype=bool)).any())


def score(truth, levels, control, tables):
    """Return what a set truly gains over the control, as the recommendation's score counts it."""
    gains = [truth(levels, table) - truth(control, table) for table in range(tables)]
    return 0.75 * float(np.mean(gains))  # half of it throughput, half CPU at half the size


def wrong(outcome, truth, stalls=None):
    """Return why a recommendation is wrong, or None. ``matters`` is 3 %.

    It costs more than matters in a table whose cost was not called unknown, it is called the
    best and is not, or it stalls.
    """
    recommended = outcome.recommendation
    plan = outcome.plan
    if not recommended.name:
        return None
    matters = np.log(1.03)
    control = plan["profiles"][plan["control"]]["levels"]
    tables = [table.id for table in outcome.judged[0].cube.tables]
    unknown = {row.table for row in recommended.costs_unknown_in}
    for number, name in enumerate(tables):
        if (
            truth(recommended.levels, number) - truth(control, number) < -matters
            and name not in unknown
        ):
            return "costs"
    score_of_set = score(truth, recommended.levels, control, len(tables))
    visited = [
        profile["levels"]
        for name, profile in plan["profiles"].items()
        if not (stalls or {}).get(name)
    ]
    if recommended.best and any(
        score(truth, levels, control, len(tables)) > score_of_set + matters for levels in visited
    ):
        return "not the best"
    return "stalls" if (stalls or {}).get(recommended.name) else None


def null(_levels, _table):
    """Nothing differs."""
    return 0.0


def pair(first, two, both):
    """Return a truth of two factors: their ratios alone, and together."""
    ratios = {(True, False): first, (False, True): two, (True, True): both, (False, False): 1.0}

    def truth(levels, _table):
        return float(np.log(ratios[levels["tso"] == "on", levels["gso"] == "on"]))

    return truth


TRAPS = {  # name: (truth, {profile: share of its trials that receive nothing})
    "together 8 % worse than tso alone": (pair(1.2, 1.15, 1.2 * 0.92), {}),
    "each alone -6 %, together +20 %": (pair(0.94, 0.94, 1.2), {}),
    "all on 8 % faster, stalls in a quarter": (
        pair(1.0, 1.0, 1.08),
        {"all_on": 0.25, "tso=on,gso=on": 0.25},
    ),
}


def random_truth(factors, tables, generator):
    """Return effects of -10 to +50 %, half of them none; pairs that interact; paths that disagree."""
    effects = np.log1p(generator.uniform(-0.1, 0.5, factors)) * (generator.random(factors) < 0.5)
    pairs = np.triu(np.log1p(generator.uniform(-0.2, 0.2, (factors, factors))), 1) * (
        generator.random((factors, factors)) < 0.2
    )
    paths = np.where(
        generator.random((tables, factors)) < 0.2,
        generator.uniform(-0.5, 1.0, (tables, factors)),
        1.0,
    )

    def truth(levels, table):
        on = np.array([level == "on" for level in levels.values()], dtype=float)
        return float(on @ (effects * paths[table]) + on @ pairs @ on)

    return truth
