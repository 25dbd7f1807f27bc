# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a search does next: the visits of one more round, or its end and who is confirmed. Pure.

A decision follows from the plan, what was decided before, and the trials of the visits decided so
far. It is kept in decisions.jsonl before its first visit.

The next visit goes to the combination after which a good one is most likely to be known. A visit is
simulated in many draws of the posterior. Each simulated result weights the draws again, and the
combination that is then most likely to be good has that probability. The mean of these
probabilities is the worth of the visit (knowledge gradient, Frazier, Powell and Dayanik 2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .._analysis.cube import stall
from .._analysis.metrics import margin, values_of
from .._campaign.design import usual_rounds
from .._campaign.factors import all_on, settings_of
from .._campaign.lengths import MOST_BLOCKS
from .._campaign.nouns import (
    Nominee,
    Plan,
    Profile,
    Search,
    SearchRound,
    SearchStanding,
    Visit,
)
from .._campaign.plan_file import DECISION_SCHEMA, with_search
from .._campaign.profiles import named
from .._campaign.screen import every_combination
from .._campaign.visits import MORE_TRIALS, block_seconds, confirmation_cost, visits_of
from .._statistics.libraries import np, special
from .._trials.guards import excluded
from .._trials.nouns import NOTHING, Trial
from . import model
from .model import Posterior, terms_of

PART = "search"  # of a visit and of its trials
# Probability that no combination is better than the best one by more than matters.
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
ROUNDING = 0.001  # seconds
# combinations that are simulated, and draws in which their visit is simulated
CANDIDATES = 40
WORLDS = 48
LIKELY = 256  # combinations that may be called the best
USUAL_COUNTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)  # trials that the usual scatter may count for
APART = 5.5  # two modes are at least this number of their standard deviations apart


class SeenVisits(NamedTuple):
    """The visits that gave a value: their profiles, the logarithms of their trials, and who fails."""

    profiles: list[str]
    trials: list[list[float]]
    failing: list[str]


def begin(plan: Plan) -> Search:
    """Return an empty search."""
    return {
        "schema": DECISION_SCHEMA,
        "campaign": plan["name"],
        "rounds": [],
        "ended": None,
        "nominees": [],
    }


def decide(plan: Plan, decided: Search, trials: Iterable[Trial]) -> Search:
    """Return what was decided with one round more, or with its end; ``trials`` are all of its
    visits so far.
    """
    full_plan = with_search(plan, decided)
    number = len(decided["rounds"]) + 1
    standing_now = _Standing(
        full_plan, seen(full_plan, trials), np.random.default_rng([plan["seed"], number])
    )
    standing = standing_now.told()
    # Visits from here on, the confirmation's too, have as many trials as it takes for their
    # scatter.
    trials_wanted = trials_for(standing_now.seen.trials, margin(plan), fewest_trials(plan))
    in_time = affordable(plan, decided, trials_wanted)
    last = not in_time
    trials_each = in_time or confirmed_with(plan, decided, trials_wanted)
    ended = _end(standing, number, plan["search"]["limit"] if last else None)
    if ended:
        enough = standing["visits"] >= FEWEST_VISITS
        return {
            **decided,
            "ended": ended,
            "nominees": standing_now.nominees() if enough else [],
            "standing": standing,
            "trials": trials_each,
        }
    profiles = standing_now.next_profile()
    planned = visits_of(
        with_trials(plan, trials_each), profiles, plan["control"], [plan["blocks"] + number]
    )
    visits: list[Visit] = [{**visit, "part": PART} for visit in planned]
    search_round: SearchRound = {
        "round": number,
        "profiles": profiles,
        "visits": visits,
        "standing": standing,
        "trials": trials_each,
    }
    return {**decided, "rounds": [*decided["rounds"], search_round]}


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
            position = trial["block"], trial["visit"]
            visits.setdefault(position, (trial["profile"], []))[1].append(value)
    order = sorted(visits)
    return SeenVisits(
        [visits[position][0] for position in order],
        [visits[position][1] for position in order],
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

    def __init__(self, plan: Plan, seen_visits: SeenVisits, generator: np.random.Generator) -> None:
        self.plan = plan
        self.seen = seen_visits
        self.generator = generator
        self.off = plan["profiles"][plan["control"]]["levels"]
        self.levels = every_combination(plan["factors"])
        self.rows = terms_of(plan["factors"], self.levels).matrix
        self.names = [self._name(levels) for levels in self.levels]
        if len(seen_visits.profiles) < FEWEST_VISITS:
            return
        visited_levels = [plan["profiles"][name]["levels"] for name in seen_visits.profiles]
        self.posterior = model.fit(
            terms_of(plan["factors"], visited_levels),
            *visit_values(seen_visits.trials, seen_visits.profiles),
            generator,
        )
        self.values = self.posterior.coefficients @ self.rows.T
        able = np.array([name not in seen_visits.failing for name in self.names])
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
        return min(np.flatnonzero(equal).tolist(), key=lambda row: (changed[row], -mean[row]))

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
        row = next_row(self.posterior, self.rows, self.best, margin(self.plan), self.generator)
        return {
            self.names[row]: {
                "levels": self.levels[row],
                "settings": dict(settings_of(self.plan["factors"], self.levels[row], False)),
            }
        }

    def nominees(self) -> list[Nominee]:
        """Return the best combination, and all on where that is another one.

        There is no runner-up: rounds use its visits better, see docs/decisions/search.md.
        """
        chosen = self._nominee("chosen", self.best)
        others = [nominee for nominee in self._all_on() if nominee["name"] != chosen["name"]]
        return [chosen, *others]

    def _nominee(self, role: str, row: int) -> Nominee:
        return {"role": role, "name": self.names[row], "levels": dict(self.levels[row])}

    def _all_on(self) -> Iterator[Nominee]:
        on = all_on(self.plan["factors"])
        if on in self.levels:
            yield self._nominee("all_on", self.levels.index(on))


def affordable(plan: Plan, decided: Search, trials_wanted: int) -> int:
    """Return with how many trials a visit one more round fits, with the confirmation after it; 0
    where it does not.

    At most ``trials_wanted``. Of a time budget, more trials than the plan's take only what the usual
    rounds leave.
    """
    search = plan["search"]
    rounds_made = len(decided["rounds"])
    if rounds_made >= search["rounds"]:
        return 0
    if _fits(plan, decided, fewest_trials(plan), rounds=1):
        rounds = max(1, usual_rounds(len(plan["profiles"])) - rounds_made)
        return _most(plan, decided, trials_wanted, rounds)
    return 0


def confirmed_with(plan: Plan, decided: Search, trials_wanted: int) -> int:
    """Return with how many trials a visit the confirmation fits, at most ``trials_wanted``."""
    return _most(plan, decided, trials_wanted, rounds=0)


def _most(plan: Plan, decided: Search, trials_wanted: int, rounds: int) -> int:
    fewest = fewest_trials(plan)
    return max(
        (
            trials
            for trials in range(fewest, trials_wanted + 1)
            if _fits(plan, decided, trials, rounds)
        ),
        default=fewest,
    )


def _fits(plan: Plan, decided: Search, trials: int, rounds: int) -> bool:
    """Return whether ``rounds`` more rounds and the confirmation fit into the time budget."""
    search = plan["search"]
    fewest = fewest_trials(plan)
    if search["limit"] != "time_budget":
        return True
    remaining = (
        search["rounds"] * _round_seconds(plan, fewest)
        + _confirmation_seconds(plan, fewest)
        - sum(
            _round_seconds(plan, search_round.get("trials", fewest))
            for search_round in decided["rounds"]
        )
    )
    return (
        rounds * _round_seconds(plan, trials) + _confirmation_seconds(plan, trials)
        <= remaining + ROUNDING
    )


def fewest_trials(plan: Plan) -> int:
    """Return the trials of each cell at the first visits."""
    return plan.get("trials") or 1


def with_trials(plan: Plan, trials: int) -> Plan:
    """Return a plan whose visits have ``trials`` trials of each cell."""
    return {**plan, "trials": trials}


def _round_seconds(plan: Plan, trials: int) -> float:
    return block_seconds(with_trials(plan, trials), 1)


def _confirmation_seconds(plan: Plan, trials: int) -> float:
    return confirmation_cost(with_trials(plan, trials), len(plan["profiles"]))[2]


def next_row(
    posterior: Posterior,
    rows: np.ndarray,
    best: int,
    matters: float,
    generator: np.random.Generator,
) -> int:
    """Return the place of the row to visit next.

    Good is a row that is worse than the best one by at most ``matters``, a difference of
    logarithms.
    """
    values = posterior.coefficients @ rows.T
    good = values.max(axis=1, keepdims=True) - values <= matters
    if good[:, best].all():  # what is left to see is the best row itself
        return best
    good = good[:, np.argsort(-good.mean(axis=0))[:LIKELY]].astype(float)
    worlds = np.linspace(0, len(values) - 1, WORLDS).astype(int)
    off = generator.standard_normal((WORLDS, 1)) * np.sqrt(posterior.noise)
    remembered = posterior.memory * (posterior.coefficients @ posterior.last)
    worth = dict[int, float]()
    for row in _candidates(posterior, rows, best):
        expected = values[:, row] - remembered
        log_likelihood = -((expected[worlds][:, None] + off - expected) ** 2) / (
            2 * posterior.noise
        )
        weights = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
        worth[row] = float((weights @ good / weights.sum(axis=1, keepdims=True)).max(axis=1).mean())
    return max(worth, key=worth.__getitem__)


def _candidates(posterior: Posterior, rows: np.ndarray, best: int) -> list[int]:
    """Return the places of the rows that say most about what beats the best one, by variances
    alone.

    The uncertain quantity is, for each draw, the difference between the best row and the row that
    is best in that draw, weighted by what is at stake. A visit removes a part of the variance of
    these differences. Each candidate is chosen as if those before it had been visited.
    """
    values = posterior.coefficients @ rows.T
    top = values.argmax(axis=1)
    places, drawn = np.unique(top, return_inverse=True)
    differences = rows[places] - rows[best]
    stakes = np.bincount(drawn, values[np.arange(len(values)), top] - values[:, best])
    covariance = np.cov(posterior.coefficients, rowvar=False)
    last = posterior.last
    chosen = list[int]()
    for _visit in range(min(CANDIDATES, len(rows))):
        new = rows - posterior.memory * last
        projected = new @ covariance
        size = (projected * new).sum(axis=1) + posterior.noise
        gain = (((projected @ differences.T) ** 2) * stakes).sum(axis=1) / size
        gain[chosen] = -1.0  # each row once
        row = int(np.argmax(gain))
        chosen.append(row)
        covariance = covariance - np.outer(projected[row], projected[row]) / size[row]
        last = rows[row]
    return chosen


def visit_values(
    trials: Sequence[Sequence[float]], profiles: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(values, variance)`` of visits, each a list of the logarithms of its trials.

    ``variance`` is the variance of a visit's value. It follows from the scatter of its profile's
    trials and from their number. It is 0 if no visit has two trials: then nothing is known.
    """
    rows, unsure = _one_mode([np.array(row, dtype=float) for row in trials])
    count = np.array([len(row) for row in rows])
    squares = np.array([_squares(row) for row in rows])
    values = np.array([row.mean() for row in rows])
    if not squares.any():
        return values, np.zeros(len(rows))
    names = np.array(profiles)
    by_profile = [(names == name) for name in dict.fromkeys(profiles)]
    degrees = np.array([(count[ours] - 1).sum() for ours in by_profile], dtype=float)
    sums = np.array([squares[ours].sum() for ours in by_profile])
    usual, counts = _usual(sums[degrees > 0], degrees[degrees > 0])
    variance = np.empty(len(rows))
    for ours, free, total in zip(by_profile, degrees, sums):
        variance[ours] = (counts * usual + total) / (counts + free)
    return values, variance / count + unsure


def trials_for(trials: Sequence[Sequence[float]], error: float, fewest: int) -> int:
    """Return how many trials a visit needs for a standard error of ``error``, where they scatter as
    they did so far.

    ``fewest`` to :data:`MORE_TRIALS` times as many.
    """
    if not trials:
        return fewest
    rows, _unsure = _one_mode([np.array(row, dtype=float) for row in trials])
    free = sum(len(row) - 1 for row in rows)
    scatter = sum(map(_squares, rows)) / max(1, free)
    return int(min(max(fewest, np.ceil(scatter / error**2)), MORE_TRIALS * fewest))


def _usual(sums: np.ndarray, degrees: np.ndarray) -> tuple[float, float]:
    """Return the usual variance of a trial, and the number of trials that it counts for.

    The number is small where profiles scatter more unequally than by chance (Smyth 2004: moments of
    the logarithms of variances).
    """
    logs = (
        np.log(np.maximum(sums / degrees, sums.max() * 1e-6))
        - special.digamma(degrees / 2)
        + np.log(degrees / 2)
    )
    excess = float(logs.var(ddof=1) if len(logs) > 1 else 0.0) - float(
        special.polygamma(1, degrees / 2).mean()
    )
    counts = min(
        USUAL_COUNTS, key=lambda candidate: abs(float(special.polygamma(1, candidate / 2)) - excess)
    )
    return float(np.exp(logs.mean() + special.digamma(counts / 2) - np.log(counts / 2))), counts


def _squares(row: np.ndarray) -> float:
    """Return the sum of the squares of what a visit's trials are off its mean."""
    return float(((row - row.mean()) ** 2).sum())


def _upper(row: np.ndarray) -> np.ndarray:
    """Return which trials of a visit are in the upper mode."""
    return row > (row.max() + row.min()) / 2


def _gap(row: np.ndarray) -> float:
    upper = _upper(row)
    return float(row[upper].mean() - row[~upper].mean())


def _one_mode(rows: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the trials as if they were all in one mode, and the variance that is left of that in
    each visit.

    Where throughput jumps between two modes, the same distance apart at every visit, each trial is
    moved half of that towards the other mode. A visit whose trials are all in the same mode does
    not show which.
    """
    none = np.zeros(len(rows))
    ranges = np.array([np.ptp(row) for row in rows])
    split = ranges > ranges.max() / 2
    if max(map(len, rows)) < 3 or split.mean() < 0.5 or not ranges.max():
        return rows, none
    gaps = [_gap(row) for row, ours in zip(rows, split) if ours]
    gap = float(np.mean(gaps))
    moved = [row + gap / 2 - gap * _upper(row) if ours else row for row, ours in zip(rows, split)]
    free = sum(map(len, rows)) - len(rows) - int(split.sum())
    inside = sum(map(_squares, moved)) / max(1, free)
    if gap < APART * np.sqrt(inside):
        return rows, none
    return moved, np.where(split, 0.0, gap**2 / 4)
