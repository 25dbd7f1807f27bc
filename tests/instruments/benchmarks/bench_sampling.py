# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What observing a trial costs: a long TCP_STREAM cut into pairs of parts. One part of each pair is
observed as a trial is.

The promise: less than 1 % of a 10 s trial's throughput. A trial of any length is observed twice, at
both ends: when all its streams run and when the first ends. So a part of a second is observed as
often as a trial of ten, and what it loses is ten times as large a share: that is how a cost of
milliseconds is seen at all on a machine whose throughput wanders by per cents from one ten seconds
to the next. Bytes are the device's own count.

Both parts of a pair are of one stream. So whole trials are compared, too, each with a stream of its
own, as a campaign measures them: there observing could slow the start of a stream. Run alone, as
root. ``BENCH_PAIRS`` (default 150) and ``BENCH_SECONDS`` (1) are the number of pairs and a part's
length, ``BENCH_TRIALS`` (40) and ``BENCH_TRIAL_SECONDS`` (2) the number of pairs of trials and a
trial's length.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from scipy import stats

from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._engines.engine import Line
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import engine_named
from ansible_collections.offload.lab.plugins.module_utils._load import admission
from ansible_collections.offload.lab.plugins.module_utils._load.run import Watch
from ansible_collections.offload.lab.plugins.module_utils._observe.probe import Probe
from ansible_collections.offload.lab.plugins.module_utils._observe.trial_watch import BothEnds
from ansible_collections.offload.lab.tests.system.lab import CHECKOUT, Lab
from ansible_collections.offload.lab.tests.system.trial import token_of

PAIRS = int(os.environ.get("BENCH_PAIRS", "150"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "1"))
TRIALS = int(os.environ.get("BENCH_TRIALS", "40"))
TRIAL_SECONDS = int(os.environ.get("BENCH_TRIAL_SECONDS", "2"))
TRIAL = 10  # seconds of a trial that the promise is about
# when a trial is observed, in seconds after its begin and before its end
OPENED = 0.01
BEFORE_END = 0.01
CLIENT = "198.18.0.1"
SERVER = "198.18.0.2"
DEVICE = "underlay0"


def sent():
    """Return the bytes that the node's underlay has sent, and when."""
    return int(Path(f"/sys/class/net/{DEVICE}/statistics/tx_bytes").read_text()), time.monotonic()


def part(watch):
    """Return the throughput in Mbit/s of one part of the stream."""
    size, began = sent()
    time.sleep(OPENED)
    watch.opened()
    time.sleep(max(0, began + SECONDS - BEFORE_END - time.monotonic()))
    watch.first_ended()
    time.sleep(max(0, began + SECONDS - time.monotonic()))
    now, ended = sent()
    return (now - size) * 8 / (ended - began) / 1e6


def in_the_node(token, server_token):
    """Run the stream and print the throughput of each part by pair."""
    probe = Probe(SERVER, 12866, token)
    order = random.Random(1)
    devices = [{"name": DEVICE}]
    argv = [
        "netperf",
        "-H",
        SERVER,
        "-L",
        CLIENT,
        "-t",
        "TCP_STREAM",
        "-l",
        str(int(2 * PAIRS * SECONDS) + 60),
    ]
    end = workload.endpoint({"address": SERVER, "local": CLIENT})
    with admission.admitted(engine_named("netperf"), [Line(argv, end)], server_token):
        _parts(argv, probe, devices, order)


def _parts(argv, probe, devices, order):
    """Run the stream, whose server admits it, and print its parts."""
    stream = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        time.sleep(2)
        for _pair in range(PAIRS):
            ways = {"observed": BothEnds(probe, devices, devices), "alone": Watch()}
            names = sorted(ways)
            order.shuffle(names)
            rates = {name: part(ways[name]) for name in names}
            watched = ways["observed"].report()["watched"]
            assert watched["client"] and watched["server"], watched
            print(json.dumps(rates), flush=True)
    finally:
        stream.kill()
        stream.wait()


def parts(lab, token):
    """Return the throughput of both parts of each pair."""
    command = ["env", f"PYTHONPATH={CHECKOUT / '.build/live'}", sys.executable, __file__, token]
    command.append(token_of(lab))
    return [
        json.loads(row)
        for row in lab.inside(1, *command, timeout=3 * PAIRS * SECONDS + 120).splitlines()
    ]


def trials(lab, token):
    """Return the throughput of both trials of each pair, measured by module netperf with and
    without observing.
    """
    cell = {
        "id": "a",
        "path": "physical",
        "mtu": 9000,
        "endpoints": [{"address": SERVER, "local": CLIENT}],
        "workload": {"test": "TCP_STREAM", "duration": TRIAL_SECONDS},
    }
    watched = [{"name": DEVICE}]
    order = random.Random(1)
    rows = []
    let_in = {"token": token_of(lab)}
    ways = {
        "observed": {
            **let_in,
            "probe": {"address": SERVER, "token": token},
            "watch": {"client": watched, "server": watched},
        },
        "alone": let_in,
    }
    for _pair in range(TRIALS):
        names = sorted(ways)
        order.shuffle(names)
        rates = {
            name: lab.ask("offload.lab.visit", "node1", cells=[cell], **ways[name])["trials"][0]
            for name in names
        }
        assert bool(rates["observed"].get("cpu")) and not rates["alone"].get("cpu"), rates
        rows.append({name: trial["result"]["throughput_mbps"] for name, trial in rates.items()})
    return rows


def show(what, rows, seconds):
    """Print the loss in what was observed and in a trial of 10 s, with 95 % intervals (t, on the
    log ratios).
    """
    ratios = [math.log(row["observed"] / row["alone"]) for row in rows]
    low, high = stats.ttest_1samp(ratios, 0).confidence_interval(0.95)
    lost = [1 - math.exp(value) for value in (statistics.fmean(ratios), high, low)]
    print(
        json.dumps(
            {
                "sampling": f"{len(rows)} pairs of {what} of {seconds:g} s",
                "median_mbps": round(statistics.median(row["alone"] for row in rows)),
                "lost_ms_with_interval": [round(1000 * seconds * share, 1) for share in lost],
                f"percent_of_a_{TRIAL}_s_trial_with_interval": [
                    round(100 * share * seconds / TRIAL, 3) for share in lost
                ],
            }
        ),
        flush=True,
    )


def main():
    lab = Lab("bench")
    try:
        lab.up()
        token = lab.ask("offload.lab.probe", "node2", address=SERVER)["token"]
        for what, measured, seconds in (
            ("parts of a TCP_STREAM", parts, SECONDS),
            ("TCP_STREAM trials", trials, TRIAL_SECONDS),
        ):
            show(what, measured(lab, token), seconds)
    finally:
        lab.down()


if __name__ == "__main__":
    in_the_node(*sys.argv[1:]) if len(sys.argv) > 1 else main()
