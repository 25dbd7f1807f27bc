# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a short cell sees: the rates of cells of 0.25 s to 4 s, compared between
two namespaces joined by a veth, with TSO on and off.

Slow start and the clocks take a share of a short cell. What matters for a campaign is whether the
effect of a setting stays the same: the ratio of TSO on to off is given for each length, with the
interval of its quotient by the ratio of the longest cells. The order is random in each round. Run
as root,
on a host with netperf. ``BENCH_ROUNDS`` (default 12) is the number of rounds.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

from scipy import stats

from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._load import run
from ansible_collections.offload.lab.plugins.plugin_utils._trials.trials import result_of

sys.path.insert(0, str(Path(__file__).parent))
from bench_engines import ACCESS, CLIENT, ENDPOINT, two_namespaces

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "12"))
LENGTHS = (0.25, 0.5, 1, 4)  # s; the last is what the others are held against
TESTS = ("TCP_STREAM", "TCP_RR")
LEVELS = ("off", "on")  # of TSO


def measure(engine, test, seconds):
    """Return the rate of a cell."""
    options = {"test": test, "duration": seconds, "cpu": False, "interim": 0.1, "engine": engine}
    row = run.run_cell(workload.checked(options), [workload.endpoint(ENDPOINT)], token=ACCESS.token)
    result, error = result_of(row)
    if error:
        raise SystemExit(f"{engine} {options}: {error}")
    return result["transactions_per_s"] or result["throughput_mbps"]


def switch(level):
    """Set TSO of the sender."""
    argv = ["ip", "netns", "exec", CLIENT, "ethtool", "-K", "ol-b0", "tso", level]
    subprocess.run(argv, check=True)


def rounds(engine):
    """Yield of each round the logarithm of each rate."""
    cells = list(itertools.product(TESTS, LENGTHS))
    for _round in range(ROUNDS):
        by_case = {}
        for level in random.sample(LEVELS, len(LEVELS)):
            switch(level)
            for test, seconds in random.sample(cells, len(cells)):
                by_case[test, level, seconds] = math.log(measure(engine, test, seconds))
        yield by_case


def interval(logarithms):
    """Return a ratio, and its interval of 95 % (Student)."""
    middle = statistics.fmean(logarithms)
    error = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    around = stats.t.ppf(0.975, len(logarithms) - 1) * error
    return " ".join(
        f"{math.exp(value):.3f}" for value in (middle, middle - around, middle + around)
    )


def show(engine, by_case):
    """Print the table of an engine."""
    print(
        f"{engine}: ratio, low, high; rate and effect of TSO, over their values at {LENGTHS[-1]} s"
    )
    for test, seconds in itertools.product(TESTS, LENGTHS[:-1]):
        rate = [row[test, "on", seconds] - row[test, "on", LENGTHS[-1]] for row in by_case]
        effects = []
        for row in by_case:
            short = row[test, "on", seconds] - row[test, "off", seconds]
            effects.append(short - (row[test, "on", LENGTHS[-1]] - row[test, "off", LENGTHS[-1]]))
        print(f"{test:12} {seconds:5} s   rate {interval(rate)}   effect {interval(effects)}")


def main():
    """Measure with both engines that have short cells."""
    engines = ("netperf", "sockets")
    with two_namespaces(engines):
        for engine in engines:
            show(engine, list(rounds(engine)))


if __name__ == "__main__":
    main()
