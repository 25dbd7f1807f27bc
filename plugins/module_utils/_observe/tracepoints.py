# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count packets with the kernel's tracepoints: what a device is left to cut and to checksum, what
GRO merges, and why packets are dropped. It sends nothing and changes nothing.

A tracepoint knows the name of a device and, on a kernel that has the field ``net_cookie``, its
namespace. Without the field all devices of this name count, whatever their namespaces:
:func:`namesakes` says how many there are. Drops and TCP's counters cover the whole host.

Sources: include/trace/events/net.h, tcp.h; include/linux/skbuff.h.
"""

from __future__ import annotations

import collections
import contextlib
import glob
import itertools
import os
import re
import socket
from typing import Iterable, Mapping, NamedTuple, Sequence, TypedDict

from .._base import network
from .._base.errors import LabError
from .._host import netns
from . import perf_events, tracefs
from .drop_places import EVENT as DROPPED
from .drop_places import OF_PACKETS, Drop, DropTally
from .errors_seen import parse_devices
from .sampler import open_socket
from .tracefs import EventFormat

MOST_NAMESPACES = 1000
OF_PROCESSES = "/proc/[0-9]*/ns/net"


def _tables_of_devices() -> dict[int, str]:
    """Return the table of devices of each namespace that has a name or a process."""
    tables: dict[int, str] = {}
    for path in glob.glob(OF_PROCESSES):
        with contextlib.suppress(OSError):  # the process has ended
            identity = os.stat(path).st_ino
            if identity in tables or len(tables) >= MOST_NAMESPACES:
                continue
            with open(path.replace("ns/net", "net/dev")) as stream:
                tables[identity] = stream.read()
    named = sorted(os.listdir(netns.FOLDER)) if os.path.isdir(netns.FOLDER) else []
    for name in filter(network.is_namespace_name, named[:MOST_NAMESPACES]):
        identity = netns.inode(netns.path_of(name)) or 0
        with contextlib.suppress(OSError, LabError), netns.inside(name):
            if identity not in tables:
                with open("/proc/thread-self/net/dev") as stream:
                    tables[identity] = stream.read()
    return tables


def namesakes(names: Iterable[str]) -> dict[str, int]:
    """Return ``{name: namespaces with a device of this name}``."""
    counts: collections.Counter[str] = collections.Counter()
    for table in _tables_of_devices().values():
        counts.update(parse_devices(table).keys())
    return {name: counts[name] for name in names}


START_XMIT = "net/net_dev_start_xmit"
INTO_GRO = ("net/napi_gro_receive_entry", "net/napi_gro_frags_entry")
PAST_GRO = ("net/netif_rx_entry", "net/netif_receive_skb_entry")
COOKIE = "net_cookie"
SO_NETNS_COOKIE = 71
LINK_HEADER = 18  # bytes that a packet has above the MTU: Ethernet and a VLAN tag
FULL = 0.9  # of the MTU: a packet of data, as segmentation makes it
ONE_PIECE = "gso_size == 0"  # nothing says where the packet is to be cut


class Counter(NamedTuple):
    """Tracepoints that are counted together, where a condition holds."""

    events: Sequence[str]
    condition: str = ""
    period: int = 0  # one record of this number is kept; 0: none


OF_DEVICE = {
    "sent": Counter([START_XMIT]),
    "cut": Counter([START_XMIT], "gso_size > 0", period=8),  # by the device, below this point
    # A packet of TCP has its gso_type without a gso_size, too.
    "cut_tcp": Counter([START_XMIT], "gso_size > 0 && gso_type & 0x11"),  # SKB_GSO_TCPV4, _TCPV6
    "cut_tunnel": Counter([START_XMIT], "gso_size > 0 && gso_type & 0xc00"),  # SKB_GSO_UDP_TUNNEL*
    "checksum_left": Counter([START_XMIT], "ip_summed == 3"),  # CHECKSUM_PARTIAL
    "sent_full": Counter([START_XMIT], ONE_PIECE + " && len > {full} && len <= {longest}"),
    "sent_too_long": Counter([START_XMIT], ONE_PIECE + " && len > {longest}"),
    "into_gro": Counter(INTO_GRO),
    "into_gro_full": Counter(INTO_GRO, "len > {full} && len <= {longest}"),
    "received": Counter(["net/netif_receive_skb"]),
    "received_full": Counter(["net/netif_receive_skb"], "len > {full} && len <= {longest}"),
    "received_too_long": Counter([*INTO_GRO, *PAST_GRO], ONE_PIECE + " && len > {longest}"),
    "timeouts": Counter(["net/net_dev_xmit_timeout"]),
}
OF_HOST = {
    "dropped": Counter([DROPPED], OF_PACKETS, period=1),
    "retransmitted": Counter(["tcp/tcp_retransmit_skb"]),
    "bad_tcp_checksums": Counter(["tcp/tcp_bad_csum"]),
}
FIELD = re.compile(r"\b[a-z]\w*(?= [=<>&!])")  # of a condition


class TracedDevice(NamedTuple):
    """A device to count at."""

    name: str
    netns: str | None
    mtu: int


class Traced(TypedDict):
    """What was counted."""

    devices: dict[str, dict[str, int]]  # by device: packets
    segments: dict[str, float]  # by device: into how many a packet is cut, on average
    host: dict[str, int]
    drops: list[Drop]  # of the packets ``dropped`` those whose records were read
    by_namespace: bool  # the kernel knows the namespace of a device
    missing: list[str]  # counters that this kernel does not have


class _Part(NamedTuple):
    """An event, and what it counts."""

    device: str  # empty: the host
    counter: str
    source: str
    event: perf_events.Event


def _condition(counter: Counter, device: TracedDevice | None, fields: Mapping[str, object]) -> str:
    """Return the filter of a counter; ``fields`` are its tracepoint's fields."""
    terms = [counter.condition] if counter.condition else []
    if device:
        full, longest = int(device.mtu * FULL), device.mtu + LINK_HEADER
        terms = [term.format(full=full, longest=longest) for term in terms]
        terms.insert(0, f'name == "{network.device_name(device.name)}"')
    if device and COOKIE in fields:
        with open_socket(socket.AF_INET, socket.SOCK_DGRAM, netns=device.netns) as sock:
            cookie = sock.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)
        terms.append(f"{COOKIE} == {int.from_bytes(cookie, 'little')}")
    return " && ".join(terms)


def _parts(
    device: TracedDevice | None, counters: dict[str, Counter], layouts: dict[str, EventFormat]
) -> list[_Part]:
    """Return the events of those counters that this kernel has."""
    parts = []
    for name, counter in counters.items():
        for source in counter.events:
            layout = layouts.get(source)
            if layout is None or not layout.fields.keys() >= set(FIELD.findall(counter.condition)):
                continue
            condition = _condition(counter, device, layout.fields)
            event = perf_events.Event(layout.number, condition, counter.period)
            key = network.device_key(device.name, device.netns) if device else ""
            parts.append(_Part(key, name, source, event))
    return parts


class Tracing:
    """Tracepoints that are counted between :meth:`begin` and :meth:`end`; close it after that.

    Raise LabError where the kernel or a container allows none.
    """

    def __init__(self, devices: Sequence[TracedDevice] = ()) -> None:
        counters = [*OF_HOST.values(), *(OF_DEVICE.values() if devices else ())]
        names = itertools.chain.from_iterable(counter.events for counter in counters)
        texts = tracefs.formats(sorted(set(names)))
        self.layouts = {name: tracefs.parse(text) for name, text in texts.items()}
        self.parts = _parts(None, OF_HOST, self.layouts)
        for device in devices:
            self.parts += _parts(device, OF_DEVICE, self.layouts)
        self.missing = sorted(
            {*OF_HOST, *(OF_DEVICE if devices else ())} - {part.counter for part in self.parts}
        )
        self.group = perf_events.Group([part.event for part in self.parts])
        self.tally = DropTally(self.layouts[DROPPED]) if DROPPED in self.layouts else None
        self.cut: dict[str, list[int]] = {}  # by device: the sampled numbers of segments

    def begin(self) -> None:
        """Count from now on."""
        self.group.enable()

    def end(self) -> None:
        """Count no more, and read the records that were kept; it may begin again."""
        self.group.disable()
        for index, record in self.group.records():
            part = self.parts[index]
            if part.source == DROPPED and self.tally:
                self.tally.add(record)
            else:
                segments = self.layouts[part.source].value(record, "gso_segs")
                self.cut.setdefault(part.device, []).append(segments)

    def counted(self) -> Traced:
        """Return all that was counted."""
        devices: dict[str, dict[str, int]] = {}
        for part, count in zip(self.parts, self.group.read()):
            counts = devices.setdefault(part.device, {})
            counts[part.counter] = counts.get(part.counter, 0) + count
        host = devices.pop("", {})
        start = self.layouts.get(START_XMIT)
        return {
            "devices": devices,
            "segments": {key: sum(cut) / len(cut) for key, cut in self.cut.items()},
            "host": host,
            "drops": self.tally.drops() if self.tally else [],
            "by_namespace": bool(start and COOKIE in start.fields),
            "missing": self.missing,
        }

    def close(self) -> None:
        """Give the kernel its events back."""
        self.group.close()
