# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forty faults of a lying NIC, at rates of 1, 1 in 100 and 1 in 10,000 of the packets that they
concern: how many a campaign finds, and of how many it names the setting.

Run it as: PYTHONPATH=.build/live .venv/bin/python -m
ansible_collections.offload.lab.tests.instruments.lying_nic.forty [FIRST [LAST]]. It needs root and
both CPUs for two hours. docs/decisions/payload.md has what was seen.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from ansible_collections.offload.lab.tests.instruments.lying_nic.campaign import campaign

TSO = "tso"
USO = "tx-udp-segmentation"
TX = "tx"
GRO = "gro"
# The fault, and the setting that is to blame.
COMMON = (
    ("bit_flipped:1:tso", TSO),
    ("dropped:1:tso", TSO),
    ("delayed:1:tso", TSO),
    ("swapped:1:tso", TSO),
    ("segment_dropped:1:tso", TSO),
    ("bit_flipped:1:uso", USO),
    ("dropped:1:uso", USO),
    ("truncated:1:uso", USO),
    ("merged:1:uso", USO),
    ("length_wrong:1:uso", USO),
    ("checksum_unfilled:1:tx", TX),
    ("checksum_short:1:tx", TX),
    ("last_byte_zeroed:1:tx+odd", TX),
    ("vouched:1:gro", GRO),
    ("dropped:0.01:tso+whole_segments", TSO),
    ("zeroed:0.01:tso", TSO),
    ("last_byte_lost:0.01:tso", TSO),
    ("checksum_unfilled:0.01:tso", TSO),
    ("truncated:0.01:tso", TSO),
    ("bit_flipped_late:0.01:tso", TSO),
    ("segment_dropped:0.01:uso", USO),
    ("truncated:0.01:uso", USO),
    ("bit_flipped:0.01:tx", TX),
    ("vouched:0.01:tx", TX),
    ("dropped:0.01:tx+udp", TX),
    ("bit_flipped:0.01:gro", GRO),
    ("zeroed:0.01:gro", GRO),
)
RARE = (
    ("bit_flipped:0.0001:tso", TSO),
    ("dropped:0.0001:tso", TSO),
    ("segment_dropped:0.0001:tso", TSO),
    ("swapped:0.0001:tso", TSO),
    ("zeroed:0.0001:tso", TSO),
    ("checksum_short:0.0001:tso", TSO),
    ("truncated:0.0001:tso", TSO),
    ("bit_flipped:0.0001:uso", USO),
    ("bit_flipped:0.0001:tx", TX),
    ("checksum_unfilled:0.0001:tx", TX),
    ("vouched:0.0001:tx", TX),
    ("last_byte_zeroed:0.0001:tx", TX),
    ("bit_flipped:0.0001:gro", GRO),
)
SHORT, LONG = 1, 4  # s of a trial
CASES = [(*case, SHORT) for case in COMMON] + [(*case, LONG) for case in RARE]


class CaseOutcome(NamedTuple):
    """What a campaign said of one fault."""

    found: bool
    named: bool
    seconds: float


def seen(fault: str, guilty: str, duration: int) -> CaseOutcome:
    """Measure a campaign over a card with a fault, and print its row."""
    result = campaign(fault, duration=duration)
    blamed = [setting for blame in result.blamed for setting, on in blame.items() if on]
    print(
        f"| {fault} | {result.troubled} of {result.trials} | {result.verdict}"
        f" | {', '.join(blamed) or '-'} | {', '.join(result.off) or '-'} | {result.seconds:.0f} s |",
        flush=True,
    )
    return CaseOutcome(result.verdict != "clean", guilty in blamed, result.seconds)


def main(first: int = 1, last: int = len(CASES)) -> None:
    """Print a row for each fault, and what they say together."""
    rows = [seen(*case) for case in CASES[first - 1 : last]]
    print(
        f"{sum(row.found for row in rows)} of {len(rows)} found,"
        f" {sum(row.named for row in rows)} named, at most {max(row.seconds for row in rows):.0f} s"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
