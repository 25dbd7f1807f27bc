# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many tenants and many nodes in the single-host lab: seconds, and of tenants the ratio to bare
tools in the same run.

The floor of tenants is what a shell needs on both nodes together: ``ip -batch`` for namespaces and
veths and for the inside of each namespace, one ``ovs-vsctl`` for all ports; to look again, one
``ip`` a namespace and one ``ovs-vsctl``; to start a measurement, one process in each namespace.
Ours is a task's time; of the start of a measurement that from the begin of its task until all
streams have begun, and apart from it the part of this that starts the processes. The promise: a
task takes at most twice its floor and 1 s, and grows no worse than the number of tenants; no stream
of 100 tenants fails, and all of them move data in 90 % of the counted time. Run alone, as root.
``BENCH_TENANTS`` (default ``10,100,500``) and ``BENCH_NODES`` (``2,8,32``) are the sizes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path

from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT, environment
from ansible_collections.offload.lab.tests.system.lab import Lab

TENANTS = [int(count) for count in os.environ.get("BENCH_TENANTS", "10,100,500").split(",")]
NODES = [int(count) for count in os.environ.get("BENCH_NODES", "2,8,32").split(",")]
NETWORKS = {"tenant_network": "10.20.0.0/16"}
FLOOR = {
    "create": """
        for i in $(seq $n); do
            echo "netns add floor$i"
            echo "link add name floor$i-1 mtu 8950 type veth peer name floor$i-0 netns floor$i"
            echo "link set dev floor$i-1 up"
        done | ip -batch -
        for i in $(seq $n); do
            printf 'address add 10.99.%d.%d/16 dev floor%d-0\\nlink set dev floor%d-0 up\\n' \
                $((i / 250)) $((i % 250 + 1)) $i $i | ip -netns floor$i -batch -
        done
        ovs-vsctl $(for i in $(seq $n); do echo "-- add-port br-int floor$i-1"; done)""",
    "repeat": """
        ip -json -details address show >/dev/null
        for i in $(seq $n); do ip -netns floor$i -json -details address show >/dev/null; done
        ovs-vsctl --format=json -- list Bridge -- list Port -- list Interface >/dev/null""",
    "measure start": """
        for i in $(seq $n); do ip netns exec tenant$i true & done
        wait""",
    "delete": """
        ovs-vsctl --no-wait $(for i in $(seq $n); do echo "-- del-port br-int floor$i-1"; done)
        for i in $(seq $n); do echo "netns del floor$i"; done | ip -batch -
        while ip -o link | grep -q 'floor.*-1@'; do sleep 0.02; done""",
}


def timed_play(lab, playbook, **variables):
    """Run a playbook and return ``(seconds in all, [(task, begin since the epoch, seconds)])``."""
    argv = [
        str(BIN / "ansible-playbook"),
        f"playbooks/{playbook}.yml",
        "-e",
        json.dumps({f"offload_lab_{key}": value for key, value in variables.items()}),
    ]
    settings = environment(
        OFFLOAD_LAB_NAME=lab.name, OFFLOAD_LAB_NODES=str(lab.nodes), PYTHONUNBUFFERED="1"
    )
    tasks = []
    current = None
    started = time.time()
    begun = started
    with subprocess.Popen(
        argv, cwd=CHECKOUT, env=settings, stdout=subprocess.PIPE, text=True
    ) as play:
        lines = deque(maxlen=30)
        for line in play.stdout:
            lines.append(line)
            if line.startswith(("TASK [", "PLAY RECAP")):
                now = time.time()
                tasks.append((current, begun, now - begun))
                current = line.split("]")[0].rpartition(" : ")[2]
                begun = now
    assert play.returncode == 0, f"{playbook} ended with {play.returncode}:\n{''.join(lines)}"
    return time.time() - started, tasks


def seconds_of(name, tasks):
    """Return the seconds of the tasks of a name together."""
    seconds = [seconds for task, _begun, seconds in tasks if task == name]
    assert seconds, (name, tasks)
    return sum(seconds)


def measure_start(lab, count):
    """Return what trials with a stream from each tenant of node1 tell.

    These are medians of three trials: the seconds from the begin of the task until the last stream
    has begun, with the module's own start and the look at packets; those from the begin of the
    trial on; how many streams failed; the share of the longest stream's time in which all move data
    (None where one failed).
    """
    with tempfile.TemporaryDirectory(prefix="offload-lab-bench-") as folder:
        workload = {"name": "all", "test": "TCP_STREAM", "tenants": count, "duration": 10}
        _seconds, tasks = timed_play(
            lab,
            "measure",
            tenant_count=count,
            **NETWORKS,
            results_dir=folder,
            campaign={
                "name": "start",
                "paths": ["tenant_vxlan"],
                "workloads": [workload],
                "blocks": 1,
                "factors": ["tso"],
            },
        )
        trials = [
            json.loads(row) for row in Path(folder, "start/trials.jsonl").read_text().splitlines()
        ]
    assert [len(trial["streams"]) for trial in trials] == [count] * len(trials), [
        trial["error"] for trial in trials
    ]
    begins = [
        begun
        for task, begun, _seconds in tasks
        if "See in the packets what it does, and measure" in task
    ]
    ends = [max(stream["started"] for stream in trial["streams"]) for trial in trials]
    assert len(begins) == len(ends) == 3, (begins, ends)
    shares = [trial["result"]["overlap"] for trial in trials if not trial["error"]]
    return {
        "measure start": statistics.median(end - begin for begin, end in zip(begins, ends)),
        "processes_s": round(
            statistics.median(end - trial["started"] for trial, end in zip(trials, ends)), 3
        ),
        "streams_failed": statistics.median(
            sum(stream["rc"] != 0 for stream in trial["streams"]) for trial in trials
        ),
        "overlap_of_all_streams": round(statistics.median(shares), 3) if shares else None,
    }


def floor_of(lab, what, count, nodes=2):
    """Return the seconds that bare tools need on all nodes together."""
    started = time.monotonic()
    shells = []
    for number in range(1, nodes + 1):
        state = f"/run/offload-lab/{lab.name}-node{number}"
        shells.append(
            subprocess.Popen(
                [
                    "nsenter",
                    f"--net=/run/netns/{lab.name}-node{number}",
                    f"--mount={state}/mnt",
                    f"--uts={state}/uts",
                    "bash",
                    "-euc",
                    f"n={count}; {FLOOR[what]}",
                ]
            )
        )
    assert [shell.wait() for shell in shells] == [0] * nodes, what
    return time.monotonic() - started


def bench_tenants(count):
    """Print and return the seconds of each task with ``count`` tenants on each of two nodes."""
    lab = Lab("bench")
    try:
        lab.up(**NETWORKS)
        floors = {what: floor_of(lab, what, count) for what in ("create", "repeat", "delete")}
        seconds = {
            what: seconds_of(
                "Make the tenants", timed_play(lab, "lab", tenant_count=count, **NETWORKS)[1]
            )
            for what in ("create", "repeat")
        }
        floors["measure start"] = floor_of(lab, "measure start", count, nodes=1)
        start = measure_start(lab, count)
        seconds["measure start"] = start.pop("measure start")
        seconds["delete"] = seconds_of("Remove the tenants", timed_play(lab, "teardown")[1])
    finally:
        lab.down()
    for what, floor in floors.items():
        print(
            json.dumps(
                {
                    "tenants": f"{count} on each of 2 nodes",
                    "task": what,
                    "seconds": round(seconds[what], 3),
                    "floor": round(floor, 3),
                    "ratio": round(seconds[what] / floor, 2),
                    "beyond_twice_the_floor": round(seconds[what] - 2 * floor, 2),
                }
            ),
            flush=True,
        )
    print(json.dumps(dict({"tenants": f"{count} on each of 2 nodes"}, **start)), flush=True)
    return {
        "seconds": dict(seconds, **{"processes of measure start": start["processes_s"]}),
        "floor": floors,
    }


def bench_nodes(count):
    """Print the seconds that playbooks need for ``count`` nodes."""
    lab = Lab("bench", nodes=count)
    try:
        seconds = {
            playbook: round(timed_play(lab, playbook)[0], 1) for playbook in ("nodes", "lab")
        }
        seconds["lab again"] = round(timed_play(lab, "lab")[0], 1)
        seconds["teardown"] = round(timed_play(lab, "teardown")[0], 1)
    finally:
        lab.down()
    print(json.dumps({"nodes": count, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    by_size = {size: bench_tenants(size) for size in TENANTS}
    for less, more in zip(TENANTS, TENANTS[1:]):
        for whose in ("seconds", "floor"):
            print(
                json.dumps(
                    {
                        "growth": f"{less} to {more} tenants, {more / less:.3g} times as many",
                        "of": whose,
                        "times as long": {
                            what: round(by_size[more][whose][what] / before, 2)
                            for what, before in by_size[less][whose].items()
                        },
                    }
                ),
                flush=True,
            )
    for size in NODES:
        bench_nodes(size)
