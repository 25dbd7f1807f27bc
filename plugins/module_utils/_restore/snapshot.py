# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a node before the first change, on its disk until it is restored."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
from typing import Any, Dict, Iterable, Iterator, TypedDict, cast

from .._base import network
from .._base.errors import InputError, LabError
from .._host import files, netns
from .._host.waiting import PATIENCE, wait_until

PATH = "/var/lib/offload-lab/snapshot.json"  # where it is by default
SCHEMA = 1
Item = Dict[str, Any]  # a device, and what is to be restored of it, by kind
SIOCGIFMTU = 0x8921  # linux/sockios.h


class Switch(TypedDict, total=False):
    """Of the lab's own ports of Open vSwitch; nothing where it does not run."""

    tunnels: dict[str, dict[str, str]]  # options
    buffers: dict[str, int]  # bytes


class Other(TypedDict, total=False):
    """What a snapshot has beside devices and links, by device."""

    ovs: Switch
    vxlan: dict[str, Any]  # see vxlan_devices.saved


class AppliedSettings(TypedDict):
    """What apply set: when, at which boot, and the values of each device that it changed."""

    since: float  # seconds since the epoch
    boot_id: str
    devices: list[Item]


class Snapshot(TypedDict):
    """The content of a snapshot's file."""

    schema: int
    devices: list[Item]
    links: list[Item]
    other: Other


class KeptApplied(Snapshot, total=False):
    """The file of what was applied: a snapshot of the originals, and what was set instead."""

    applied: AppliedSettings


def boot_id() -> str:
    """Return what the kernel calls this boot."""
    with open("/proc/sys/kernel/random/boot_id") as stream:
        return stream.read().strip()


def read(path: str) -> Snapshot | None:
    """Return the snapshot in a file, or None where there is no file."""
    try:
        with open(path) as stream:
            snapshot = json.load(stream)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise LabError(
            f"the snapshot cannot be read ({error})",
            path,
            "Restore the node by hand, then remove the file.",
        )
    if not isinstance(snapshot, dict) or snapshot.get("schema") != SCHEMA:
        raise LabError(
            f"this is not a snapshot of schema {SCHEMA}",
            path,
            "Restore with the version of offload.lab that wrote it.",
        )
    return cast(Snapshot, snapshot)


@contextlib.contextmanager
def held(path: str, patience: float = PATIENCE) -> Iterator[None]:
    """Restore from a snapshot alone: a task and the dead man's switch may begin together.

    One may find none. After ``patience`` seconds of another process that hangs, both set the same.
    """

    def locked() -> bool:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # no file, or one that read() has a message for
            stream = stack.enter_context(open(path))
            wait_until(locked, patience=patience)
        yield


def merge(old: Snapshot | None, devices: Iterable[Item], other: Other) -> Snapshot:
    """Return the snapshot with what it lacks added.

    What it has is never replaced: the state may have changed since.
    """
    kept: Snapshot = old or {"schema": SCHEMA, "devices": [], "links": [], "other": {}}
    known = {network.key_of(device) for device in kept["devices"]}
    added = [device for device in devices if network.key_of(device) not in known]
    links = kept["links"] + [link_of(device) for device in added if exists(device)]
    return {
        **kept,
        "devices": kept["devices"] + added,
        "links": links,
        "other": {**other, **kept["other"]},
    }


def link_of(device: Item) -> Item:
    """Return ``{"name", "netns", "mtu"}`` of a device that is there."""
    request = struct.pack("16s16x", device["name"].encode())
    with netns.inside(device.get("netns")), socket.socket(
        socket.AF_INET, socket.SOCK_DGRAM
    ) as asking:
        answer = fcntl.ioctl(asking.fileno(), SIOCGIFMTU, request)
    return {
        "name": device["name"],
        "netns": device.get("netns"),
        "mtu": struct.unpack_from("i", answer, 16)[0],
    }


def write(path: str, snapshot: Snapshot) -> None:
    """Write the whole file at one stroke and wait until it is on the disk."""
    files.write(path, json.dumps(snapshot, indent=1, sort_keys=True), 0o600)
    files.sync_folder(os.path.dirname(path))


def remove(path: str) -> None:
    """Remove the file, and the folders of the lab in which nothing else is; it may be gone already."""
    with contextlib.suppress(
        FileNotFoundError
    ):  # the dead man's switch may have restored at the same time
        os.unlink(path)
        files.sync_folder(os.path.dirname(path))
    for folder in (os.path.join(os.path.dirname(path), "spool"), os.path.dirname(path)):
        with contextlib.suppress(OSError):  # what no controller has collected stays
            os.rmdir(folder)


def exists(device: Item) -> bool:
    """Return whether a device is there now."""
    try:
        with netns.inside(device.get("netns")):
            socket.if_nametoindex(device["name"])
    except (InputError, OSError):
        return False
    return True
