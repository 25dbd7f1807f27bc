# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaigns with a known truth, judged by the real analysis code: does it claim nothing that is not
there, do its intervals cover, is the smallest detectable effect the one it says?

Thousands of campaigns are as many tables of one cube, so that all run through the code that a real
campaign runs through, all campaigns together. Used by the unit tests, and by
tests/instruments/simulation/truth_tables.py for
docs/decisions/statistics.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.attribution import (
    pair_differences,
    ranks,
)
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cube import Cube
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.metric_analysis import (
    MetricAnalysis,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.joint import (
    Family,
    table_scale,
)
from ansible_collections.offload.lab.tests.instruments.simulation import worlds
from ansible_collections.offload.lab.tests.instruments.simulation.noise import recorded_noise

CAMPAIGNS = 1000
MORE_CAMPAIGNS = 2000  # where a share near 5 % is asked for
FACTORS = ["tx", "sg", "tso", "gso", "rx", "gro", "lro", "rxhash"]
BASE_MBPS = 5000.0


class Noise:
    """What a trial's logarithm is made of in addition to the truth: a block, a trend over visits,
    and the
    trial's own noise.
    """

    def __init__(self, recorded):
        self.sd = recorded["trial_sd"]
        self.block_sd = recorded["block_sd"]
        self.drift = recorded["drift_per_block"]
        self.residuals = np.array(recorded["residuals"])

    def draw(self, generator, shape):
        """Return logarithms (campaigns, visits, blocks); visits are in a random order inside their
        block.
        """
        campaigns, visits, blocks = shape
        values = (
            generator.choice(self.residuals, shape)
            if len(self.residuals)
            else generator.standard_normal(shape)
        )
        index = (
            generator.permuted(np.broadcast_to(np.arange(visits)[:, None], shape), axis=1) / visits
        )
        return (
            self.sd * values
            + self.block_sd * generator.standard_normal((campaigns, 1, blocks))
            + self.drift * (np.arange(blocks) + index)
        )


def _shaped(shape, count=2000):
    """Return a noise whose residuals have this shape; the rest is as on an ordinary machine."""
    generator = np.random.default_rng(3)
    drawn = shape(generator, count)
    return Noise(
        {
            "trial_sd": 0.05,
            "block_sd": 0.2,
            "drift_per_block": 0.01,
            "residuals": (drawn - drawn.mean()) / drawn.std(),
        }
    )


NORMAL = Noise({"trial_sd": 0.05, "block_sd": 0.2, "drift_per_block": 0.01, "residuals": []})
RECORDED = Noise(recorded_noise())
NOISES = {
    "recorded": RECORDED,
    "normal": NORMAL,
    # One trial in ten is four times as noisy, as on a machine that others use.
    "with outliers": _shaped(
        lambda generator, count: (
            generator.standard_normal(count) * np.where(generator.random(count) < 0.1, 4.0, 1.0)
        )
    ),
    # Trials are slowed now and then, never sped up: far from the symmetry that a sign-flip test
    # rests on.
    "skewed": _shaped(lambda generator, count: -generator.exponential(size=count)),
}
DESIGNS = (
    ("on_off", 1, 9),
    ("on_off", 1, 12),
    ("one_at_a_time", 6, 8),
    ("leave_one_out", 6, 10),
    ("full_factorial", 3, 8),
)


def plan_of(design, factors, blocks):
    """Return a plan with one table."""
    campaign = {
        "name": "truth",
        "design": design,
        "factors": FACTORS[:factors],
        "blocks": blocks,
        "paths": ["physical"],
        "workloads": ["tcp_stream"],
    }
    return make_plan(read_campaign(campaign), "")


def simulate(plan, noise, effects=None, *, seed=1, lost=0.0, campaigns=CAMPAIGNS):
    """Return the analysis of many campaigns; ``effects`` {profile: ratio to the control} is the
    truth.

    ``lost`` is the share of trials that failed or were left out.
    """
    cube = Cube(plan)
    generator = np.random.default_rng(seed)
    cube.tables = cube.tables * campaigns
    logs = worlds.as_rows(
        plan, noise.draw(generator, (campaigns, worlds.visits_of(plan), plan["blocks"]))
    )
    for profile, ratio in (effects or {}).items():
        logs[:, cube.profiles.index(profile)] += math.log(ratio)
    cube.values["throughput"] = BASE_MBPS * np.exp(
        np.where(generator.random(logs.shape) < lost, np.nan, logs)
    )
    metric = MetricAnalysis(cube, "throughput")
    settle_each(metric)
    return metric


def settle_each(metric):
    """Test each table of a metric alone: each is a campaign with a report of its own."""
    tested = {}
    members = dict(metric.differences)
    scales = {name: metric.scale(name) for name in members}
    labels, gains, _found = metric.by_factor()
    if len(labels) > 1:
        members["leaders"] = pair_differences(gains)
    for name, differences in members.items():
        tested[name] = np.full(differences.shape[:2], np.nan)
    for table in range(len(scales["rows"])):
        family = Family()
        table_slice = slice(table, table + 1)
        statistics_of = {
            name: family.add(
                name,
                array[table_slice],
                table_scale(array[table_slice]) if name == "leaders" else scales[name][table_slice],
            )
            for name, array in members.items()
        }
        family.test()
        for name, member in statistics_of.items():
            tested[name][table] = member.p[0]
    metric.settle(tested, sum(array.shape[1] for array in tested.values()))


def bounded(statistics_of):
    """Return (share, upper 95 % bound by Clopper and Pearson) of the campaigns in which something
    was found.
    """
    count = int(np.sum(statistics_of))
    return count / len(statistics_of), float(
        stats.beta.ppf(0.95, count + 1, len(statistics_of) - count)
    )


def claimed(plan, noise, seeds=(1,), lost=0.0):
    """Return for each of 2,000 null campaigns a seed whether any effect is shown."""
    metrics = (
        simulate(plan, noise, seed=seed, lost=lost, campaigns=MORE_CAMPAIGNS) for seed in seeds
    )
    return np.concatenate(
        [metric.estimates[metric.family()]["significant"].any(axis=-1) for metric in metrics]
    )


def false_claims(plan, noise, seeds=(1,), lost=0.0):
    """Return (share, upper 95 % bound) of null campaigns in which any effect is shown."""
    return bounded(claimed(plan, noise, seeds, lost))


def at_least(statistics_of):
    """Return the lower 95 % bound of the share of campaigns in which something was found."""
    count = int(np.sum(statistics_of))
    return float(stats.beta.ppf(0.05, count, len(statistics_of) - count + 1)) if count else 0.0


def first_profile(plan):
    """Return the first profile that is not the control."""
    return next(name for name in plan["profiles"] if name != plan["control"])


def coverage(plan, noise, ratio, seed=1, lost=0.0):
    """Return (share of intervals that hold the truth, their median width as a ratio) of the first
    profile's effect.
    """
    metric = simulate(
        plan, noise, {first_profile(plan): ratio}, seed=seed, lost=lost, campaigns=MORE_CAMPAIGNS
    )
    low, high = (metric.estimates["rows"][key][:, 0] for key in ("low", "high"))
    has_interval = ~np.isnan(low)
    covered = (low[has_interval] <= math.log(ratio)) & (math.log(ratio) <= high[has_interval])
    return float(covered.mean()), float(np.exp(np.median((high - low)[has_interval])))


def false_leaders(plan, noise, ratio, seed=1):
    """Return (share, bound) of campaigns that rank one of two equal effects above the other."""
    equals = [name for name in plan["profiles"] if name != plan["control"]][:2]
    metric = simulate(plan, noise, dict.fromkeys(equals, ratio), seed=seed)
    _labels, differences, _found = metric.by_factor()
    ranked = ranks(differences, metric.apart)[:, :2]
    return bounded(ranked[:, 0] != ranked[:, 1])


def share_found(plan, noise, effect, seed=1):
    """Return the share of campaigns that show an effect (a logarithm) of the first profile."""
    metric = simulate(plan, noise, {first_profile(plan): math.exp(effect)}, seed=seed)
    return float(metric.estimates["rows"]["significant"][:, 0].mean())


def true_smallest(plan, noise, seed=1):
    """Return the effect (a logarithm) that 80 % of the campaigns find, by halving."""
    low = 0.0
    high = 6 * noise.sd
    for _step in range(8):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if share_found(plan, noise, middle, seed) < 0.8 else (low, middle)
        )
    return (low + high) / 2


def stated_smallest(plan, noise, seed=2):
    """Return the smallest detectable effects (logarithms) that the campaigns state."""
    metric = simulate(plan, noise, seed=seed)
    return np.array([metric.smallest_detectable(table) for table in range(CAMPAIGNS)])
