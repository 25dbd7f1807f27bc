# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare engines: the same workload by each, between two namespaces joined by a veth.

Of each cell the rate, the CPU time of all its processes for each KB or transaction, and what engine
sockets says of its own CPU. CPU time is counted for a control group with client, servers and this
script, so others on the machine are not counted (they do slow it). The order is random in
each round. Run as root, on a host with netperf, iperf3 and the controller cpuacct of cgroup v1.
``BENCH_ROUNDS`` (default 10) and ``BENCH_SECONDS`` (2) are the number of rounds and a cell's length.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import statistics
import subprocess
import time
from collections import defaultdict
from pathlib import Path

from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._load import run, servers
from ansible_collections.offload.lab.plugins.plugin_utils._trials.trials import result_of

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "10"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "2"))
CLIENT = "ol-bench-c"
SERVER = "ol-bench-s"
HERE = "198.18.79.1"
THERE = "198.18.79.2"
GROUP = Path("/sys/fs/cgroup/cpuacct/ol-bench")
PORTS = {"netperf": 12865, "iperf3": 13870, "sockets": 12869}
ENDPOINT = {"netns": CLIENT, "local": HERE, "address": THERE, "port": 12865}
PLAIN = {"udp_segment": False, "udp_gro": False}
UDP = {"test": "UDP_STREAM"}
CELLS = {
    "TCP_STREAM 16K": (("netperf", "iperf3", "sockets"), {"message_size": "16K"}),
    "TCP_STREAM 128K": (("netperf", "iperf3", "sockets"), {"message_size": "128K"}),
    "UDP_STREAM 1400": (("netperf", "iperf3"), {**UDP, "message_size": 1400}),
    "UDP_STREAM 1400, a call each": (("sockets",), {**UDP, "message_size": 1400, **PLAIN}),
    "UDP_STREAM 1400, cut and joined": (("sockets",), {**UDP, "message_size": 1400}),
    "UDP_STREAM 1400, cut, not joined": (
        ("sockets",),
        {**UDP, "message_size": 1400, "udp_gro": False},
    ),
    "UDP_STREAM 64": (("netperf", "iperf3"), {**UDP, "message_size": 64}),
    "UDP_STREAM 64, a call each": (("sockets",), {**UDP, "message_size": 64, **PLAIN}),
    "UDP_STREAM 64, cut and joined": (("sockets",), {**UDP, "message_size": 64}),
    "TCP_RR": (("netperf", "sockets"), {"test": "TCP_RR"}),
    "UDP_RR": (("netperf", "sockets"), {"test": "UDP_RR"}),
    "TCP_CRR": (("netperf", "sockets"), {"test": "TCP_CRR"}),
}
ACCESS = servers.Access(servers.token_of([]), [HERE])


class Counted(run.Watch):
    """The CPU time of the group in the time in which the streams of a cell run."""

    def __init__(self):
        self.seen = []

    def opened(self):
        self.seen.append((time.monotonic(), int((GROUP / "cpuacct.usage").read_text())))

    first_ended = opened

    def share(self):
        """Return the CPU time as a share of the time."""
        (began, before), (ended, after) = self.seen
        return (after - before) / 1e9 / (ended - began)


def ip(*arguments):
    """Run ip."""
    subprocess.run(["ip", *arguments], check=True)


def measure(engine, keys):
    """Return (rate, us of CPU time for each KB or transaction, what its own code needed) of a cell."""
    load = workload.checked(
        {"test": "TCP_STREAM", "duration": SECONDS, "cpu": False, **keys, "engine": engine}
    )
    watch = Counted()
    row = run.run_cell(load, [workload.endpoint(ENDPOINT)], watch, ACCESS.token)
    result, error = result_of(row)
    if error:
        raise SystemExit(f"{engine} {keys}: {error}")
    rate = result["transactions_per_s"] or result["throughput_mbps"]
    work = rate if result["transactions_per_s"] else rate * 1e6 / 8 / 1024
    own_share = own_code(row["streams"][0]["raw"]) if engine == "sockets" else {}
    return rate, watch.share() * 1e6 / work, own_share


def own_code(raw):
    """Return of each end (us of its own code a call or transaction, their share of its CPU time)."""
    result = json.loads(raw)
    shares = {}
    for end in ("client", "server"):
        cpu = result[end]
        count = cpu.get("calls") or result["transactions"]
        shares[end] = cpu["user"] * 1e6 / count, cpu["user"] / (cpu["user"] + cpu["system"])
    return shares


def table(rows_by_case):
    """Print the medians."""
    for (cell, engine), rows in rows_by_case.items():
        rates, demands, cpus = zip(*rows)
        own_column = ""
        for end in cpus[0]:
            times, shares = zip(*(cpu[end] for cpu in cpus))
            own_column += f"  {end} own code {statistics.median(times):.2f} us a call,"
            own_column += f" {statistics.median(shares):.0%} of its CPU time"
        low, middle, high = statistics.quantiles(rates, n=4)
        print(
            f"{cell:34} {engine:8} {middle:10.0f} ({low:.0f} to {high:.0f}, most {max(rates):.0f})"
            f"  {statistics.median(demands):8.3f} us{own_column}",
            flush=True,
        )


@contextlib.contextmanager
def two_namespaces(engines):
    """Two namespaces joined by a veth, with the servers of these engines in one of them."""
    for name in (CLIENT, SERVER):
        ip("netns", "add", name)
    started = []
    try:
        peer = ("type", "veth", "peer", "name", "ol-b1", "netns", SERVER)
        ip("-n", CLIENT, "link", "add", "ol-b0", *peer)
        for name, device, address in ((CLIENT, "ol-b0", HERE), (SERVER, "ol-b1", THERE)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
        for engine in engines:
            servers_asked = [
                {"netns": SERVER, "address": THERE, "port": PORTS[engine], "engine": engine}
            ]
            servers.start_all(servers_asked, ACCESS)
            started.append(servers._state_file(servers_asked[0]))
        yield
    finally:
        servers.stop_all(started)
        for name in (CLIENT, SERVER):
            ip("netns", "del", name)


@contextlib.contextmanager
def counted():
    """A control group that this process and all that it starts are in."""
    GROUP.mkdir()
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (GROUP.parent / "cgroup.procs").write_text(str(os.getpid()))
        time.sleep(0.5)
        GROUP.rmdir()


def main():
    """Build the namespaces, measure, and remove them."""
    rows_by_engine = defaultdict(list)
    everything = [(cell, engine) for cell, (engines, _given) in CELLS.items() for engine in engines]
    order = list(everything)
    with counted(), two_namespaces(PORTS):
        for _round in range(ROUNDS):
            random.shuffle(order)
            for cell, engine in order:
                rows_by_engine[cell, engine].append(measure(engine, CELLS[cell][1]))
    table({case: rows_by_engine[case] for case in everything})


if __name__ == "__main__":
    main()
