# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check of the payload says: messages that arrived, and how they arrived. Pure.

The text is the one line of JSON that :mod:`_payload.traffic` prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from typing import Any, TypedDict

from ...module_utils._base.errors import ParseError

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
)
# Errors that the kernel counts, and what each means.
CHECKSUMS = ("TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors")
WRONG = "the payload arrived wrong"
STALLED = "a connection stalled while the payload was checked"
REFUSED = "packets arrived with wrong checksums"
RETRANSMITTED = "many segments were retransmitted"
LOST = "datagrams of the payload were lost"
LATE = "connections needed a second SYN"
STOPPED = "the payload could not be checked to the end"
LOST_SHARE = 1e-3  # of the datagrams; fewer may be lost without a fault
FEWEST_LOST = 4
SENDERS = (("client", "tcp_forward"), ("server", "tcp_reverse"))
RETRANSMIT_SHARE = 3e-3  # of the segments; fewer are usual where CPUs are busy
FEWEST_RETRANSMITS = 50
FEWEST_CHECKSUMS = 2
LATE_CONNECTIONS = 2


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
    first: Example | None


class Payload(TypedDict):
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


def _mapping(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ParseError(f"{what} is not there, or not an object", 1)
    return value


def _example(value: Any) -> Example | None:
    if value is None:
        return None
    given = _mapping(value, "an example")
    return {
        "number": _count(given.get("number"), "number"),
        "size": _count(given.get("size"), "size"),
        "offset": _count(given.get("offset"), "offset"),
    }


def _check(value: Any) -> Check:
    given = _mapping(value, "a check")
    counts: Any = {name: _count(given.get(name), name) for name in COUNTS}
    counts["first"] = _example(given.get("first"))
    return counts


def parse(text: str) -> Payload:
    """Return what a check printed; raises :class:`ParseError` for any other text."""
    try:
        given = _mapping(json.loads(text), "the check")
    except (ValueError, RecursionError):
        raise ParseError(f"not the result of a payload check: {text[:60]!r}", 1) from None
    elapsed = given.get("elapsed")
    if isinstance(elapsed, bool) or not isinstance(elapsed, (int, float)) or not 0 < elapsed < 1e9:
        raise ParseError(f"elapsed is not a number of seconds: {str(elapsed)[:40]!r}", 1)
    checks = _mapping(given.get("checks"), "checks")
    counters: dict[str, dict[str, int]] = {}
    for end, values in _mapping(given.get("counters"), "counters").items():
        gained = _mapping(values, f"counters of {end}").items()
        counters[str(end)] = {name: _count(value, name) for name, value in gained}
    return {
        "elapsed_s": float(elapsed),
        "mss": _count(given.get("mss"), "mss"),
        "checks": {name: _check(checks[name]) for name in CHECKS if name in checks},
        "counters": counters,
        "error": str(given["error"]) if given.get("error") else None,
    }


class Tally(TypedDict):
    """The checks of one profile at one place, summed."""

    trials: int
    troubled: int  # trials in which something was wrong
    kinds: dict[str, int]  # what was wrong: trials
    whole: Payload


def counted(tally: Tally | None, found: Payload) -> Tally:
    """Return a tally with one trial more."""
    wrong = trouble(found)
    if tally is None:
        tally = {"trials": 0, "troubled": 0, "kinds": {}, "whole": found}
    else:
        tally["whole"] = joined([tally["whole"], found])
    tally["trials"] += 1
    if wrong:
        tally["troubled"] += 1
        tally["kinds"][wrong] = tally["kinds"].get(wrong, 0) + 1
    return tally


def _joined_check(found: list[Check]) -> Check:
    counts: Any = dict.fromkeys(COUNTS, 0)
    for check in found:
        for name, value in check.items():
            if name in counts:
                counts[name] += value
    examples = [check["first"] for check in found if check["first"]]
    first = min(examples, key=lambda example: example["size"], default=None)
    counts["first"] = first
    return counts


def _joined_counters(parts: list[Payload]) -> dict[str, dict[str, int]]:
    """Return the largest counters, since each stream sees those of the whole namespace."""
    counters: dict[str, dict[str, int]] = {}
    for part in parts:
        for end, gained in part["counters"].items():
            held = counters.setdefault(end, {})
            for name, value in gained.items():
                held[name] = max(held.get(name, 0), value)
    return counters


def joined(parts: Iterable[Payload]) -> Payload:
    """Return the sum of the checks of several streams."""
    known = list(parts)
    checks: dict[str, Check] = {}
    for name in CHECKS:
        found = [part["checks"][name] for part in known if name in part["checks"]]
        if found:
            checks[name] = _joined_check(found)
    return {
        "elapsed_s": max(part["elapsed_s"] for part in known),
        "mss": min(part["mss"] for part in known),
        "checks": checks,
        "counters": _joined_counters(known),
        "error": next((part["error"] for part in known if part["error"]), None),
    }


def trouble(payload: Payload) -> str | None:
    """Return what is wrong, as the error of a trial, or None for a payload that arrived as sent.

    The worst comes first: content that is wrong, then packets that were refused, then what is lost.
    """
    checks = payload["checks"].values()
    signs = {
        WRONG: any(check["wrong"] or check["short"] for check in checks),
        STALLED: any(check["stalled"] for check in checks),
        REFUSED: refused(payload) >= FEWEST_CHECKSUMS,
        RETRANSMITTED: any(_retransmits(payload, end, name) for end, name in SENDERS),
        LOST: any(map(_loses, checks)),
        LATE: sum(check["late"] for check in checks) >= LATE_CONNECTIONS,
        STOPPED: payload["error"],
    }
    return next((text for text, seen in signs.items() if seen), None)


def refused(payload: Payload) -> int:
    """Return how many packets the kernels refused for their checksums, at both ends."""
    gains = product(payload["counters"].values(), CHECKSUMS)
    return sum(gained.get(name, 0) for gained, name in gains)


def _retransmits(payload: Payload, end: str, name: str) -> bool:
    """Return whether one end had to send far more segments again than busy CPUs explain."""
    again = payload["counters"].get(end, {}).get("TcpRetransSegs", 0)
    if again < FEWEST_RETRANSMITS or name not in payload["checks"]:
        return False
    segments = payload["checks"][name]["bytes"] / max(1, payload["mss"])
    return again > RETRANSMIT_SHARE * segments


def _loses(check: Check) -> bool:
    return check["missing"] >= max(FEWEST_LOST, LOST_SHARE * check["sent"])
