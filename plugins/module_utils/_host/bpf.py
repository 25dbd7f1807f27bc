# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BPF programs of network devices: XDP, tc filters and tcx, by bpf(2) and rtnetlink.

Numbers: include/uapi/linux/bpf.h, if_link.h and pkt_cls.h. Linux 6.6 and later has tcx.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import socket
import struct
import sys
from typing import Iterator, NamedTuple

from . import netlink

CALL_NUMBERS = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361, "s390x": 351}
GET_FD_BY_ID = 13
GET_INFO_BY_FD = 15
QUERY = 16
INFO = struct.Struct("=IIQ")
INFO_SIZE = 80
TAG = slice(8, 16)  # of struct bpf_prog_info
NAME = slice(64, 80)
QUERIED = struct.Struct("=IIIIQI")
MOST_PROGRAMS = 32  # at one hook
TCX = {46: "tcx ingress", 47: "tcx egress"}
ATTRIBUTES = 128  # bytes; the kernel takes zeros behind those that it knows
GET_LINK = 18
LINK = struct.Struct("=BBHiII")
IFLA_XDP = 43
XDP_IDS = {4: "xdp", 5: "xdp native", 6: "xdp generic", 7: "xdp offloaded"}
ANY_MODE = 4  # the one program, whose mode has an attribute of its own
GET_FILTER = 46
FILTER = struct.Struct("=BBHiIII")
PARENTS = {0xFFFFFFF2: "tc ingress", 0xFFFFFFF3: "tc egress"}
FILTER_OPTIONS = 2
FILTER_PROGRAM = 11


class Program(NamedTuple):
    """A program at a hook of a device."""

    hook: str  # such as xdp native, tc ingress, tcx egress
    number: int


def call(command: int, attributes: bytes) -> tuple[int, bytes]:
    """Call bpf(2); return its result and what it has written. Raises ``OSError``."""
    number = CALL_NUMBERS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, "the number of bpf(2) on this architecture is not known")
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, ATTRIBUTES)
    result: int = library.syscall(number, command, buffer, ATTRIBUTES)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, buffer.raw


@contextlib.contextmanager
def opened(number: int) -> Iterator[int]:
    """Hold a program of the kernel open by its number; give its descriptor."""
    descriptor = call(GET_FD_BY_ID, struct.pack("=I", number))[0]
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def info_of(number: int) -> dict[str, str]:
    """Return the ``name`` and the ``tag`` of a program; empty where the kernel does not say them."""
    info = ctypes.create_string_buffer(INFO_SIZE)
    try:
        with opened(number) as descriptor:
            call(GET_INFO_BY_FD, INFO.pack(descriptor, INFO_SIZE, ctypes.addressof(info)))
    except OSError:
        return {}
    name = info.raw[NAME].rstrip(b"\0").decode("ascii", "replace")
    return {"name": name, "tag": info.raw[TAG].hex()}


def link_request(device: str) -> bytes:
    """Return how a message of rtnetlink about a device begins."""
    return LINK.pack(0, 0, 0, socket.if_nametoindex(device), 0, 0)


def xdp_of(answer: bytes) -> list[Program]:
    """Return the XDP programs of a link that rtnetlink describes."""
    nested = dict(netlink.attributes(answer[LINK.size :])).get(IFLA_XDP, b"")
    return [
        Program(XDP_IDS[kind], int.from_bytes(value, sys.byteorder))
        for kind, value in netlink.attributes(nested)
        if kind in XDP_IDS and kind != ANY_MODE and len(value) == 4 and any(value)
    ]


def xdp(sock: socket.socket, device: str) -> list[Program]:
    """Return the XDP programs of a device."""
    netlink.send(sock, GET_LINK, 0, link_request(device))
    for kind, answer in netlink.messages(sock.recv(netlink.BUFFER)):
        if kind != netlink.ERROR:
            return xdp_of(answer)
    return []


def filter_of(answer: bytes, hook: str) -> list[Program]:
    """Return the program of a tc filter that rtnetlink describes, none for another filter."""
    options = dict(netlink.attributes(answer[FILTER.size :])).get(FILTER_OPTIONS, b"")
    value = dict(netlink.attributes(options)).get(FILTER_PROGRAM, b"")
    return [Program(hook, int.from_bytes(value, sys.byteorder))] if len(value) == 4 else []


def _filters(sock: socket.socket, device: str) -> Iterator[Program]:
    index = socket.if_nametoindex(device)
    for parent, hook in PARENTS.items():
        request = FILTER.pack(0, 0, 0, index, 0, parent, 0)
        for answer in netlink.listed(sock, GET_FILTER, request):
            yield from filter_of(answer, hook)


def _tcx(device: str) -> Iterator[Program]:
    numbers = (ctypes.c_uint32 * MOST_PROGRAMS)()
    index = socket.if_nametoindex(device)
    for kind, hook in TCX.items():
        asked = QUERIED.pack(index, kind, 0, 0, ctypes.addressof(numbers), MOST_PROGRAMS)
        with contextlib.suppress(OSError):  # a kernel without tcx
            count = QUERIED.unpack_from(call(QUERY, asked)[1])[-1]
            for number in numbers[: min(count, MOST_PROGRAMS)]:
                yield Program(hook, number)


def programs(device: str) -> list[Program]:
    """Return the programs of a device of this network namespace; raises ``OSError`` where it is gone."""
    with netlink.opened(netlink.ROUTE) as sock:
        return [*xdp(sock, device), *_filters(sock, device), *_tcx(device)]


def described(device: str) -> dict[str, dict[str, object]]:
    """Return ``{hook: {id, name, tag}}`` of the programs of a device; empty where none is known."""
    by_hook: dict[str, dict[str, object]] = {}
    with contextlib.suppress(OSError):
        for program in programs(device):
            same = sum(hook.startswith(program.hook) for hook in by_hook)
            hook = f"{program.hook} {same + 1}" if same else program.hook
            by_hook[hook] = {"id": program.number, **info_of(program.number)}
    return by_hook
