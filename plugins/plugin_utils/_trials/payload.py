# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sum the checks of the payload: which messages arrived, and what was wrong with them. Pure."""

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

# The kernel's counters of packets with wrong checksums.
CHECKSUMS = ("TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors")
# (datagrams that the receiving kernel could not put together, datagrams whose last fragments never came).
# The difference has arrived: its fragments came too far apart (ipfrag_max_dist).
GIVEN_UP = (("IpReasmFails", "IpReasmTimeout"), ("Ip6ReasmFails", "Ip6ReasmTimeout"))
RECEIVERS = {"forward": "server", "reverse": "client"}
WRONG = "the payload arrived wrong"
TOO_LARGE = "packets of the path's MTU do not arrive, and no ICMP message reports it"
STALLED = "a connection stalled while the payload was checked"
REFUSED = "packets arrived with wrong checksums"
SEGMENTS_LOST = "segments were lost and retransmitted"
LOST = "datagrams of the payload were lost"
NONE_ARRIVED = "no datagram arrived, of any size"
LOST_ANY = "packets of the payload were lost"
TWICE = "datagrams arrived twice"
LATE = "connections needed a second SYN"
SILENT = "the path stopped answering"
STOPPED = "the payload could not be checked to the end"
# An overflowing queue does these, too, under every setting.
LOSSES = (SEGMENTS_LOST, LOST, LOST_ANY)
# If no packet of any size passes, the ends cannot agree on a check.
NOTHING_PASSES = (STOPPED, NONE_ARRIVED)
# A healthy network does these now and then, so they are no trouble. A setting that is associated with them is
# still to blame. Reordering is no fault: GRO reorders packets in a clean guest (docs/is-it-broken.md).
LESSER = (LOST_ANY, TWICE)
FEWEST_LOST = 4  # datagrams; the check never has enough in flight to overflow a buffer
FEWEST_SEGMENTS = 4  # lost segments
FEWEST_CHECKSUMS = 2
FEWEST_DROPPED = 2  # packets
MORE_DROPPED = 10  # times as many in a trial as under clean profiles: other traffic drops some, too
MOST_REASONS = 3
LATE_CONNECTIONS = 2
# Faults in a check of at most 4 s, which has five rounds of each kind: two of them are then in trouble, too.
OFTEN = 40
TWO_ROUNDS = (
    1.0  # s: two rounds of each kind; enough if a fault strikes often, or if nothing passes
)
VERY_OFTEN = 80  # the same for one round of each kind
ONE_ROUND = 0.5  # s: one round of each kind


class Corrupted(TypedDict):
    """Packets that arrived at a node with wrong checksums, counted over its whole kernel."""

    packets: int
    trials: int


class Tally(TypedDict):
    """The sum of the checks of one profile over a path at an MTU."""

    trials: int
    troubled: int  # trials in trouble
    kinds: dict[str, int]  # {kind of trouble: trials}
    lesser: dict[str, int]  # {what a healthy network may do: trials}
    corrupted: NotRequired[dict[str, Corrupted]]  # by node; includes the host where a tunnel ends
    dropped: NotRequired[
        dict[str, Corrupted]
    ]  # by node, reason and function (:mod:`.drop_reasons`)
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
        payload: Payload,
        corrupted: Mapping[str, int] = NOTHING,
        dropped: Mapping[str, int] = NOTHING,
    ) -> None:
        """Count the check of one trial.

        ``corrupted`` and ``dropped`` come from :func:`corrupted_of` and :func:`.dropped_of`.
        """
        tallies = self.fresh if part == "confirm" else self.planned
        tally = tally_of(payload, corrupted, dropped)
        tallies[where] = added(tallies[where], tally) if where in tallies else tally

    def see_trial(self, trial: Trial) -> None:
        """Count the check of a trial, if the trial has one."""
        payload = checked(trial)
        if payload:
            where = (trial["path"], trial["mtu"], trial["profile"])
            self.see(where, trial.get("part"), payload, corrupted_of(trial), dropped_of(trial))

    def whole(self) -> dict[Where, Tally]:
        """Return the tallies of plan and confirmation together."""
        tallies = dict(self.planned)
        for where, tally in self.fresh.items():
            tallies[where] = added(tallies[where], tally) if where in tallies else tally
        return tallies


def checks_of(trials: Iterable[Trial]) -> Checks:
    """Return the checks of the payload in these trials."""
    checks = Checks({}, {})
    for trial in trials:
        checks.see_trial(trial)
    return checks


def corrupted_of(trial: Trial) -> dict[str, int]:
    """Return how many packets arrived at each node with wrong checksums while a trial ran.

    The counters cover all network namespaces that the path crosses at the node. A check reads only the
    counters of its own end. It misses packets that the host refuses before it unpacks a tunnel.
    """
    nodes = dict(trial)
    packets_by_node = {}
    for end, damage in (trial.get("damage") or NOTHING).items():
        counters = damage.get("counters") or {}
        packets = sum(counters.get(name, 0) for name in CHECKSUMS)
        if packets:
            packets_by_node[str(nodes.get(end) or end)] = packets
    return packets_by_node


def tally_of(
    payload: Payload, corrupted: Mapping[str, int] = NOTHING, dropped: Mapping[str, int] = NOTHING
) -> Tally:
    """Return the tally of one trial."""
    wrong = trouble(payload)
    kinds = {wrong: 1} if wrong else {}
    return {
        "trials": 1,
        "troubled": len(kinds),
        "kinds": kinds,
        "lesser": dict.fromkeys(_lesser(payload), 1),
        "corrupted": {node: {"packets": n, "trials": 1} for node, n in corrupted.items()},
        "dropped": {key: {"packets": n, "trials": 1} for key, n in dropped.items()},
        "whole": payload,
    }


def added(first: Tally, second: Tally) -> Tally:
    """Return the sum of two tallies."""
    payloads = [first["whole"], second["whole"]]
    summed = joined(payloads)
    summed["counters"] = _counters(payloads, int.__add__)
    summed["elapsed_s"] = sum(payload["elapsed_s"] for payload in payloads)
    return {
        "trials": first["trials"] + second["trials"],
        "troubled": first["troubled"] + second["troubled"],
        "kinds": _summed(first["kinds"], second["kinds"]),
        "lesser": _summed(first["lesser"], second["lesser"]),
        "corrupted": joined_counts(tally.get("corrupted", {}) for tally in (first, second)),
        "dropped": joined_counts(tally.get("dropped", {}) for tally in (first, second)),
        "whole": summed,
    }


def joined_counts(counts: Iterable[Mapping[str, Corrupted]]) -> dict[str, Corrupted]:
    """Return the sums of counts, by their keys."""
    sums: dict[str, Corrupted] = {}
    for by_key in counts:
        for key, count in by_key.items():
            before = sums.get(key, {"packets": 0, "trials": 0})
            sums[key] = {
                "packets": before["packets"] + count["packets"],
                "trials": before["trials"] + count["trials"],
            }
    return sums


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
    """Return the reasons for which profiles in trouble lost packets and clean profiles lost few.

    A reason is such as ``lost at node2 in tcp_v4_rcv, reason TCP_CSUM: …``; the most frequent is first.

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
    corrupted = tally.get("corrupted", {}).get(node)
    return corrupted["packets"] if corrupted else 0


def corrupted_always(tallies: Collection[Tally]) -> dict[str, Corrupted]:
    """Return the nodes at which packets arrive with wrong checksums under each of several profiles."""
    if len(tallies) < 2:
        return {}
    by_node = joined_counts(tally.get("corrupted", {}) for tally in tallies)
    return {
        node: corrupted
        for node, corrupted in by_node.items()
        if all(_refused_at(node, tally) >= FEWEST_CHECKSUMS for tally in tallies)
    }


def _summed(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    """Return the sums of numbers by name."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def _joined_check(checks: list[Check]) -> Check:
    counts: Any = dict.fromkeys(COUNTS, 0)
    for check in checks:
        for name, value in check.items():
            if name in counts:
                counts[name] += value
    examples = [check["first"] for check in checks if check["first"]]
    counts["first"] = min(examples, key=lambda example: example["size"], default=None)
    return counts


def _joined_checks(parts: list[Payload]) -> dict[str, Check]:
    checks: dict[str, Check] = {}
    for name in CHECKS:
        with_name = [part["checks"][name] for part in parts if name in part["checks"]]
        if with_name:
            checks[name] = _joined_check(with_name)
    return checks


def _counters(
    parts: list[Payload], together: Callable[[int, int], int]
) -> dict[str, dict[str, int]]:
    """Return the counters of several checks by end; ``together`` joins two values of a counter."""
    counters: dict[str, dict[str, int]] = {}
    for part in parts:
        for end, gained in part["counters"].items():
            held = counters.setdefault(end, {})
            for name, value in gained.items():
                held[name] = together(held.get(name, 0), value)
    return counters


def joined(parts: Iterable[Payload]) -> Payload:
    """Return the sum of the checks of several streams that ran together.

    Each stream reads the counters of the whole namespace, so the largest value of a counter counts.
    """
    streams = list(parts)
    payload: Payload = {
        "elapsed_s": max(part["elapsed_s"] for part in streams),
        "mss": min(part["mss"] for part in streams),
        "checks": _joined_checks(streams),
        "counters": _counters(streams, max),
        "error": next((part["error"] for part in streams if part["error"]), None),
    }
    sizes = joined_sizes(streams)
    if sizes:
        payload["sizes"] = sizes
    pings = joined_pings(streams)
    if pings:
        payload["pings"] = pings
    return payload


def trouble(payload: Payload) -> str | None:
    """Return the trial's error, or None for a payload that arrived as sent.

    The worst comes first: wrong content, then refused packets, then lost ones.
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
    """Return whether packets of the MTU are lost and no ICMP message reports it.

    If no packet of any size arrives, size is not the cause.
    """
    return 0 < size["largest"] < size["mtu"] and not size["said"]


def joined_sizes(parts: list[Payload]) -> dict[str, Size]:
    """Return the worst size of each direction: a black hole first, then the smallest that arrived."""
    worst: dict[str, Size] = {}
    for name in DIRECTIONS:
        sizes = [part["sizes"][name] for part in parts if name in part.get("sizes", {})]
        if sizes:
            worst[name] = min(sizes, key=lambda size: (not is_black_hole(size), size["largest"]))
    return worst


def joined_pings(parts: list[Payload]) -> Pings | None:
    """Return which pings were answered in all checks; None if a check has no pings."""
    pings = [part["pings"] for part in parts if "pings" in part]
    if not pings or len(pings) < len(parts):
        return None
    return {
        "small": all(answered["small"] for answered in pings),
        "large": all(answered["large"] for answered in pings),
    }


def checked(trial: Trial) -> Payload | None:
    """Return the check of a trial; None if it has none, if nothing was sent, or if its server was gone.

    If its process ended with an error, the check has this error only: with a NIC that breaks each
    packet, the ends do not find each other. The same holds if the path stopped answering and the dead
    man's switch restored the node.
    """
    if trial.get("server_answers") is False or trial.get("interrupted"):
        return None
    payload = (trial.get("result") or NOTHING).get("payload")
    if payload or (trial.get("workload") or NOTHING).get("test") != TEST:
        return payload
    return _without_result(trial)


def _without_result(trial: Trial) -> Payload | None:
    """Return the check of a trial without a result."""
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
    """Return a check that has only an error."""
    counters: dict[str, dict[str, int]] = {"client": {}, "server": {}}
    return {"elapsed_s": 0.0, "mss": 0, "checks": {}, "counters": counters, "error": error}


def missing(payload: Payload, name: str) -> int:
    """Return how many datagrams of a check were lost in the network."""
    _protocol, _sign, direction = name.partition("_")
    gained = payload["counters"].get(RECEIVERS[direction], {})
    given_up = sum(gained.get(fails, 0) - gained.get(in_vain, 0) for fails, in_vain in GIVEN_UP)
    return max(0, payload["checks"][name]["missing"] - max(0, given_up))


def is_lossy(payload: Payload, name: str) -> bool:
    """Return whether a segment or a datagram of a check was lost in the network."""
    return payload["checks"][name]["segments_lost"] > 0 or missing(payload, name) > 0


def _lesser(payload: Payload) -> list[str]:
    """Return which of :data:`LESSER` happened in a trial."""
    checks = payload["checks"].values()
    signs = {
        LOST_ANY: any(is_lossy(payload, name) for name in payload["checks"]),
        TWICE: any(check["duplicated"] for check in checks),
    }
    return [text for text, seen in signs.items() if seen]


def of_lesser(tally: Tally, sign: str) -> Tally:
    """Return a tally that counts a trial as troubled if this sign of :data:`LESSER` happened in it."""
    trials = tally["lesser"].get(sign, 0)
    kinds = {sign: trials} if trials else {}
    return {**tally, "troubled": trials, "kinds": kinds}


def altered(payload: Payload) -> bool:
    """Return whether a message arrived with other bytes, or short."""
    return any(check["wrong"] or check["short"] for check in payload["checks"].values())


def has_wrong_content(payload: Payload) -> bool:
    """Return whether a message arrived with other bytes.

    An end that dies cannot cause this: its last message is only shorter.
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
    return _faults_each(tallies) >= OFTEN


def _faults_each(tallies: Sequence[Tally]) -> float:
    return sum(faults(tally["whole"]) for tally in tallies) / max(1, _trials_of(tallies))


def enough(tallies: Sequence[Tally]) -> float | None:
    """Return how long a check is, in seconds, that shows a fault with these trials in trouble; None where
    it does not strike often.
    """
    if _faults_each(tallies) >= VERY_OFTEN:
        return ONE_ROUND
    return TWO_ROUNDS if strike_often(tallies) else None


def each_breaks_tcp(tally: Tally) -> bool:
    """Return whether each trial was in trouble, and met FEWEST_SEGMENTS faults of TCP on average."""
    payload = tally["whole"]
    checks = [check for name, check in payload["checks"].items() if name.startswith("tcp")]
    refused_by_tcp = sum(gained.get(CHECKSUMS[0], 0) for gained in payload["counters"].values())
    counts = [check["wrong"] + check["short"] + check["segments_lost"] for check in checks]
    needed = FEWEST_SEGMENTS * tally["trials"]
    return tally["troubled"] == tally["trials"] and refused_by_tcp + sum(counts) >= needed


def strikes_often(payload: Payload) -> bool:
    """Return whether a check of one second shows the fault: it has many faults, or nothing arrived."""
    arrived = sum(check["arrived"] for check in payload["checks"].values())
    return (bool(payload["error"]) and not arrived) or faults(payload) >= OFTEN


def refused(payload: Payload) -> int:
    """Return how many packets the kernels refused for their checksums, at both ends."""
    gains = product(payload["counters"].values(), CHECKSUMS)
    return sum(gained.get(name, 0) for gained, name in gains)
