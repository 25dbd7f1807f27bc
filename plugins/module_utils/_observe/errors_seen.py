# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel counted of errors and drops, and what it wrote into its log, at one moment.

Sources: Documentation/networking/snmp_counter.rst (the protocols' counters), net/core/net-procfs.c
(softnet_stat, dev), Documentation/ABI/testing/dev-kmsg.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
from typing import Dict, Iterable

from .._base import network
from .._base.errors import LabError
from .._base.network import NamedDevice
from .._host import netlink, netns

Counters = Dict[str, int]
# Not /proc/self: a thread may be in another network namespace than its process.
NET = "/proc/thread-self/net"
# The counters of damage or loss in snmp and netstat, by row.
KEPT = {
    "Ip": ("InHdrErrors", "InDiscards", "OutDiscards", "ReasmFails", "FragFails"),
    "IpExt": ("InCsumErrors",),
    "Tcp": ("RetransSegs", "InErrs", "InCsumErrors"),
    "TcpExt": ("TCPTimeouts", "TCPSynRetrans", "ListenDrops"),
    "Udp": ("InErrors", "RcvbufErrors", "SndbufErrors", "InCsumErrors"),
}
KEPT6 = (
    "Ip6InHdrErrors",
    "Ip6InDiscards",
    "Ip6OutDiscards",
    "Ip6ReasmFails",
    "Udp6InErrors",
    "Udp6InCsumErrors",
)
# Columns of a row of /proc/net/dev behind the name.
OF_DEVICE = {"rx_errors": 2, "rx_dropped": 3, "tx_errors": 10, "tx_dropped": 11}
# columns of softnet_stat, in hexadecimal
DROPPED = 1
SQUEEZED = 2
MOST_NAMESPACES = 8  # in each reading; a lab may have hundreds
# What a driver or the stack writes when a device fails.
ALARMS = re.compile(
    r"NETDEV WATCHDOG|transmit queue .* timed out|unit hang|hw csum failure|hardware csum|"
    r"tx (timeout|hang)|reset adapter|adapter reset|link is (down|not ready)|link down|"
    r"bad gso|skb_warn_bad_offload|bad offload",
    re.IGNORECASE,
)
FIRST_OF_PROGRAMS = 8  # facility 1 and above, times 8
MOST_LINES = 20
LONGEST_LINE = 200


def parse_rows(text: str) -> Counters:
    """Return ``{row + name: value}`` of /proc/net/snmp or netstat, whose rows come in pairs."""
    counters: Counters = {}
    lines = [line.split() for line in text.splitlines()]
    for names, values in zip(lines, lines[1:]):
        if not names or names[0] != (values or [""])[0]:
            continue
        row = names[0].rstrip(":")
        for name, value in zip(names[1:], values[1:]):
            if name in KEPT.get(row, ()) and value.isdigit():
                counters[row + name] = int(value)
    return counters


def parse_list(text: str) -> Counters:
    """Return what is kept of /proc/net/snmp6, which has a counter a line."""
    counters: Counters = {}
    for line in text.splitlines():
        name, _space, value = line.partition(" ")
        if name in KEPT6 and value.strip().isdigit():
            counters[name] = int(value)
    return counters


def parse_devices(text: str) -> dict[str, Counters]:
    """Return ``{device: {"rx_errors", ...}}`` of /proc/net/dev."""
    by_device: dict[str, Counters] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if colon and len(fields) > max(OF_DEVICE.values()) and all(map(str.isdigit, fields)):
            by_device[name.strip()] = {key: int(fields[at]) for key, at in OF_DEVICE.items()}
    return by_device


def parse_softnet(text: str) -> Counters:
    """Return the packets that a full backlog lost, and how often a CPU ended its turn with work
    left, over all CPUs.
    """
    dropped = squeezed = 0
    for line in text.splitlines():
        fields = line.split()
        with contextlib.suppress(ValueError, IndexError):
            dropped += int(fields[DROPPED], 16)
            squeezed += int(fields[SQUEEZED], 16)
    return {"softnet_dropped": dropped, "softnet_squeezed": squeezed}


def _read(name: str) -> str:
    try:
        with open(f"{NET}/{name}") as stream:
            return stream.read()
    except OSError:
        return ""


def _of_namespace(name: str | None, devices: Iterable[NamedDevice]) -> Counters:
    """Return the counters of a namespace and of its devices, by their keys."""
    with netns.inside(name):
        counters = {**parse_rows(_read("snmp")), **parse_rows(_read("netstat"))}
        counters.update(parse_list(_read("snmp6")))
        rows = parse_devices(_read("dev"))
        queues = netlink.queue_counters()
        for device in devices:
            with contextlib.suppress(OSError):  # it is gone
                number = socket.if_nametoindex(device["name"])
                rows.setdefault(device["name"], {}).update(queues.get(number, {}))
    for device in devices:
        key = network.key_of(device)
        for counter, value in rows.get(device["name"], {}).items():
            counters[f"{key} {counter}"] = value
    return counters


def read(devices: Iterable[NamedDevice] = ()) -> Counters:
    """Return the counters of this namespace and of the devices', each protocol's summed over them.

    A namespace or device that is gone has none.
    """
    places: dict[str | None, list[NamedDevice]] = {None: []}
    for device in devices:
        places.setdefault(device.get("netns"), []).append(device)
    total = parse_softnet(_read("softnet_stat"))
    for name, inside in list(places.items())[:MOST_NAMESPACES]:
        with contextlib.suppress(LabError):
            for counter, value in _of_namespace(name, inside).items():
                total[counter] = total.get(counter, 0) + value
    return total


class KernelLog:
    """The kernel's log from now on; empty where it may not be read."""

    def __init__(self, path: str = "/dev/kmsg") -> None:
        self.descriptor: int | None = None
        with contextlib.suppress(OSError):
            self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self.descriptor, 0, os.SEEK_END)

    def alarms(self) -> list[str]:
        """Return the lines since the last call that tell of a device in trouble, 20 at most."""
        alarms = []
        for record in self._records():
            text = record.partition(";")[2].split("\n")[0]
            if _is_kernels(record) and ALARMS.search(text):
                alarms.append(text[:LONGEST_LINE])
        return alarms[:MOST_LINES]

    def _records(self) -> Iterable[str]:
        while self.descriptor is not None:
            try:
                record = os.read(self.descriptor, 8192)
            except OSError as error:
                if error.errno == errno.EPIPE:  # records were overwritten before they were read
                    continue
                return
            if not record:
                return
            yield record.decode("utf-8", "replace")


def _is_kernels(record: str) -> bool:
    """Return whether the kernel wrote a record of its log: programs of the host may write there, too."""
    priority = record.partition(",")[0]
    return priority.isdigit() and int(priority) < FIRST_OF_PROGRAMS


_logs: list[KernelLog] = []  # one a process, from its first snapshot on


def kernel_log() -> KernelLog:
    """Return this process's reader of the kernel's log."""
    if not _logs:
        _logs.append(KernelLog())
    return _logs[0]
