# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report claims of the planned blocks, of thousands of simulated campaigns: only the
arithmetic of the test.

The contrasts, scales, test and intervals are the same as in real reports; records and
documents are left out. tests/instruments/simulation/decisions.py has whole campaigns, a hundred times slower.
"""

from __future__ import annotations

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._analysis import contrasts
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.attribution import (
    pair_differences,
    pairs_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.sets import mean_present
from ansible_collections.offload.lab.plugins.plugin_utils._statistics import effects
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.joint import (
    joint_p,
    table_scale,
)
from ansible_collections.offload.lab.tests.instruments.simulation import worlds

METRICS = (1.0, -0.5)  # throughput, and CPU: what a gain in throughput does to each
CPU_NOISE = 0.5  # of throughput's


def families(plan):
    """Return ``{family: weights}`` of a plan's claims, each weights (effects, profiles)."""
    weights_by_kind = {"rows": contrasts.profile_effects(plan)[1]}
    if contrasts.is_factorial(plan):
        weights_by_kind["main_effects"] = contrasts.main_effects(plan)[1]
        weights_by_kind["interactions"] = contrasts.interactions(plan)[1]
        single = weights_by_kind["main_effects"]
    else:
        _labels, places, signs = contrasts.single_effects(plan)
        single = (
            weights_by_kind["rows"][places] * np.array(signs, dtype=float)[:, None]
            if places
            else np.zeros((0, 1))
        )
    if len(single) > 1:
        first, second = pairs_of(len(single))
        weights_by_kind["leaders"] = single[first] - single[second]
        weights_by_kind["single"] = single
    return weights_by_kind


def members_of(data, weights):
    """Return the differences and scales of one campaign, lists; ``data`` is (metrics, tables, rows,
    blocks).
    """
    differences = []
    scales = []
    kinds = []
    scores = 0.0
    scores_again = 0.0
    for metric, values in enumerate(data):
        again = values[:, -1:] - values[:, :1]
        both = effects.mean_of_visits(values[:, :1], values[:, -1:])
        profiles = np.concatenate([both, values[:, 1:-1]], axis=1)
        weights_of = {name: effects.contrast(profiles, weight) for name, weight in weights.items()}
        if "leaders" in weights_of:
            kept = ~np.isnan(pair_differences(effects.contrast(profiles, weights["single"]))).all(
                axis=-1
            )
            weights_of["leaders"] = np.where(kept[..., None], weights_of["leaders"], np.nan)
        scale = table_scale(weights_of["rows"], again)
        scores = scores + weights_of["rows"] * (1, -1)[metric] / 2
        scores_again = scores_again + again * (1, -1)[metric] / 2
        weights_of.pop("single", None)
        for name, weight in weights_of.items():
            each = (
                table_scale(weight)[:, None]
                if name == "leaders"
                else scale[:, None]
                * np.sqrt(
                    contrasts.squares(weights[name]) / np.median(contrasts.squares(weights["rows"]))
                )
            )
            differences.append(weight.reshape(-1, weight.shape[-1]))
            scales.append(np.broadcast_to(each, weight.shape[:2]).ravel())
            kinds += [(name, metric)] * len(differences[-1])
    differences.append(mean_present(list(scores)))
    scale = table_scale(differences[-1][None], mean_present(list(scores_again))[None])
    scales.append(np.repeat(scale, len(differences[-1])))
    kinds += [("sets", 0)] * len(differences[-1])
    return np.concatenate(differences), np.concatenate(scales), kinds


def groups_of(kinds):
    """Return, as numbers, which effects the test takes to be skewed alike: effects of one kind and
    metric.
    """
    return np.unique([f"{name} {metric}" for name, metric in kinds], return_inverse=True)[1]


def true_effects(truth, weights):
    """Return the true effects in the order of the claims; ``truth`` is (tables, profiles)."""
    true = [
        (direction * truth @ weight.T).ravel()
        for direction in METRICS
        for name, weight in weights.items()
        if name != "single"
    ]
    return np.concatenate([*true, (0.75 * truth @ weights["rows"].T).mean(axis=0)])


def claims(plan, noise, tables, truth, generator):
    """Return (claimed, true effects, old rule's claims on throughput's rows or None) of one
    campaign.

    ``truth`` is (tables, profiles), logarithms of throughput.
    """
    weights = families(plan)
    rows = np.concatenate([truth, truth[:, :1]], axis=1)[..., None]
    drawn = worlds.draw_metrics(noise, generator, tables, plan, (1.0, -CPU_NOISE))
    data = [direction * rows + noise for direction, noise in zip(METRICS, drawn)]
    differences, scale, kinds = members_of(data, weights)
    interval = effects.t_interval(differences)
    with np.errstate(invalid="ignore"):
        shown = joint_p(differences, scale, groups_of(kinds)) <= effects.ALPHA
    true = true_effects(truth, weights)
    return shown, true, interval[1], kinds, differences


def holm_claims(differences, count):
    """Return what the rule of one error rate a table claims: Holm over ``count`` effects of each
    table.
    """
    interval = effects.t_interval(differences)
    p = effects.p_values(differences).reshape(-1, count)
    return (effects.holm(p).ravel() <= effects.ALPHA) & ((interval[2] > 0) | (interval[3] < 0))


def false_claims(plan, noise, tables, campaigns, seed=1):
    """Return for each of many campaigns in which nothing differs whether its report claims
    anything.
    """
    generator = np.random.default_rng(seed)
    truth = np.zeros((tables, len(plan["profiles"])))
    return np.array(
        [claims(plan, noise, tables, truth, generator)[0].any() for _campaign in range(campaigns)]
    )


def partial(plan, noise, tables, campaigns, seed=1):
    """Return the same where the first profile is 30 % better in half of the tables: claims of what
    does not differ.
    """
    generator = np.random.default_rng(seed)
    truth = np.zeros((tables, len(plan["profiles"])))
    shares = []
    truth[::2, 1] = np.log(1.3)
    for _campaign in range(campaigns):
        shown, true, mean, _kinds, _differences = claims(plan, noise, tables, truth, generator)
        shares.append(
            bool((shown & ((np.abs(true) < 1e-9) | (np.sign(mean) != np.sign(true)))).any())
        )
    return np.array(shares)


def power(plan, tables, ratio, campaigns, seed=1):
    """Return four shares: of the first profile's effects on throughput that a report claims, and
    that Holm a table did.

    Then of reports that claim any true effect, the score over all tables among them, and that did
    by Holm a table.
    """
    generator = np.random.default_rng(seed)
    truth = np.zeros((tables, len(plan["profiles"])))
    truth[:, 1] = np.log(ratio)
    count = len(plan["profiles"]) - 1
    hits = []
    for _campaign in range(campaigns):
        shown, true, _mean, kinds, differences = claims(plan, "plain", tables, truth, generator)
        real = np.abs(true) > 1e-9
        rows = {metric: np.array([kind == ("rows", metric) for kind in kinds]) for metric in (0, 1)}
        sets = np.array([kind == ("sets", 0) for kind in kinds])
        old = {
            metric: holm_claims(differences[rows_of_metric], count)[real[rows_of_metric]]
            for metric, rows_of_metric in rows.items()
        }
        hits.append(
            [
                shown[rows[0] & real].mean(),
                old[0].mean(),
                shown[(rows[0] | rows[1] | sets) & real].any(),
                old[0].any() or old[1].any(),
            ]
        )
    return np.mean(hits, axis=0)
