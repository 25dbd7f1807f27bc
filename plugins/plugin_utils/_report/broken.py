# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report says of payload whose content was checked: broken, suspect or clean, a line a path."""

from __future__ import annotations

from .._analysis.integrity import Contrast, PathVerdict, Tallies, verdicts
from .._campaign.nouns import Plan
from .nouns import Sentence
from .phrases import line


def lines(plan: Plan, tallies: Tallies) -> list[Sentence]:
    """Return the lines, what is broken first."""
    signs = {"broken": "worse", "broken without": "worse", "suspect": "unknown", "clean": "same"}
    found = sorted(verdicts(plan, tallies), key=lambda row: list(signs).index(row["verdict"]))
    return [line(signs[row["verdict"]], _words(row, tallies)) for row in found]


def first_and_last(plan: Plan, tallies: Tallies) -> tuple[list[Sentence], list[Sentence]]:
    """Return the lines that come before all else, and those of what is clean."""
    clean, first = list[Sentence](), list[Sentence]()
    for one in lines(plan, tallies):
        (clean if one["verdict"] == "same" else first).append(one)
    return first, clean


def _words(row: PathVerdict, tallies: Tallies) -> str:
    where = f"over {row['path']} at MTU {row['mtu']}"
    if row["verdict"] == "broken":
        guilty = "; ".join(_compared(row, one, tallies) for one in row["guilty"])
        return f"Broken {where}: {guilty}.{_example(row)}"
    if row["verdict"] == "broken without":
        return (
            f"Broken without these offloads too {where}: {row['kind']} with every profile."
            f"{_example(row)} Look for the cause elsewhere: the path's MTU, the wire, the other end."
        )
    if row["verdict"] == "suspect":
        return (
            f"Suspect {where}: {row['kind']} in some of {row['trials']} trials, too few to say "
            f"which setting does it.{_example(row)} More blocks would tell."
        )
    return (
        f"Clean {where}: all {row['messages']:,} messages of {row['trials']} trials arrived as "
        f"sent. With 95 % confidence, fewer than 1 in {1 / row['bound']:,.0f} arrives otherwise."
    )


def _compared(row: PathVerdict, one: Contrast, tallies: Tallies) -> str:
    with_it = tallies[row["path"], row["mtu"], one["with_it"]]
    without = tallies[row["path"], row["mtu"], one["without"]]
    kind = max(with_it["kinds"], key=lambda name: with_it["kinds"][name])
    return (
        f"{kind} in {with_it['troubled']} of {with_it['trials']} trials with {one['with_it']}, in "
        f"{without['troubled']} of {without['trials']} with {one['without']} (p = {one['p']:.2g}); "
        f"switch {one['factor']} off"
    )


def _example(row: PathVerdict) -> str:
    if not row["first"]:
        return ""
    size, offset = row["first"]["size"], row["first"]["offset"]
    return f" The smallest message that arrived wrong has {size:,} bytes, from byte {offset:,} on."
