# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The taps of a virtual machine: open files that QEMU gets. They go with it, however it ends."""
from __future__ import annotations

import contextlib
import fcntl
import os
import struct
from typing import Any, Iterator, Mapping

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import batch
from ansible_collections.offload.lab.plugins.module_utils._host.apply import apply
from ansible_collections.offload.lab.plugins.module_utils._host.netns import inside
from ansible_collections.offload.lab.plugins.module_utils._machines.names import BRIDGE, tap_of

# linux/if_tun.h
DEVICE = "/dev/net/tun"
TUNSETIFF = 0x400454CA
IFF_TAP, IFF_MULTI_QUEUE, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x0100, 0x1000, 0x4000


def _open(name: str, flags: int) -> int:
    descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    except OSError as error:
        os.close(descriptor)
        raise LabError(f"cannot be turned into a tap ({error.strerror})", name, "Check whether another QEMU has it.")
    return descriptor


@contextlib.contextmanager
def opened(netns: str, machine: Mapping[str, Any]) -> Iterator[dict[str, list[int]]]:
    """Have the taps of a machine's NICs open and on the bridge of the namespace: ``{device: [descriptor, ...]}``.

    The header of virtio goes with each packet, so that one machine's super-packets reach the other's device whole.
    """
    with contextlib.ExitStack() as stack:
        found: dict[str, list[int]] = {}
        with inside(netns):
            for index, nic in enumerate(machine["nics"]):
                flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | (IFF_MULTI_QUEUE if nic["queues"] > 1 else 0)
                for _queue in range(nic["queues"]):
                    descriptor = _open(tap_of(machine["name"], index), flags)
                    stack.callback(os.close, descriptor)
                    found.setdefault(nic["name"], []).append(descriptor)
        apply(batch([f"link set dev {tap_of(machine['name'], index)} mtu {nic['mtu']} master {BRIDGE} up"
                     for index, nic in enumerate(machine["nics"])], netns))
        yield found
