# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is missing for an answer, why, and the one command that adds it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .._campaign.nouns import Plan
from .._figures import numbers as text
from .._figures.nouns import EffectTable, QuantityRow
from .._trials.digest import Digest
from .phrases import rows_of

MOST_BLOCKS = 60  # a command that asks for more does not help: the difference is not worth it
CONFIRM_BLOCKS = 6


class Remedy(NamedTuple):
    """``words`` end a sentence, ``command`` is what to run."""

    words: str
    command: str


def measure(overrides: Mapping[str, int]) -> str:
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


def _can_settle(row: QuantityRow) -> bool:
    """Return whether a comparison is not known, and blocks would tell."""
    if row["verdict"] != "unknown" or not row["ratio"]:
        return False
    return bool(row["needs"] and row["needs"]["blocks"])


def more_blocks(tables: Sequence[EffectTable], plan: Plan) -> Remedy | None:
    """Return the remedy for the largest difference that is not known; None where all is known."""
    rows = [found.row for found in rows_of(tables, first=True)]
    unknown = [row for row in rows if _can_settle(row)]
    if not unknown:
        return None
    row = max(unknown, key=lambda row: (text.distance(row["ratio"]), row["label"]))
    key = "confirm" if plan["design"] == "search" else "blocks"  # what a search compares in blocks
    planned = plan["confirm"] if key == "confirm" else plan["blocks"]
    return _blocks_for(row, planned, key, "it" if len(unknown) == 1 else "the largest of them")


def _blocks_for(row: QuantityRow, planned: int, key: str, which: str) -> Remedy | None:
    """Return how many blocks settle a comparison, in place of the ``planned`` ones."""
    needs = row["needs"]
    if not needs or not needs["blocks"]:
        return None
    blocks = planned + math.ceil(needs["blocks"] * planned / max(row["n"], 1))  # as many are lost
    if blocks > MOST_BLOCKS:
        return Remedy(
            f"more than {MOST_BLOCKS} blocks would be needed. The differences are small against the noise: a "
            "quieter machine helps more.",
            "",
        )
    time = ""
    if needs["seconds"]:
        time = f", about {text.seconds(needs['seconds'] / needs['blocks'] * blocks)}"
    words = f"{blocks} blocks would settle {which}{time}:"
    if row["n"] < planned:
        words = f"{row['n']} of {planned} blocks could be compared; {words}"
    return Remedy(words, measure({key: blocks}))


def confirmation(plan: Plan) -> Remedy:
    """Return what confirms what was chosen.

    Where confirmation.json is decided, going on would measure nothing.
    """
    if not plan.get("confirm"):
        return Remedy("To confirm it in fresh blocks:", measure({"confirm": CONFIRM_BLOCKS}))
    if "role" not in plan["profiles"][plan["control"]]:  # profiles of a confirmation have one
        return Remedy("To confirm it in fresh blocks:", GO_ON)
    words = "The planned blocks gave no reason to confirm it in fresh ones."
    blocks = 2 * plan["blocks"]
    if blocks > MOST_BLOCKS:
        return Remedy(f"{words} A quieter machine helps more than more blocks.", "")
    return Remedy(f"{words} More of them may:", measure({"blocks": blocks}))
