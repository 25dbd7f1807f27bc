# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interim tests, and their levels.

Each interim test tests all effects of the report at a level of its own, settled effects included. The
levels of all interim tests and of the last test add up to 5 % (alpha spending, Lan and DeMets 1983, with
the bound of Bonferroni), so interim tests add no false claims. Over n blocks the p of a sign-flip test is
a multiple of 2/2^n. A level is such a multiple, too; the remainder is left for later tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypedDict

from .effects import t_quantile
from .libraries import np
from .rules import ALPHA, FEWEST_BLOCKS
from .signflip import MOST_EXACT_BLOCKS

MOST_LOOKS = 3  # interim tests; more of them cost the last test more than they save
STEP = 2  # blocks between interim tests, at least
# Level of the interval that settles "no difference that matters" in an interim test; the last test has 5 %
SAME_ALPHA = 0.02


# Share of the error rate that the first interim test of a payload check spends. It is enough for a fault
# in each packet, also if two paths share the rate.
FIRST_SPENDS = 0.4


class InterimTest(TypedDict):
    """The block after which a test is made, and its level."""

    block: int
    alpha: float


def _level(blocks: int, remaining: float) -> float:
    """Return the largest level of a test over ``blocks`` blocks that is at most ``remaining``."""
    smallest = 2.0 / 2 ** min(blocks, MOST_EXACT_BLOCKS)
    return math.floor(remaining / smallest + 1e-9) * smallest


def schedule(blocks: int) -> list[InterimTest]:
    """Return the interim tests of a plan with ``blocks`` blocks.

    The level spent grows with the square of the blocks. So early tests, which can show only large effects,
    spend little.
    """
    possible = [
        block
        for block in range(FEWEST_BLOCKS, blocks - STEP + 1)
        if _level(block, ALPHA * (block / blocks) ** 2) > 0
    ]
    step = max(STEP, math.ceil(len(possible) / MOST_LOOKS))
    tests: list[InterimTest] = []
    for block in possible[::step]:
        alpha = _level(block, ALPHA * (block / blocks) ** 2 - sum(test["alpha"] for test in tests))
        if alpha > 0:
            tests.append({"block": block, "alpha": alpha})
    return tests


def after_each_block(blocks: int) -> list[InterimTest]:
    """Return an interim test after each block but the last.

    They are for tests whose p has no steps, such as Fisher's. The levels of all tests add up to 5 %
    (Bonferroni), so interim tests add no false claims.
    """
    later = ALPHA * (1 - FIRST_SPENDS) / max(1, blocks - 1)
    return [
        {"block": block, "alpha": ALPHA * FIRST_SPENDS if block == 1 else later}
        for block in range(1, blocks)
    ]


def rest(tests: Iterable[InterimTest]) -> float:
    """Return the level that these interim tests leave for the last test."""
    return ALPHA - sum(test["alpha"] for test in tests)


def paid(p: np.ndarray, alpha: float) -> np.ndarray:
    """Return the p values of an interim test, scaled so that they are compared with 5 % like all others."""
    return np.minimum(p / alpha * ALPHA, 1.0)


def same(estimates: dict[str, np.ndarray], matters: float, alpha: float = SAME_ALPHA) -> np.ndarray:
    """Return which effects make no difference that matters, by a wider interval than the report's."""
    freedom = np.maximum(estimates["n"] - 1, 1)
    wider = np.vectorize(
        lambda degrees: t_quantile(1 - alpha / 2, degrees) / t_quantile(0.975, degrees)
    )(freedom)
    with np.errstate(invalid="ignore"):
        half = (estimates["high"] - estimates["low"]) / 2 * wider
        return np.abs(estimates["mean"]) + half <= matters
