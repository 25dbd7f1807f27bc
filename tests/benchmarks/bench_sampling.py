# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What observing a trial costs: pairs of trials with and without CPU sampling and feature watch, in random order.

The promise: less than 1 % of a 10 s trial's throughput. Run alone, as root: the machine's other work is in the noise.
``BENCH_PAIRS`` (default 24) and ``BENCH_SECONDS`` (10) are the number of pairs and a trial's length.
"""
from __future__ import annotations

import json
import math
import os
import random
import statistics

from scipy import stats

from ansible_collections.offload.lab.tests.system.lab import Lab

PAIRS = int(os.environ.get("BENCH_PAIRS", "24"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "10"))
ENDPOINT = {"address": "198.18.0.2", "local": "198.18.0.1"}
DEVICES = [{"name": "underlay0"}]


def observed(lab):
    """Return the arguments with which a campaign's trials are observed."""
    token = lab.ask("offload.lab.probe", "node2", address="198.18.0.2")["token"]
    return {"probe": {"address": "198.18.0.2", "token": token}, "watch": {"client": DEVICES, "server": DEVICES}}


def trial(lab, arguments):
    """Measure one TCP_STREAM and return its throughput in Mbit/s."""
    cell = {"id": "a", "path": "physical", "mtu": 9000, "endpoints": [ENDPOINT],
            "workload": {"test": "TCP_STREAM", "duration": SECONDS}}
    measured = lab.ask("offload.lab.netperf", "node1", cells=[cell], **arguments)["trials"][0]
    assert bool(measured.get("cpu")) == bool(arguments), measured
    return measured["result"]["throughput_mbps"]


def main():
    """Print the cost as a share of the throughput, with its 95 % interval (t, on the log ratios of the pairs)."""
    lab, ratios, levels = Lab("bench"), [], []
    order = random.Random(1)
    try:
        lab.up()
        ways = {"observed": observed(lab), "alone": {}}
        for _pair in range(PAIRS):
            names = sorted(ways)
            order.shuffle(names)
            rates = {name: trial(lab, ways[name]) for name in names}
            ratios.append(math.log(rates["observed"] / rates["alone"]))
            levels.append(rates["alone"])
    finally:
        lab.down()
    low, high = stats.ttest_1samp(ratios, 0).confidence_interval(0.95)
    print(json.dumps({
        "sampling": f"{PAIRS} pairs of {SECONDS} s TCP_STREAM", "median_mbps": round(statistics.median(levels)),
        "cost_percent": round(100 * (1 - math.exp(statistics.fmean(ratios))), 2),
        "interval_95_percent": [round(100 * (1 - math.exp(high)), 2), round(100 * (1 - math.exp(low)), 2)]}))


if __name__ == "__main__":
    main()
