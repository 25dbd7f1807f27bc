# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what a check of the payload printed. The text is the one line of JSON of :mod:`.traffic`."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from ..._base.errors import ParseError
from ..engine import object_of

TEST = "PAYLOAD"
DIRECTIONS = ("forward", "reverse")
CHECKS = ("tcp_forward", "tcp_reverse", "udp_forward", "udp_reverse")
COUNTS = (
    "sent",
    "bytes",
    "arrived",
    "wrong",
    "short",
    "missing",
    "duplicated",
    "reordered",
    "late",
    "stalled",
    "segments_lost",
)
ADDED = ("segments_lost",)  # checks of earlier versions lack them


class Example(TypedDict):
    """The smallest message that arrived wrong."""

    number: int
    size: int  # bytes
    offset: int  # of the first byte that differs


class Check(TypedDict):
    """What became of the messages of one protocol and direction."""

    sent: int
    bytes: int  # that arrived
    arrived: int
    wrong: int  # with another content
    short: int
    missing: int
    duplicated: int
    reordered: int
    late: int  # connections whose first SYN was lost
    stalled: int  # connections without progress
    segments_lost: int  # of TCP, on the way
    first: Example | None


class Size(TypedDict):
    """Which packets a path carries in one direction; bytes of the whole IP packet."""

    mtu: int  # that the sender's device or route gives
    largest: int  # that arrived, 0 for none
    said: bool  # somebody on the way said that a packet is too large


class Pings(TypedDict):
    """Whether the other end answers ICMP echo requests."""

    small: bool
    large: bool  # in a packet of the path's MTU, which may not be fragmented


class Sized(TypedDict, total=False):
    """What checks of earlier versions lack."""

    sizes: dict[str, Size]  # "forward" and "reverse"
    pings: Pings  # only where the process was allowed to send them


class Payload(Sized):
    """The whole check."""

    elapsed_s: float
    mss: int
    checks: dict[str, Check]
    counters: dict[str, dict[str, int]]  # what the kernel's counters gained, by end
    error: str | None


def _count(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ParseError(f"{what} is not a number of the payload's check: {str(value)[:40]!r}", 1)
    return value


def _example(value: Any) -> Example | None:
    if value is None:
        return None
    example = object_of(value, "an example")
    return {
        "number": _count(example.get("number"), "number"),
        "size": _count(example.get("size"), "size"),
        "offset": _count(example.get("offset"), "offset"),
    }


def _check(value: Any) -> Check:
    document = object_of(value, "a check")
    complete: dict[str, Any] = {**dict.fromkeys(ADDED, 0), **document}
    counts: Any = {name: _count(complete.get(name), name) for name in COUNTS}
    counts["first"] = _example(document.get("first"))
    return counts


def _size(value: Any) -> Size:
    document = object_of(value, "a size")
    return {
        "mtu": _count(document.get("mtu"), "mtu"),
        "largest": _count(document.get("largest"), "largest"),
        "said": document.get("said") is True,
    }


def _counters(value: Any) -> dict[str, dict[str, int]]:
    """Return what the counters of each end gained."""
    counters: dict[str, dict[str, int]] = {}
    for end, values in object_of(value, "counters").items():
        gained = object_of(values, f"counters of {end}").items()
        counters[str(end)] = {name: _count(value, name) for name, value in gained}
    return counters


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        raise ParseError(f"elapsed is not a number of seconds: {str(value)[:40]!r}", 1)
    return float(value)


def parse(text: str) -> Payload:
    """Return what a check printed; raises :class:`ParseError` for any other text."""
    try:
        document = object_of(json.loads(text), "the check")
    except (ValueError, RecursionError):
        raise ParseError(f"not the result of a payload check: {text[:60]!r}", 1) from None
    checks = object_of(document.get("checks"), "checks")
    payload: Payload = {
        "elapsed_s": _seconds(document.get("elapsed")),
        "mss": _count(document.get("mss"), "mss"),
        "checks": {name: _check(checks[name]) for name in CHECKS if name in checks},
        "counters": _counters(document.get("counters")),
        "error": str(document["error"]) if document.get("error") else None,
    }
    if "sizes" in document:
        sizes = object_of(document["sizes"], "sizes")
        payload["sizes"] = {name: _size(sizes[name]) for name in DIRECTIONS if name in sizes}
    pings = object_of(document.get("pings") or {}, "pings")
    if pings:
        payload["pings"] = {
            "small": pings.get("small") is True,
            "large": pings.get("large") is True,
        }
    return payload
