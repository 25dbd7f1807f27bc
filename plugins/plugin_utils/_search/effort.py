# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a search can afford: whether another round fits into its time budget, with how many trials a
visit. Pure.
"""

from __future__ import annotations

from .._campaign.design import (
    block_seconds,
    confirmation_cost,
    usual_rounds,
)
from .._campaign.nouns import Plan, Search

ROUNDING = 0.001  # seconds


def affordable(plan: Plan, decided: Search, wanted: int) -> int:
    """Return with how many trials a visit one more round fits, with the confirmation after it; 0
    where it does not.

    At most ``wanted``. Of a time budget, more trials than the plan's take only what the usual
    rounds leave.
    """
    search = plan["search"]
    made = len(decided["rounds"])
    if made >= search["rounds"]:
        return 0
    if _fits(plan, decided, fewest_trials(plan), rounds=1):
        rounds = max(1, usual_rounds(len(plan["profiles"])) - made)
        return _most(plan, decided, wanted, rounds)
    return 0


def confirmed_with(plan: Plan, decided: Search, wanted: int) -> int:
    """Return with how many trials a visit the confirmation fits, at most ``wanted``."""
    return _most(plan, decided, wanted, rounds=0)


def _most(plan: Plan, decided: Search, wanted: int, rounds: int) -> int:
    fewest = fewest_trials(plan)
    return max(
        (trials for trials in range(fewest, wanted + 1) if _fits(plan, decided, trials, rounds)),
        default=fewest,
    )


def _fits(plan: Plan, decided: Search, trials: int, rounds: int) -> bool:
    """Return whether so many more rounds and the confirmation fit into the time budget."""
    search = plan["search"]
    fewest = fewest_trials(plan)
    if search["limit"] != "time_budget":
        return True
    left = (
        search["rounds"] * _round_seconds(plan, fewest)
        + _confirmation_seconds(plan, fewest)
        - sum(_round_seconds(plan, one.get("trials", fewest)) for one in decided["rounds"])
    )
    return (
        rounds * _round_seconds(plan, trials) + _confirmation_seconds(plan, trials)
        <= left + ROUNDING
    )


def fewest_trials(plan: Plan) -> int:
    """Return the trials of each cell at the first visits."""
    return plan.get("trials") or 1


def with_trials(plan: Plan, trials: int) -> Plan:
    """Return a plan whose visits have so many trials of each cell."""
    return {**plan, "trials": trials}


def _round_seconds(plan: Plan, trials: int) -> float:
    return block_seconds(with_trials(plan, trials), 1)


def _confirmation_seconds(plan: Plan, trials: int) -> float:
    return confirmation_cost(with_trials(plan, trials), len(plan["profiles"]))[2]
