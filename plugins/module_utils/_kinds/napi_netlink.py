# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NAPI instances of devices, read and set over generic netlink. Pure, but for the socket.

Family netdev, Linux 6.8 or later; Linux 6.13 sets. Numbers: include/uapi/linux/netdev.h.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
from typing import Dict, Iterable

from .._host import netlink
from .napi import GRO_FLUSH_TIMEOUT_OF_NAPI, IRQ_SUSPEND_TIMEOUT_OF_NAPI

NAPI_GET = 11
NAPI_SET = 14
IFINDEX = 1
ID = 2
LONG = 8  # bytes of a timeout; other numbers have 4
SIZES = {GRO_FLUSH_TIMEOUT_OF_NAPI: LONG, IRQ_SUSPEND_TIMEOUT_OF_NAPI: LONG}
Napi = Dict[int, int]  # numbers by attribute


def napi_of(answer: bytes) -> Napi:
    """Return the numbers in one answer."""
    return {
        kind: int.from_bytes(value, sys.byteorder)
        for kind, value in netlink.attributes(answer)
        if len(value) in (4, 8)
    }


def by_device(napis: Iterable[Napi]) -> dict[int, list[Napi]]:
    """Return instances by the number of their device, in the order of their numbers.

    A driver adds the instance of its first queue first, so this is the order of queues.
    """
    devices: dict[int, list[Napi]] = {}
    for napi in sorted(napis, key=lambda napi: napi.get(ID, 0)):
        if napi.get(ID) and napi.get(IFINDEX):
            devices.setdefault(napi[IFINDEX], []).append(napi)
    return devices


def _all() -> dict[int, list[Napi]]:
    with netlink.opened(netlink.GENERIC_FAMILIES) as sock:
        family = netlink.family(sock, "netdev")
        if family is None:
            return {}
        answers = netlink.ask(sock, family, NAPI_GET, netlink.DUMP)
        return by_device([napi_of(answer) for answer in answers])


def read() -> dict[str, list[Napi]]:
    """Return the instances of each device of this network namespace; empty where the kernel lists none."""
    named: dict[str, list[Napi]] = {}
    with contextlib.suppress(OSError):
        for index, napis in _all().items():
            with contextlib.suppress(OSError):  # the device went away meanwhile
                named[socket.if_indextoname(index)] = napis
    return named


def set_number(device: str, position: int, kind: int, value: int) -> None:
    """Set an attribute of the instance at a position of a device; raises ``OSError``."""
    napis = read().get(device, [])
    if position >= len(napis):
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    asked = netlink.attribute(ID, napis[position][ID].to_bytes(4, sys.byteorder))
    asked += netlink.attribute(kind, value.to_bytes(SIZES.get(kind, 4), sys.byteorder))
    with netlink.opened(netlink.GENERIC_FAMILIES) as sock:
        family = netlink.family(sock, "netdev") or 0
        netlink.change(sock, family, netlink.GENERIC.pack(NAPI_SET, 1, 0) + asked)
