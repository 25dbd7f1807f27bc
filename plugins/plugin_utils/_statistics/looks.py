# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks before the end, and what they cost: together with the end they spend 5 %, so they add no
false claims.

Each look tests all effects of the report, also those that no longer are measured, at a level of its
own; the levels of all looks and of the end add up to 5 % (alpha spending, Lan and DeMets 1983, with
the bound of Bonferroni). Of n blocks the sign-flip test knows no p between multiples of 2/2^n: a
level is one of them, and what is left over is for later.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypedDict

from .effects import t_quantile
from .libraries import np
from .rules import ALPHA, FEWEST_BLOCKS
from .signflip import MOST_EXACT_BLOCKS

MOST_LOOKS = 3  # more of them take from the end more than they give
STEP = 2  # blocks between looks, at least
# Of the interval that settles "no difference that matters" at a look: the end's own is 5 %
SAME_ALPHA = 0.02


# Of the error rate of a check of the payload: what its first interim test spends. A fault in each
# packet is clear then, also where two paths share the rate.
FIRST_SPENDS = 0.4


class Look(TypedDict):
    """A look after a block, and the level of its test."""

    block: int
    alpha: float


def _level(blocks: int, remaining: float) -> float:
    """Return the largest level of a test over ``blocks`` blocks that is at most ``remaining``."""
    smallest = 2.0 / 2 ** min(blocks, MOST_EXACT_BLOCKS)
    return math.floor(remaining / smallest + 1e-9) * smallest


def schedule(blocks: int) -> list[Look]:
    """Return the looks of a plan with ``blocks`` blocks, without the end.

    What is spent grows with the square of the blocks: little is paid early, where only large
    effects are seen.
    """
    may = [
        block
        for block in range(FEWEST_BLOCKS, blocks - STEP + 1)
        if _level(block, ALPHA * (block / blocks) ** 2) > 0
    ]
    step = max(STEP, math.ceil(len(may) / MOST_LOOKS))
    looks: list[Look] = []
    for block in may[::step]:
        alpha = _level(block, ALPHA * (block / blocks) ** 2 - sum(look["alpha"] for look in looks))
        if alpha > 0:
            looks.append({"block": block, "alpha": alpha})
    return looks


def after_each_block(blocks: int) -> list[Look]:
    """Return an interim test after each block but the last, and the level of each.

    They are for tests that know any p, such as Fisher's. The levels of all interim tests and of the
    end add up to 5 % (Bonferroni), so their number costs no false claims.
    """
    later = ALPHA * (1 - FIRST_SPENDS) / max(1, blocks - 1)
    return [
        {"block": block, "alpha": ALPHA * FIRST_SPENDS if block == 1 else later}
        for block in range(1, blocks)
    ]


def rest(looks: Iterable[Look]) -> float:
    """Return the level that is left for the end after these looks."""
    return ALPHA - sum(look["alpha"] for look in looks)


def paid(p: np.ndarray, alpha: float) -> np.ndarray:
    """Return p values of a look such that they are to be compared with 5 %, as all others."""
    return np.minimum(p / alpha * ALPHA, 1.0)


def same(estimates: dict[str, np.ndarray], matters: float, alpha: float = SAME_ALPHA) -> np.ndarray:
    """Return which effects make no difference that matters, by an interval that is stricter than
    the report's.
    """
    freedom = np.maximum(estimates["n"] - 1, 1)
    wider = np.vectorize(
        lambda degrees: t_quantile(1 - alpha / 2, degrees) / t_quantile(0.975, degrees)
    )(freedom)
    with np.errstate(invalid="ignore"):
        half = (estimates["high"] - estimates["low"]) / 2 * wider
        return np.abs(estimates["mean"]) + half <= matters
