# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches and shell loops replayed on the trials of all sets that a host can be in: truth and
noise are theirs.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.metrics import values_of
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.profiles import named
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.screen import every_combination
from ansible_collections.offload.lab.plugins.plugin_utils._search.decide import GOALS
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.effects import holm
from ansible_collections.offload.lab.tests.instruments.simulation import searching


def every_set(campaign):
    """Return the profiles of all sets that a host can be in; ``campaign`` is as a user writes it."""
    factors = read_campaign(campaign)["factors"]
    off = {factor["name"]: factor["levels"][0] for factor in factors}
    return {named(levels, off) or "all_off": levels for levels in every_combination(factors)}


class Pool(searching.Machine):
    """Gives measured trials, drawn at random from the trials of the same profile."""

    def __init__(self, plan, trials, seed=0):
        super().__init__(self.mean, "pool", seed)
        self.factors = plan["factors"]
        values = [np.log(self.throughput(trial)) for trial in trials]
        level = {
            block: np.mean(
                [value for value, trial in zip(values, trials) if trial["block"] == block]
            )
            for block in range(1, plan["blocks"] + 1)
        }
        # By levels, in the order of the factors: logarithms, less the means of their blocks
        self.pool = {}
        for value, trial in zip(values, trials):
            key = self.key(plan["profiles"][trial["profile"]]["levels"])
            self.pool.setdefault(key, []).append(value - level[trial["block"]])

    @staticmethod
    def throughput(trial):
        """Return Mbit/s, or transactions a second."""
        values = values_of(trial)
        return next(values[name] for name in GOALS["throughput"][0] if name in values)

    def key(self, levels):
        return tuple(levels[factor["name"]] for factor in self.factors)

    def mean(self, levels):
        return float(np.mean(self.pool[self.key(levels)]))

    def best(self):
        """Return the levels with the highest mean."""
        key = max(self.pool, key=lambda key: np.mean(self.pool[key]))
        return dict(zip((factor["name"] for factor in self.factors), key))

    def loss(self, levels):
        """Return by how much a set is below the best one, as a logarithm, and its standard error."""
        best, mine = (self.pool[self.key(levels_of)] for levels_of in (self.best(), levels))
        errors = [np.std(part, ddof=1) / len(part) ** 0.5 for part in (best, mine)]
        return float(np.mean(best) - np.mean(mine)), 0.0 if mine is best else float(
            np.hypot(*errors)
        )

    def told(self, levels):
        """Return the p of a set's difference from the best one: Welch's test, Holm's correction for
        all sets.

        The best mean is the largest of many, so by chance it is too large; the correction allows
        for that.
        """
        best = self.key(self.best())
        mine = self.key(levels)
        others = [key for key in self.pool if key != best]
        p_values = holm(
            np.array(
                [
                    stats.ttest_ind(self.pool[best], self.pool[key], equal_var=False).pvalue
                    for key in others
                ]
            )
        )
        return 1.0 if mine == best else float(p_values[others.index(mine)])

    def draw(self, generator, levels, count):
        return generator.choice(self.pool[self.key(levels)], count)

    def visit(self, visit, levels, index):
        """As the simulations do, with what was measured in place of truth and noise."""
        values = self.draw(np.random.default_rng([self.seed, index]), levels, len(visit["cells"]))
        return self.records(visit, values)

    def searched(self, seed, trials, **more):
        """Return the loss of the recommended set of one search, or None, and its visits.

        ``more`` is its campaign's.
        """
        self.seed = seed
        chosen, _decided, visits = searching.answered(
            searching.make_search(seed, trials, self.factors, **more), self
        )
        return (self.loss(chosen)[0] if chosen else None), visits

    def sets(self):
        """Return the levels of all off and of all on."""
        return [
            {factor["name"]: factor["levels"][index] for factor in self.factors}
            for index in (0, -1)
        ]

    def kept(self, levels):
        """Return what the kernel makes of levels: a feature stays off while one that it needs is
        off.
        """
        off = self.sets()[0]
        levels = dict(levels)
        for factor in self.factors:
            if any(name in off and levels[name] == off[name] for name in factor["needs"]):
                levels[factor["name"]] = off[factor["name"]]
        return levels

    def looped(self, generator, repeats, from_all_on=False):
        """Return the set that a shell loop ends with: all off, all on, and each setting on by
        itself, n times each.

        What is above all off is taken, or all on where no mean is higher. ``from_all_on`` is the
        same the other way round: from all on each setting is off alone.
        """
        start, end = reversed(self.sets()) if from_all_on else self.sets()
        control, everything = (
            self.draw(generator, levels, repeats).mean() for levels in (start, end)
        )
        means = {
            name: self.draw(generator, self.kept({**start, name: end[name]}), repeats).mean()
            for name in end
        }
        chosen = {
            name: end[name] if mean > control else start[name] for name, mean in means.items()
        }
        return end if everything > max(control, *means.values()) else self.kept(chosen)
