# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that crossed the stack of each end in a trial, what its device cut of them and what GRO
merged. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...module_utils._observe.reading import AtDevice, Crossed
from .nouns import NOTHING, Expected, Mark, Trial, Watched, mark

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
