# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recommendation: one measured set of settings, by how much it is better, and what is not
known. Pure.

A set is recommended if the report's test shows it better somewhere, no table shows that it costs
more than matters, and it does not fail more than the control. Among sets that cannot be separated,
the one that changes least is recommended. The plan's blocks show it where they compare it. The
confirmation's blocks then say by how much. Where the same blocks do both, the interval allows for
it: a shown effect often looks larger than it is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import chain

from .._campaign import forwarding
from .._statistics import effects
from .._statistics.libraries import np
from .._statistics.text import ratios
from .metrics import margin
from .result import Against, Forbidden, Recommendation, Score, SetEffect
from .sets import (
    WRONG,
    MeasuredSets,
    Piece,
    advantage,
    interval,
    interval_at,
    separated,
)

# Two-sided level of the end of an interval towards no effect, where the same blocks show it.
SHOWN_BY_THE_SAME = 0.02
CHEAP = ("better", "same")  # states by which the report's test excludes a cost that matters


def nothing(why: str, forbidden: list[Forbidden] | None = None) -> Recommendation:
    """Return the recommendation of nothing."""
    return Recommendation(
        name=None,
        levels={},
        changes={},
        settings={},
        goals=[],
        confirmed=False,
        confirmed_by=None,
        score=None,
        by=[],
        costs_unknown_in=[],
        best=False,
        not_told_apart=[],
        against=[],
        forbidden=forbidden or [],
        why=why,
    )


def _effect(part: MeasuredSets, piece: Piece, name: str) -> SetEffect:
    estimates = piece.metric.estimates["rows"]
    index = part.index_of(name)
    table = piece.table
    return SetEffect(
        table=piece.metric.cube.tables[table].id,
        metric=piece.metric.name,
        end=piece.metric.describe(table).end,
        goal=piece.goal,
        n=int(estimates["n"][table, index]),
        ratio=ratios(estimates["mean"][table, index]),
        low=ratios(estimates["low"][table, index]),
        high=ratios(estimates["high"][table, index]),
        state=estimates["state"][table, index],
    )


def _allowing(low: float, gains: np.ndarray, part: MeasuredSets) -> float:
    """Return the lower end of a gain that the same blocks showed; ``low`` is the lower end of its
    interval.

    Campaigns in which a gain looks large are those that show it, so its lower end is too high more
    often than it says. It does not fall below 0 for that: the test refused it.
    """
    lower = interval_at(gains, SHOWN_BY_THE_SAME, part.weights)[1]
    return min(low, max(lower, 0.0))


def _allow_for_choice(part: MeasuredSets, piece: Piece, name: str, effect: SetEffect) -> SetEffect:
    """Widen the interval of an effect that is shown by the blocks that say how large it is."""
    if effect.state != "better":
        return effect
    index = part.index_of(name)
    estimates = piece.metric.estimates["rows"]
    gains = piece.gains[index]
    if piece.sign > 0:
        return replace(
            effect, low=ratios(_allowing(estimates["low"][piece.table, index], gains, part))
        )
    high = -_allowing(-estimates["high"][piece.table, index], gains, part)
    return replace(effect, high=ratios(high))


def _effects(parts: list[MeasuredSets], pieces: list[Piece], name: str) -> list[SetEffect]:
    """Return the effects of a set in the last part; what shows them may be the plan."""
    plan = parts[0]
    last = parts[-1]
    effects = [_effect(last, piece, name) for piece in pieces]
    if parts[_shown_by(parts, name)] is last:
        effects = [
            _allow_for_choice(last, piece, name, effect) for piece, effect in zip(pieces, effects)
        ]
    profiles = _made_of(plan, name, last.changes(name))
    if plan is last or not profiles:
        return effects
    planned = {(piece.metric.name, piece.table): piece for piece in plan.pieces}
    of_plan = [planned.get((piece.metric.name, piece.table)) for piece in pieces]
    is_shown = _shown_by(parts, name) == 0
    return [
        _planned(effect, piece, profiles, is_shown) if piece else effect
        for effect, piece in zip(effects, of_plan)
    ]


def _planned(effect: SetEffect, piece: Piece, profiles: list[int], is_shown: bool) -> SetEffect:
    """Return an effect with its ratio in the plan's blocks, and their state where they show it."""
    means = piece.metric.estimates["rows"]["mean"][piece.table, profiles]
    state = piece.states()[profiles[0]] if is_shown else effect.state
    return replace(effect, planned=ratios(means.sum()), state=state)


def _made_of(part: MeasuredSets, name: str, changes: dict[str, str]) -> list[int]:
    """Return the places of the profiles that a set is made of: itself, or those that make one of its
    changes each.
    """
    if name in part.names:
        return [part.index_of(name)]
    indexes = []
    for index, profile in enumerate(part.names):
        single = part.changes(profile)
        if len(single) == 1 and single.items() <= changes.items():
            indexes.append(index)
    return indexes


def _against(part: MeasuredSets, name: str) -> list[Against]:
    """Return a set against each other one that a confirmation visited with it: all at 95 %, for
    information.
    """
    comparisons: list[Against] = []
    for other in part.names:
        if other == name:
            continue
        gains = part.score(name) - part.score(other)
        mean, low, high = interval(gains, part.weights)
        comparisons.append(
            Against(
                profile=other,
                n=int((~np.isnan(gains)).sum()),
                ratio=ratios(mean),
                low=ratios(low),
                high=ratios(high),
            )
        )
    return comparisons


def _costs(parts: list[MeasuredSets], name: str) -> list[tuple[MeasuredSets, Piece]]:
    """Return the pieces in which a set is shown to be worse than the control."""
    costly = []
    for part in parts:
        if name in part.names:
            index = part.index_of(name)
            costly += [(part, piece) for piece in part.pieces if piece.states()[index] == "worse"]
    return costly


def _may_cost(part: MeasuredSets, name: str, matters: float) -> list[Piece]:
    """Return the pieces in which a set is not shown to cost no more than matters, all of them
    together at 2 %.
    """
    alpha = (
        2 * WRONG / max(1, len(part.pieces))
    )  # an interval is two-sided, and only its lower end counts
    return [
        piece
        for piece in part.pieces
        if not interval_at(piece.gains[part.index_of(name)], alpha, part.weights)[1] > -matters
    ]


def _shown_by(parts: list[MeasuredSets], name: str) -> int:
    """Return the place of the part whose blocks say whether a set is better than the control: the
    plan's, where they compare it in enough blocks for the test.

    The confirmation then says by how much. It has no part in the choice, so its interval holds the
    truth as often as it says, also of the sets that were chosen because they looked good.
    """
    plan = parts[0]
    tested = name in plan.names and bool(
        (~np.isnan(plan.score(name))).sum() >= effects.FEWEST_BLOCKS
    )
    return 0 if tested else len(parts) - 1


def _shown(parts: list[MeasuredSets], name: str, score_shown: list[dict[str, bool]]) -> bool:
    """Return whether a set is shown to be better than the control, in a table or by its score over
    all of them; and it is not below the control in the last part.
    """
    shown_by = _shown_by(parts, name)
    part = parts[shown_by]
    helps = any(piece.states()[part.index_of(name)] == "better" for piece in part.pieces)
    shown = helps or score_shown[shown_by].get(name, False)
    return bool(shown and part.mean(name) > 0 and parts[-1].mean(name) > 0)


def _not_for_a_forwarder(part: MeasuredSets) -> dict[str, str]:
    """Return ``{set: why}`` of those that must not be on at a host that forwards."""
    profiles = part.plan["profiles"]
    reasons = {
        name: forwarding.forbidden(part.plan, profiles[name]["levels"]) for name in part.names
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _forbidden(
    parts: list[MeasuredSets],
    fails: dict[str, str],
    idle: Collection[str],
) -> dict[str, str]:
    """Return ``{set: why it cannot be recommended}``."""
    reasons = dict(fails)
    for part in parts:
        for name in part.names:
            if (
                name not in reasons
                and part.changes(name)
                and not set(part.changes(name)) - set(idle)
            ):
                reasons[name] = "none of its settings could act"
            costs = _costs(parts, name)
            if name not in reasons and costs:
                costly_part, piece = costs[0]
                effect = _effect(costly_part, piece, name)
                label = piece.metric.describe(piece.table).label
                reasons[name] = (
                    f"shown worse than {part.plan['control']}: {label} {effect.ratio:.3g} times in "
                    f"{effect.table}"
                )
        reasons = {**_not_for_a_forwarder(part), **reasons}
    return reasons


def _pick(part: MeasuredSets, able: list[str], parts: list[MeasuredSets]) -> str:
    """Return, of the sets shown to help, the one that changes least and is not separated from the
    best.

    Of a search it is the one that was predicted to be the best, unless another is likely to be
    better.
    """
    score = part.mean
    if part.plan.get("searched"):
        predicted = _predicted(part, able, parts)
        if predicted:
            return max(predicted, key=score)
    top = max(able, key=score)
    near = [name for name in able if name == top or not separated(parts, top, name)]
    return min(near, key=lambda name: (len(part.changes(name)), -score(name), name))


def _predicted(part: MeasuredSets, able: list[str], parts: list[MeasuredSets]) -> list[str]:
    """Return what a search predicted to be the best, of the sets shown to help, or those that are
    likely to be better.
    """
    chosen = [name for name in able if part.plan["profiles"][name].get("role") == "chosen"]
    if not chosen:
        return []
    # Many visits predict it to be the best. Another one is taken where these here say so with odds
    # of three to one.
    better = [name for name in able if advantage(parts, name, chosen[0], 0.5)[1] > 0]
    return better or chosen


def _not_told_apart(
    parts: list[MeasuredSets], name: str, fails: dict[str, str], matters: float
) -> list[str]:
    """Return the other measured sets that may be better than the recommended one by more than
    matters.

    Also those that cost in some table: they are not recommended, but then nothing is the best in
    all of them.
    """
    measured = chain.from_iterable([part.plan["control"], *part.names] for part in parts)
    others = [other for other in dict.fromkeys(measured) if other != name and other not in fails]
    alpha = 2 * WRONG / max(1, len(others))
    return [other for other in others if not advantage(parts, other, name, alpha)[2] < matters]


def recommendation(
    parts: list[MeasuredSets],
    score_shown: list[dict[str, bool]],
    fails: dict[str, str],
    idle: Collection[str],
) -> Recommendation:
    """Return the recommendation. ``parts`` are the plan's part and the confirmation, if there is
    one.

    ``score_shown`` has, for each part, the sets whose score the report's test shows. ``fails`` says
    why the failures of a set exclude it. ``idle`` are the factors that could act nowhere.
    """
    last = parts[-1]
    plan = parts[0].plan
    if plan.get("kind") == "imported":
        return nothing(
            "imported runs support no setting, since their order and their times are not known"
        )
    forbidden = _forbidden(parts, fails, idle)
    listed = [Forbidden(profile=name, reason=reason) for name, reason in sorted(forbidden.items())]
    able = _able(parts, forbidden, score_shown)
    if not able:
        return _stay(parts, forbidden, listed)
    name = _pick(last, able, parts)
    matters = margin(plan)
    behind = _not_told_apart(parts, name, fails, matters)
    profile = last.plan["profiles"][name]
    confirmed_by = _confirmed_by(parts)
    shown = [piece for piece in last.pieces if piece.kind != "latency"]
    costs = _effects(parts, _may_cost(last, name, matters), name)
    return Recommendation(
        name=name,
        levels=dict(profile["levels"]),
        changes=last.changes(name),
        settings=profile.get("settings") or {},
        goals=_goals(parts[_shown_by(parts, name)], name),
        confirmed=confirmed_by is not None,
        confirmed_by=confirmed_by,
        score=_score(parts, name),
        by=_effects(parts, shown, name),
        costs_unknown_in=[effect for effect in costs if effect.state not in CHEAP],
        best=not behind,
        not_told_apart=behind,
        against=_against(last, name) if confirmed_by == "confirmation" else [],
        forbidden=listed,
        why="",
    )


def _able(
    parts: list[MeasuredSets], forbidden: Collection[str], score_shown: list[dict[str, bool]]
) -> list[str]:
    """Return the sets that may be recommended: shown to be better, and not forbidden."""
    allowed = [name for name in parts[-1].names if name not in forbidden]
    return [name for name in allowed if _shown(parts, name, score_shown)]


def _confirmed_by(parts: list[MeasuredSets]) -> str | None:
    """Return which part confirms a set: fresh blocks, or a plan that has no other candidate."""
    if len(parts) > 1 or parts[-1].plan.get("searched"):
        return "confirmation"
    return "plan" if len(parts[0].names) == 1 else None


def _goals(part: MeasuredSets, name: str) -> list[str]:
    """Return the goals for which a set is shown to be better, each once."""
    index = part.index_of(name)
    goals = [piece.goal for piece in part.pieces if piece.states()[index] == "better"]
    return list(dict.fromkeys(goals))


def _score(parts: list[MeasuredSets], name: str) -> Score:
    part = parts[-1]
    mean, low, high = part.interval(name)
    if parts[_shown_by(parts, name)] is part:
        low = _allowing(low, part.score(name), part)
    return Score(
        ratio=ratios(mean),
        low=ratios(low),
        high=ratios(high),
        n=int((~np.isnan(part.score(name))).sum()),
    )


def _stay(
    parts: list[MeasuredSets], forbidden: dict[str, str], listed: list[Forbidden]
) -> Recommendation:
    """Return the control where other sets are shown to be worse and none may be better; else
    nothing.
    """
    plan = parts[0].plan
    part = parts[0]
    control = plan["control"]
    worse = [name for name in part.names if _costs([part], name)]
    behind = _not_told_apart(parts, control, {}, margin(plan))
    # From all off, what harms alone may help together. All on is a set that is in use: what is
    # missed is shown there.
    sure = plan["design"] != "one_at_a_time" and (not behind or plan["design"] == "leave_one_out")
    if not worse or not sure or control in forbidden:
        return nothing("no set of settings was shown to be better than the control", listed)
    profile = plan["profiles"][control]
    return replace(
        nothing("", listed),
        name=control,
        levels=dict(profile["levels"]),
        settings=profile.get("settings") or {},
        confirmed=True,
        confirmed_by="plan",
        best=not behind,
        not_told_apart=behind,
    )
