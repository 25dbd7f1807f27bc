# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's counters say at one moment, and what the packets of a sample show."""

from __future__ import annotations

import os
import time
from typing import Any, TypedDict

DROP_REASON = "drop_reason"  # how a counter of dropped packets begins
# Of the bytes of both directions: below are only acknowledgements, or a stream that stands still
MAIN_SHARE = 0.1
KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class AtDevice(TypedDict):
    """Packets at a device, about."""

    sent: int
    sent_bytes: int
    cut: int  # packets that the device is left to cut
    cut_bytes: int
    checksum_left: int  # packets whose checksum the device is left to fill in
    into_gro: int
    received: int  # after GRO
    received_bytes: int
    namespaces: int  # that have a device of this name, and are counted together


class Crossed(TypedDict):
    """What crossed the stack of an end while it was counted."""

    seconds: float
    cost_s: float  # CPU time, about
    devices: dict[str, AtDevice]


class _Crossed(TypedDict, total=False):
    """The packets that crossed the stack since the reading before."""

    crossed: Crossed


class CounterReading(_Crossed):
    """The state of an end at one moment."""

    time: float  # s since the epoch
    stat: str  # raw, as the next
    softirqs: str
    boot_id: str
    hertz: int
    features: dict[str, str | None]
    programs: dict[str, str | None]  # BPF programs of a device
    throttled: int
    errors: dict[str, int]  # counted since boot
    alarms: list[str]  # of the kernel's log since the snapshot before


class Checksums(TypedDict):
    """How many frames that arrived have which checksum; each is counted once."""

    right: int
    vouched: int  # wrong, and the device said that it is right
    unfilled: int  # only what the sender's kernel leaves for its device to complete
    wrong: int  # wrong in another way, and the device did not vouch for it


class Direction(TypedDict):
    """The packets that went one way; a share is of the bytes, None where there are none."""

    packets: int
    bytes: int
    super_share: float | None
    tunnel_super_share: float | None
    longest: int  # bytes
    csum_not_ready_share: float | None
    csum_valid_share: float | None


# What a sample shows. The key "in" is a word of Python, which a class could not have.
Summary = TypedDict(
    "Summary",
    {
        "out": "Direction",
        "in": "Direction",
        "vxlan_share": "float | None",  # of the bytes of both directions
        "vnis": "list[int]",
        "outer_csum": "list[bool]",
    },
)


# pylint: disable-next=inherit-non-class
class OfStreams(Summary):
    """What a sample of a device shows, with its MTU, its driver's counters that moved, and the
    checksums of what arrived, made again.
    """

    mtu: int
    counters: dict[str, int]
    checksums: Checksums


# pylint: disable-next=inherit-non-class
class Sample(OfStreams, total=False):
    """The same, with what the device showed of a stream of datagrams where one was sampled."""

    udp_out: Direction
    udp_in: Direction


def parse_cpu(text: str, hertz: int) -> dict[str, float]:
    """Return ``{kind: seconds}`` of all CPUs together, from /proc/stat."""
    fields = text.split("\n", 1)[0].split()[1 : 1 + len(KINDS)]
    return {kind: int(ticks) / hertz for kind, ticks in zip(KINDS, fields)}


def cpu_since_boot() -> dict[str, Any]:
    """Return ``{"time", "boot_id", "seconds": {kind: s}}`` of this host: what its CPUs have done since boot.
    The difference of two such readings is a window.
    """
    with open("/proc/stat") as stat, open("/proc/sys/kernel/random/boot_id") as boot:
        return {
            "time": time.time(),
            "boot_id": boot.read().strip(),
            "seconds": parse_cpu(stat.read(), os.sysconf("SC_CLK_TCK")),
        }
