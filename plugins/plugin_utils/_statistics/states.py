# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a comparison: better, worse, same (no difference that matters) or unknown, and what
would settle it.

Better and worse need the report's test. Same needs an interval that lies within what matters. All
else is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .libraries import np, special
from .rules import FEWEST_BLOCKS

MOST_BLOCKS = 200  # beyond them nobody measures: the difference is then not worth an answer
# How many halves of its interval an estimate must have: the test asks for more than the interval
SETTLES = 1.3


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What would settle an unknown comparison: more ``blocks`` and about how many ``seconds``;
    None: not known.
    """

    blocks: int | None
    seconds: float | None
    text: str


def margin_of(percent: float) -> float:
    """Return what matters as a logarithm: a ratio between its inverse and itself makes no
    difference that matters.
    """
    return math.log1p(percent / 100)


def is_same(low: np.ndarray, high: np.ndarray, matters: float) -> np.ndarray:
    """Return which intervals lie within ± matters, all of them logarithms. An effect that has no
    interval (NaN) is not known.
    """
    with np.errstate(invalid="ignore"):
        return (low >= -matters) & (high <= matters)


def states(
    better: str | None, estimates: dict[str, np.ndarray], claimed: np.ndarray, matters: float
) -> np.ndarray:
    """Return the states of effects as an array of texts; None where no direction is better: shown,
    never claimed.
    """
    if better is None:
        return np.full(claimed.shape, None)
    same = is_same(estimates["low"], estimates["high"], matters)
    with np.errstate(invalid="ignore"):
        gain = (estimates["mean"] > 0) == (better == "higher")
    return np.where(
        same, "same", np.where(claimed, np.where(gain, "better", "worse"), "unknown")
    ).astype(object)


def more_blocks(estimates: dict[str, np.ndarray], matters: float) -> np.ndarray:
    """Return how many more blocks would show each estimate, or that it makes no difference that
    matters; NaN: many.
    """
    n = np.maximum(estimates["n"], 2)[..., None]
    blocks = np.arange(1, MOST_BLOCKS + 1)
    quantiles = special.stdtrit(np.maximum(blocks - 1, 1), 0.975)
    with np.errstate(invalid="ignore"):
        sd = (
            (estimates["high"] - estimates["low"])[..., None]
            / 2
            / quantiles[np.minimum(n, MOST_BLOCKS) - 1]
            * np.sqrt(n)
        )
        half = sd * quantiles / np.sqrt(blocks)
        size = np.abs(estimates["mean"])[..., None]
        settled = (
            ((SETTLES * half < size) | (size + half < matters))
            & (blocks > n)
            & (blocks >= FEWEST_BLOCKS)
        )
    more = np.where(
        settled.any(axis=-1), blocks[np.argmax(settled, axis=-1)] - estimates["n"], np.nan
    )
    return np.where(
        np.isfinite(estimates["low"]), more, np.maximum(1, FEWEST_BLOCKS - estimates["n"])
    )


def needs(blocks: float, block_seconds: float | None) -> Needs:
    """Return what would settle a comparison that is unknown; ``blocks`` as :func:`more_blocks` has
    them.
    """
    if not np.isfinite(blocks):
        return Needs(blocks=None, seconds=None, text=f"more than {MOST_BLOCKS} blocks")
    sentence = "1 more block" if blocks == 1 else f"{blocks:.0f} more blocks"
    return Needs(
        blocks=int(blocks),
        seconds=None if block_seconds is None else round(blocks * block_seconds, 1),
        text=sentence,
    )


def all_needs(
    estimates: dict[str, np.ndarray], state: np.ndarray, matters: float, block_seconds: float | None
) -> np.ndarray:
    """Return the needs of effects as an array: None where the state is known."""
    settled = np.full(state.shape, None)
    unknown = state == "unknown"
    part = {key: np.asarray(estimates[key])[unknown] for key in ("n", "mean", "low", "high")}
    settled[unknown] = [needs(blocks, block_seconds) for blocks in more_blocks(part, matters)]
    return settled
