# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counters are compared with ``ethtool -S`` in tests/system/test_evidence.py."""

from __future__ import annotations

import ctypes
import socket
import struct

import pytest

from ansible_collections.offload.lab.plugins.module_utils._observe import sampler

BEFORE = {
    "rx_packets": 1,
    "tx_tso_packets": 10,
    "rx_lro_bytes": 0,
    "tx_csum_partial": 7,
    "rx_gro_packets": 3,
}
NAMES = [b"tx_tso_packets", b"rx_queue_0_packets_of_32_letters"]


def kernel(count, values, gone=False):
    """Return an ioctl that answers as a driver with these counters does, or fails as without a
    device.
    """

    def ioctl(_sock, _number, request):
        if gone:
            raise OSError(19, "No such device")
        address = struct.unpack_from("P", request, 16)[0]
        command = struct.unpack_from("I", ctypes.string_at(address, 4))[0]
        offset, data = {
            sampler.GDRVINFO: (180, struct.pack("I", count)),
            sampler.GSTRINGS: (12, b"".join(name.ljust(32, b"\0") for name in NAMES)),
            sampler.GSTATS: (8, struct.pack(f"{len(values)}Q", *values)),
        }[command]
        ctypes.memmove(address + offset, data, len(data))

    return ioctl


def test_only_what_shows_offloads_and_went_up():
    after = {"rx_packets": 9, "tx_tso_packets": 15, "rx_lro_bytes": 0, "tx_csum_partial": 8}
    assert sampler.increased(BEFORE, after) == {"tx_csum_partial": 1, "tx_tso_packets": 5}
    assert sampler.increased({}, after) == {}


@pytest.mark.parametrize(
    "count, values, gone, expected",
    [
        (2, (7, 2**40), False, {"tx_tso_packets": 7, "rx_queue_0_packets_of_32_letters": 2**40}),
        (0, (), False, {}),
        (0, (), True, {}),
    ],
    ids=["two", "none", "no device"],
)
def test_read(monkeypatch, count, values, gone, expected):
    monkeypatch.setattr(sampler.fcntl, "ioctl", kernel(count, values, gone))
    assert sampler.read_counters(None, "eth0") == expected


def test_a_device_without_counters_has_none():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        assert sampler.read_counters(sock, "lo") == {}
