# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workloads: what the engines run. A name such as ``tcp_stream`` stands for a row of :data:`PRESETS`.

Sizes are bytes; None leaves the system's own. ``duration`` is seconds an iteration, ``warm_up``
seconds before it that are not counted, ``confidence`` None or ``{"iterations_max",
"iterations_min", "level" (per cent), "width_percent" (whole width of the interval)}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Required, TypedDict

from ...module_utils._base.errors import InputError, LabError
from ...module_utils._engines import workload
from ...module_utils._engines.payload.command import TEST as PAYLOAD
from ...module_utils._engines.workload import Workload

PRESETS: dict[str, dict[str, Any]] = {
    "tcp_stream": {"test": "TCP_STREAM", "message_size": 16384},
    "tcp_maerts": {"test": "TCP_MAERTS", "message_size": 16384},
    # A datagram that fits into a tenant's MTU of 1450 bytes, so that no path fragments it.
    "udp_stream": {"test": "UDP_STREAM", "message_size": 1400},
    "tcp_rr": {"test": "TCP_RR", "request_size": 1, "response_size": 1},
    "udp_rr": {"test": "UDP_RR", "request_size": 1, "response_size": 1},
    "tcp_crr": {"test": "TCP_CRR", "request_size": 1, "response_size": 1},
    # Requests beside a stream: what latency is worth while others send.
    "latency_under_load": {"test": "TCP_LOADED_RR"},
    # Traffic whose content is compared with what was sent: TCP and UDP, both directions, all sizes.
    "payload": {"test": "PAYLOAD"},
}
# A plan has these of each workload, also where its campaign does not give them.
DEFAULTS: dict[str, Any] = {
    "streams": 1,
    **{name: None for name, key in workload.KEYS.items() if key.always},
}
# What a confirmation measures beside the campaign's own workloads: whether the payload arrives as it was sent.
CHECK = "payload_check"
CHECK_SECONDS = 5
CONFIDENCE: dict[str, Any] = {"iterations_min": 3, "level": 99, "width_percent": 5}


class AskedWorkload(TypedDict, total=False):
    """An entry of a campaign's ``workloads``, which may have all keys of a workload."""

    name: Required[str]
    test: str
    confidence: workload.Confidence


def read_workload(
    asked: str | AskedWorkload, duration: float, engine: str | None = None
) -> Workload:
    """Return a workload with all its fields; ``asked`` is a preset's name or a mapping,
    ``duration`` and ``engine`` the defaults. A check of the payload has an engine of its own.
    """
    asked = {"name": asked} if isinstance(asked, str) else asked
    preset = PRESETS.get(asked["name"], {})
    if "test" not in asked and not preset:
        raise InputError(
            "no netperf test is given",
            f"workload {asked['name']}",
            f"Give 'test', or use one of these names: {', '.join(PRESETS)}.",
        )
    same_test = asked.get("test", preset.get("test")) == preset.get("test")
    load: Any = {**DEFAULTS, "duration": duration, **(preset if same_test else {}), **asked}
    if engine and load["test"] != PAYLOAD:
        load.setdefault("engine", engine)
    if load["confidence"]:
        load["confidence"] = _confidence(asked)
    try:
        load["warm_up"] = workload.checked(load)["warm_up"]
    except LabError as error:
        raise InputError(str(error), f"workload {asked['name']}") from None
    return load


def limit_rate(load: Workload, mbps: float) -> None:
    """Let the streams of a workload send so much together in one direction, in Mbit/s, at most.

    Requests and answers wait for each other, and are not limited. Raises InputError for an engine
    that sends as fast as it can.
    """
    if not workload.is_stream(load["test"]):
        return
    each = mbps / load["streams"]
    load["rate_mbps"] = min(each, load.get("rate_mbps", each))
    try:
        workload.checked(load)
    except LabError as error:
        raise InputError(str(error), f"limit_mbps {mbps:g}, workload {load['name']}") from None


def check_beside(workloads: Sequence[Workload], duration: float) -> Workload | None:
    """Return the check of the payload beside a campaign's own workloads, as long as their trials,
    of 1 s at least and 5 s at most; None where one of them checks it already.
    """
    if any(workload["test"] == PAYLOAD for workload in workloads):
        return None
    return read_workload({"name": CHECK, "test": PAYLOAD}, max(1, min(duration, CHECK_SECONDS)))


def _confidence(asked: AskedWorkload) -> workload.Confidence:
    confidence: Any = {**CONFIDENCE, **asked["confidence"]}
    if confidence["iterations_min"] > confidence["iterations_max"]:
        raise InputError(
            "iterations_min is larger than iterations_max",
            f"workload {asked['name']}",
            "Give a maximum of at least the minimum.",
        )
    return confidence


def seconds_of(load: Workload) -> float:
    """Return how long a cell of this workload measures at most, in seconds, with its warm-up."""
    confidence = load["confidence"]
    return load["warm_up"] + load["duration"] * (confidence["iterations_max"] if confidence else 1)
