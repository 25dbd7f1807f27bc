# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaigns with looks: what they claim falsely over all looks, and the visits that they save.

Only the arithmetic.
"""

from __future__ import annotations

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._statistics import effects, looks
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.joint import joint_p
from ansible_collections.offload.lab.tests.instruments.simulation import claims, worlds

MATTERS = np.log(1.03)


def draw(plan, noise, truth, generator):
    """Return a whole campaign as (metrics, tables, rows, blocks), all visits made; ``truth`` is
    (tables, profiles).
    """
    rows = np.concatenate([truth, truth[:, :1]], axis=1)[..., None]
    drawn = worlds.draw_metrics(noise, generator, len(truth), plan, (1.0, -claims.CPU_NOISE))
    return [direction * rows + noise for direction, noise in zip(claims.METRICS, drawn)]


def _judged(data, weights, level, same_alpha):
    """Return (+1 or -1 of what is shown, what is settled, the kinds of the effects) at one level."""
    differences, scale, kinds = claims.members_of(data, weights)
    n, mean, low, high = effects.intervals(differences)
    interval = {"n": n, "mean": mean, "low": low, "high": high}
    with np.errstate(invalid="ignore"):
        p = looks.paid(joint_p(differences, scale, claims.groups_of(kinds)), level)
        shown = p <= effects.ALPHA
    return (
        np.where(shown, np.sign(mean), 0),
        shown | looks.same(interval, MATTERS, same_alpha),
        np.array([kind[0] == "rows" for kind in kinds]),
    )


def campaign(plan, data, with_looks=True):
    """Return (+1 or -1 of what was shown at any look, what is settled at the end, visits made) of
    one campaign.
    """
    weights = claims.families(plan)
    profiles = len(plan["profiles"])
    blocks = plan["blocks"]
    data = [values.copy() for values in data]
    ever = 0
    decisions_made = []
    gone = set()
    visits = 0
    last = 0
    for look in looks.schedule(blocks) if with_looks else ():
        visits += (look["block"] - last) * (worlds.visits_of(plan) - len(gone))
        last = look["block"]
        shown, settled, rows = _judged(
            [values[..., :last] for values in data], weights, look["alpha"], looks.SAME_ALPHA
        )
        ever = np.where(ever, ever, shown)
        decisions_made.append(look)
        all_answered = ((ever != 0) | settled)[rows].reshape(-1, profiles - 1).all(axis=0)
        gone = {index for index in range(profiles - 1) if all_answered[index]} | gone
        for index in gone:
            for values in data:
                values[:, index + 1, last:] = np.nan
        if len(gone) == profiles - 1:
            for values in data:
                values[..., last:] = np.nan
            break
    else:
        visits += (blocks - last) * (worlds.visits_of(plan) - len(gone))
    shown, settled, rows = _judged(data, weights, looks.rest(decisions_made), effects.ALPHA)
    ever = np.where(ever, ever, shown)
    return ever, ((ever != 0) | settled)[rows], visits


def truths(plan, truth):
    """Return the true effects in the order of the claims."""
    return claims.true_effects(truth, claims.families(plan))


def run(plan, noise, tables, campaigns, world, *, seed=1):
    """Return of many campaigns: share with a false claim, visits and open comparisons with looks
    and without.

    ``world`` returns the truth (tables, profiles) of a campaign from a generator.
    """
    generator = np.random.default_rng(seed)
    wrong = []
    cost = []
    for _campaign in range(campaigns):
        truth = world(generator, tables, len(plan["profiles"]))
        data = draw(plan, noise, truth, generator)
        true = truths(plan, truth)
        shown, settled, visits = campaign(plan, data)
        wrong.append(
            bool(((shown != 0) & (shown != np.where(np.abs(true) < 1e-9, 0, np.sign(true)))).any())
        )
        fixed = campaign(plan, data, with_looks=False)
        cost.append((visits, fixed[2], (~settled).sum(), (~fixed[1]).sum()))
    return float(np.mean(wrong)), np.mean(cost, axis=0)


def nothing(_generator, tables, profiles):
    """Nothing differs."""
    return np.zeros((tables, profiles))


def half(_generator, tables, profiles):
    """Half of the profiles are 30 % better in half of the tables, one is 30 % worse, the others
    make no difference.
    """
    truth = np.zeros((tables, profiles))
    truth[::2, 1 : 1 + profiles // 2] = np.log(1.3)
    truth[:, -1] = -np.log(1.3)
    return truth


def usual(generator, tables, profiles):
    """What offloads do: of each profile no difference, or -5 to +60 %, about the same in all
    tables.
    """
    size = np.where(
        generator.random(profiles) < 0.4, 0.0, np.log1p(generator.uniform(-0.05, 0.6, profiles))
    )
    truth = size + np.where(size == 0, 0.0, 0.05 * generator.standard_normal((tables, profiles)))
    truth[:, 0] = 0.0
    return truth
