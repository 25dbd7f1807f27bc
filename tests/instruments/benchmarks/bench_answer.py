# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time to a right answer: ``design: search`` against all sets and against a shell loop of netperf,
on one lab.

1. All sets that a host can be in, measured once in many blocks, are the truth.
2. Searches on the same lab, with other seeds: how far is each answer from the best set, and how
   long did it take? Searches of the stream have a third of the truth's time as their time budget,
   on
   the lab and in the replays.
3. The loop that people write: all off, all on, one setting at a time, n times each. It takes the
   settings whose mean is above the mean of all off, or all on if that is even better. The same the
   other way round: all on, and each setting off alone. Loops and search are replayed many times
   on these trials, drawn at random, with the times that were measured here. Wrong is a set more
   than 2 % below the best.

Two cases: a stream, for which all settings help or do nothing; and transactions of 60,000 bytes,
for which TSO needs two other settings and receive packet steering costs.

Run alone, as root. BENCH_BLOCKS (10) are the blocks of the truth, BENCH_SEARCHES (3) the searches
on the lab, BENCH_CASES ("stream rpc") the cases.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._trials.guards import excluded
from ansible_collections.offload.lab.tests.instruments.simulation.replays import Pool, every_set
from ansible_collections.offload.lab.tests.system.lab import Lab

BLOCKS = int(os.environ.get("BENCH_BLOCKS", "10"))
SEARCHES = int(os.environ.get("BENCH_SEARCHES", "3"))
CASES = {
    "stream": {
        "paths": ["tenant_vxlan"],
        "workloads": ["tcp_stream"],
        "factors": ["tso", "gso", "gro", "rx", "tx-udp_tnl-segmentation"],
    },
    "rpc": {
        "paths": ["physical"],
        "workloads": [
            {"name": "rpc", "test": "TCP_RR", "request_size": 60000, "response_size": 60000}
        ],
        "factors": ["tx", "sg", {"name": "tso", "needs": ["tx", "sg"]}, "gro", "rx", "rps"],
    },
}
# One netperf of the loop, inside a tenant where there is one, with the path's address.
NETPERF = {
    "stream": ("tenant1", "192.168.10.2", ["-t", "TCP_STREAM"], []),
    "rpc": (None, "198.18.0.2", ["-t", "TCP_RR"], ["--", "-r", "60000,60000"]),
}
SHARES = {
    "stream": 1 / 3
}  # of the truth's time, as the time budget of a search; the others have none
PLAIN_PORT = "12990"
REPLAYS = 200
REPEATS = (1, 2, 3, 5, 10, 30)
WRONG = 0.02
# trials of a cell at a search's first visits; seconds of a trial
TRIALS = 3
DURATION = 1


def measured(lab, folder, case, name, **campaign):
    """Measure a campaign and make its report; return its folder and the seconds of all of it."""
    start = time.time()
    name = f"{case}-{name}"
    results = {
        "results_dir": folder,
        "campaign": {"mtus": [9000], "duration": DURATION, **CASES[case], "name": name, **campaign},
    }
    lab.play("measure", timeout=7200, **results)
    lab.play("report", **results)
    return Path(folder, name), time.time() - start


def read(folder):
    """Return the plan and the good trials of a campaign."""
    trials = [json.loads(row) for row in (folder / "trials.jsonl").read_text().splitlines()]
    return json.loads((folder / "plan.json").read_text()), [
        trial for trial in trials if not trial["error"] and not excluded(trial)
    ]


def shell_seconds(lab, case):
    """Return the seconds of one netperf of the loop, with the commands of ethtool before it, as the
    mean of five.
    """
    tenant, address, test, more = NETPERF[case]
    there = ["ip", "netns", "exec", tenant] if tenant else []
    plain = ["netserver", "-L", f"{address},4", "-p", PLAIN_PORT, "-N"]  # without the lab's door
    lab.inside(2, *there, *plain)
    start = time.time()
    for _round in range(5):
        lab.inside(
            1, "ethtool", "-K", "underlay0", "tso", "on", "gso", "on", "gro", "on", "rx", "on"
        )
        lab.inside(
            1,
            "netperf",
            "-H",
            address,
            "-p",
            PLAIN_PORT,
            *test,
            "-l",
            str(DURATION),
            "-P",
            "0",
            *more,
            netns=tenant,
        )
    return (time.time() - start) / 5


def main():
    """Print what each way to an answer took and how often it was wrong."""
    with tempfile.TemporaryDirectory(prefix="offload-lab-bench-") as folder:
        for case in os.environ.get("BENCH_CASES", " ".join(CASES)).split():
            print(f"-- {case}", flush=True)
            lab = Lab("bench")
            try:
                lab.up()
                pool, seconds, once, budget = on_lab(lab, folder, case)
            finally:
                lab.down()
            replay(pool, once, seconds, budget)


def on_lab(lab, folder, case):
    """Measure the truth and the searches.

    Return the pool of trials, the seconds of a search and of one netperf, and the time budget of a
    search.
    """
    whole_run, whole_seconds = measured(
        lab,
        folder,
        case,
        "truth",
        design="profiles",
        seed=1,
        blocks=BLOCKS,
        confirm=0,
        profiles=every_set({"name": case, **CASES[case]}),
    )
    plan, trials = read(whole_run)
    pool = Pool(plan, trials)
    print(
        f"all {len(pool.pool)} sets, {len(plan['visits'])} visits, {whole_seconds:.0f} s; "
        f"best: {said(pool.best())}",
        flush=True,
    )
    for name, levels in zip(("all off", "all on"), pool.sets()):
        print(f"{name}: {loss(pool, levels)}", flush=True)
    budget = {"time_budget": int(SHARES[case] * whole_seconds)} if case in SHARES else {}
    print(f"time budget of a search, in seconds: {budget.get('time_budget', 'none')}", flush=True)
    searches = (
        measured(
            lab, folder, case, f"search{seed}", design="search", seed=seed, trials=TRIALS, **budget
        )
        for seed in range(2, 2 + SEARCHES)
    )
    seconds = [search(pool, results, seconds, whole_seconds) for results, seconds in searches]
    return pool, statistics.fmean(seconds), shell_seconds(lab, case), budget


def said(levels):
    """Return a set as text: what is not off."""
    return (
        ", ".join(f"{name}={level}" for name, level in levels.items() if level != "off")
        or "all off"
    )


def loss(pool, levels):
    """Return as text how far a set is from the best one, and whether the difference is shown."""
    below, error = pool.loss(levels)
    return f"{below:.1%} below the best, standard error {error:.1%}, told from it with p {pool.told(levels):.2g}"


def search(pool, results, seconds, whole_seconds):
    """Print the answer of a search on the lab; return its seconds."""
    advice = json.loads((results / "analysis.json").read_text())["recommendation"]
    answer = (
        f"{said(advice['levels'])}: {loss(pool, advice['levels'])}"
        if advice["name"]
        else f"no recommendation ({advice['why']})"
    )
    print(
        f"{results.name}: {seconds:.0f} s, {seconds / whole_seconds:.2f} of the time of all sets; {answer}",
        flush=True,
    )
    return seconds


def replay(pool, once, search_seconds, budget):
    """Print how often the loops and the search are wrong when they are repeated on the trials of
    all sets.
    """
    searches = [pool.searched(seed, TRIALS, duration=DURATION, **budget) for seed in range(REPLAYS)]
    answers = [loss for loss, _count in searches if loss is not None]
    wrong = np.mean([loss > WRONG for loss in answers]) if answers else float("nan")
    visits = np.mean([count for _loss, count in searches])
    print(
        f"{REPLAYS} replays. search: {search_seconds:.0f} s, {visits:.1f} visits, wrong {wrong:.1%} of its answers, "
        f"{np.mean(answers or [np.nan]):.1%} below the best on average, no answer {1 - len(answers) / REPLAYS:.1%}",
        flush=True,
    )
    for name, from_all_on in (("one on", False), ("one off", True)):
        for repeats in REPEATS:
            generator = np.random.default_rng(repeats)
            losses = [
                pool.loss(pool.looped(generator, repeats, from_all_on))[0]
                for _replay in range(REPLAYS)
            ]
            print(
                f"loop, {name} at a time, {repeats} times each: {once * repeats * (2 + len(pool.factors)):.0f} s, "
                f"wrong {np.mean([loss > WRONG for loss in losses]):.1%}, "
                f"{np.mean(losses):.1%} below the best on average"
            )


if __name__ == "__main__":
    main()
