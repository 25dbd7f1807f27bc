# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that a report may claim, tested together: profiles, main effects, interactions, leaders,
failures. Pure.

Every member is an array (tables, effects, blocks) of differences. The test flips whole blocks of
all members together. The blocks of the confirmation follow the plan's blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .joint import joint_p
from .libraries import np
from .looks import paid
from .rules import ALPHA
from .signflip import order_p


@dataclass
class Member:
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


def _limit(members: list[tuple[Member, np.ndarray]], profile: int) -> None:
    """Make no claim of one profile have a smaller p value than the order of visits alone gives;
    each member has its :meth:`Member.noise`.
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

    members: list[Member] = field(default_factory=list)

    def add(
        self,
        kind: str,
        differences: np.ndarray,
        scale: np.ndarray,
        first_block: int = 0,
        metric: str = "",
        *,
        again: np.ndarray | None = None,
    ) -> Member:
        """Take in differences (tables, effects, blocks); ``scale`` is of the tables, or of each
        effect.
        """
        shape = differences.shape[:2]
        scale = np.broadcast_to(scale if np.ndim(scale) == 2 else np.asarray(scale)[:, None], shape)
        self.members.append(
            Member(kind, differences, scale, first_block, metric=metric, again=again)
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
        by_part: dict[int, list[tuple[Member, np.ndarray]]] = {}
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
