# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workloads, which the engines run. A name such as ``tcp_stream`` stands for a row of :data:`PRESETS`.

Sizes are in bytes; None means the system's default. ``duration`` is the time of an iteration in
seconds, after ``warm_up`` seconds that do not count. ``confidence`` is None or has the keys
``iterations_min``, ``iterations_max``, ``level`` (%) and ``width_percent`` of the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Required, TypedDict

from ...module_utils._base.errors import InputError, LabError
from ...module_utils._engines import workload
from ...module_utils._engines.engine import Confidence, Workload
from ...module_utils._engines.payload.result import TEST as PAYLOAD

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
    confidence: Confidence


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


def _confidence(entry: WorkloadEntry) -> Confidence:
    confidence: Any = {**CONFIDENCE, **entry["confidence"]}
    if confidence["iterations_min"] > confidence["iterations_max"]:
        raise InputError(
            "iterations_min is larger than iterations_max",
            f"workload {entry['name']}",
            "Give a maximum of at least the minimum.",
        )
    return confidence
