# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over all tables of a campaign: effects, noise floor, drift, what could have been shown. Pure."""
from __future__ import annotations

import math

from ansible_collections.offload.lab.plugins.plugin_utils import _contrasts, _metrics, _statistics
from ansible_collections.offload.lab.plugins.plugin_utils._design import blocks_needed, too_few_blocks
from ansible_collections.offload.lab.plugins.plugin_utils._libraries import np
from ansible_collections.offload.lab.plugins.plugin_utils._power import detectable_factor

DIGITS = 6  # significant: what differs beyond them differs by machine, not by measurement
DRIFT_P = 0.05
DRIFT_TOTAL = 0.02
MOST_NAMED = 5


def shortened(values):
    """Return numbers, or an array of them as lists, with six significant digits; None for NaN."""
    values = np.asarray(values, dtype=float)
    size = np.floor(np.log10(np.abs(values), out=np.zeros(values.shape), where=np.abs(values) > 0))
    places = np.nan_to_num(DIGITS - 1 - size)
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    return np.where(np.isfinite(values), np.rint(values * up / down) / up * down, None).tolist()


def ratios(logarithms):
    """Return the ratios of logarithms, shortened."""
    return shortened(np.exp(np.asarray(logarithms, dtype=float)))


def quartiles(values):
    """Return (n, q1, median, q3) over the last axis, linear between values, NaN left out."""
    ordered = np.sort(values, axis=-1)  # NaN comes last
    n = (~np.isnan(ordered)).sum(axis=-1)
    found = []
    for share in (0.25, 0.5, 0.75):
        place = share * np.maximum(n - 1, 0)
        low = np.floor(place).astype(int)
        high = np.minimum(low + 1, np.maximum(n - 1, 0))
        first, second = (np.take_along_axis(ordered, index[..., None], axis=-1)[..., 0] for index in (low, high))
        found.append(first + (place - low) * (second - first))
    return (n, *found)


def verdict(better, significant, ratio, tested):
    """Return better, worse, higher or lower (where neither is better), same, or unknown (not tested)."""
    if not tested:
        return "unknown"
    if not significant:
        return "same"
    if better is None:
        return "higher" if ratio > 1 else "lower"
    return "better" if (ratio > 1) == (better == "higher") else "worse"


def listed(found):
    """Return the arrays of :func:`_statistics.effects` as lists of ratios and shortened numbers, all tables at once."""
    return [found["n"].tolist(), ratios(found["mean"]), ratios(found["low"]), ratios(found["high"]),
            shortened(found["p"]), shortened(found["p_holm"]), found["significant"].tolist()]


def effect_rows(labels, columns, table, better):
    """Return the effects of one table as dicts: label, ``n``, ``ratio``, interval, p values, ``verdict``."""
    return [dict(label, n=n, ratio=ratio, low=low, high=high, p=p, p_holm=p_holm, significant=significant,
                 verdict=verdict(better, significant, ratio, p is not None))
            for label, n, ratio, low, high, p, p_holm, significant in zip(labels, *(part[table] for part in columns))]


class MetricAnalysis:
    """All that is computed of one metric; ``values`` are (tables, rows, blocks) as in :class:`_cube.Cube`."""

    def __init__(self, cube, name):
        self.name, self.plan, self.cube = name, cube.plan, cube
        values = cube.values[name]
        data = _statistics.logs(values)
        both = _statistics.mean_of_visits(data[:, :1], data[:, -1:])
        self.data = np.concatenate([both, data[:, 1:-1]], axis=1)  # (tables, profiles, blocks)
        self.spread = _spread_lists(values[:, 1:-1])
        self.control = _spread_lists(np.concatenate([values[:, :1], values[:, -1:]], axis=-1))
        self.compared = _metrics.compared(name)
        if self.compared:
            self.sd = _statistics.pooled_sd(data)
            self.aa = _statistics.effects(data[:, -1:] - data[:, :1])
            self.drift = _statistics.drift(data)
            self.repeated = ~np.isnan(data[:, -1]).all(axis=-1)
            self.families = self._families()
            self.differences = {family: _statistics.contrast(self.data, weights)
                                for family, (_labels, weights) in self.families.items()}
            self.found = {family: _statistics.effects(differences) for family, differences in self.differences.items()}
            self.lists = {family: listed(found) for family, found in self.found.items()}
            self.lists["aa"] = listed(self.aa)

    def _families(self):
        names, weights = _contrasts.profile_effects(self.plan)
        families = {"rows": ([{"profile": name} for name in names], weights)}
        if _contrasts.is_factorial(self.plan):
            families["main_effects"] = _contrasts.main_effects(self.plan)
            families["interactions"] = _contrasts.interactions(self.plan)
        return {family: pair for family, pair in families.items() if pair[0]}

    def by_factor(self):
        """Return ``(labels, differences, effects)`` of single factors, each from its earlier to its later level.

        They are the main effects of a full factorial, else the profiles that differ from the control in one factor.
        """
        if "main_effects" in self.families:
            return self.families["main_effects"][0], self.differences["main_effects"], self.found["main_effects"]
        labels, places, signs = _contrasts.single_effects(self.plan)
        if not labels:
            return [], None, None
        signs = np.array(signs, dtype=float)
        found = {key: values[:, places] for key, values in self.found["rows"].items()}
        low, high = found["low"] * signs, found["high"] * signs
        found.update(mean=found["mean"] * signs, low=np.minimum(low, high), high=np.maximum(low, high))
        return labels, self.differences["rows"][:, places] * signs[:, None], found

    def measured(self, table):
        """Tell whether this metric was measured in a table."""
        return any(self.control[0][table]) or any(self.spread[0][table])

    def document(self, table):
        """Return the metric of one table as analysis.json has it."""
        head = dict(_metrics.describe(self.name, self.cube.tables[table]["test"]), compared=self.compared,
                    control=dict(profile=self.plan["control"], **_spreads(self.control, table)[0]))
        spreads = _spreads(self.spread, table)
        if not self.compared:
            return dict(head, rows=[dict(profile=name, **spread)
                                    for name, spread in zip(self.cube.profiles[1:], spreads)])
        effects = {family: effect_rows(labels, self.lists[family], table, head["better"])
                   for family, (labels, _weights) in self.families.items()}
        rows = [dict(row, median=spread["median"], q1=spread["q1"], q3=spread["q3"])
                for row, spread in zip(effects.pop("rows", []), spreads)]
        return dict(head, rows=rows, **effects, **self._quality(table), warnings=list(self._warnings(table, rows)))

    def _quality(self, table):
        low, high = self.aa["low"][table, 0], self.aa["high"][table, 0]
        return {
            "noise_floor": ratios(np.maximum(np.abs(low), np.abs(high))),
            "aa": effect_rows([{}], self.lists["aa"], table, None)[0],
            "trial_sd": shortened(self.sd[table]),
            "smallest_detectable": ratios(self.smallest_detectable(table)),
            "drift": {"ratio_per_block": ratios(self.drift[0][table]), "p": shortened(self.drift[1][table])},
        }

    def family(self):
        """Return the name of the family of effects that the design is made for."""
        return "main_effects" if "main_effects" in self.families else "rows"

    def blocks(self, table):
        """Return the number of blocks of the most complete effect in a table."""
        return int(self.found[self.family()]["n"][table].max()) if self.families else 0

    def smallest_detectable(self, table):
        """Return the smallest effect (a logarithm) that a table's noise and blocks could have shown; None if none."""
        blocks = self.blocks(table)
        if blocks < _statistics.FEWEST_BLOCKS:
            return None
        weights = self.families[self.family()][1]
        factor = detectable_factor(blocks, len(weights))
        squares = np.median((weights[:, 1:] ** 2).sum(axis=1) + weights[:, 0] ** 2 / (1 + self.repeated[table]))
        return None if factor is None else factor * self.sd[table] * math.sqrt(squares)

    def _warnings(self, table, rows):
        blocks, effects = self.blocks(table), len(self.families[self.family()][0]) if self.families else 0
        if 0 < blocks < _statistics.FEWEST_BLOCKS:
            yield too_few_blocks(blocks, _statistics.FEWEST_BLOCKS)
        elif blocks and detectable_factor(blocks, effects) is None:
            yield f"{blocks} blocks cannot show any of {effects} effects: {blocks_needed(effects)} are needed"
        lacking = [f"{row['profile']} ({row['n']})" for row in rows if row["n"] < blocks]
        if lacking:
            more = " and more" if len(lacking) > MOST_NAMED else ""
            yield (f"fewer than {blocks} blocks, so that less can be shown: {', '.join(lacking[:MOST_NAMED])}{more}")
        if self.aa["p"][table, 0] <= _statistics.ALPHA:
            yield "the control differs from itself (A/A); by chance one table in 20 shows that"
        slope, p = self.drift[0][table], self.drift[1][table]
        if p <= DRIFT_P and abs(slope) * self.cube.blocks >= DRIFT_TOTAL:
            yield f"values drift by {100 * (math.exp(slope) - 1):+.1f} % a block; pairing inside blocks takes that out"


def _spread_lists(values):
    n, *numbers = quartiles(values)
    return [n.tolist()] + [shortened(part) for part in numbers]


def _spreads(lists, table):
    """Return ``{"n", "median", "q1", "q3"}`` of each row of a table."""
    return [{"n": n, "median": median, "q1": q1, "q3": q3}
            for n, q1, median, q3 in zip(*(part[table] for part in lists))]
