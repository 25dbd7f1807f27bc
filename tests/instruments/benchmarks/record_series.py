# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records noise for bench_time_to_answer.py: what one netperf sees for minutes, a value for each
quarter of a second.

Run it as: tests/instruments/benchmarks/record_series.py SECONDS "what it ran on" NETPERF ARGUMENTS,
such as 600 "two quiet cores" ip netns exec client netperf -H 198.18.0.2. A server must be there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._netperf_logs.parse import (
    parse_netperf,
)

SERIES = Path(__file__).parent / "noise_series.json"
STEP = 0.25  # s
TESTS = ("TCP_STREAM", "TCP_RR")


def on_a_grid(parts):
    """Return the mean rate of each step of time, from netperf's own intervals of unequal length."""
    ends = np.array([part["ending_at"] for part in parts])
    long = np.array([part["seconds"] for part in parts])
    rates = np.array([part["throughput"] for part in parts])
    done = np.concatenate([[0.0], np.cumsum(rates * long)])
    at = np.concatenate([[ends[0] - long[0]], ends])
    grid = np.arange(at[0], at[-1], STEP)
    return np.diff(np.interp(grid, at, done)) / STEP


def main(seconds, source, *netperf):
    """Write the series of all tests."""
    series_by_name = {}
    for test in TESTS:
        argv = [*netperf, "-t", test, "-l", seconds, "-D", "0.1"]
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        series = on_a_grid(parse_netperf(done.stdout)[0]["interim"])
        series_by_name[test] = [float(f"{value:.4g}") for value in series if value > 0]
    text = json.dumps({"schema": 1, "source": source, "step_s": STEP, "series": series_by_name})
    SERIES.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
