# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our XDP program: loaded by bpf(2), attached to a device and detached over rtnetlink.

It has two instructions and passes each packet on. It is known again by its name. A program of
somebody else is neither replaced nor detached. Numbers: include/uapi/linux/bpf.h and if_link.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct

from .._host import bpf, netlink
from .xdp import GENERIC, NATIVE, OFF, OURS

PROG_LOAD = 5
TYPE_XDP = 6
INSTRUCTION = struct.Struct("=BBhi")
PASS = INSTRUCTION.pack(0xB7, 0, 0, 2) + INSTRUCTION.pack(0x95, 0, 0, 0)  # r0 = XDP_PASS; exit
LOAD = struct.Struct("=IIQQIIQII16s")
SET_LINK = 19
XDP_FD = 1
XDP_FLAGS = 3
XDP_EXPECTED_FD = 8
NO_PROGRAM = -1
NOT_IF_THERE = 1
REPLACE = 16
MODES = {GENERIC: 2, NATIVE: 4, "offloaded": 8}


def _load() -> int:
    """Return the descriptor of a new program."""
    code = ctypes.create_string_buffer(PASS, len(PASS))
    licence = ctypes.create_string_buffer(b"GPL")
    count = len(PASS) // INSTRUCTION.size
    addresses = (ctypes.addressof(code), ctypes.addressof(licence))
    named = LOAD.pack(TYPE_XDP, count, *addresses, 0, 0, 0, 0, 0, OURS.encode())
    return bpf.call(PROG_LOAD, named)[0]


def _request(device: str, descriptor: int, flags: int, expected: int | None) -> bytes:
    program = netlink.attribute(XDP_FD, struct.pack("=i", descriptor))
    program += netlink.attribute(XDP_FLAGS, struct.pack("=I", flags))
    if expected is not None:
        program += netlink.attribute(XDP_EXPECTED_FD, struct.pack("=i", expected))
    return bpf.link_request(device) + netlink.attribute(bpf.IFLA_XDP | netlink.NESTED, program)


def _detach(sock: socket.socket, device: str, mode: str, number: int) -> None:
    """Detach our program, and no other one that somebody attaches meanwhile."""
    if bpf.info_of(number).get("name") != OURS:
        raise OSError(errno.EBUSY, f"program {number} is not from offload.lab")
    with bpf.opened(number) as ours:
        request = _request(device, NO_PROGRAM, MODES[mode] | REPLACE, ours)
        netlink.change(sock, SET_LINK, request)


def set_level(device: str, level: str) -> None:
    """Bring a device of this network namespace to a level; raises ``OSError``."""
    with netlink.opened(netlink.ROUTE) as sock:
        for program in bpf.xdp(sock, device):
            _detach(sock, device, program.hook.partition(" ")[2], program.number)
        if level == OFF:
            return
        descriptor = _load()
        try:
            request = _request(device, descriptor, MODES[level] | NOT_IF_THERE, None)
            netlink.change(sock, SET_LINK, request)
        finally:
            os.close(descriptor)
