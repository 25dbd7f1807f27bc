# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What checks of the payload say together: messages that arrived, and how they arrived. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, NotRequired, TypedDict

from ...module_utils._engines.payload.result import (
    CHECKS,
    COUNTS,
    DIRECTIONS,
    TEST,
    Check,
    Payload,
    Pings,
    Size,
)
from ...module_utils._engines.payload.traffic import PINGS_SAID
from .drop_reasons import dropped_of, in_words
from .nouns import NOTHING, Trial

# Errors that the kernel counts, and what each means.
CHECKSUMS = ("TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors")
# Datagrams of which the receiving kernel gave up the fragments, and those of which it waited in vain for
# some. What it gives up otherwise has arrived: fragments that came too far apart (ipfrag_max_dist).
GIVEN_UP = (("IpReasmFails", "IpReasmTimeout"), ("Ip6ReasmFails", "Ip6ReasmTimeout"))
RECEIVERS = {"forward": "server", "reverse": "client"}
WRONG = "the payload arrived wrong"
TOO_LARGE = "packets of the path's MTU do not arrive, and nothing says so"
STALLED = "a connection stalled while the payload was checked"
REFUSED = "packets arrived with wrong checksums"
SEGMENTS_LOST = "segments were lost and sent again"
LOST = "datagrams of the payload were lost"
NONE_ARRIVED = "no datagram arrived, of any size"
LOST_ANY = "packets of the payload were lost"
TWICE = "datagrams arrived twice"
LATE = "connections needed a second SYN"
SILENT = "the path stopped answering"
STOPPED = "the payload could not be checked to the end"
# What a queue that overflows does, too, whatever is switched on.
LOSSES = (SEGMENTS_LOST, LOST, LOST_ANY)
# Where nothing of any size passes, the ends do not even agree on a check.
NOTHING_PASSES = (STOPPED, NONE_ARRIVED)
# What a healthy network does now and then: no trouble, but a setting under which it happens is to blame. Another
# order is no fault: GRO makes it in a clean guest (docs/is-it-broken.md).
LESSER = (LOST_ANY, TWICE)
FEWEST_LOST = 4  # datagrams; the check never has enough on the way to overflow a buffer
FEWEST_SEGMENTS = 4  # that were lost
FEWEST_CHECKSUMS = 2
FEWEST_DROPPED = 2  # packets
MORE_DROPPED = 10  # times as many in a trial as under clean profiles: other traffic drops some, too
MOST_REASONS = 3
LATE_CONNECTIONS = 2
OFTEN = 40  # faults in a check of 4 s at most: one of a second has enough to be in trouble
SHORTEST = 1.0  # s of a check where a fault strikes often, or nothing passes


class Corrupted(TypedDict):
    """Packets that arrived at a node with wrong checksums, as all of its kernel counts them."""

    packets: int
    trials: int


class Tally(TypedDict):
    """The checks of one profile at one place, summed."""

    trials: int
    troubled: int  # trials in which something was wrong
    kinds: dict[str, int]  # what was wrong: trials
    lesser: dict[str, int]  # what a healthy network may do: trials
    corrupted: NotRequired[dict[str, Corrupted]]  # by node; with the host, where a tunnel ends
    dropped: NotRequired[dict[str, Corrupted]]  # by node, reason and place (:mod:`.drop_reasons`)
    whole: Payload


Where = tuple[str, int, str]  # path, MTU and profile
Tallies = Mapping[Where, Tally]


class Checks(NamedTuple):
    """The checks of a campaign: in its planned visits, and in its confirmation."""

    planned: dict[Where, Tally]
    fresh: dict[Where, Tally]

    def see(
        self,
        where: Where,
        part: str | None,
        found: Payload,
        corrupted: Mapping[str, int] = NOTHING,
        dropped: Mapping[str, int] = NOTHING,
    ) -> None:
        """Count the check of one trial; ``corrupted`` and ``dropped`` are what the functions of
        these names return.
        """
        tallies = self.fresh if part == "confirm" else self.planned
        one = tally_of(found, corrupted, dropped)
        tallies[where] = added(tallies[where], one) if where in tallies else one

    def see_trial(self, trial: Trial) -> None:
        """Count the check of a trial, if it made one."""
        found = checked(trial)
        if found:
            where = (trial["path"], trial["mtu"], trial["profile"])
            self.see(where, trial.get("part"), found, corrupted_of(trial), dropped_of(trial))

    def whole(self) -> dict[Where, Tally]:
        """Return the sums of both."""
        found = dict(self.planned)
        for where, tally in self.fresh.items():
            found[where] = added(found[where], tally) if where in found else tally
        return found


def checks_of(trials: Iterable[Trial]) -> Checks:
    """Return the checks of the payload that some trials made."""
    found = Checks({}, {})
    for trial in trials:
        found.see_trial(trial)
    return found


def corrupted_of(trial: Trial) -> dict[str, int]:
    """Return how many packets arrived at each node with wrong checksums while a trial ran.

    The counters are those of all network namespaces that the path crosses there. A check sees those of
    its own end only, and nothing of what the host refuses before it unpacks a tunnel.
    """
    nodes = dict(trial)
    found = {}
    for end, seen in (trial.get("damage") or NOTHING).items():
        counters = seen.get("counters") or {}
        count = sum(counters.get(name, 0) for name in CHECKSUMS)
        if count:
            found[str(nodes.get(end) or end)] = count
    return found


def tally_of(
    found: Payload, corrupted: Mapping[str, int] = NOTHING, dropped: Mapping[str, int] = NOTHING
) -> Tally:
    """Return the tally of one trial."""
    wrong = trouble(found)
    kinds = {wrong: 1} if wrong else {}
    return {
        "trials": 1,
        "troubled": len(kinds),
        "kinds": kinds,
        "lesser": dict.fromkeys(_lesser(found), 1),
        "corrupted": {node: {"packets": n, "trials": 1} for node, n in corrupted.items()},
        "dropped": {key: {"packets": n, "trials": 1} for key, n in dropped.items()},
        "whole": found,
    }


def added(one: Tally, other: Tally) -> Tally:
    """Return the sum of two tallies."""
    wholes = [one["whole"], other["whole"]]
    whole = joined(wholes)
    whole["counters"] = _counters(wholes, int.__add__)
    whole["elapsed_s"] = sum(part["elapsed_s"] for part in wholes)
    return {
        "trials": one["trials"] + other["trials"],
        "troubled": one["troubled"] + other["troubled"],
        "kinds": _summed(one["kinds"], other["kinds"]),
        "lesser": _summed(one["lesser"], other["lesser"]),
        "corrupted": joined_counts(tally.get("corrupted", {}) for tally in (one, other)),
        "dropped": joined_counts(tally.get("dropped", {}) for tally in (one, other)),
        "whole": whole,
    }


def joined_counts(counts: Iterable[Mapping[str, Corrupted]]) -> dict[str, Corrupted]:
    """Return the sums of counts, by their keys."""
    found: dict[str, Corrupted] = {}
    for by_key in counts:
        for key, seen in by_key.items():
            known = found.get(key, {"packets": 0, "trials": 0})
            found[key] = {
                "packets": known["packets"] + seen["packets"],
                "trials": known["trials"] + seen["trials"],
            }
    return found


def _joined_drops(tallies: Iterable[Tally]) -> dict[str, Corrupted]:
    return joined_counts(tally.get("dropped", {}) for tally in tallies)


def _trials_of(tallies: Iterable[Tally]) -> int:
    return sum(tally["trials"] for tally in tallies)


def _per_trial(tallies: Collection[Tally]) -> dict[str, float]:
    """Return how many packets were dropped in a trial, by reason and place."""
    trials = _trials_of(tallies)
    return {key: seen["packets"] / trials for key, seen in _joined_drops(tallies).items()}


def _most_frequent_first(item: tuple[str, Corrupted]) -> tuple[int, int]:
    _reason, seen = item
    return -seen["trials"], -seen["packets"]


def reasons_of(tallies: Collection[Tally]) -> list[str]:
    """Return why packets were dropped under the profiles in trouble, where clean profiles have few
    such drops: ``lost at node2 in tcp_v4_rcv, reason TCP_CSUM: …``, the most frequent first.

    The kernel counts what other traffic of the host loses, too. So a reason was met in half of the
    trials in trouble at least.
    """
    troubled = [tally for tally in tallies if tally["troubled"]]
    clean = [tally for tally in tallies if not tally["troubled"]]
    trials = _trials_of(troubled)
    in_trouble = sum(tally["troubled"] for tally in troubled)
    ordinary = _per_trial(clean)
    named = [
        (key, seen)
        for key, seen in _joined_drops(troubled).items()
        if 2 * seen["trials"] >= in_trouble
        and seen["packets"] >= max(FEWEST_DROPPED, MORE_DROPPED * ordinary.get(key, 0.0) * trials)
    ]
    return [
        f"{in_words(key)}: {seen['packets']:,} packets in {seen['trials']} of {trials} trials"
        for key, seen in sorted(named, key=_most_frequent_first)[:MOST_REASONS]
    ]


def _refused_at(node: str, tally: Tally) -> int:
    seen = tally.get("corrupted", {}).get(node)
    return seen["packets"] if seen else 0


def corrupted_always(tallies: Collection[Tally]) -> dict[str, Corrupted]:
    """Return the nodes at which packets arrive with wrong checksums under each of several profiles."""
    whole = joined_counts(tally.get("corrupted", {}) for tally in tallies)
    if len(tallies) < 2:
        return {}
    return {
        node: seen
        for node, seen in whole.items()
        if all(_refused_at(node, tally) >= FEWEST_CHECKSUMS for tally in tallies)
    }


def _summed(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """Return the sums of numbers by name."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


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


def _joined_checks(parts: list[Payload]) -> dict[str, Check]:
    checks: dict[str, Check] = {}
    for name in CHECKS:
        found = [part["checks"][name] for part in parts if name in part["checks"]]
        if found:
            checks[name] = _joined_check(found)
    return checks


def _counters(
    parts: list[Payload], together: Callable[[int, int], int]
) -> dict[str, dict[str, int]]:
    """Return the counters of several checks by end; ``together`` says how two become one."""
    counters: dict[str, dict[str, int]] = {}
    for part in parts:
        for end, gained in part["counters"].items():
            held = counters.setdefault(end, {})
            for name, value in gained.items():
                held[name] = together(held.get(name, 0), value)
    return counters


def joined(parts: Iterable[Payload]) -> Payload:
    """Return the sum of the checks of several streams that ran together: of the counters the
    largest, since each stream sees those of the whole namespace.
    """
    known = list(parts)
    whole: Payload = {
        "elapsed_s": max(part["elapsed_s"] for part in known),
        "mss": min(part["mss"] for part in known),
        "checks": _joined_checks(known),
        "counters": _counters(known, max),
        "error": next((part["error"] for part in known if part["error"]), None),
    }
    sizes = joined_sizes(known)
    if sizes:
        whole["sizes"] = sizes
    pings = joined_pings(known)
    if pings:
        whole["pings"] = pings
    return whole


def trouble(payload: Payload) -> str | None:
    """Return what is wrong, as the error of a trial, or None for a payload that arrived as sent.

    The worst comes first: content that is wrong, then packets that were refused, then what is lost.
    """
    checks = payload["checks"].values()
    signs = {
        WRONG: altered(payload),
        TOO_LARGE: any(map(is_black_hole, payload.get("sizes", {}).values())),
        STALLED: any(check["stalled"] for check in checks),
        REFUSED: refused(payload) >= FEWEST_CHECKSUMS,
        SEGMENTS_LOST: any(check["segments_lost"] >= FEWEST_SEGMENTS for check in checks),
        NONE_ARRIVED: any(size["largest"] == 0 for size in payload.get("sizes", {}).values()),
        LOST: any(missing(payload, name) >= FEWEST_LOST for name in payload["checks"]),
        LATE: sum(check["late"] for check in checks) >= LATE_CONNECTIONS,
        SILENT: payload["error"] == SILENT,
        STOPPED: payload["error"],
    }
    return next((text for text, seen in signs.items() if seen), None)


def is_black_hole(size: Size) -> bool:
    """Return whether packets of the MTU are lost on the way and the sender is not told. Where none of
    any size arrives, their size is not the cause.
    """
    return 0 < size["largest"] < size["mtu"] and not size["said"]


def joined_sizes(parts: list[Payload]) -> dict[str, Size]:
    """Return of each direction the size of the path where least arrived."""
    found: dict[str, Size] = {}
    for name in DIRECTIONS:
        seen = [part["sizes"][name] for part in parts if name in part.get("sizes", {})]
        if seen:
            found[name] = min(seen, key=lambda size: (not is_black_hole(size), size["largest"]))
    return found


def joined_pings(parts: list[Payload]) -> Pings | None:
    """Return which pings were answered in all checks; None where that is not known of each."""
    seen = [part["pings"] for part in parts if "pings" in part]
    if not seen or len(seen) < len(parts):
        return None
    return {
        "small": all(pings["small"] for pings in seen),
        "large": all(pings["large"] for pings in seen),
    }


def checked(trial: Trial) -> Payload | None:
    """Return the check of a trial; None where it made none, where nothing was sent, or where its
    server was gone.

    One whose process ended with an error has a check that says nothing but that: with a NIC that
    breaks each packet, not even the ends find each other. The same holds where the path stopped
    answering and the dead man's switch has taken the profile back.
    """
    if trial.get("server_answers") is False or trial.get("interrupted"):
        return None
    found = (trial.get("result") or NOTHING).get("payload")
    if found or (trial.get("workload") or NOTHING).get("test") != TEST:
        return found
    return _without_result(trial)


def _without_result(trial: Trial) -> Payload | None:
    """Return what the check of a trial says that has no result."""
    if trial.get("path_stopped"):
        return {**_unfinished(SILENT), "pings": {"small": False, "large": False}}
    failed = [stream for stream in trial.get("streams") or () if stream["rc"]]
    if not failed:
        return None
    stopped = _unfinished(STOPPED)
    pings = [PINGS_SAID[text] for text in PINGS_SAID if text in (failed[0].get("stderr") or "")]
    if pings:
        stopped["pings"] = {"small": pings[0]["small"], "large": pings[0]["large"]}
    return stopped


def _unfinished(error: str) -> Payload:
    """Return a check that says nothing but its error."""
    counters: dict[str, dict[str, int]] = {"client": {}, "server": {}}
    return {"elapsed_s": 0.0, "mss": 0, "checks": {}, "counters": counters, "error": error}


def missing(payload: Payload, name: str) -> int:
    """Return how many datagrams of a check were lost on the way."""
    _protocol, _sign, direction = name.partition("_")
    gained = payload["counters"].get(RECEIVERS[direction], {})
    given_up = sum(gained.get(fails, 0) - gained.get(in_vain, 0) for fails, in_vain in GIVEN_UP)
    return max(0, payload["checks"][name]["missing"] - max(0, given_up))


def is_lossy(payload: Payload, name: str) -> bool:
    """Return whether a segment or a datagram of a check was lost on the way."""
    return payload["checks"][name]["segments_lost"] > 0 or missing(payload, name) > 0


def _lesser(found: Payload) -> list[str]:
    """Return what of :data:`LESSER` a trial has seen."""
    checks = found["checks"].values()
    signs = {
        LOST_ANY: any(is_lossy(found, name) for name in found["checks"]),
        TWICE: any(check["duplicated"] for check in checks),
    }
    return [text for text, seen in signs.items() if seen]


def of_lesser(tally: Tally, sign: str) -> Tally:
    """Return a tally in which a trial is in trouble that has seen one of :data:`LESSER`."""
    seen = tally["lesser"].get(sign, 0)
    kinds = {sign: seen} if seen else {}
    return {**tally, "troubled": seen, "kinds": kinds}


def altered(payload: Payload) -> bool:
    """Return whether content arrived that is not what was sent."""
    return any(check["wrong"] or check["short"] for check in payload["checks"].values())


def has_wrong_content(payload: Payload) -> bool:
    """Return whether a message arrived with other bytes, which no end that is gone can cause: its
    last message is only shorter.
    """
    return any(check["wrong"] for check in payload["checks"].values())


def faults(payload: Payload) -> int:
    """Return how many packets and messages of a check arrived wrong, were refused or were lost. A
    connection that stalled by losses ended after a second, and counts as OFTEN.
    """
    counts = [refused(payload)]
    for name, check in payload["checks"].items():
        counts += [check["wrong"], check["short"], check["segments_lost"], missing(payload, name)]
        if check["segments_lost"] >= FEWEST_SEGMENTS * check["stalled"]:
            counts.append(OFTEN * check["stalled"])
    return sum(counts)


def strike_often(tallies: Sequence[Tally]) -> bool:
    """Return whether the trials of these profiles met OFTEN faults each, on average."""
    trials = sum(tally["trials"] for tally in tallies)
    return sum(faults(tally["whole"]) for tally in tallies) >= OFTEN * max(1, trials)


def strikes_often(payload: Payload) -> bool:
    """Return whether one second shows the fault: a check met many, or nothing arrived."""
    arrived = sum(check["arrived"] for check in payload["checks"].values())
    return (bool(payload["error"]) and not arrived) or faults(payload) >= OFTEN


def refused(payload: Payload) -> int:
    """Return how many packets the kernels refused for their checksums, at both ends."""
    gains = product(payload["counters"].values(), CHECKSUMS)
    return sum(gained.get(name, 0) for gained, name in gains)
