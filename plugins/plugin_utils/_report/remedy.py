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
from .._figures.nouns import NamedTable, QuantityRow
from .._statistics import text
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


def unknown(tables: Sequence[NamedTable]) -> list[QuantityRow]:
    """Return the comparisons of the tables' first quantities that are not known."""
    rows = [found.row for found in rows_of(tables, first=True) if found.row.effect.ratio]
    return [row for row in rows if row.effect.outcome == "unknown"]


def _in_all(row: QuantityRow, planned: int) -> int | None:
    """Return how many blocks in place of the ``planned`` ones settle a comparison; None where that
    is not known. As many blocks are lost as now.
    """
    more = row.effect.needs.blocks if row.effect.needs else None
    return planned + math.ceil(more * planned / max(row.effect.n, 1)) if more else None


def more_blocks(tables: Sequence[NamedTable], plan: Plan) -> Remedy | None:
    """Return the remedy for the largest difference that blocks can settle; None where no number of
    blocks is known.
    """
    key = "confirm" if plan["design"] == "search" else "blocks"  # what a search compares in blocks
    planned = plan["confirm"] if key == "confirm" else plan["blocks"]
    rows = unknown(tables)
    needed = [(row, blocks) for row in rows if (blocks := _in_all(row, planned))]
    if not needed:
        return None
    possible = [(row, blocks) for row, blocks in needed if blocks <= MOST_BLOCKS]
    if not possible:
        return Remedy(
            f"more than {MOST_BLOCKS} blocks would be needed. The differences are small against the noise: a "
            "quieter machine helps more.",
            "",
        )
    row, blocks = max(possible, key=lambda one: (text.distance(one[0].effect.ratio), one[0].label))
    settled = sum(enough <= blocks for _row, enough in possible)
    return _blocks_for(row, blocks, planned, key, _which(settled, len(rows)))


def _which(settled: int, rows: int) -> str:
    if settled == rows:
        return "it" if rows == 1 else f"all {rows}"
    return f"{settled} of these {rows}"


def _blocks_for(row: QuantityRow, blocks: int, planned: int, key: str, which: str) -> Remedy:
    """Return the sentence and the command that measures ``blocks`` in place of the ``planned``."""
    needs = row.effect.needs
    time = ""
    if needs and needs.seconds and needs.blocks:
        time = f", about {text.seconds(needs.seconds / needs.blocks * blocks)}"
    words = f"{blocks} blocks in place of {planned} would settle {which}{time}:"
    if row.effect.n < planned:
        words = f"{row.effect.n} of {planned} blocks could be compared; {words}"
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
