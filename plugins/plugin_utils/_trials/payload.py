# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What checks of the payload say together: messages that arrived, and how they arrived. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, TypedDict

from ...module_utils._engines.payload.result import CHECKS, COUNTS, Check, Payload

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
        WRONG: altered(payload),
        STALLED: any(check["stalled"] for check in checks),
        REFUSED: refused(payload) >= FEWEST_CHECKSUMS,
        RETRANSMITTED: any(_retransmits(payload, end, name) for end, name in SENDERS),
        LOST: any(map(_loses, checks)),
        LATE: sum(check["late"] for check in checks) >= LATE_CONNECTIONS,
        STOPPED: payload["error"],
    }
    return next((text for text, seen in signs.items() if seen), None)


def altered(payload: Payload) -> bool:
    """Return whether content arrived that is not what was sent."""
    return any(check["wrong"] or check["short"] for check in payload["checks"].values())


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
