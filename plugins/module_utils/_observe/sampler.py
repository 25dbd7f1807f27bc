# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets inside a network namespace, and what the kernel reports through them: features, MTU,
packets, and the driver's own counters, as ``ethtool -S`` shows them.

Constants and structures: linux/if_packet.h, linux/sockios.h, linux/ethtool.h.
"""

from __future__ import annotations

import ctypes
import fcntl
import re
import select
import socket
import struct
import time
from typing import Iterable, Mapping, NamedTuple, Sequence, TypedDict

from .._base import network
from .._base.errors import LabError
from .._host import bpf
from .._host import netns as host_netns
from .._host.waiting import in_thread
from . import packets
from .packets import Frame
from .reading import Sample

GDRVINFO = 0x03
GSTRINGS = 0x1B
GSTATS = 0x1D
DRVINFO_SIZE = 196
COUNT_AT = 180
STATISTICS_SET = 1
NAME_SIZE = 32
SPARE = 64  # counters; a driver may add some between two questions
# The words of drivers' counters about segmentation, merging, tunnels and checksums.
OFFLOAD = re.compile(
    r"tso|lso|gso|gro|lro|segment|vxlan|tnl|tunnel|encap|inner|csum|checksum|hw_gro", re.IGNORECASE
)


def _ethtool(sock: socket.socket, name: str, head: bytes, size: int) -> bytes:
    data = ctypes.create_string_buffer(head, size)
    pointer = struct.pack("P", ctypes.addressof(data))
    fcntl.ioctl(sock, SIOCETHTOOL, struct.pack("16s24s", name.encode(), pointer))
    return data.raw


def read_counters(sock: socket.socket, name: str) -> dict[str, int]:
    """Return ``{counter: value}`` of a device in the socket's network namespace; empty for a driver
    without any.
    """
    try:
        count = struct.unpack_from(
            "I", _ethtool(sock, name, struct.pack("I", GDRVINFO), DRVINFO_SIZE), COUNT_AT
        )[0]
        if not count:
            return {}
        strings = _ethtool(
            sock, name, struct.pack("III", GSTRINGS, STATISTICS_SET, count), 12 + NAME_SIZE * count
        )
        values = _ethtool(sock, name, struct.pack("II", GSTATS, count), 8 + 8 * (count + SPARE))
    except OSError:
        return {}
    names = [
        strings[12 + NAME_SIZE * index :][:NAME_SIZE].split(b"\0")[0].decode("utf-8", "replace")
        for index in range(count)
    ]
    return dict(zip(names, struct.unpack_from(f"{count}Q", values, 8)))


def increased(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return ``{counter: increase}`` of those that concern offloads and went up between two
    readings.
    """
    return {
        name: after[name] - before[name]
        for name in sorted(before)
        if OFFLOAD.search(name) and after.get(name, 0) > before[name]
    }


ETH_P_ALL = 0x0003
SOL_PACKET = 263
PACKET_AUXDATA = 8
SIOCGIFMTU = 0x8921
SIOCETHTOOL = 0x8946
ETHTOOL_GFEATURES = 0x3A
FEATURE_BLOCKS = 4  # of 32 features each; Linux 6.18 uses two
# Packets each way: a share of this number of independent packets has a standard error of at most 3.5 %
ENOUGH = 200
LIMIT = 20000  # packets of a device at most, so that a fast one cannot keep a CPU busy for long
BATCH = 50  # packets that are read of a device before the next device's
HEAD = 128  # bytes kept of each packet: VLAN tags, an IPv6 underlay, UDP and VXLAN fit
WHOLE = 9600  # bytes read of a packet whose checksums are made again: a jumbo frame


class SampledDevice(TypedDict, total=False):
    """A device to sample; devices of an end that are ``alike`` count as one."""

    name: str
    netns: str | None
    alike: bool


def open_socket(family: int, kind: int, netns: str | None) -> socket.socket:
    """Return a socket that lives in the named network namespace; this thread is back in its own
    afterwards.
    """
    with host_netns.inside(netns):
        return socket.socket(family, kind)


def _request(device: SampledDevice, extra: bytes) -> bytes:
    return struct.pack("16s24s", device["name"].encode(), extra)


def mtu(sock: socket.socket, device: SampledDevice) -> int:
    """Return the device's MTU in bytes."""
    return struct.unpack_from("16si", fcntl.ioctl(sock, SIOCGIFMTU, _request(device, b"")))[1]


def active_features(sock: socket.socket, device: SampledDevice) -> str:
    """Return the device's active features as a hexadecimal number, one bit a feature in the
    kernel's order.
    """
    size = 8 + 16 * FEATURE_BLOCKS
    data = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_GFEATURES, FEATURE_BLOCKS), size)
    fcntl.ioctl(sock, SIOCETHTOOL, _request(device, struct.pack("P", ctypes.addressof(data))))
    blocks = struct.unpack_from("I", data.raw, 4)[0]
    bits = [
        struct.unpack_from("I", data.raw, 8 + 16 * block + 8)[0]
        for block in range(min(blocks, FEATURE_BLOCKS))
    ]
    return format(sum(word << (32 * block) for block, word in enumerate(bits)), "x")


def features_of(devices: Iterable[SampledDevice]) -> dict[str, str | None]:
    """Return ``{device key: active features}``; a device that is gone has None."""
    features: dict[str, str | None] = {}
    for device in devices:
        try:
            with open_socket(socket.AF_INET, socket.SOCK_DGRAM, netns=device.get("netns")) as sock:
                features[network.key_of(device)] = active_features(sock, device)
        except (OSError, LabError):
            features[network.key_of(device)] = None
    return features


def programs_of(devices: Iterable[SampledDevice]) -> dict[str, str | None]:
    """Return ``{device key: BPF programs}``, a text that changes with them; a device that is gone has None."""
    by_device: dict[str, str | None] = {}
    for device in devices:
        try:
            with host_netns.inside(device.get("netns")):
                listed = bpf.programs(device["name"])
            by_device[network.key_of(device)] = ", ".join(
                f"{program.hook} {program.number}" for program in listed
            )
        except (OSError, LabError):
            by_device[network.key_of(device)] = None
    return by_device


def _open_tap(device: SampledDevice) -> socket.socket:
    """Return a socket that sees every packet of the device, with its real length and checksum
    state.
    """
    try:
        # Without a protocol it hears nothing before it is bound: no packets of other devices, and
        # no wait of 20 ms.
        tap = open_socket(socket.AF_PACKET, socket.SOCK_RAW, netns=device.get("netns"))
        tap.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        tap.bind((device["name"], ETH_P_ALL))
        tap.setblocking(False)
        return tap
    except OSError as error:
        raise LabError(
            f"its packets cannot be sampled ({error.strerror})",
            network.key_of(device),
            "Check that the device exists and that the play runs as root (become: true).",
        )


class _Heard(NamedTuple):
    """A packet, and as many of its bytes as were asked for."""

    packet: packets.Packet
    raw: bytes

    def frame(self) -> Frame | None:
        """Return it, if it came in whole and somebody has made its checksum: what GRO has joined, or
        a virtual device has passed on, has none yet.
        """
        packet = self.packet
        if packet.outgoing or packet.not_ready or packet.length + packets.ETHERNET > len(self.raw):
            return None
        return Frame(self.raw, packet.valid)


def _receive(tap: socket.socket, vxlan_port: int, size: int) -> _Heard | None:
    """Return the next packet of a tap, with ``size`` bytes at most, or None when there is none."""
    try:
        raw, ancillary, _flags, address = tap.recvmsg(size, 64)
    except BlockingIOError:
        return None
    status, length = struct.unpack_from("II", ancillary[0][2]) if ancillary else (0, len(raw))
    return _Heard(packets.read_packet(raw[:HEAD], length, address[2], status, vxlan_port), raw)


def _close(taps: Iterable[socket.socket]) -> None:
    """Close taps, which the kernel takes 20 ms each for: nobody needs to wait for it."""
    for tap in taps:
        tap.close()


class _Tap:
    """A device's socket, and the packets that it has heard."""

    def __init__(self, device: SampledDevice) -> None:
        self.device = device
        self.socket = _open_tap(device)
        self.counters = read_counters(self.socket, device["name"])
        self.packets: list[packets.Packet] = []
        self.frames: list[Frame] = []  # the first that arrived, to make their checksums again
        self.bytes = {True: 0, False: 0}  # of packets that go out, and of those that come in
        self.count = {True: 0, False: 0}

    def listen(self, vxlan_port: int) -> None:
        """Read packets that are there; not all, because other devices have some, too."""
        for _turn in range(min(BATCH, LIMIT - len(self.packets))):
            heard = _receive(self.socket, vxlan_port, HEAD if self._has_frames() else WHOLE)
            if heard is None:
                break
            packet = heard.packet
            frame = heard.frame()
            self.packets.append(packet)
            if frame and not self._has_frames():
                self.frames.append(frame)
            self.bytes[packet.outgoing] += packet.length
            self.count[packet.outgoing] += 1

    def _has_frames(self) -> bool:
        return len(self.frames) >= ENOUGH

    def enough(self, both_ways: bool) -> bool:
        """Return whether it has heard all that it reads, or enough of the streams."""
        count = (min if both_ways else max)(self.count.values())
        streams = packets.are_streams(self.bytes[True], self.bytes[False], both_ways)
        return len(self.packets) >= LIMIT or count >= ENOUGH and streams

    def summary(self, vxlan_port: int) -> Sample:
        """Return what was heard."""
        increases = increased(self.counters, read_counters(self.socket, self.device["name"]))
        size = mtu(self.socket, self.device)
        return {
            **packets.summarise(self.packets, size),
            "mtu": size,
            "counters": increases,
            "checksums": packets.counted(self.frames, vxlan_port),
        }


def _listen(taps: Sequence[_Tap], seconds: float, vxlan_port: int, both_ways: bool) -> None:
    """Read from taps until each has seen enough, for ``seconds`` at most."""
    end = time.monotonic() + seconds
    while waiting := [tap for tap in taps if not tap.enough(both_ways)]:
        remaining = end - time.monotonic()
        if remaining <= 0:
            break
        ready = select.select([tap.socket for tap in waiting], [], [], remaining)[0]
        for tap in waiting:
            if tap.socket in ready:
                tap.listen(vxlan_port)


def sample(
    devices: Sequence[SampledDevice],
    seconds: float,
    vxlan_port: int = network.VXLAN_PORT,
    both_ways: bool = True,
) -> dict[str, Sample]:
    """Watch devices simultaneously for ``seconds`` and return ``{device key: summary}``
    (:func:`packets.summarise`).

    It ends sooner when each device has seen enough of the streams, in each direction where they run
    ``both_ways``; one that has is not read any more. A summary also has the device's ``mtu``, and
    the ``counters`` of its driver (:func:`increased`).
    """
    taps: list[_Tap] = []
    try:
        for device in devices:
            taps.append(_Tap(device))
        _listen(taps, seconds, vxlan_port, both_ways)
        return {network.key_of(tap.device): tap.summary(vxlan_port) for tap in taps}
    finally:
        in_thread(_close, [tap.socket for tap in taps])
