# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets inside a network namespace, and what the kernel reports through them: features, MTU, packets.

Constants: linux/if_packet.h, linux/sockios.h, linux/ethtool.h.
"""
from __future__ import annotations

import ctypes
import fcntl
import select
import socket
import struct
import time
from typing import Iterable, Sequence, TypedDict

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import netns as host_netns
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import beside
from ansible_collections.offload.lab.plugins.module_utils._observe import driver_counters, packets

ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_AUXDATA = 263, 8
SIOCGIFMTU, SIOCETHTOOL = 0x8921, 0x8946
ETHTOOL_GFEATURES = 0x3A
FEATURE_BLOCKS = 4  # of 32 features each; Linux 6.18 uses two
HEAD = 128  # bytes kept of each packet: VLAN tags, an IPv6 underlay, UDP and VXLAN fit


class Device(TypedDict, total=False):
    """A device to look at; those of an end that are ``alike`` count as one."""

    name: str
    netns: str | None
    alike: bool


def open_socket(family: int, kind: int, protocol: int = 0, netns: str | None = None) -> socket.socket:
    """Return a socket that lives in the named network namespace; this thread is back in its own afterwards."""
    with host_netns.inside(netns):
        return socket.socket(family, kind, protocol)


def _request(device: Device, extra: bytes) -> bytes:
    return struct.pack("16s24s", device["name"].encode(), extra)


def mtu(sock: socket.socket, device: Device) -> int:
    """Return the device's MTU in bytes."""
    return struct.unpack_from("16si", fcntl.ioctl(sock, SIOCGIFMTU, _request(device, b"")))[1]


def active_features(sock: socket.socket, device: Device) -> str:
    """Return the device's active features as a hexadecimal number, one bit a feature in the kernel's order."""
    size = 8 + 16 * FEATURE_BLOCKS
    data = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_GFEATURES, FEATURE_BLOCKS), size)
    fcntl.ioctl(sock, SIOCETHTOOL, _request(device, struct.pack("P", ctypes.addressof(data))))
    blocks = struct.unpack_from("I", data.raw, 4)[0]
    words = [struct.unpack_from("I", data.raw, 8 + 16 * block + 8)[0] for block in range(min(blocks, FEATURE_BLOCKS))]
    return format(sum(word << (32 * block) for block, word in enumerate(words)), "x")


def features_of(devices: Iterable[Device]) -> dict[str, str | None]:
    """Return ``{device key: active features}``; a device that is gone has None."""
    features: dict[str, str | None] = {}
    for device in devices:
        try:
            with open_socket(socket.AF_INET, socket.SOCK_DGRAM, netns=device.get("netns")) as sock:
                features[network.key_of(device)] = active_features(sock, device)
        except (OSError, LabError):
            features[network.key_of(device)] = None
    return features


def _tap(device: Device) -> socket.socket:
    """Return a socket that sees every packet of the device, with its real length and checksum state."""
    try:
        # Without a protocol it hears nothing before it is bound: no packets of other devices, and no wait of 20 ms.
        tap = open_socket(socket.AF_PACKET, socket.SOCK_RAW, netns=device.get("netns"))
        tap.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        tap.bind((device["name"], ETH_P_ALL))
        tap.setblocking(False)
        return tap
    except OSError as error:
        raise LabError(f"its packets cannot be sampled ({error.strerror})", network.key_of(device),
                       "Check that the device exists and that the play runs as root (become: true).")


def _receive(tap: socket.socket, vxlan_port: int) -> packets.Packet | None:
    """Return the next packet of a tap, or None when there is none."""
    try:
        head, ancillary, _flags, address = tap.recvmsg(HEAD, 64)
    except BlockingIOError:
        return None
    status, length = struct.unpack_from("II", ancillary[0][2]) if ancillary else (0, len(head))
    return packets.read_packet(head, length, address[2], status, vxlan_port)


def _close(taps: Iterable[socket.socket]) -> None:
    """Close taps, which the kernel takes 20 ms each for: nobody needs to wait for it."""
    for tap in taps:
        tap.close()


def sample(devices: Sequence[Device], seconds: float, vxlan_port: int = network.VXLAN_PORT,
           limit: int = 20000) -> dict[str, packets.Sample]:
    """Watch devices simultaneously for ``seconds`` and return ``{device key: summary}`` (:func:`packets.summarise`).

    A summary also has the device's ``mtu``, and the ``counters`` of its driver (:func:`driver_counters.moved`). At
    most ``limit`` packets a device are read, so a fast device cannot keep a CPU busy for long.
    """
    taps: list[tuple[Device, socket.socket, list[packets.Packet]]] = [(device, _tap(device), []) for device in devices]
    try:
        counters = [driver_counters.read(tap, device["name"]) for device, tap, _seen in taps]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            left = max(0, end - time.monotonic())
            ready = select.select([tap for _device, tap, _seen in taps], [], [], left)[0]
            for _device, tap, seen in taps:
                while tap in ready and len(seen) < limit and time.monotonic() < end:
                    packet = _receive(tap, vxlan_port)
                    if packet is None:
                        break
                    seen.append(packet)
            if ready and all(len(seen) >= limit for _device, _open, seen in taps):
                break
        summaries: dict[str, packets.Sample] = {}
        for (device, tap, seen), before in zip(taps, counters):
            moved = driver_counters.moved(before, driver_counters.read(tap, device["name"]))
            size = mtu(tap, device)
            summaries[network.key_of(device)] = {**packets.summarise(seen, size), "mtu": size, "counters": moved}
        return summaries
    finally:
        beside(_close, [tap for _device, tap, _seen in taps])
