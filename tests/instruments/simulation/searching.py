# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole campaigns of design search: the code of real campaigns decides, confirms and recommends.

Truths are drawn from four kinds of effects, noises come from worlds.py, visit by visit. Run as a
script it prints rows of docs/decisions/statistics.md, for CAMPAIGNS campaigns a cell and TRIALS
trials a visit, and for all noises or the named ones. Wrong is a set more than 2 % below the best of
all; in
brackets: nothing recommended, and the campaigns. With ``hard``, a number and noises it prints how
often the nominated set is more than 3 % below the best of truths that have a gain of three together.
"""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import sys

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cube import collect
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.judge import judge, recommend
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.confirmation import (
    confirmation_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    with_confirmation,
    with_search,
)
from ansible_collections.offload.lab.plugins.plugin_utils._search import decide

FACTORS = ("tx", "sg", "tso", "gso", "rx", "gro", "lro", "rxvlan")
WRONG = 0.02
HARD_WRONG = np.log(1.03)
SD = 0.05
GROUND = 20_000  # of the seeds: others than the model was made with
NOISES = ("plain", "AR(1)", "heavy tails", "two modes", "unequal scatter")


def make_search(seed=1, trials=8, factors=FACTORS, **more):
    """Return the plan of a search with one table; ``factors`` are names, or mappings as a plan has
    them.
    """
    campaign = {
        "name": "search",
        "design": "search",
        "seed": seed,
        "paths": ["physical"],
        "workloads": ["tcp_stream"],
        "trials": trials,
        "matters": 2,
        "verify": False,  # a Machine has throughput alone
        "factors": [_asked(factor) for factor in factors],
        **more,
    }
    return make_plan(read_campaign(campaign), "")


def _asked(factor):
    if isinstance(factor, str):
        return {"name": factor, "needs": []}
    return {
        key: factor[key]
        for key in ("name", "kind", "levels", *(["needs"] if factor["needs"] else []))
    }


def draw_truth(generator, kind, pairs=3):
    """Return a function of levels: the logarithm of throughput. ``kind`` 0 to 3 is the distribution
    of main effects.

    Of the pairs some add or take 5 to 20 %, and some are two ways to the same gain.
    """
    count = len(FACTORS)
    effects = (
        generator.normal(0, 0.10, count),
        np.log1p(generator.uniform(-0.1, 0.5, count)) * (generator.random(count) < 0.5),
        generator.exponential(0.10, count) * np.where(generator.random(count) < 0.75, 1, -1),
        generator.uniform(-0.15, 0.15, count),
    )[kind]
    table = np.zeros((count, count))
    places = list(itertools.combinations(range(count), 2))
    for index in generator.choice(len(places), pairs, replace=False):
        first, two = places[index]
        same = -generator.uniform(0.5, 1.2) * min(abs(effects[first]), abs(effects[two]), 0.3)
        other = generator.choice([-1, 1]) * generator.uniform(0.05, 0.2)
        table[first, two] = same if generator.random() < 0.3 else other

    def truth(levels):
        on = np.array([level == "on" for level in levels.values()], dtype=float)
        return float(on @ effects + on @ table @ on)

    return truth


def hard_truth(generator):
    """Return a truth with a trap (two settings that help alone and harm together), a redundancy (either
    of two gives the gain), a gain that needs three settings together, and one that harms.
    """
    first, two, either, other, *three, harmful = generator.permutation(len(FACTORS))
    alone = generator.uniform(0.03, 0.15, 2)
    trap = generator.uniform(0.11, 0.3)
    same, gain, harm = generator.uniform((0.08, 0.1, 0.05), (0.2, 0.25, 0.2))

    def truth(levels):
        on = np.array([level == "on" for level in levels.values()], dtype=float)
        terms_drawn = (
            alone @ on[[first, two]]
            - trap * on[first] * on[two]
            + same * max(on[either], on[other])
        )
        return float(terms_drawn + gain * on[three].prod() - harm * on[harmful])

    return truth


class Machine:
    """Measures visits of a truth with noise; what a visit gives follows from its place and the seed
    alone.
    """

    def __init__(self, truth, noise, seed):
        self.truth = truth
        self.noise = noise
        self.seed = seed
        self.drift = np.zeros(500)
        generator = np.random.default_rng([seed, 1])
        for index, step in enumerate(0.6 * SD * generator.standard_normal(500)):
            self.drift[index] = (0.8 * self.drift[index - 1] if index else 0.0) + step

    def visit(self, visit, levels, index):
        """Return the records of the trials of a visit, the ``place``-th of the campaign."""
        generator = np.random.default_rng([self.seed, 2, index])
        return self.records(
            visit, self.truth(levels) + self._noise(generator, len(visit["cells"]), levels, index)
        )

    @staticmethod
    def records(visit, values):
        """Return the records of a visit's trials, of the logarithms of what they carried."""
        part = {"part": visit["part"]} if visit.get("part") else {}
        return [
            {
                "id": cell["id"],
                "pair": "a-b",
                "path": cell["path"],
                "mtu": visit["mtu"],
                "block": visit["block"],
                "visit": visit["visit"],
                "profile": visit["profile"],
                "repeat": visit["repeat"],
                "workload": {"name": cell["workload"], "test": "TCP_STREAM"},
                "trial": cell.get("trial"),
                "result": {"throughput_mbps": 1000 * float(np.exp(value))},
                "marks": [],
                "error": None,
                **part,
            }
            for cell, value in zip(visit["cells"], values)
        ]

    def _noise(self, generator, count, levels, index):
        white = SD * generator.standard_normal(count)
        if self.noise == "AR(1)":
            return 0.5 * white + self.drift[index]
        if self.noise == "heavy tails":
            return SD * generator.standard_t(3, count) / np.sqrt(3)
        if self.noise == "skewed":
            return -SD * generator.exponential(size=count)
        if self.noise == "two modes":
            return 0.4 * white + np.log(1.2) * (generator.random(count) < 0.5)
        if self.noise == "unequal scatter":  # half of the combinations, by chance
            text = f"{self.seed}/{','.join(levels.values())}"
            return white * (4.0 if hashlib.sha256(text.encode()).digest()[0] % 2 else 0.5)
        return white


def measure(machine, visits, profiles, record):
    """Measure those visits that are not in the record, which is a list of records in the order of
    time.
    """
    done = {(trial["block"], trial["visit"]) for trial in record}
    for visit in visits:
        if (visit["block"], visit["visit"]) not in done:
            index = len({(trial["block"], trial["visit"]) for trial in record})
            record += machine.visit(visit, profiles[visit["profile"]]["levels"], index)


def search(plan, machine, decided=None, record=None):
    """Search to the end from what is decided and recorded; return both."""
    decided = decided or decide.begin(plan)
    record = [] if record is None else record
    measure(machine, plan["visits"], plan["profiles"], record)
    while True:
        for round_ in decided["rounds"]:
            measure(machine, round_["visits"], round_["profiles"], record)
        if decided["ended"]:
            return decided, record
        decided = decide.decide(plan, decided, record)


def confirmed(plan, machine):
    """Search and confirm; return the plan with all visits, the record, and what was decided."""
    return confirm(plan, machine, *search(plan, machine))


def confirm(plan, machine, decided, record):
    """Measure what a search nominated; return the plan with all visits, the record, and what was
    decided.
    """
    record = list(record)
    whole_plan = with_search(plan, decided)
    confirmation = confirmation_of(whole_plan, decided["nominees"])
    measure(machine, confirmation["visits"], confirmation["profiles"], record)
    return with_confirmation(whole_plan, confirmation), record, decided


def answered(plan, machine):
    """Search, confirm and recommend; return the recommended levels or None, what was decided, and
    the visits.
    """
    whole_plan, record, decided = confirmed(plan, machine)
    judged, _family = judge(collect(whole_plan, record))
    recommended = recommend(judged, {})
    return recommended.levels if recommended.name else None, decided, len(whole_plan["visits"])


def campaign(seed, kind, pairs, noise, trials=8):
    """Return ``(loss of the nominated set, of the recommended set or None, visits, how the search
    ended)``.
    """
    truth = draw_truth(np.random.default_rng([GROUND, seed]), kind, pairs)
    plan = make_search(seed, trials)
    chosen, decided, visits = answered(plan, Machine(truth, noise, seed + GROUND))
    best = best_of(truth, plan)
    return (
        best - truth(decided["nominees"][0]["levels"]),
        best - truth(chosen) if chosen else None,
        visits,
        decided["ended"],
    )


def best_of(truth, plan):
    """Return the value of the best of all combinations."""
    off = plan["profiles"]["all_off"]["levels"]
    combinations = itertools.product(("off", "on"), repeat=len(off))
    return max(truth(dict(zip(off, levels))) for levels in combinations)


def hard_loss(seed, noise):
    """Return how far the nominated set of a campaign is below the best where the truth is hard."""
    truth = hard_truth(np.random.default_rng([GROUND, seed]))
    plan = make_search(seed)
    decided, _record = search(plan, Machine(truth, noise, seed + GROUND))
    return best_of(truth, plan) - truth(decided["nominees"][0]["levels"])


def hard(campaigns, noises):
    """Print how often the nominated set is more than 3 % below the best where truths are hard."""
    for noise in noises:
        losses = []
        for seed in range(campaigns):
            losses.append(hard_loss(seed, noise))
            share = 100 * np.mean(np.array(losses) > HARD_WRONG)
            print(f"{noise}: {share:.0f} % of {len(losses)}, {np.mean(losses):.4f}", flush=True)


def table(campaigns, trials, noises):
    """Print the rows of the table, with as many processes as there are CPUs, and how many visits
    were made.
    """
    with multiprocessing.get_context("fork").Pool() as pool:
        for noise in noises:
            cells = []
            nominated = []
            visits = []
            for pairs in (3, 0):
                arguments = [(seed, seed % 4, pairs, noise, trials) for seed in range(campaigns)]
                results = pool.starmap(campaign, arguments, chunksize=1)
                wrong = np.mean([row[1] is not None and row[1] > WRONG for row in results])
                nothing = np.mean([row[1] is None for row in results])
                cells.append(f"{100 * wrong:.1f} % ({100 * nothing:.1f} %; {campaigns})")
                nominated.append(f"{100 * np.mean([row[0] > WRONG for row in results]):.1f} %")
                visits += [row[2] for row in results]
            print(f"| {noise} | {' | '.join(cells)} | {', '.join(nominated)} |", flush=True)
            print(
                f"{noise}: {np.mean(visits):.1f} visits on average, at most {max(visits)}",
                file=sys.stderr,
            )


if __name__ == "__main__" and sys.argv[1] == "hard":
    hard(int(sys.argv[2]), sys.argv[3:])
elif __name__ == "__main__":
    table(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or NOISES)
