# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One test for all effects of a report. The chance of any false claim is 5 %, whatever their number.

If nothing differs, swapping the labels within a block changes nothing. So the test flips the sign of all
differences of a block together. This keeps what they share: a control, a visit, a noisy moment. The
largest effect is claimed if it exceeds the largest effect under nearly all choices of signs. Then the
second largest is compared with the rest, and so on (step-down max-T, Westfall and Young 1993). The test
is exact up to 12 blocks; for more it takes 9,999 draws with a fixed seed.

If noise slows trials down and never speeds them up, differences are skewed, and chance makes large sums of
one sign. The test subtracts what skewness adds to effects of that sign. It raises no effect, so it adds no
claim.

Of few effects every set of them is tested instead (a closed test, Marcus et al. 1976), by the sum
of its fourth powers: between the largest, which one strong effect passes, and the sum of squares,
which many weaker ones pass together.

All that a report may claim, tested together: profiles, main effects, interactions, leaders,
failures. Pure.

Every member is an array (tables, effects, blocks) of differences. The test flips whole blocks of
all members together. The blocks of the confirmation follow the plan's blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .libraries import np
from .looks import paid
from .rules import ALPHA, FEWEST_BLOCKS
from .signflip import TIE, order_p, sign_patterns

# Variance of (profile - mean of two control visits), in units of one trial's variance; to one visit: 2
AGAINST_TWO = 1.5
LOWER_QUARTER = 0.25
CELLS = 1 << 18  # effects, or sets of them, times sign patterns, in memory together
MOST_CLOSED = 12  # effects, whose 4,095 sets are tested one by one
POWER = 4
MOST_OF_ITS_SIZE = 3.0  # most times that an effect's size exceeds its differences' size
# the most that skewness takes, and the sum from which on it takes no more
MOST_SKEWED = 0.1
SKEWED_TO = 4.0


def usual_size(differences: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the root mean square of each effect's differences over the last axis; ``n`` are
    present.
    """
    squares = np.where(np.isnan(differences), 0.0, differences) ** 2
    return np.sqrt(squares.sum(axis=-1) / np.maximum(n, 1))


def table_scale(differences: np.ndarray, again: np.ndarray | None = None) -> np.ndarray:
    """Return the scale of each table, (tables, effects, blocks) to (tables,): the lower quartile of
    its effects' sizes.

    The lower quartile, since what differs has large differences: in half of the effects it would
    pass for scatter.

    ``again`` (tables, 1, blocks) are the differences between the control's two visits, one effect
    more, brought to the scatter of the others. The scale depends on the size of differences alone,
    never on their signs: flipping them does not change it. Effects of one table share it, so a
    lucky block does not make a quiet effect large.
    """
    everything = differences
    if again is not None:
        everything = np.concatenate([differences, again * np.sqrt(AGAINST_TWO / 2)], axis=-2)
    n = (~np.isnan(everything)).sum(axis=-1)
    sizes = np.where(n > 0, usual_size(everything, n), np.nan)
    # NaN comes last
    ordered = np.sort(sizes, axis=-1)
    measured = (~np.isnan(sizes)).sum(axis=-1)
    rank = LOWER_QUARTER * np.maximum(measured - 1, 0)[..., None]
    below = rank.astype(int)
    low, high = (
        np.take_along_axis(ordered, np.minimum(at, ordered.shape[-1] - 1), axis=-1)
        for at in (below, np.where(rank > below, below + 1, below))
    )
    return (low + (rank - below) * (high - low))[..., 0]


def joint_p(
    differences: np.ndarray, scale: np.ndarray, groups: np.ndarray | None = None
) -> np.ndarray:
    """Return the p value of each effect (effects, blocks), corrected for all of them; NaN is a
    missing block.

    Under :data:`FEWEST_BLOCKS` blocks an effect has no test (NaN). ``groups`` are numbers: effects
    with the same one are skewed alike. Without them none is thought to be skewed.
    """
    present = ~np.isnan(differences)
    n = present.sum(axis=1)
    tested = np.flatnonzero((n >= FEWEST_BLOCKS) & (scale > 0))
    p = np.where(n >= FEWEST_BLOCKS, 1.0, np.nan)
    if not len(tested):
        return p
    differences, n = differences[tested], n[tested]
    # In a table that scatters hardly at all, one odd trial would be the largest effect under all
    # signs, and hide all.
    scale = np.maximum(scale[tested], usual_size(differences, n) / MOST_OF_ITS_SIZE)
    scaled = np.where(present[tested], differences, 0.0) / (scale * np.sqrt(n))[:, None]
    if len(tested) <= MOST_CLOSED:
        p[tested] = _closed(scaled)
        return p
    sums = scaled.sum(axis=1)
    sizes = np.abs(sums) if groups is None else _sizes(differences, n, sums, groups[tested])
    p[tested] = _step_down(scaled, sizes)
    return p


def _step_down(scaled: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the corrected p values of effects of these sizes."""
    signs = sign_patterns(scaled.shape[1])
    order = np.argsort(sizes, kind="stable")
    largest = np.zeros(signs.shape[1])
    share = np.empty(len(scaled))
    step = max(1, CELLS // signs.shape[1])
    for start in range(0, len(scaled), step):
        part = order[start : start + step]
        sums = scaled[part] @ signs
        np.abs(sums, out=sums)
        observed = sizes[part, None] * TIE
        # Each row becomes the largest of its effect and of those before. numpy's accumulate does the
        # same in ten times the time.
        for row in sums:
            largest = np.maximum(row, largest, out=row)
        share[part] = np.count_nonzero(sums >= observed, axis=1)
    share[order] = np.maximum.accumulate(share[order][::-1])[::-1]
    return share / signs.shape[1]


def _sizes(
    differences: np.ndarray, n: np.ndarray, sums: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """Return the sizes of scaled sums, less what skewness alone adds to them (Cornish and Fisher's
    first term).
    """
    each = n**2 / ((n - 1) * (n - 2))  # few blocks look less skewed
    unit = (
        differences / np.maximum(usual_size(differences, n), 1e-300)[:, None]
    )  # an effect may be 0 in all blocks
    third = np.nanmean((unit - np.nanmean(unit, axis=1, keepdims=True)) ** 3, axis=1) * each
    skewness = np.bincount(groups, third) / np.maximum(np.bincount(groups), 1)
    more = np.clip(skewness[groups] / (6 * np.sqrt(n)), -MOST_SKEWED, MOST_SKEWED) * np.sign(sums)
    return np.abs(sums) - np.maximum(more, 0.0) * np.maximum(
        np.minimum(np.abs(sums), SKEWED_TO) ** 2 - 1, 0.0
    )


def _closed(scaled: np.ndarray) -> np.ndarray:
    """Return the corrected p values of few effects: the largest p of all sets that hold the effect."""
    powers = (scaled @ sign_patterns(scaled.shape[1])) ** POWER
    held = np.arange(1, 2 ** len(scaled))[:, None] >> np.arange(len(scaled)) & 1
    share = np.empty(len(held))
    step = max(1, CELLS // powers.shape[1])
    for start in range(0, len(held), step):
        sums = held[start : start + step].astype(float) @ powers
        share[start : start + step] = np.count_nonzero(sums >= sums[:, :1] * TIE, axis=1)
    return np.where(held, share[:, None], 0.0).max(axis=0) / powers.shape[1]


@dataclass
class TestMember:
    """One array of differences with its scale (tables, effects); ``p`` is filled by
    :meth:`Family.test`.

    ``again`` (tables, 1, blocks) is the control's second visit less its first, of differences to
    the mean of both.
    """

    kind: str
    differences: np.ndarray
    scale: np.ndarray
    first_block: int = 0
    p: Any = None
    metric: str = ""
    again: np.ndarray | None = None

    def noise(self) -> np.ndarray | None:
        """Return ``again`` in the shape of the differences; None without a second visit."""
        if self.again is None or np.isnan(self.again).all():
            return None
        return np.broadcast_to(self.again, self.differences.shape)


def _limit(members: list[tuple[TestMember, np.ndarray]], profile: int) -> None:
    """Make no claim of one profile have a smaller p value than the order of visits alone gives;
    each member has its :meth:`TestMember.noise`.
    """
    claims = [member.p[:, profile] <= ALPHA for member, _noise in members]
    if not np.any(np.concatenate(claims)):
        return
    least = order_p(
        np.concatenate([member.differences[:, profile] for member, _noise in members]),
        np.concatenate([noise[:, profile] for _member, noise in members]),
    )
    for (member, _noise), claimed in zip(members, claims):
        member.p[claimed, profile] = np.maximum(member.p[claimed, profile], least)


@dataclass
class Family:
    """The members of a report."""

    members: list[TestMember] = field(default_factory=list)

    def add(
        self,
        kind: str,
        differences: np.ndarray,
        scale: np.ndarray,
        first_block: int = 0,
        metric: str = "",
        *,
        again: np.ndarray | None = None,
    ) -> TestMember:
        """Take in differences (tables, effects, blocks); ``scale`` is of the tables, or of each
        effect.
        """
        shape = differences.shape[:2]
        scale = np.broadcast_to(scale if np.ndim(scale) == 2 else np.asarray(scale)[:, None], shape)
        self.members.append(
            TestMember(kind, differences, scale, first_block, metric=metric, again=again)
        )
        return self.members[-1]

    def test(self) -> None:
        """Give each member the p values of its effects, corrected for all effects of all members."""
        if not self.members:
            return
        blocks = max(member.first_block + member.differences.shape[2] for member in self.members)
        rows = [np.full((member.scale.size, blocks), np.nan) for member in self.members]
        for row, member in zip(rows, self.members):
            length = member.differences.shape[2]
            row[:, member.first_block : member.first_block + length] = member.differences.reshape(
                -1, length
            )
        p = joint_p(
            np.concatenate(rows),
            np.concatenate([member.scale.ravel() for member in self.members]),
            np.repeat(np.arange(len(rows)), [len(row) for row in rows]),
        )
        start = 0
        for member in self.members:
            member.p = p[start : start + member.scale.size].reshape(member.scale.shape)
            start += member.scale.size
        self._in_order()

    def _in_order(self) -> None:
        """Make no p value of a profile that is a claim smaller than what the order of visits alone
        gives.
        """
        by_part: dict[int, list[tuple[TestMember, np.ndarray]]] = {}
        for member in self.members:
            noise = member.noise()
            if noise is not None:  # with two visits alone, signs are as good as orders
                by_part.setdefault(member.first_block, []).append((member, noise))
        for members in by_part.values():
            for profile in range(members[0][0].p.shape[1]):
                _limit(members, profile)

    def pay(self, level: float, looks: list[tuple[Family, float]]) -> None:
        """Take in the looks before, each with its level; this test's own is ``level``.

        All p are then for 5 %.
        """
        before = [(family.p_values(), alpha) for family, alpha in looks]
        for member in self.members:
            member.p = paid(member.p, level)
            for p_by_kind, alpha in before:
                p = p_by_kind.get((member.kind, member.metric))
                if p is not None and p.shape == member.p.shape and not member.first_block:
                    member.p = np.fmin(member.p, paid(p, alpha))

    def p_values(self) -> dict[tuple[str, str], Any]:
        """Return the p values of each member, by its kind and metric."""
        return {(member.kind, member.metric): member.p for member in self.members}

    def counts(self) -> dict[str, int]:
        """Return how many effects of each kind were tested."""
        tested: dict[str, int] = {}
        for member in self.members:
            tested[member.kind] = tested.get(member.kind, 0) + int((~np.isnan(member.p)).sum())
        return tested
