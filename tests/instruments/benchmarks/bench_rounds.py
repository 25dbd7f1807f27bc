# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Eight nodes, everybody with everybody: 28 pairs in 7 rounds of four together, against one pair
alone in the same run.

The promise: a visit of all pairs takes at most 1.2 times what 7 visits of one pair take. A visit
lasts from its first trial to the next visit's first, with profiles, evidence and records. Run
alone, as root.
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
from pathlib import Path

from ansible_collections.offload.lab.tests.system.lab import Lab

NODES = 8
PROMISE = 1.2
CAMPAIGN = {
    "paths": ["physical"],
    "workloads": ["tcp_stream"],
    "duration": 10,
    "design": "on_off",
    "factors": ["tso"],
    "blocks": 1,
}


def measured(lab, folder, name, pairs):
    """Measure a campaign; return ``(seconds of a visit, trials, plan)``."""
    lab.play(
        "measure", timeout=3600, results_dir=folder, campaign=dict(CAMPAIGN, name=name, pairs=pairs)
    )
    trials = [
        json.loads(row) for row in Path(folder, name, "trials.jsonl").read_text().splitlines()
    ]
    assert [trial["error"] for trial in trials if trial["error"]] == []
    begins = {}
    for trial in trials:
        begins[trial["visit"]] = min(trial["started"], begins.get(trial["visit"], trial["started"]))
    ordered = sorted(begins.values())
    return (
        statistics.mean(after - before for before, after in itertools.pairwise(ordered)),
        trials,
        json.loads(Path(folder, name, "plan.json").read_text()),
    )


def overlapping(trials):
    """Return the pairs of trials that share a node and were measured at the same time."""
    return [
        (first["pair"], other["pair"])
        for first, other in itertools.combinations(trials, 2)
        if first["started"] < other["finished"]
        and other["started"] < first["finished"]
        and {first["client"], first["server"]} & {other["client"], other["server"]}
    ]


def main():
    """Print the seconds of a visit of one pair and of all pairs, and the ratio to the rounds."""
    lab = Lab("bench", nodes=NODES)
    try:
        lab.up()
        with tempfile.TemporaryDirectory(prefix="offload-lab-bench-") as folder:
            single, _trials, _plan = measured(lab, folder, "one", ["node1-node2"])
            seconds, trials, plan = measured(lab, folder, "all", "all")
    finally:
        lab.down()
    rounds = len(plan["rounds"])
    assert (len({trial["pair"] for trial in trials}), rounds, overlapping(trials)) == (28, 7, [])
    print(
        json.dumps(
            {
                "rounds": f"{len(plan['pairs'])} pairs of {NODES} nodes in {rounds} rounds",
                "visit_s": round(seconds, 1),
                "visit_of_one_pair_s": round(single, 1),
                "ratio_to_rounds_of_one_pair": round(seconds / rounds / single, 3),
                "promise": PROMISE,
            }
        )
    )


if __name__ == "__main__":
    main()
