# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time to a right answer: ``design: search`` against a full factorial and against a shell loop of netperf, on one lab.

1. A full factorial of five offloads, measured once in many blocks, is the truth.
2. Searches on the same lab, with other seeds: how far is each answer from the best set, and how long did it take?
3. The loop that people write: all off, all on, one setting at a time, n times each. It takes the settings whose mean
   is above that of all off, or all on where that is better still. Loop and search are replayed many times on trials of
   the factorial, drawn at random, with the times that were measured here. Wrong is a set more than 2 % below the best.

Run alone, as root. BENCH_BLOCKS (10) are the blocks of the factorial, BENCH_SEARCHES (3) the searches on the lab.
"""
from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils.trials.guards import excluded
from ansible_collections.offload.lab.tests.simulation import searching
from ansible_collections.offload.lab.tests.system.lab import Lab

BLOCKS, SEARCHES = int(os.environ.get("BENCH_BLOCKS", "10")), int(os.environ.get("BENCH_SEARCHES", "3"))
FACTORS = ("tso", "gso", "gro", "rx", "tx-udp_tnl-segmentation")
COMMON = {"paths": ["tenant_vxlan"], "mtus": [9000], "workloads": ["tcp_stream"], "duration": 1,
          "factors": list(FACTORS)}
REPLAYS, REPEATS, TRIALS, WRONG = 200, (1, 2, 3, 5, 10, 30), 3, 0.02


def measured(lab, folder, name, **campaign):
    """Measure a campaign and make its report; return its folder and the seconds of all of it."""
    start = time.time()
    results = {"results_dir": folder, "campaign": {**COMMON, "name": name, **campaign}}
    lab.play("measure", timeout=7200, **results)
    lab.play("report", **results)
    return Path(folder, name), time.time() - start


def read(folder):
    """Return the plan and the good trials of a campaign."""
    trials = [json.loads(row) for row in (folder / "trials.jsonl").read_text().splitlines()]
    return json.loads((folder / "plan.json").read_text()), [
        trial for trial in trials if not trial["error"] and not excluded(trial)]


class Pool(searching.Machine):
    """Gives trials of the factorial, drawn at random from those of the same set of settings."""

    def __init__(self, plan, trials, seed=0):
        super().__init__(self.mean, "pool", seed)
        level = {block: np.log(statistics.fmean(trial["result"]["throughput_mbps"] for trial in trials
                                                if trial["block"] == block)) for block in range(1, plan["blocks"] + 1)}
        self.pool = {}  # by levels, in the order of FACTORS: logarithms, less those of their blocks
        for trial in trials:
            value = np.log(trial["result"]["throughput_mbps"]) - level[trial["block"]]
            self.pool.setdefault(self.key(plan["profiles"][trial["profile"]]["levels"]), []).append(value)

    @staticmethod
    def key(levels):
        return tuple(levels[name] for name in FACTORS)

    def mean(self, levels):
        return float(np.mean(self.pool[self.key(levels)]))

    def loss(self, levels):
        """Return by how much a set is below the best one, as a logarithm, and its standard error."""
        best = max(self.pool.values(), key=np.mean)
        mine = self.pool[self.key(levels)]
        errors = [np.std(part, ddof=1) / len(part) ** 0.5 for part in (best, mine)]
        return float(np.mean(best) - np.mean(mine)), 0.0 if mine is best else float(np.hypot(*errors))

    def draw(self, generator, levels, count):
        return generator.choice(self.pool[self.key(levels)], count)

    def visit(self, visit, levels, place):
        """As the simulations do, with what was measured in place of truth and noise."""
        values = self.draw(np.random.default_rng([self.seed, place]), levels, len(visit["cells"]))
        return self.records(visit, values)


def looped(pool, generator, repeats):
    """Return the levels that a shell loop ends with."""
    off, on = dict.fromkeys(FACTORS, "off"), dict.fromkeys(FACTORS, "on")
    means = {name: pool.draw(generator, {**off, name: "on"}, repeats).mean() for name in FACTORS}
    control, everything = (pool.draw(generator, levels, repeats).mean() for levels in (off, on))
    chosen = {name: "on" if mean > control else "off" for name, mean in means.items()}
    return on if everything > max(control, *means.values()) else chosen


def shell_seconds(lab):
    """Return the seconds of one netperf of the loop, with the commands of ethtool before it, as the mean of five."""
    start = time.time()
    for _round in range(5):
        lab.inside(1, "ethtool", "-K", "underlay0", "tso", "on", "gso", "on", "gro", "on", "rx", "on")
        lab.inside(1, "netperf", "-H", "192.168.10.2", "-t", "TCP_STREAM", "-l", "1", "-P", "0", netns="tenant1")
    return (time.time() - start) / 5


def replayed(pool, seed):
    """Return the loss of the recommended set of one search, or None, and its visits."""
    pool.seed = seed
    plan = searching.make_search(seed, TRIALS, FACTORS)
    chosen, _decided, visits = searching.answered(plan, pool)
    return (pool.loss(chosen)[0] if chosen else None), visits


def main():
    """Print what each way to an answer took and how often it was wrong."""
    lab = Lab("bench")
    try:
        lab.up()
        with tempfile.TemporaryDirectory(prefix="offload-lab-bench-") as folder:
            whole, whole_seconds = measured(lab, folder, "truth", design="full_factorial", seed=1, blocks=BLOCKS,
                                            confirm=0)
            plan, trials = read(whole)
            pool = Pool(plan, trials)
            best = max(pool.pool, key=lambda key: np.mean(pool.pool[key]))
            print(f"full factorial: {len(plan['visits'])} visits, {whole_seconds:.0f} s; "
                  f"best: {dict(zip(FACTORS, best))}", flush=True)
            seconds = [search(lab, folder, seed, pool, whole_seconds) for seed in range(2, 2 + SEARCHES)]
            once = shell_seconds(lab)
    finally:
        lab.down()
    replay(pool, once, statistics.fmean(seconds))


def search(lab, folder, seed, pool, whole_seconds):
    """Search on the lab, print its answer, and return its seconds."""
    results, seconds = measured(lab, folder, f"search{seed}", design="search", seed=seed, trials=TRIALS)
    advice = json.loads((results / "analysis.json").read_text())["recommendation"]
    if advice["name"]:
        loss, error = pool.loss(advice["levels"])
        said = f"{advice['name']}: {loss:.1%} below the best, standard error {error:.1%}"
    else:
        said = f"no recommendation ({advice['why']})"
    print(f"search, seed {seed}: {seconds:.0f} s, {seconds / whole_seconds:.2f} of the factorial's; {said}", flush=True)
    return seconds


def replay(pool, once, search_seconds):
    """Print how often the loop and the search are wrong when they are repeated on the factorial's trials."""
    found = [replayed(pool, seed) for seed in range(REPLAYS)]
    answers = [loss for loss, _count in found if loss is not None]
    wrong = np.mean([loss > WRONG for loss in answers]) if answers else float("nan")
    visits = np.mean([count for _loss, count in found])
    print(f"{REPLAYS} replays. search: {search_seconds:.0f} s, {visits:.1f} visits, wrong {wrong:.1%} of its answers, "
          f"{np.mean(answers or [np.nan]):.1%} below the best on average, no answer {1 - len(answers) / REPLAYS:.1%}")
    for repeats in REPEATS:
        generator = np.random.default_rng(repeats)
        losses = [pool.loss(looped(pool, generator, repeats))[0] for _replay in range(REPLAYS)]
        print(f"loop, {repeats} times each: {once * repeats * (2 + len(FACTORS)):.0f} s, "
              f"wrong {np.mean([loss > WRONG for loss in losses]):.1%}, "
              f"{np.mean(losses):.1%} below the best on average")


if __name__ == "__main__":
    main()
