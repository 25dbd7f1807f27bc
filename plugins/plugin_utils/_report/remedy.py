# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is missing for an answer, why, and the one command that adds it."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from .._campaign.nouns import Plan
from .._figures import numbers as text
from .._trials.digest import Digest
from .phrases import rows_of

MOST_BLOCKS = 60  # a command that asks for more does not help: the difference is not worth it
CONFIRM_BLOCKS = 6


class Remedy(NamedTuple):
    """``words`` end a sentence, ``command`` is what to run."""

    words: str
    command: str


def measure(overrides: dict[str, Any]) -> str:
    """Return the command that measures the campaign again, in a folder of its own."""
    words = json.dumps(
        {"offload_lab_campaign_overrides": overrides, "offload_lab_results_dir": "again"}
    )
    return f"ansible-playbook -i INVENTORY offload.lab.measure -e offload_lab_campaign_file=CAMPAIGN.yml -e '{words}'"


GO_ON = (
    "ansible-playbook -i INVENTORY offload.lab.measure -e offload_lab_campaign_file=CAMPAIGN.yml"
)


def left_out(digest: Digest) -> str:
    """Return what was left out or failed, and why; nothing where each trial could be used."""
    words = []
    if digest.left_out:
        guards = {name: seen for name, seen in digest.guards.items() if seen["left_out"]}
        worst = max(sorted(guards), key=lambda name: guards[name]["left_out"])
        why = guards[worst]["reason"]
        words.append(
            f"{digest.left_out:,} of {digest.trials:,} trials {_were(digest.left_out)} left out, most by "
            f"guard {worst} ({why})"
        )
    if digest.failed:
        error = max(sorted(digest.errors), key=lambda name: digest.errors[name])
        words.append(f"{digest.failed:,} of {digest.trials:,} trials failed, most with: {error}")
    return "; ".join(words)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def more_blocks(tables: list[dict[str, Any]], plan: Plan) -> Remedy | None:
    """Return the remedy for the largest difference that is not known; None where all is known."""
    unknown = [
        row
        for _table, _quantity, row in rows_of(tables, first=True)
        if row["verdict"] == "unknown" and row["ratio"] and row["needs"] and row["needs"]["blocks"]
    ]
    if not unknown:
        return None
    row = max(unknown, key=lambda row: (abs(math.log(row["ratio"])), row["label"]))
    searched = plan["design"] == "search"  # only what it confirms is compared in blocks
    asked, n, planned = (
        row["needs"]["blocks"],
        row["n"],
        plan["confirm"] if searched else plan["blocks"],
    )
    blocks = planned + math.ceil(asked * planned / max(n, 1))  # as many are lost again
    if blocks > MOST_BLOCKS:
        return Remedy(
            f"more than {MOST_BLOCKS} blocks would be needed. The differences are small against the noise: a "
            "quieter machine helps more.",
            "",
        )
    seconds = row["needs"]["seconds"]
    time = f", about {text.seconds(seconds / asked * blocks)}" if seconds else ""
    which = "it" if len(unknown) == 1 else "the largest of them"
    words = f"{blocks} blocks would settle {which}{time}:"
    if n < planned:
        words = f"{n} of {planned} blocks could be compared; {words}"
    return Remedy(words, measure({"confirm" if searched else "blocks": blocks}))


def confirmation(plan: Plan) -> Remedy:
    """Return what confirms what was chosen.

    Where confirmation.json is decided, going on would measure nothing.
    """
    if not plan.get("confirm"):
        return Remedy("To confirm it in fresh blocks:", measure({"confirm": CONFIRM_BLOCKS}))
    if "role" not in plan["profiles"][plan["control"]]:  # profiles of a confirmation have one
        return Remedy("To confirm it in fresh blocks:", GO_ON)
    words, blocks = (
        "The planned blocks gave no reason to confirm it in fresh ones.",
        2 * plan["blocks"],
    )
    if blocks > MOST_BLOCKS:
        return Remedy(f"{words} A quieter machine helps more than more blocks.", "")
    return Remedy(f"{words} More of them may:", measure({"blocks": blocks}))
