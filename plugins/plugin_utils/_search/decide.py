# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a search does next: the visits of one more round, or its end and who is confirmed. Pure.

A decision follows from the plan, what was decided before, and the trials of the visits decided so
far. It is kept in search.json before its first visit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .._analysis.cube import stall
from .._analysis.metrics import values_of
from .._campaign.confirmation import SCHEMA, with_search
from .._campaign.design import MOST_BLOCKS, visits_of
from .._campaign.factors import settings_of
from .._campaign.nouns import (
    Nominee,
    Plan,
    Profile,
    Search,
    SearchRound,
    SearchStanding,
    Visit,
)
from .._campaign.profiles import named
from .._campaign.screen import every_combination
from .._statistics.libraries import np
from .._statistics.states import margin
from .._trials.guards import excluded
from .._trials.nouns import NOTHING, Trial
from . import effort, lookahead, model
from .terms import terms_of
from .values import trials_for, visit_values

PART = "search"  # of a visit and of its trials
# How sure it is that no combination is better than the best one by more than matters.
ANSWERED = 0.99
EQUAL = 0.1  # of matters: sets predicted to differ by less are equally good
STALLS = 0.25  # of a profile's trials: one that fails so often is not nominated
FEWEST_VISITS = 4
FEWEST_ROUNDS = 3  # the first visits are too few to contradict the model: it is not believed before
GOALS = {
    "throughput": (("throughput", "transactions"), 1),
    "latency": (("latency_mean",), -1),
    "cpu": (("service_demand_combined", "service_demand_client"), -1),
}


class SeenVisits(NamedTuple):
    """The visits that gave a value: their profiles, the logarithms of their trials, and who fails."""

    profiles: list[str]
    trials: list[list[float]]
    failing: list[str]


def begin(plan: Plan) -> Search:
    """Return a search of which nothing is decided yet (the content of search.json)."""
    return {"schema": SCHEMA, "campaign": plan["name"], "rounds": [], "ended": None, "nominees": []}


def decide(plan: Plan, decided: Search, trials: Iterable[Trial]) -> Search:
    """Return what was decided with one round more, or with its end; ``trials`` are all of its
    visits so far.
    """
    whole = with_search(plan, decided)
    number = len(decided["rounds"]) + 1
    found = _Standing(whole, seen(whole, trials), np.random.default_rng([plan["seed"], number]))
    standing = found.told()
    # Visits from here on, the confirmation's too, have as many trials as it takes for their
    # scatter.
    wanted = trials_for(found.seen.trials, margin(plan), effort.fewest_trials(plan))
    affordable = effort.affordable(plan, decided, wanted)
    last = not affordable
    trials_each = affordable or effort.confirmed_with(plan, decided, wanted)
    ended = _end(standing, number, plan["search"]["limit"] if last else None)
    if ended:
        enough = standing["visits"] >= FEWEST_VISITS
        return {
            **decided,
            "ended": ended,
            "nominees": found.nominees() if enough else [],
            "standing": standing,
            "trials": trials_each,
        }
    profiles = found.next_profile()
    planned = visits_of(
        effort.with_trials(plan, trials_each), profiles, plan["control"], [plan["blocks"] + number]
    )
    visits: list[Visit] = [{**visit, "part": PART} for visit in planned]
    own: SearchRound = {
        "round": number,
        "profiles": profiles,
        "visits": visits,
        "standing": standing,
        "trials": trials_each,
    }
    return {**decided, "rounds": [*decided["rounds"], own]}


def _end(standing: SearchStanding, number: int, limit: str | None) -> str | None:
    """Return why a search ends before this round, or None; ``limit`` is what leaves no more rounds."""
    if standing["visits"] < FEWEST_VISITS:
        return "nothing measured"
    if standing["sure"] >= ANSWERED and (number > FEWEST_ROUNDS or limit):
        return "answered"
    return "visits" if number > MOST_BLOCKS else limit


def seen(plan: Plan, trials: Iterable[Trial]) -> SeenVisits:
    """Return the visits of the goal's table in the order in which they were made."""
    visits: dict[tuple[int, int], tuple[str, list[float]]] = {}
    counted = Counter[str]()
    stalls = Counter[str]()
    for trial in trials:
        stalled = stall(trial)
        if not _in_goal_table(plan, trial) or not stalled and excluded(trial):
            continue
        counted[trial["profile"]] += 1
        stalls[trial["profile"]] += bool(stalled)
        value = None if stalled else _goal(plan, trial)
        if value:
            place = trial["block"], trial["visit"]
            visits.setdefault(place, (trial["profile"], []))[1].append(value)
    order = sorted(visits)
    return SeenVisits(
        [visits[place][0] for place in order],
        [visits[place][1] for place in order],
        _failing(counted, stalls),
    )


def _failing(counted: Counter[str], stalls: Counter[str]) -> list[str]:
    return [name for name, count in counted.items() if stalls[name] >= STALLS * count]


def _in_goal_table(plan: Plan, trial: Trial) -> bool:
    """Return whether a trial is of the search's own visits, and of the campaign's first path and
    workload; all pairs count alike.
    """
    workload = (trial.get("workload") or NOTHING).get("name")
    return bool(
        trial.get("part") in (None, PART)
        and trial.get("path") == plan["paths"][0]
        and workload == plan["workloads"][0]["name"]
        and trial.get("profile") in plan["profiles"]
    )


def _goal(plan: Plan, trial: Trial) -> float | None:
    """Return the logarithm of what the search makes larger, or None."""
    names, sign = GOALS[plan["search"]["goal"]]
    values = values_of(trial)
    value = next((values[name] for name in names if values.get(name)), None)
    return sign * float(np.log(value)) if value and value > 0 else None


class _Standing:
    """What is known of all combinations."""

    def __init__(self, plan: Plan, known: SeenVisits, generator: np.random.Generator) -> None:
        self.plan = plan
        self.seen = known
        self.generator = generator
        self.off = plan["profiles"][plan["control"]]["levels"]
        self.levels = every_combination(plan["factors"])
        self.rows = terms_of(plan["factors"], self.levels).matrix
        self.names = [self._name(levels) for levels in self.levels]
        if len(known.profiles) < FEWEST_VISITS:
            return
        visited = [plan["profiles"][name]["levels"] for name in known.profiles]
        self.found = model.fit(
            terms_of(plan["factors"], visited),
            *visit_values(known.trials, known.profiles),
            generator,
        )
        self.values = self.found.coefficients @ self.rows.T
        able = np.array([name not in known.failing for name in self.names])
        self.able = able | ~able.any()  # where all fail, none is worse for it
        self.best = self._best()

    def _name(self, levels: Mapping[str, str]) -> str:
        return named(levels, self.off) or self.plan["control"]

    def _best(self) -> int:
        """Return the place of the set predicted to be the best; of equal ones, that which changes
        least.
        """
        mean = self.values.mean(axis=0)
        highest = mean[self.able].max()
        equal = self.able & (mean >= highest - EQUAL * margin(self.plan))
        changed = [self._changed(levels) for levels in self.levels]
        return min(np.flatnonzero(equal).tolist(), key=lambda place: (changed[place], -mean[place]))

    def _changed(self, levels: Mapping[str, str]) -> int:
        return sum(level != self.off[name] for name, level in levels.items())

    def told(self) -> SearchStanding:
        """Return how the search stands: the best combination, its gain over the control, and how
        sure it is.
        """
        if len(self.seen.profiles) < FEWEST_VISITS:
            return {
                "visits": len(self.seen.profiles),
                "best": None,
                "gain": None,
                "low": None,
                "high": None,
                "sure": 0.0,
            }
        gains = self.values[:, self.best] - self.values[:, self.names.index(self.plan["control"])]
        behind = self.values[:, self.able].max(axis=1) - self.values[:, self.best]
        low, middle, high = (
            round(float(np.exp(value)), 4) for value in np.quantile(gains, (0.025, 0.5, 0.975))
        )
        return {
            "visits": len(self.seen.profiles),
            "best": self.names[self.best],
            "gain": middle,
            "low": low,
            "high": high,
            "sure": round(float((behind <= margin(self.plan)).mean()), 4),
        }

    def next_profile(self) -> dict[str, Profile]:
        """Return the profile of one more round."""
        place = lookahead.next_row(
            self.found, self.rows, self.best, margin(self.plan), self.generator
        )
        return {
            self.names[place]: {
                "levels": self.levels[place],
                "settings": dict(settings_of(self.plan["factors"], self.levels[place], False)),
            }
        }

    def nominees(self) -> list[Nominee]:
        """Return the best combination, and all on where that is another one.

        There is no runner-up: rounds use its visits better, see docs/decisions/search.md.
        """
        chosen = self._nominee("chosen", self.best)
        others = [nominee for nominee in self._all_on() if nominee["name"] != chosen["name"]]
        return [chosen, *others]

    def _nominee(self, role: str, place: int) -> Nominee:
        return {"role": role, "name": self.names[place], "levels": dict(self.levels[place])}

    def _all_on(self) -> Iterator[Nominee]:
        on = {factor["name"]: factor["levels"][-1] for factor in self.plan["factors"]}
        if on in self.levels:
            yield self._nominee("all_on", self.levels.index(on))
