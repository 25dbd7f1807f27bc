# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workloads, which the engines run. A name such as ``tcp_stream`` stands for a row of :data:`PRESETS`.
With ``duration: auto`` the campaign chooses the length of their cells.

Sizes are in bytes; None means the system's default. ``duration`` is the time of an iteration in
seconds, after ``warm_up`` seconds that do not count. ``confidence`` is None or has the keys
``iterations_min``, ``iterations_max``, ``level`` (%) and ``width_percent`` of the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Required, TypedDict

from ...module_utils._base.errors import InputError, LabError
from ...module_utils._engines import workload
from ...module_utils._engines.engines import BY_NAME
from ...module_utils._engines.payload.result import TEST as PAYLOAD
from ...module_utils._engines.workload import Workload
from .nouns import TimePlan

PRESETS: dict[str, dict[str, Any]] = {
    "tcp_stream": {"test": "TCP_STREAM", "message_size": 16384},
    "tcp_maerts": {"test": "TCP_MAERTS", "message_size": 16384},
    # The datagram fits into a tenant's MTU of 1450 bytes. No path fragments it.
    "udp_stream": {"test": "UDP_STREAM", "message_size": 1400},
    "tcp_rr": {"test": "TCP_RR", "request_size": 1, "response_size": 1},
    "udp_rr": {"test": "UDP_RR", "request_size": 1, "response_size": 1},
    "tcp_crr": {"test": "TCP_CRR", "request_size": 1, "response_size": 1},
    # Requests next to a stream show the latency under load.
    "latency_under_load": {"test": "TCP_LOADED_RR"},
    # The receiver compares the content with what the sender sent: TCP and UDP, both directions, all sizes.
    "payload": {"test": "PAYLOAD"},
}
# A plan has these keys for each workload, even if its campaign does not give them.
DEFAULTS: dict[str, Any] = {
    "streams": 1,
    **{name: None for name, key in workload.KEYS.items() if key.always},
}
# The check of the payload that a confirmation adds to the campaign's workloads.
CHECK = "payload_check"
CHECK_SECONDS = 5
CONFIDENCE: dict[str, Any] = {"iterations_min": 3, "level": 99, "width_percent": 5}


class WorkloadEntry(TypedDict, total=False):
    """An entry of a campaign's ``workloads``; it may have all keys of a workload."""

    name: Required[str]
    test: str
    confidence: workload.Confidence


def read_workload(
    entry: str | WorkloadEntry, duration: float, engine: str | None = None
) -> Workload:
    """Return a workload with all its keys; the entry is a preset's name or a mapping.

    ``duration`` and ``engine`` are defaults. A check of the payload ignores ``engine``.
    """
    entry = {"name": entry} if isinstance(entry, str) else entry
    preset = PRESETS.get(entry["name"], {})
    if "test" not in entry and not preset:
        raise InputError(
            "no netperf test is given",
            f"workload {entry['name']}",
            f"Give 'test', or use one of these names: {', '.join(PRESETS)}.",
        )
    same_test = entry.get("test", preset.get("test")) == preset.get("test")
    load: Any = {**DEFAULTS, "duration": duration, **(preset if same_test else {}), **entry}
    if engine and load["test"] != PAYLOAD:
        load.setdefault("engine", engine)
    if load["confidence"]:
        load["confidence"] = _confidence(entry)
    try:
        load["warm_up"] = workload.checked(load)["warm_up"]
    except LabError as error:
        raise InputError(str(error), f"workload {entry['name']}") from None
    return load


def limit_rate(load: Workload, mbps: float) -> None:
    """Limit the rate of a workload: the sum over its streams in one direction, in Mbit/s.

    Requests and answers wait for each other, so they have no limit. Raises InputError for an engine
    that cannot limit its rate.
    """
    if not workload.is_stream(load["test"]):
        return
    each = mbps / load["streams"]
    load["rate_mbps"] = min(each, load.get("rate_mbps", each))
    try:
        workload.checked(load)
    except LabError as error:
        raise InputError(str(error), f"limit_mbps {mbps:g}, workload {load['name']}") from None


def payload_check(workloads: Sequence[Workload], duration: float) -> Workload | None:
    """Return the check of the payload that a confirmation adds to the campaign's workloads.

    It lasts like their trials, but at least 1 s and at most 5 s. Return None if a workload already
    checks the payload.
    """
    if any(workload["test"] == PAYLOAD for workload in workloads):
        return None
    return read_workload({"name": CHECK, "test": PAYLOAD}, max(1, min(duration, CHECK_SECONDS)))


def _confidence(entry: WorkloadEntry) -> workload.Confidence:
    confidence: Any = {**CONFIDENCE, **entry["confidence"]}
    if confidence["iterations_min"] > confidence["iterations_max"]:
        raise InputError(
            "iterations_min is larger than iterations_max",
            f"workload {entry['name']}",
            "Give a maximum of at least the minimum.",
        )
    return confidence


def seconds_of(load: Workload) -> float:
    """Return the longest time of a cell in seconds, with its warm-up."""
    confidence = load["confidence"]
    return load["warm_up"] + load["duration"] * (confidence["iterations_max"] if confidence else 1)


AUTO = "auto"
MOST_BLOCKS = 100  # in a time budget: more blocks add little
FIRST_BLOCKS = 3  # before the first decision on a time budget
LENGTHS = (0.25, 0.5, 1, 2, 3, 5, 10, 20)  # s
# Length of the first cells in seconds. Short cells show a clear effect soonest. If cells scatter more
# than visits, longer cells follow, and blocks get weights.
BEGINS = 0.25
# The same in a short time budget. Fewer visits before the decision leave more time for the others, and
# three blocks of 0.5 s measure the scatter of cells better than three of 0.25 s.
SHORT_OF_TIME = 0.5


def take_duration(full: Any, where: str) -> None:
    """Replace ``duration: auto`` by a number, and note the workloads whose length is chosen."""
    full.update(lengths=[], chosen={}, scatter=None, first=FIRST_BLOCKS)
    if full["duration"] != AUTO:
        return
    fixed = full["blocks"] or full["until"] or full["design"] == "search"
    if full["time_budget"] is None or fixed:
        raise InputError(
            "the length of cells can be chosen only within a time budget",
            f"{where}: duration auto",
            "Give 'time_budget', and leave out 'blocks' and 'until'. A search needs a number as 'duration'.",
        )
    full["duration"] = 1
    full["first"] = None
    full["chosen"] = {_name(load): 0.0 for load in full["workloads"] if not _has_duration(load)}


def begin_lengths(full: Any) -> None:
    """Set the first length of the workloads whose length is chosen."""
    if not full["chosen"]:
        return
    loads: list[Workload] = full["workloads"]
    for load in loads:
        if load["name"] in full["chosen"]:
            full["chosen"][load["name"]] = _shortest(load)
    least = min(full["chosen"].values())
    full["lengths"] = [seconds for seconds in LENGTHS if seconds >= least]
    full["workloads"] = [with_length(load, BEGINS, full["chosen"]) for load in loads]


def with_length(load: Workload, seconds: float, shortest: Mapping[str, float]) -> Workload:
    """Return a workload with cells of ``seconds``, or of the shortest length that it can have.

    A workload that ``shortest`` does not name keeps its length.
    """
    if load["name"] not in shortest:
        return load
    return {**load, "duration": max(seconds, shortest[load["name"]])}


def _name(entry: Any) -> str:
    return str(entry if isinstance(entry, str) else entry["name"])


def _has_duration(entry: Any) -> bool:
    """Return whether an entry of a campaign's ``workloads`` has a duration."""
    return isinstance(entry, dict) and "duration" in entry


def _shortest(load: Workload) -> float:
    """Return the shortest time of a workload's cell, in seconds."""
    checked = workload.checked(load)
    return BY_NAME[checked["engine"]].shortest(checked)


def first_blocks(time_plan: TimePlan) -> int:
    """Return the number of blocks before the first decision on a time budget."""
    return time_plan.get("first") or FIRST_BLOCKS
