# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our XDP program: loaded by bpf(2), attached to a device and detached over rtnetlink.

It has two instructions and passes each packet on. It is known again by its name. A program of
somebody else is neither replaced nor detached. Numbers: include/uapi/linux/bpf.h and if_link.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import socket
import struct
from typing import Iterator

from .._host import netlink
from .xdp import GENERIC, NATIVE, OFF, OURS

CALL_NUMBERS = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361, "s390x": 351}
PROG_LOAD = 5
GET_FD_BY_ID = 13
GET_INFO_BY_FD = 15
TYPE_XDP = 6
INSTRUCTION = struct.Struct("=BBhi")
PASS = INSTRUCTION.pack(0xB7, 0, 0, 2) + INSTRUCTION.pack(0x95, 0, 0, 0)  # r0 = XDP_PASS; exit
LOAD = struct.Struct("=IIQQIIQII16s")
INFO = struct.Struct("=IIQ")
INFO_SIZE = 80
NAME = slice(64, 80)  # of struct bpf_prog_info
ATTRIBUTES = 128  # bytes; the kernel takes zeros behind those that it knows
GET_LINK = 18
SET_LINK = 19
LINK = struct.Struct("=BBHiII")
IFLA_XDP = 43
XDP_FD = 1
XDP_FLAGS = 3
XDP_EXPECTED_FD = 8
NO_PROGRAM = -1
NOT_IF_THERE = 1
REPLACE = 16
MODES = {GENERIC: 2, NATIVE: 4}
PROGRAM_IDS = {6: GENERIC, 5: NATIVE}  # attributes with the number of a mode's program


def _bpf(command: int, attributes: bytes) -> int:
    """Call bpf(2); raises ``OSError``."""
    number = CALL_NUMBERS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, "the number of bpf(2) on this architecture is not known")
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, ATTRIBUTES)
    result: int = library.syscall(number, command, buffer, ATTRIBUTES)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _load() -> int:
    """Return the descriptor of a new program."""
    code = ctypes.create_string_buffer(PASS, len(PASS))
    licence = ctypes.create_string_buffer(b"GPL")
    count = len(PASS) // INSTRUCTION.size
    addresses = (ctypes.addressof(code), ctypes.addressof(licence))
    return _bpf(PROG_LOAD, LOAD.pack(TYPE_XDP, count, *addresses, 0, 0, 0, 0, 0, OURS.encode()))


@contextlib.contextmanager
def _program(number: int) -> Iterator[int]:
    """Hold a program of the kernel open by its number."""
    descriptor = _bpf(GET_FD_BY_ID, number.to_bytes(4, "little"))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def name_of(number: int) -> str:
    """Return the name of a program, empty where the kernel does not say it."""
    info = ctypes.create_string_buffer(INFO_SIZE)
    with contextlib.suppress(OSError), _program(number) as descriptor:
        _bpf(GET_INFO_BY_FD, INFO.pack(descriptor, INFO_SIZE, ctypes.addressof(info)))
    return info.raw[NAME].rstrip(b"\0").decode("ascii", "replace")


def attached_of(answer: bytes) -> dict[str, int]:
    """Return ``{mode: number of its program}`` of a link that rtnetlink describes."""
    nested = dict(netlink.attributes(answer[LINK.size :])).get(IFLA_XDP, b"")
    return {
        PROGRAM_IDS[kind]: int.from_bytes(value, "little")
        for kind, value in netlink.attributes(nested)
        if kind in PROGRAM_IDS and len(value) == 4
    }


def _attached(sock: socket.socket, device: str) -> dict[str, int]:
    netlink.send(sock, GET_LINK, 0, LINK.pack(0, 0, 0, socket.if_nametoindex(device), 0, 0))
    for kind, answer in netlink.messages(sock.recv(netlink.BUFFER)):
        if kind != netlink.ERROR:
            return attached_of(answer)
    return {}


def _request(device: str, descriptor: int, flags: int, expected: int | None) -> bytes:
    program = netlink.attribute(XDP_FD, struct.pack("=i", descriptor))
    program += netlink.attribute(XDP_FLAGS, struct.pack("=I", flags))
    if expected is not None:
        program += netlink.attribute(XDP_EXPECTED_FD, struct.pack("=i", expected))
    link = LINK.pack(0, 0, 0, socket.if_nametoindex(device), 0, 0)
    return link + netlink.attribute(IFLA_XDP | netlink.NESTED, program)


def _detach(sock: socket.socket, device: str, mode: str, number: int) -> None:
    """Detach our program, and no other one that somebody attaches meanwhile."""
    if name_of(number) != OURS:
        raise OSError(errno.EBUSY, f"program {number} is not from offload.lab")
    with _program(number) as ours:
        request = _request(device, NO_PROGRAM, MODES[mode] | REPLACE, ours)
        netlink.change(sock, SET_LINK, request)


def set_level(device: str, level: str) -> None:
    """Bring a device of this network namespace to a level; raises ``OSError``."""
    with netlink.opened(netlink.ROUTE) as sock:
        for mode, number in _attached(sock, device).items():
            if number:
                _detach(sock, device, mode, number)
        if level == OFF:
            return
        program = _load()
        try:
            request = _request(device, program, MODES[level] | NOT_IF_THERE, None)
            netlink.change(sock, SET_LINK, request)
        finally:
            os.close(program)
