# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two engines find the same effects: ``python -m …instruments.engines analysis.json`` of the
campaign playbooks/campaigns/engines.yml prints a row a table, and how many agree.

Two effects agree where they differ by no more than their two intervals allow together: independent
errors add as squares. By chance 1 table in 20 does not.
"""

from __future__ import annotations

import json
import math
import sys

ENGINES = ("netperf", "iperf3")


def effects(analysis):
    """Return the effect on throughput of each table: (path, MTU, traffic, engine) to its row."""
    by_case = {}
    for table in analysis["tables"]:
        traffic, engine = table["workload"].rsplit("_", 1)
        metrics = {metric["metric"]: metric for metric in table["metrics"]}
        (row,) = metrics["throughput"]["rows"]
        by_case[table["path"], table["mtu"], traffic, engine] = row
    return by_case


def half_width(row):
    return (math.log(row["high"]) - math.log(row["low"])) / 2


def agree(first, other):
    """Return whether two effects differ by no more than their intervals allow together."""
    allowed = math.hypot(half_width(first), half_width(other))
    return abs(math.log(first["ratio"]) - math.log(other["ratio"])) <= allowed


def main(path):
    """Print the table."""
    with open(path, encoding="utf-8") as stream:
        effects_found = effects(json.load(stream))
    places = sorted({case[:3] for case in effects_found})
    agreed = 0
    for case in places:
        first, other = (effects_found[(*case, engine)] for engine in ENGINES)
        agreed += agree(first, other)
        shown = " | ".join(
            f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})" for row in (first, other)
        )
        print(f"| {case[0]} | {case[1]} | {case[2]} | {shown} | {agree(first, other)} |")
    print(f"{agreed} of {len(places)} tables agree.")


if __name__ == "__main__":
    main(sys.argv[1])
