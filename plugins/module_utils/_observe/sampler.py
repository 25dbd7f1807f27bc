# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets inside a network namespace, and what the kernel tells through them: features, MTU, packets.

Constants: linux/if_packet.h, linux/sockios.h, linux/ethtool.h.
"""
from __future__ import annotations

import ctypes
import fcntl
import select
import socket
import struct
import time

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import netns as host_netns
from ansible_collections.offload.lab.plugins.module_utils._observe import driver_counters, packets

ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_AUXDATA = 263, 8
SIOCGIFMTU, SIOCETHTOOL = 0x8921, 0x8946
ETHTOOL_GFEATURES = 0x3A
FEATURE_BLOCKS = 4  # of 32 features each; Linux 6.18 uses two
HEAD = 128  # bytes kept of each packet: VLAN tags, an IPv6 underlay, UDP and VXLAN fit


def open_socket(family, kind, protocol=0, netns=None):
    """Return a socket that lives in the named network namespace; this thread is back in its own afterwards."""
    with host_netns.inside(netns):
        return socket.socket(family, kind, protocol)


def _request(device, extra):
    return struct.pack("16s24s", device["name"].encode(), extra)


def mtu(sock, device):
    """Return the device's MTU in bytes."""
    return struct.unpack_from("16si", fcntl.ioctl(sock, SIOCGIFMTU, _request(device, b"")))[1]


def active_features(sock, device):
    """Return the device's active features as a hexadecimal number, one bit a feature in the kernel's order."""
    size = 8 + 16 * FEATURE_BLOCKS
    data = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_GFEATURES, FEATURE_BLOCKS), size)
    fcntl.ioctl(sock, SIOCETHTOOL, _request(device, struct.pack("P", ctypes.addressof(data))))
    blocks = struct.unpack_from("I", data.raw, 4)[0]
    words = [struct.unpack_from("I", data.raw, 8 + 16 * block + 8)[0] for block in range(min(blocks, FEATURE_BLOCKS))]
    return format(sum(word << (32 * block) for block, word in enumerate(words)), "x")


def features_of(devices):
    """Return ``{device key: active features}``; a device that is gone has None."""
    features = {}
    for device in devices:
        try:
            with open_socket(socket.AF_INET, socket.SOCK_DGRAM, netns=device.get("netns")) as sock:
                features[network.key_of(device)] = active_features(sock, device)
        except (OSError, LabError):
            features[network.key_of(device)] = None
    return features


def _tap(device):
    """Return a socket that sees every packet of the device, with its real length and checksum state."""
    try:
        tap = open_socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL), device.get("netns"))
        tap.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        tap.bind((device["name"], ETH_P_ALL))
        tap.setblocking(False)
        return tap
    except OSError as error:
        raise LabError(f"its packets cannot be sampled ({error.strerror})", network.key_of(device),
                       "Check that the device exists and that the play runs as root (become: true).")


def _receive(tap, vxlan_port):
    """Return the next packet of a tap, or None when there is none."""
    try:
        head, ancillary, _flags, address = tap.recvmsg(HEAD, 64)
    except BlockingIOError:
        return None
    status, length = struct.unpack_from("II", ancillary[0][2]) if ancillary else (0, len(head))
    return packets.read_packet(head, length, address[2], status, vxlan_port)


def sample(devices, seconds, vxlan_port=network.VXLAN_PORT, limit=20000):
    """Watch devices for ``seconds`` at once and return ``{device key: summary}`` (:func:`packets.summarise`).

    A summary also has the device's ``mtu``, and the ``counters`` of its driver (:func:`driver_counters.moved`). At
    most ``limit`` packets a device are read, so that a fast device cannot keep a CPU for long.
    """
    taps = [(device, _tap(device), []) for device in devices]
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
        summaries = {}
        for (device, tap, seen), before in zip(taps, counters):
            moved = driver_counters.moved(before, driver_counters.read(tap, device["name"]))
            size = mtu(tap, device)
            summaries[network.key_of(device)] = dict(packets.summarise(seen, size), mtu=size, counters=moved)
        return summaries
    finally:
        for _device, tap, _seen in taps:
            tap.close()
