# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures by profile: a trial that failed or received nothing is an outcome of its profile, never
only a gap. Pure.

A profile that fails more than the control is not recommended, nor is one with which the payload
arrived wrong in a single trial, unless it does so without any offload too. The bar is lower than
the report's test: a profile that stalls one time in four may stall only once in six trials.
"""

from __future__ import annotations

from .._campaign.nouns import Plan
from .._statistics.libraries import np
from .._trials.payload import WRONG
from .cube import Cube
from .result import FailedIn, Failures

TOLERATED = 0.05  # of a profile's trials, before a share above the control's forbids it


def by_row(counts: np.ndarray) -> np.ndarray:
    """Return counts (tables, visits, blocks) as (tables, profiles, blocks): both visits of the
    control together.
    """
    return np.concatenate([counts[:, :1] + counts[:, -1:], counts[:, 1:-1]], axis=1)


def differences(cube: Cube) -> np.ndarray:
    """Return how much more of each profile's trials failed than of the control's, (1, profiles,
    blocks).
    """
    attempts, stalls = (by_row(counts).sum(axis=0) for counts in (cube.attempts, cube.stalls))
    shares = np.where(attempts > 0, stalls / np.maximum(attempts, 1), np.nan)
    return (shares[1:] - shares[:1])[None]


def of_tables(cube: Cube) -> list[list[FailedIn]]:
    """Return for each table what failed of each profile's trials, the control first."""
    attempts = by_row(cube.attempts).sum(axis=2).tolist()
    stalls = by_row(cube.stalls).sum(axis=2).tolist()
    return [
        [
            FailedIn(
                profile=name,
                trials=trials,
                failed=failed,
                kinds=dict(sorted(cube.stall_kinds.get((table, name), {}).items())),
            )
            for name, trials, failed in zip(cube.profiles, attempts[table], stalls[table])
        ]
        for table in range(len(cube.tables))
    ]


def of_profiles(cube: Cube, p: np.ndarray | None, alpha: float) -> list[Failures]:
    """Return what failed of each profile's trials over all tables, the control first; ``p`` of the
    others, or None.
    """
    attempts, stalls = _all_trials(cube)
    shares = stalls / np.maximum(attempts, 1)
    rows: list[Failures] = []
    for index, name in enumerate(cube.profiles):
        p_profile = _p_of(p, index)
        more = bool(shares[index] > shares[0]) if index else _control_fails(shares, attempts)
        shown = bool(p_profile is not None and p_profile <= alpha and more)
        reason = _reason(cube, index, attempts, stalls)
        rows.append(
            Failures(
                profile=name,
                trials=int(attempts[index]),
                failed=int(stalls[index]),
                share=round(float(shares[index]), 6) if attempts[index] else None,
                p_report=p_profile,
                shown=shown,
                forbids=_altered(cube, name)
                or (reason if more and (shown or shares[index] > TOLERATED) else None),
            )
        )
    return rows


def _reason(cube: Cube, index: int, attempts: np.ndarray, stalls: np.ndarray) -> str:
    """Return how many trials of a profile failed, and how many of the control."""
    reason = f"{stalls[index]} of {attempts[index]} trials failed or received nothing"
    control = f"; of {cube.profiles[0]} {stalls[0]} of {attempts[0]}"
    return reason + control if index else reason


def _p_of(p: np.ndarray | None, index: int) -> float | None:
    """Return the p value of the profile at an index; None for the control or without a test."""
    if index == 0 or p is None or np.isnan(p[0, index - 1]):
        return None
    return float(p[0, index - 1])


def _all_trials(cube: Cube) -> tuple[np.ndarray, np.ndarray]:
    """Return each profile's trials, and how many of them failed, with checks of the payload."""
    attempts, stalls = (by_row(array).sum(axis=(0, 2)) for array in (cube.attempts, cube.stalls))
    contents = [cube.contents[name] for name in cube.profiles]
    return (
        attempts + [of_profile["trials"] for of_profile in contents],
        stalls + [of_profile["troubled"] for of_profile in contents],
    )


def _altered(cube: Cube, profile: str) -> str | None:
    """Return why a profile is forbidden with which the payload arrived wrong, or None."""
    trials = cube.contents[profile]["altered"]
    control = cube.profiles[0]
    if not trials or (cube.contents[control]["altered"] and _is_all_off(cube.plan, control)):
        return None
    return f"{WRONG} in {trials} trial{'' if trials == 1 else 's'}"


def _is_all_off(plan: Plan, profile: str) -> bool:
    levels = plan["profiles"][profile]["levels"]
    return all(levels[factor["name"]] == factor["levels"][0] for factor in plan["factors"])


def _control_fails(shares: np.ndarray, attempts: np.ndarray) -> bool:
    """Return whether the control fails more than another profile does."""
    others = shares[1:][attempts[1:] > 0]
    return bool(len(others) and shares[0] > others.min())


def merged(first: list[Failures], second: list[Failures]) -> dict[str, str]:
    """Return ``{profile: why it is not recommended}`` of the plan's part and of the confirmation."""
    return {row.profile: row.forbids for row in [*second, *first] if row.forbids}
