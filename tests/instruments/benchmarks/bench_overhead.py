# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the harness adds to netperf: real campaigns on a single-host lab of its own, against a bare
loop of netperf.

Promised: wall time over netperf's at most 1.03 with 10 s cells and 1.25 with 1 s cells, ten cells a
visit, at most 1.12 of a visit with 1 s cells, and at most 1.0 s a visit beyond its cells. Needs
root. BENCH_BLOCKS=9 makes campaigns of full length (half an hour); by default they are short, and
the ratio of one of nine blocks is computed from what a visit and the rest of a run cost.
BENCH_DURATIONS are the lengths of cells in seconds, "1 10" by default.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BIN = os.path.dirname(sys.executable)
NAME = "bench"
CAMPAIGN = {
    "seed": 1,
    "design": "on_off",
    "paths": ["physical", "tenant_vxlan"],
    "mtus": [9000],
    "workloads": ["tcp_stream", "tcp_maerts", "udp_stream", "tcp_rr", "udp_rr"],
}
# a visit's cells; visits of a campaign that has an interval
CELLS = 10
NINE_BLOCKS = 18
DURATIONS = [int(word) for word in os.environ.get("BENCH_DURATIONS", "1 10").split()]
BLOCKS = int(os.environ.get("BENCH_BLOCKS", "1"))
FLOOR = (
    "for path in 198.18.0.2 192.168.10.2; do for test in TCP_STREAM TCP_MAERTS UDP_STREAM TCP_RR UDP_RR; do "
    "$(test $path = 198.18.0.2 || echo ip netns exec tenant1) netperf -H $path -p 12965 -t $test -l 1 -P 0; done; done"
)
# Without the lab's door. As root it would remove /dev/null at its end.
SERVER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SERVER += ["netserver", "-D", "-p", "12965"]
VISIT = "Apply the profile"


def play(name, *arguments, **more):
    """Run a playbook of the collection; its text is shown when it fails."""
    environment = dict(
        os.environ,
        ANSIBLE_CONFIG=os.path.join(ROOT, "ansible.cfg"),
        OFFLOAD_LAB_NAME=NAME,
        OFFLOAD_LAB_NODES="2",
        PATH=BIN + os.pathsep + os.environ["PATH"],
        **more,
    )
    start = time.time()
    done = subprocess.run(
        ["ansible-playbook", os.path.join(ROOT, "playbooks", name + ".yml"), *arguments],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout[-3000:])
    return start, time.time()


def rows(path):
    """Return the JSON lines of a file."""
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def inside(node):
    """Return the words that enter a node."""
    home = f"/run/offload-lab/{NAME}-{node}"
    return [
        "nsenter",
        f"--net=/run/netns/{NAME}-{node}",
        "--mount=" + home + "/mnt",
        "--uts=" + home + "/uts",
        "--",
    ]


def floor():
    """Return the seconds a cell that a bare loop of netperf takes longer than asked, netperf's own
    waits included.
    """
    places = ([], ["ip", "netns", "exec", "tenant1"])
    servers = [subprocess.Popen([*inside("node2"), *node_cpus, *SERVER]) for node_cpus in places]
    try:
        time.sleep(1)  # until they listen
        start = time.time()
        argv = [*inside("node1"), "bash", "-c", FLOOR]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        return (time.time() - start) / CELLS - 1
    finally:
        for server in servers:
            server.terminate()
            server.wait()


def campaign(duration, folder):
    """Measure a campaign; return (its start and end, the timeline, its trials by visit)."""
    name = f"bench-{duration}s"
    what = dict(CAMPAIGN, name=name, duration=duration, blocks=BLOCKS)
    line = os.path.join(folder, name + ".timeline")
    extra = json.dumps({"offload_lab_campaign": what, "offload_lab_results_dir": folder})
    span = play(
        "measure",
        "-e",
        extra,
        TIMELINE=line,
        ANSIBLE_CALLBACKS_ENABLED="timeline",
        ANSIBLE_CALLBACK_PLUGINS=os.path.join(HERE, "callback"),
    )
    visits = {}
    for trial in rows(os.path.join(folder, name, "trials.jsonl")):
        visits.setdefault((trial["block"], trial["visit"]), []).append(trial)
    return span, rows(line), list(visits.values())


def next_start(tasks, moment):
    """Return when the first task after a moment began."""
    return next(row["at"] for row in tasks if row["at"] > moment)


def last_start(tasks, name, moment):
    """Return when the last task of this name before a moment began."""
    return max(
        row["at"]
        for row in tasks
        if row["task"].split(" : ")[-1].startswith(name) and row["at"] < moment
    )


def parts_of(visit, timeline):
    """Return {what: seconds} of one visit: netperf and its cells, then what comes before and after
    them.
    """
    tasks = [row for row in timeline if "task" in row]
    first = min(trial["started"] for trial in visit)
    last = max(trial["finished"] for trial in visit)
    began = last_start(tasks, VISIT, first)
    looked = next(row["sampled_s"] for row in timeline if "sampled_s" in row and row["at"] > first)
    seconds_asked = sum(trial["workload"]["duration"] for trial in visit)
    run = sum(
        stream["finished"] - stream["started"] for trial in visit for stream in trial["streams"]
    )
    return {
        "asked": seconds_asked,
        "netperf longer than asked: connects, and up to 4 s of UDP_STREAM whose last packets were lost": run
        - seconds_asked,
        "cells beyond netperf: processes, CPU counters of both ends, spool": last - first - run,
        "apply the profile on both nodes and read it back, start of netperf's module": first
        - began
        - looked,
        "evidence: traffic and packet samples, each path and direction": looked,
        "record, acknowledge, go to the next visit": next_start(tasks, last) - last,
    }


def report(duration, span, timeline, visits):
    """Print what one campaign took."""
    parts = [parts_of(visit, timeline) for visit in visits]
    mean = {what: statistics.mean(part[what] for part in parts) for what in parts[0]}
    seconds_asked, longer, *rest = mean.values()
    ran = seconds_asked + longer
    beyond = sum(rest[1:])
    total = sum(mean.values())
    spread = [sum(list(part.values())[3:]) for part in parts]
    wall = span[1] - span[0]
    count = len(parts)
    once = wall - count * total
    print(
        f"{duration} s cells, {CELLS} a visit, {count} visits: wall {wall:.1f} s, netperf ran {count * ran:.1f} s"
    )
    print(
        f"  wall over netperf's time: {wall / count / ran:.3f}; of a visit {total / ran:.3f}; "
        f"of nine blocks, computed: {(NINE_BLOCKS * total + once) / (NINE_BLOCKS * ran):.3f}"
    )
    print(
        f"  seconds a visit beyond its cells: {beyond:.2f} ({min(spread):.2f} to {max(spread):.2f})"
    )
    for what, seconds in list(mean.items())[1:]:
        print(f"  {seconds:8.3f} s a visit  {what}")
    print(f"  {once:8.3f} s a run    start, plan, snapshot, conditions, restore", flush=True)


def main():
    """Make the lab, run the campaigns, take it down."""
    with tempfile.TemporaryDirectory(prefix="offload-lab-bench-") as folder:
        try:
            play("nodes")
            play("lab")
            print(
                f"bare loop: {1000 * floor():.1f} ms a cell longer than asked, netperf's waits included",
                flush=True,
            )
            for duration in DURATIONS:
                report(duration, *campaign(duration, folder))
        finally:
            play("teardown")
            play("nodes_absent")


if __name__ == "__main__":
    main()
