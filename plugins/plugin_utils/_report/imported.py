# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the differences in an imported campaign are worth: beside the confidence that each run
itself reached. Pure.

Where runs were not repeated there is no interval of ours. But netperf says how wide its own was
(``-I``), and the width of a difference follows from the two: relative half widths add in squares,
those of throughput and CPU in a service demand too. The manual of netperf prints whole widths: 6.8
% means within 3.4 % to either side.
"""

from __future__ import annotations

import math
from typing import Any, Iterable, Iterator, Mapping, Sequence

from .._campaign.nouns import Plan
from .._figures import numbers as text

QUANTITIES = (
    ("throughput", "throughput_mbps", ("throughput",)),
    ("the sender's service demand", "local_service_demand", ("throughput", "local_cpu")),
    ("the receiver's service demand", "remote_service_demand", ("throughput", "remote_cpu")),
)


Result = Mapping[str, Any]
Results = dict[str, list[Result]]  # by profile


def _half_width(result: Result, names: Iterable[str]) -> float | None:
    """Return the relative half width in %, or None where netperf printed none (its wish was met, or
    it had none).
    """
    widths: list[Any] = [(result.get("confidence_width") or {}).get(name) for name in names]
    return None if None in widths else math.hypot(*(width / 2 for width in widths))


def _differences(
    pairs: Iterable[tuple[Result, Result]], key: str, names: Sequence[str]
) -> Iterator[tuple[float, float | None]]:
    """Yield ``(difference in %, its half width in % or None)`` of pairs of results, control first."""
    for control, other in pairs:
        if control.get(key) and other.get(key):
            one, two = _half_width(control, names), _half_width(other, names)
            yield (
                100 * (other[key] / control[key] - 1),
                None if one is None or two is None else math.hypot(one, two),
            )


def _sentence(
    profile: str, control: str, label: str, found: Sequence[tuple[float, float | None]]
) -> str:
    judged = [(difference, half) for difference, half in found if half is not None]
    values = [difference for difference, _half in found]
    start = (
        f"{profile} to {control}, {label}: {min(values):+.1f} to {max(values):+.1f} % in "
        f"{text.count(len(found), 'pair')} of runs"
    )
    if not judged:
        return f"{start}; netperf printed no confidence width, so how much it is worth is not known"
    beyond = sum(abs(difference) > half for difference, half in judged)
    widths = [half for _difference, half in judged]
    return (
        f"{start}, of which {beyond} of {len(judged)} {'is' if beyond == 1 else 'are'} beyond what the runs' own "
        f"confidence allows (±{min(widths):.1f} to ±{max(widths):.1f} %)"
    )


def _places(trials: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int, str], Results]:
    """Return ``{place: {profile: [results]}}``; a place is a path, MTU and workload."""
    found: dict[tuple[str, int, str], Results] = {}
    for trial in trials:
        if trial["result"]:
            place = trial["path"], trial["mtu"], trial["workload"]["name"]
            found.setdefault(place, {}).setdefault(trial["profile"], []).append(trial["result"])
    return found


def worth(plan: Plan, trials: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return sentences: how many runs, how many missed their confidence, and what each difference
    is worth.
    """
    trials = list(trials)
    runs = [trial["result"] for trial in trials if trial["result"]]
    missed = sum(result.get("confidence_met") is False for result in runs)
    found = [
        f"imported from {plan['source']}: {text.count(len(runs), 'run')}, of which {missed} missed the confidence "
        "that was asked for"
    ]
    places = _places(trials)
    if all(len(results) == 1 for profiles in places.values() for results in profiles.values()):
        found.append(
            "no run was repeated: there is no interval, and no difference between profiles is a finding"
        )
    for profile in plan["profiles"]:
        pairs = [
            pair
            for profiles in places.values()
            if profile != plan["control"]
            for pair in zip(profiles.get(plan["control"], ()), profiles.get(profile, ()))
        ]
        for label, key, names in QUANTITIES:
            differences = list(_differences(pairs, key, names))
            if differences:
                found.append(_sentence(profile, plan["control"], label, differences))
    return found
