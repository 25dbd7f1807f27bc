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
    found = {}
    for table in analysis["tables"]:
        traffic, engine = table["workload"].rsplit("_", 1)
        metrics = {metric["metric"]: metric for metric in table["metrics"]}
        (row,) = metrics["throughput"]["rows"]
        found[table["path"], table["mtu"], traffic, engine] = row
    return found


def half_width(row):
    return (math.log(row["high"]) - math.log(row["low"])) / 2


def agree(one, other):
    """Return whether two effects differ by no more than their intervals allow together."""
    allowed = math.hypot(half_width(one), half_width(other))
    return abs(math.log(one["ratio"]) - math.log(other["ratio"])) <= allowed


def main(path):
    """Print the table."""
    with open(path, encoding="utf-8") as stream:
        found = effects(json.load(stream))
    places = sorted({place[:3] for place in found})
    agreed = 0
    for place in places:
        one, other = (found[(*place, engine)] for engine in ENGINES)
        agreed += agree(one, other)
        shown = " | ".join(
            f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})" for row in (one, other)
        )
        print(f"| {place[0]} | {place[1]} | {place[2]} | {shown} | {agree(one, other)} |")
    print(f"{agreed} of {len(places)} tables agree.")


if __name__ == "__main__":
    main(sys.argv[1])
