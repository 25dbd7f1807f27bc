# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is missing of a campaign, and what of it may be claimed. Pure.

The test pays for one look, at the end. A look before, or more trials because the answer did not
please, is another: such a report shows its intervals and claims nothing.
"""

from __future__ import annotations

from typing import Any

from .._campaign.nouns import Plan
from .._statistics.states import block_seconds
from .result import Unfinished


def unfinished(
    plan: Plan, visited: set[tuple[Any, ...]], missing: int, beyond: int, running: bool = False
) -> Unfinished | None:
    """Return what is missing of a campaign, None where nothing is and it is not ``running``.

    ``visited`` are (MTU, block, visit) of which any trial was recorded, ``beyond`` counts trials of
    blocks that the plan does not have.
    """
    planned = [(visit["mtu"], visit["block"], visit["visit"]) for visit in plan["visits"]]
    left = [place for place in planned if place not in visited]
    extended = beyond > 0 or bool(plan.get("extended"))
    searching = plan["design"] == "search" and not ("decided" in plan and plan["decided"]["ended"])
    if not any((left, extended, searching, running)):
        return None
    reasons = (
        (running, "the campaign is running"),
        (left, f"{len(left)} of {len(plan['visits'])} visits were not measured"),
        (searching, "the search has not ended"),
        (extended, "the record was extended after its plan was made"),
    )
    words = " and ".join(text for holds, text in reasons if holds)
    return Unfinished(
        visits_missing=len(left),
        trials_missing=missing,
        seconds=_seconds(plan, len(left)),
        extended=extended,
        text=f"{words}: nothing is claimed",
    )


def _seconds(plan: Plan, visits: int) -> float | None:
    """Return about how long some visits take; None where it is not known."""
    one = block_seconds(plan)
    if not one or not plan["visits"]:
        return None
    in_block = len(plan["visits"]) / plan["blocks"]
    return round(one * visits / in_block, 1)
