# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernels of both ends counted while a trial ran: errors and drops, what they wrote into their
logs, packets that crossed the stack; and the marks that follow. Pure.

None of them excludes a trial: the profile may be the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypedDict

from ...module_utils._observe.reading import DROP_REASON, AtDevice, CounterReading, Crossed
from .cpu import ENDS
from .nouns import NOTHING, Damage, Expected, Mark, Trial, Watched, mark

CHECKSUMS = {
    "IpExtInCsumErrors": "IP",
    "TcpInCsumErrors": "TCP",
    "UdpInCsumErrors": "UDP",
    "Udp6InCsumErrors": "UDP over IPv6",
    "rx-csum-bad": "checked by the device",
}
# Of the checksums of sampled packets, made again: what each kind of wrong one says.
ARRIVED = {
    "vouched": "had a wrong checksum for which the device vouched: receive checksum offload "
    "is broken there",
    "unfilled": "had a checksum that the sender's device was to fill in and did not: transmit "
    "checksum offload is broken there",
    "wrong": "had a wrong checksum, and the device did not vouch for it: it was made wrong, or the "
    "packet was changed on its way",
}
FEWEST_WRONG = 2  # packets; a wire may flip one bit
DEVICE_ERRORS = ("rx_errors", "tx_errors", "tx-hw-drop-errors")
DROPS = (
    "softnet_dropped",
    "rx_dropped",
    "tx_dropped",
    "rx-hw-drops",
    "rx-hw-drop-overruns",
    "rx-alloc-fail",
    "tx-hw-drops",
)
FEWEST_DROPS = 10  # packets; a queue may overflow now and then
TIMEOUTS = ("TcpExtTCPTimeouts",)
FEWEST_TIMEOUTS = 2


def _gained(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return what has grown between two readings."""
    grown = {}
    for name in sorted(after):
        # Drops are counted from 0 on by the process that reads; other counters are the kernel's.
        first = before.get(name, 0 if name.startswith(DROP_REASON) else after[name])
        if after[name] > first:
            grown[name] = after[name] - first
    return grown


def _of_end(before: CounterReading, after: CounterReading) -> Damage:
    """Return what an end saw; a probe of an earlier version reports nothing."""
    damage: Damage = {}
    counters = _gained(before.get("errors") or {}, after.get("errors") or {})
    if counters:
        damage["counters"] = counters
    if after.get("alarms"):
        damage["alarms"] = after["alarms"]
    return damage


def damage_of(watched: Watched) -> dict[str, Damage]:
    """Return a trial's ``damage``: by end, and of a forwarder, what its kernel counted and wrote; an
    end without any is left out.
    """
    damages: dict[str, Damage] = {}
    for end in ENDS:
        pair = watched.get(end)
        damage = _of_end(*pair) if pair else None
        if damage:
            damages[end] = damage
    return damages


def _ends(trial: Trial) -> Iterator[tuple[str, dict[str, int]]]:
    for end, damage in sorted((trial.get("damage") or NOTHING).items()):
        yield end, damage.get("counters") or {}


def _kind(counter: str) -> str:
    """Return a counter's name without its device."""
    return counter.rpartition(" ")[2]


def checksums(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """Packets arrived whose checksum was wrong."""
    for end, counters in _ends(trial):
        for counter, count in counters.items():
            if _kind(counter) in CHECKSUMS:
                what = CHECKSUMS[_kind(counter)]
                yield mark(
                    "checksum_errors",
                    f"{end}: {count} packets arrived with a wrong checksum ({what})",
                    excludes=False,
                )


def arrivals(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """Packets that were sampled at their arrival have checksums that are wrong when made again."""
    for end, samples in sorted(((trial.get("evidence") or NOTHING).get("packets") or {}).items()):
        for device, sample in sorted(samples.items()):
            counts = sample.get("checksums") or {}
            for name, meaning in ARRIVED.items():
                if counts.get(name, 0) >= FEWEST_WRONG:
                    yield mark(
                        f"checksum_{name}",
                        f"{end}: of {sum(counts.values())} packets that {device} received, "
                        f"{counts[name]} {meaning}",
                        excludes=False,
                    )


def devices(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """A device counted errors."""
    for end, counters in _ends(trial):
        for counter, count in counters.items():
            if _kind(counter) in DEVICE_ERRORS:
                yield mark("device_errors", f"{end}: {counter} rose by {count}", excludes=False)


class _Lost(TypedDict):
    """Packets that were dropped at one end."""

    count: int
    where: list[str]


def _lost(counters: Mapping[str, int]) -> _Lost:
    lost: _Lost = {"count": 0, "where": []}
    for counter, count in counters.items():
        if _kind(counter) in DROPS:
            lost["count"] += count
            lost["where"].append(f"{counter} {count}")
    return lost


def drops(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """Packets were dropped on the way. A flood of datagrams always loses some: it is not asked."""
    if (trial.get("workload") or NOTHING).get("test") == "UDP_STREAM":
        return
    for end, counters in _ends(trial):
        lost = _lost(counters)
        if lost["count"] >= FEWEST_DROPS:
            where = ", ".join(lost["where"])
            yield mark(
                "drops", f"{end}: {lost['count']} packets were dropped ({where})", excludes=False
            )


def timeouts(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """TCP waited for segments that did not come."""
    for end, counters in _ends(trial):
        count = sum(counters.get(counter, 0) for counter in TIMEOUTS)
        if count >= FEWEST_TIMEOUTS:
            yield mark("timeouts", f"{end}: TCP ran into {count} timeouts", excludes=False)


def kernel_log(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """The kernel wrote that a device is in trouble."""
    for end, damage in sorted((trial.get("damage") or NOTHING).items()):
        for alarm in damage.get("alarms") or ():
            yield mark("kernel_log", f"{end}: the kernel wrote: {alarm}", excludes=False)


GUARDS = (checksums, arrivals, devices, drops, timeouts, kernel_log)
# What each is called in a sentence about a profile.
WORDS = {
    "checksum_errors": "packets with wrong checksums",
    "checksum_vouched": "packets with wrong checksums for which the receiving device vouched",
    "checksum_unfilled": "packets whose checksums the sending device left out",
    "checksum_wrong": "packets with checksums that do not fit",
    "device_errors": "errors of devices",
    "drops": "dropped packets",
    "timeouts": "timeouts of TCP",
    "kernel_log": "alarms in the kernel's log",
}


def seen_in(trial: Trial) -> set[str]:
    """Return the guards of damage that marked a trial."""
    return {mark["guard"] for mark in trial.get("marks") or ()} & set(WORDS)


MOST_COST = 0.01  # of the time of one CPU
MB = 1e6
KB_IN_MB = 1e6 / 1024
FEWEST_BYTES = 1_000_000  # that were counted
CARRIES = 0.5  # of the most bytes at a device: the trial's packets pass there
BOTH = ("client", "server")


class Counts(NamedTuple):
    """What a trial's packets were at one end."""

    per_mb: float  # packets that crossed the stack, each way
    cut_per_mb: float  # packets that the device was left to cut
    merged_per_mb: float  # packets that GRO merged into others
    checksum_left: float  # share of the packets sent
    cpu_us: float | None  # CPU time of a packet


class Carrier(NamedTuple):
    """The device of an end that carries a trial's packets."""

    name: str
    device: AtDevice


def crossed_of(watched: Watched) -> dict[str, Crossed]:
    """Return a trial's ``crossed``: by end what its kernel counted; an end without counts is left out."""
    crossed = {}
    for end in ("client", "server", "forwarder"):
        readings: Any = watched.get(end)
        if readings and readings[1].get("crossed"):
            crossed[end] = readings[1]["crossed"]
    return crossed


def _bytes(device: AtDevice) -> int:
    return device["sent_bytes"] + device["received_bytes"]


def _carrier(crossed: Crossed) -> Carrier | None:
    """Return the first device that has the trial's packets: an underlay is before what it carries."""
    most = max(map(_bytes, crossed["devices"].values()), default=0)
    for key, device in crossed["devices"].items():
        if most and _bytes(device) >= CARRIES * most:
            return Carrier(key.rpartition("/")[2], device)
    return None


def _of_two_kernels(carriers: Mapping[str, Carrier]) -> dict[str, list[AtDevice]]:
    """Return the device of each end, where no other namespace has its name."""
    alone = {end: carrier for end, carrier in carriers.items() if carrier.device["namespaces"] <= 1}
    return {end: [carrier.device] for end, carrier in alone.items()}


def _of_one_kernel(carriers: Mapping[str, Carrier]) -> dict[str, list[AtDevice]]:
    """Return the devices of both ends as ``combined``. Their names may be the same: then the kernel
    counts them together.
    """
    by_name = {carrier.name: carrier.device for carrier in carriers.values()}
    ours = len(BOTH) + 1 - len(by_name)  # namespaces with each name
    strangers = any(device["namespaces"] > ours for device in by_name.values())
    return {} if strangers or len(carriers) < len(BOTH) else {"combined": list(by_name.values())}


def _devices(trial: Trial) -> dict[str, list[AtDevice]]:
    """Return by end the devices to count at. A device whose name other namespaces have counts theirs,
    too: it says nothing of the trial.
    """
    crossed = trial.get("crossed") or NOTHING
    carriers = {}
    for end in BOTH:
        carrier = _carrier(crossed[end]) if end in crossed else None
        if carrier:
            carriers[end] = carrier
    one_kernel = (trial.get("cpu") or NOTHING).get("combined")
    return _of_one_kernel(carriers) if one_kernel else _of_two_kernels(carriers)


def _counts(devices: list[AtDevice], passes: int, demand: float | None) -> Counts | None:
    """Return the counts of an end; each byte passes ``passes`` devices. ``demand`` is in µs/KB."""
    megabytes = sum(map(_bytes, devices)) / MB / passes
    if megabytes * MB < FEWEST_BYTES:
        return None
    sent = sum(device["sent"] for device in devices)
    received = sum(device["received"] for device in devices)
    merged = sum(max(0, device["into_gro"] - device["received"]) for device in devices)
    per_mb = (sent + received) / megabytes
    return Counts(
        per_mb=per_mb,
        cut_per_mb=sum(device["cut"] for device in devices) / megabytes,
        merged_per_mb=merged / megabytes,
        checksum_left=sum(device["checksum_left"] for device in devices) / sent if sent else 0.0,
        cpu_us=demand * KB_IN_MB / per_mb if demand and per_mb else None,
    )


def counts_of(trial: Trial) -> dict[str, Counts]:
    """Return the counts of each end of a trial that moved data; requests have too little."""
    ends: Mapping[str, Any] = (trial.get("cpu") or NOTHING).get("ends") or {}
    counts = {}
    for end, devices in _devices(trial).items():
        demand = ends.get(end, NOTHING).get("service_demand_us_per_kb")
        of_end = _counts(devices, 2 if end == "combined" else 1, demand)
        if of_end:
            counts[end] = of_end
    return counts


def _costs(trial: Trial) -> Iterator[tuple[str, float]]:
    """Yield what counting cost each kernel, as a share of the trial's time on one CPU."""
    crossed = trial.get("crossed") or NOTHING
    ends: Mapping[str, Any] = (trial.get("cpu") or NOTHING).get("ends") or {}
    for end, cpu in ends.items():
        counted = crossed.values() if end == "combined" else [crossed.get(end)]
        seconds = sum(each["cost_s"] for each in counted if each)
        if seconds and cpu.get("window_s"):
            yield end, seconds / cpu["window_s"]


def costly(trial: Trial, _expected: Expected) -> Iterator[Mark]:
    """Counting packets cost more than a trial may lose. Says so, excludes nothing."""
    for end, share in _costs(trial):
        if share > MOST_COST:
            yield mark(
                "counting",
                f"{end}: counting packets took about {share:.1%} of the time of one CPU",
                excludes=False,
            )
