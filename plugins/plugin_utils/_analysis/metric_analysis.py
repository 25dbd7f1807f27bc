# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over all tables of a campaign: effects, noise floor, drift, and what could have been
shown. Pure.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from .._statistics import effects as statistics
from .._statistics.joint import table_scale
from .._statistics.libraries import np
from .._statistics.power import detectable_factor
from .._statistics.states import all_needs, states
from .._statistics.text import quartiles, ratios, shortened, too_few_blocks
from . import contrasts, metrics
from .contrasts import Effects, Labels
from .cube import Cube
from .metrics import block_seconds, margin
from .result import (
    Comparison,
    Described,
    Drift,
    Effect,
    FactorEffect,
    InteractionEffect,
    Metric,
    ProfileEffect,
    ProfileSpread,
    SelfEffect,
)

OTHER_WAY = {"better": "worse", "worse": "better"}
DRIFT_P = 0.05
DRIFT_TOTAL = 0.02
MOST_NAMED = 5


# What is known of each effect, by the fields of Effect.
COLUMNS = ("n", "ratio", "low", "high", "p", "p_report", "significant", "state", "needs")
Columns = dict[str, list[list[Any]]]  # of each field the tables' effects
SomeEffect = TypeVar("SomeEffect", bound=Effect)


def columns_of(estimates: dict[str, np.ndarray]) -> Columns:
    """Return the arrays of effects as lists of ratios and shortened numbers, of all tables."""
    columns: Columns = {"ratio": ratios(estimates["mean"])}
    columns.update({name: ratios(estimates[name]) for name in ("low", "high")})
    columns.update({name: shortened(estimates[name]) for name in ("p", "p_report")})
    columns.update(
        {name: estimates[name].tolist() for name in ("n", "significant", "state", "needs")}
    )
    return columns


def effects_of(
    kind: type[SomeEffect], labels: Labels, columns: Columns, table: int
) -> list[SomeEffect]:
    """Return the effects of one table."""
    rows = zip(*(columns[name][table] for name in COLUMNS))
    return [kind(**dict(zip(COLUMNS, row)), **label) for label, row in zip(labels, rows)]


class MetricAnalysis:
    """All that is computed of one metric; ``values`` are (tables, rows, blocks) as in
    :class:`.cube.Cube`.
    """

    def __init__(self, cube: Cube, name: str) -> None:
        self.name = name
        self.plan = cube.plan
        self.cube = cube
        values = cube.values[name]
        data = statistics.logs(values)
        both = statistics.mean_of_visits(data[:, :1], data[:, -1:])
        self.data = np.concatenate([both, data[:, 1:-1]], axis=1)  # (tables, profiles, blocks)
        self.values = values
        self.compared = metrics.compared(name)
        if self.compared:
            self.visits = data
            self.again = data[:, -1:] - data[:, :1]
            self.repeated = ~np.isnan(data[:, -1]).all(axis=-1)
            self.families = self._families()
            self.differences = {
                family: statistics.contrast(self.data, weights)
                for family, (_labels, weights) in self.families.items()
            }
            self.estimates = {
                family: statistics.estimates(differences, cube.weights)
                for family, differences in self.differences.items()
            }
        self.better = (
            None if self.plan["design"] == "search" else metrics.better(name)
        )  # a search claims nothing
        self.claims = self.compared and self.better is not None

    def scale(self, family: str) -> np.ndarray:
        """Return the scale of a family's effects in the report's test, (tables, effects).

        The scale comes from the table's profiles and the difference between its control's visits. A
        mean over many profiles scatters less.
        """
        rows, family_squares = (
            contrasts.squares(self.families[name][1]) for name in ("rows", family)
        )
        scale = table_scale(self.counted(self.differences["rows"]), self.counted(self.again))
        return scale[:, None] * np.sqrt(family_squares / np.median(rows))

    def counted(self, differences: np.ndarray) -> np.ndarray:
        """Return differences as the report's test adds them up: each block by what it counts."""
        return statistics.counted(differences, self.cube.weights)

    def settle(
        self, tested: Mapping[str, np.ndarray], tested_effects: int, claims_allowed: bool = True
    ) -> None:
        """Take in the report's p values ``{family: (tables, effects)}``: state what is claimed, and
        what is needed.

        ``tested_effects`` is how many effects the report tests together.
        """
        self.tested = tested_effects
        for family, estimates in self.estimates.items():
            estimates["p_report"] = tested.get(family, np.full(estimates["mean"].shape, np.nan))
            with np.errstate(invalid="ignore"):
                # If the test shows an effect, the interval excludes 1. Effects of an interim test are the exception.
                shown = (estimates["p_report"] <= statistics.ALPHA) & (
                    (estimates["low"] > 0) | (estimates["high"] < 0)
                )
            estimates["significant"] = shown & claims_allowed
            estimates["state"] = states(
                self.better, estimates, estimates["significant"], margin(self.plan)
            )
        self.apart = self._apart(tested.get("leaders"), claims_allowed)

    @functools.cached_property
    def columns(self) -> dict[str, Columns]:
        """The effects of each family as lists, with what only the result shows: its own p value,
        and what is needed.
        """
        matters = margin(self.plan)
        seconds = block_seconds(self.plan)
        for family, estimates in self.estimates.items():
            estimates["p"] = statistics.p_values(self.differences[family], self.cube.weights)
            estimates["needs"] = all_needs(estimates, estimates["state"], matters, seconds)
        return {family: columns_of(estimates) for family, estimates in self.estimates.items()}

    def factor_columns(self) -> Columns:
        """Return the effects of :meth:`by_factor` as lists."""
        return columns_of(self.by_factor()[2]) if self.columns else {}

    @functools.cached_property
    def aa(self) -> dict[str, np.ndarray]:
        """The control's second visit against its first."""
        return statistics.effects(self.again, self.cube.weights)

    @functools.cached_property
    def sd(self) -> np.ndarray:
        """The scatter of a trial, of all tables."""
        return statistics.pooled_sd(self.visits)

    @functools.cached_property
    def drift(self) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of the block effects and their p values, of all tables."""
        return statistics.drift(self.visits)

    def _apart(self, p: np.ndarray | None, claims_allowed: bool) -> Any:
        """Return which two candidates are separated, (tables, effects, effects), from the p values
        of their pairs.
        """
        labels, differences, _found = self.by_factor()
        if not labels:
            return None
        apart = np.zeros((len(differences), len(labels), len(labels)), dtype=bool)
        if p is not None and claims_allowed:
            first, second = np.triu_indices(len(labels), 1)
            apart[:, first, second] = apart[:, second, first] = p <= statistics.ALPHA
        return apart

    def _families(self) -> dict[str, Effects]:
        names, weights = contrasts.profile_effects(self.plan)
        families = {"rows": ([{"profile": name} for name in names], weights)}
        if contrasts.is_factorial(self.plan):
            families["main_effects"] = contrasts.main_effects(self.plan)
            families["interactions"] = contrasts.interactions(self.plan)
        elif self.plan["design"] in ("screen", "full_factorial"):  # combinations are missing
            families["main_effects"], families["interactions"] = contrasts.screen_effects(self.plan)
        return {family: pair for family, pair in families.items() if pair[0]}

    def by_factor(self) -> tuple[Labels, Any, Any]:
        """Return ``(labels, differences, effects)`` of single factors, each from its earlier to its
        later level.

        They are the main effects of a full factorial, else the profiles that differ from the
        control in one factor.
        """
        if "main_effects" in self.families:
            return (
                self.families["main_effects"][0],
                self.differences["main_effects"],
                self.estimates["main_effects"],
            )
        labels, places, signs = contrasts.single_effects(self.plan)
        if not labels:
            return [], None, None
        turn = np.array(signs, dtype=float)
        estimates = {key: values[:, places] for key, values in self.estimates["rows"].items()}
        low = estimates["low"] * turn
        high = estimates["high"] * turn
        estimates.update(
            mean=estimates["mean"] * turn, low=np.minimum(low, high), high=np.maximum(low, high)
        )
        if "state" in estimates:
            turned = np.vectorize(OTHER_WAY.get, otypes=[object])(
                estimates["state"], estimates["state"]
            )
            estimates["state"] = np.where(turn < 0, turned, estimates["state"])
        return labels, self.differences["rows"][:, places] * turn[:, None], estimates

    @functools.cached_property
    def spread(self) -> list[list[Any]]:
        """Quartiles of the profiles, as lists of all tables."""
        return _spread_lists(self.values[:, 1:-1])

    @functools.cached_property
    def control(self) -> list[list[Any]]:
        """Quartiles of both visits of the control, as lists of all tables."""
        return _spread_lists(np.concatenate([self.values[:, :1], self.values[:, -1:]], axis=-1))

    def measured(self, table: int) -> bool:
        """Return whether this metric was measured in a table."""
        return not np.isnan(self.values[table]).all()

    def describe(self, table: int) -> Described:
        """Return the metric's name, label, unit, better direction and end, as in a table."""
        return metrics.describe(self.name, self.cube.tables[table].test)

    def of_table(self, table: int) -> Metric:
        """Return the metric of one table."""
        described = vars(self.describe(table))
        control = ProfileSpread(profile=self.plan["control"], **_spreads(self.control, table)[0])
        spreads = [
            {"profile": name, **spread}
            for name, spread in zip(self.cube.profiles[1:], _spreads(self.spread, table))
        ]
        if not self.compared:
            rows = [ProfileSpread(**spread) for spread in spreads]
            return Metric(**described, compared=False, control=control, rows=rows)
        for spread in spreads:
            del spread["n"]  # of trials; an effect has the number of its blocks
        effects = self._effects(ProfileEffect, "rows", table, spreads) or []
        low = self.aa["low"][table, 0]
        high = self.aa["high"][table, 0]
        return Comparison(
            **described,
            compared=True,
            control=control,
            rows=effects,
            main_effects=self._effects(FactorEffect, "main_effects", table),
            interactions=self._effects(InteractionEffect, "interactions", table),
            noise_floor=ratios(np.maximum(np.abs(low), np.abs(high))),
            smallest_detectable=ratios(self.smallest_detectable(table)),
            aa=SelfEffect(
                ratio=ratios(self.aa["mean"][table, 0]),
                low=ratios(low),
                high=ratios(high),
                p=shortened(self.aa["p"][table, 0]),
            ),
            trial_sd=shortened(self.sd[table]),
            drift=Drift(
                ratio_per_block=ratios(self.drift[0][table]),
                p=shortened(self.drift[1][table]),
            ),
            warnings=list(self._warnings(table, effects)),
        )

    def _effects(
        self,
        kind: type[SomeEffect],
        family: str,
        table: int,
        labels: Labels | None = None,
    ) -> list[SomeEffect] | None:
        """Return the effects of a family in one table; None where the design has none of them."""
        if family not in self.families:
            return None
        labels = labels or self.families[family][0]
        if self.claims:
            blocks = ratios(self.differences[family][table])
            labels = [
                {**label, "differences": differences} for label, differences in zip(labels, blocks)
            ]
        return effects_of(kind, labels, self.columns[family], table)

    def family(self) -> str:
        """Return the name of the family of effects that the design is made for."""
        return "main_effects" if "main_effects" in self.families else "rows"

    def blocks(self, table: int) -> int:
        """Return the number of blocks of the most complete effect in a table."""
        return int(self.estimates[self.family()]["n"][table].max()) if self.families else 0

    def smallest_detectable(self, table: int) -> float | None:
        """Return the smallest effect (a logarithm) that a table's noise and blocks could have
        shown; None if none.
        """
        blocks = self.blocks(table)
        if blocks < statistics.FEWEST_BLOCKS:
            return None
        weights = self.families[self.family()][1]
        factor = detectable_factor(blocks, self.tested)
        squares = np.median(contrasts.squares(weights, 1 + self.repeated[table]))
        return None if factor is None else factor * self.sd[table] * math.sqrt(squares)

    def _warnings(self, table: int, rows: list[ProfileEffect]) -> Iterator[str]:
        if self.plan["design"] == "search":
            return
        blocks = self.blocks(table)
        if 0 < blocks < statistics.FEWEST_BLOCKS:
            yield too_few_blocks(blocks, statistics.FEWEST_BLOCKS)
        lacking = self._lacking(rows, blocks)
        if lacking:
            more = " and more" if len(lacking) > MOST_NAMED else ""
            yield (
                f"fewer than {blocks} blocks, so less can be shown: {', '.join(lacking[:MOST_NAMED])}{more}"
            )
        if self.aa["p"][table, 0] <= statistics.ALPHA:
            yield "the control differs from itself (A/A); one table in 20 shows that by chance"
        slope = self.drift[0][table]
        p = self.drift[1][table]
        if p <= DRIFT_P and abs(slope) * self.cube.blocks >= DRIFT_TOTAL:
            yield f"values drift by {100 * (math.exp(slope) - 1):+.1f} % a block; pairing inside blocks takes that out"

    def _lacking(self, rows: list[ProfileEffect], blocks: int) -> list[str]:
        """Return the profiles that have fewer blocks, each with its number of them."""
        tests = self.plan.get("looked") or ()
        # The plan does not measure profiles further that an interim test settled, so no block is lost.
        settled = set(chain.from_iterable(test["settled"] for test in tests))
        return [
            f"{row.profile} ({row.n})"
            for row in rows
            if row.n < blocks and row.profile not in settled
        ]


def _spread_lists(values: np.ndarray) -> list[list[Any]]:
    n, *numbers = quartiles(values)
    return [n.tolist()] + [shortened(part) for part in numbers]


def _spreads(lists: list[list[Any]], table: int) -> list[dict[str, Any]]:
    """Return ``{"n", "median", "q1", "q3"}`` of each row of a table."""
    columns = [part[table] for part in lists]
    return [{"n": n, "median": median, "q1": q1, "q3": q3} for n, q1, median, q3 in zip(*columns)]
