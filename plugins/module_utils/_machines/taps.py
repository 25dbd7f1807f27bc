# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The taps of a virtual machine: open files that QEMU inherits.

Those in the fabric disappear with QEMU, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
from typing import Iterator

from .._base.errors import LabError
from .._base.steps import batch
from .._host.apply import apply
from .._host.netns import inside
from .._host.runner import run
from .machine import BRIDGE, Machine, Nic, Tap, netns_of, tap_of, wanted_taps

# linux/if_tun.h
DEVICE = "/dev/net/tun"
TUNSETIFF = 0x400454CA
TUNSETPERSIST = 0x400454CB
IFF_TAP = 0x0002
IFF_MULTI_QUEUE = 0x0100
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000


def _open(name: str, flags: int) -> int:
    descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    except OSError as error:
        os.close(descriptor)
        raise LabError(
            f"cannot be turned into a tap ({error.strerror})",
            name,
            "Check whether another QEMU has it.",
        )
    return descriptor


def found(machine: Machine) -> list[Tap]:
    """Return ``(namespace, tap)`` of the taps of a machine that are in namespaces which are not the
    lab's own.
    """
    names = wanted_taps(machine)
    return [
        (netns, tap)
        for netns, tap in names
        if run(["ip", "-netns", netns, "link", "show", "dev", tap], check=False).rc == 0
    ]


@contextlib.contextmanager
def opened(lab: str, machine: Machine) -> Iterator[dict[str, list[int]]]:
    """Open the taps of a machine's NICs and bring them up: ``{device: [descriptor, ...]}``.

    Those in the fabric are on its bridge. In a namespace that is given, its owner connects them.
    There they outlive QEMU: Open vSwitch holds on to a device that is gone, and gets nothing from a
    new one of the same name. Each packet has the header of virtio, so one machine's
    super-packets reach the other's device whole.
    """
    with contextlib.ExitStack() as stack:
        queues: dict[str, list[int]] = {}
        for index, nic in enumerate(machine["nics"]):
            tap = tap_of(machine["name"], index)
            netns = netns_of(lab, nic)
            with inside(netns):
                queues[nic["name"]] = [_queue(stack, tap, nic) for _number in range(nic["queues"])]
            master = "" if nic.get("netns") else f"master {BRIDGE} "
            apply(batch([f"link set dev {tap} mtu {nic['mtu']} {master}up"], netns))
        yield queues


def _queue(stack: contextlib.ExitStack, tap: str, nic: Nic) -> int:
    """Open a queue of a tap until the end of the ``stack``; return its descriptor."""
    flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR
    if nic["queues"] > 1:
        flags |= IFF_MULTI_QUEUE
    descriptor = _open(tap, flags)
    stack.callback(os.close, descriptor)
    if nic.get("netns"):
        fcntl.ioctl(descriptor, TUNSETPERSIST, 1)
    return descriptor
