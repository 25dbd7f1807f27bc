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
from typing import Any, Iterable, Iterator, Mapping, TypedDict, cast

from .._base import network
from .._base.errors import InputError, LabError
from .._host import files, netns, trusted
from .._host.waiting import PATIENCE, wait_until
from .._kinds.command_levels import GROUP
from .._kinds.kind import Item
from . import identity

PATH = "/var/lib/offload-lab/snapshot.json"  # where it is by default
SCHEMA = 2
SCHEMAS = (1, SCHEMA)  # 1 has neither identities nor a boot: devices are known by their names
SIOCGIFMTU = 0x8921  # linux/sockios.h


class Switch(TypedDict, total=False):
    """Of the lab's own ports of Open vSwitch; nothing where it does not run."""

    tunnels: dict[str, dict[str, str]]  # options
    buffers: dict[str, int]  # bytes


class Other(TypedDict, total=False):
    """What a snapshot has in addition to devices and links, by device."""

    ovs: Switch
    vxlan: dict[str, Any]  # see vxlan_devices.saved


class AppliedSettings(TypedDict):
    """What apply set: when, at which boot, and the values of each device that it changed."""

    since: float  # seconds since the epoch
    boot_id: str
    devices: list[Item]


class Snapshot(TypedDict):
    """The content of a snapshot's file. A device and its link have their identity."""

    schema: int
    devices: list[Item]
    links: list[Item]
    other: Other


class BootSnapshot(Snapshot, total=False):
    """A snapshot of one boot: what it keeps does not outlive the next one."""

    boot_id: str


class KeptApplied(Snapshot, total=False):
    """The file of what was applied: a snapshot of the originals, and what was set instead."""

    applied: AppliedSettings


def is_stale(snapshot: Snapshot) -> bool:
    """Return whether the node was rebooted since: its devices are as the boot made them."""
    boot = cast(BootSnapshot, snapshot).get("boot_id")
    return isinstance(boot, str) and boot != boot_id()


def of_this_boot(snapshot: Snapshot) -> Snapshot:
    """Return what outlives a reboot of a snapshot that is older: options of tunnels, which Open
    vSwitch keeps in its database.
    """
    tunnels = snapshot["other"].get("ovs", {}).get("tunnels", {})
    if not is_stale(snapshot):
        return snapshot
    current = empty()
    if tunnels:
        current["other"] = {"ovs": {"tunnels": tunnels}}
    return current


def forgotten(snapshot: Snapshot | None) -> str | None:
    """Return what a reboot makes of a snapshot, as a sentence; None where there was no reboot since."""
    if snapshot is None or not is_stale(snapshot):
        return None
    keys = ", ".join(network.key_of(device) for device in snapshot["devices"])
    return (
        "the node was rebooted since the snapshot was written, and its devices are as the boot has set them. "
        f"What the snapshot keeps of these devices is not restored but forgotten: {keys or 'none'}"
    )


def is_current(path: str) -> bool:
    """Return whether there is a snapshot of this boot, or one that cannot be read."""
    try:
        snapshot = read(path)
    except LabError:
        return True
    return snapshot is not None and not is_stale(snapshot)


def same_boot(snapshot: Snapshot) -> bool:
    """Return whether the devices of a snapshot, or of what was applied, were read in this boot."""
    applied = cast(KeptApplied, snapshot).get("applied")
    return applied["boot_id"] == boot_id() if applied else not is_stale(snapshot)


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
    if not isinstance(snapshot, dict) or snapshot.get("schema") not in SCHEMAS:
        raise LabError(
            f"this is not a snapshot of schema {SCHEMA}",
            path,
            "Restore with the version of offload.lab that wrote it.",
        )
    if not _has_shape(snapshot):
        raise LabError(
            "this is not a whole snapshot: it lacks devices, links, or their names",
            path,
            "Restore the node by hand, then remove the file.",
        )
    check_commands(path, snapshot)
    return cast(Snapshot, snapshot)


def check_commands(path: str, snapshot: Mapping[str, Any]) -> None:
    """Raise :class:`LabError` where a snapshot names commands and not root alone may change its file."""
    named = [item for item in snapshot["devices"] if isinstance(item, dict) and GROUP in item]
    culprit = trusted.changeable(path) if named else None
    if culprit:
        raise LabError(
            f"the snapshot names commands, which are not run, since not root alone may change {culprit}",
            path,
            f"Make it root's (chown root:root {culprit}; chmod go-w {culprit}) if the commands are yours.",
        )


def _has_shape(snapshot: dict[str, Any]) -> bool:
    """Return whether a snapshot has named devices and links, and other things by name."""
    devices, links = snapshot.get("devices"), snapshot.get("links")
    if not isinstance(devices, list) or not isinstance(links, list):
        return False
    named = all(
        isinstance(row, dict) and isinstance(row.get("name"), str) for row in devices + links
    )
    return named and isinstance(snapshot.get("other"), dict)


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
    """Return the snapshot with what it lacks added, and with the names that its devices have today.

    What it has is never replaced: the state may have changed since. A device that has the name of
    another one is added, and so is a command that it lacks.
    """
    devices = list(devices)
    kept: Snapshot = old or empty()
    resolved = identity.resolve(kept["devices"])
    links = identity.resolve(kept["links"])
    present = {place_of(device) for device in resolved.items}
    added = [with_identity(device) for device in devices if place_of(device) not in present]
    names = {place_of(device) for device in added}
    with_links = [device for device in added if place_of(device) != (None, network.HOST)]
    new_links = [link_of(device) for device in with_links if exists(device)]
    return {
        **kept,
        "schema": SCHEMA,
        "devices": [
            *_with_commands(resolved.items, devices),
            *without_replaced(resolved.gone, names),
            *added,
        ],
        "links": links.items + without_replaced(links.gone, names) + new_links,
        "other": _merged(kept["other"], other),
    }


def _with_commands(kept: Iterable[Item], devices: Iterable[Item]) -> list[Item]:
    """Return the devices of a snapshot with the commands that they lack."""
    read_now = {place_of(device): device.get(GROUP) for device in devices}
    items: list[Item] = []
    for item in kept:
        more = read_now.get(place_of(item))
        items.append({**item, GROUP: {**more, **item.get(GROUP, {})}} if more else item)
    return items


def without_replaced(gone: list[Item], names: set[tuple[str | None, str]]) -> list[Item]:
    """Return the devices that a snapshot goes on to keep, when devices of ``names`` are added.

    A software device that is gone never comes back once another one has its name; hardware may.
    """
    return [item for item in gone if identity.is_hardware(item) or place_of(item) not in names]


def _merged(kept: Other, other: Other) -> Other:
    merged: Other = {**other, **kept}
    if "ovs" in merged:
        merged["ovs"] = {**other.get("ovs", {}), **kept.get("ovs", {})}
    return merged


def empty() -> Snapshot:
    """Return a snapshot of this boot that keeps nothing yet."""
    return BootSnapshot(schema=SCHEMA, boot_id=boot_id(), devices=[], links=[], other={})


def place_of(device: Item) -> tuple[str | None, str]:
    """Return the namespace and the name of a device."""
    return device.get("netns"), device["name"]


def with_identity(device: Item) -> Item:
    """Return a device with its identity; one that is missing has none."""
    read_now = identity.read(device["name"], device.get("netns"))
    return {**device, "identity": read_now} if read_now else device


def check_devices(path: str) -> None:
    """Raise :class:`LabError` where a name in the snapshot means another device than when it was
    written: a campaign would change that one.
    """
    snapshot = read(path)
    if snapshot is None or all(map(is_unchanged, snapshot["devices"])):
        return
    resolved = identity.resolve(snapshot["devices"])
    to_do = (
        "See what has renamed or replaced it. Then run the campaign again: it goes on from here."
    )
    for was, now in resolved.renamed.items():
        raise LabError(f"the device was renamed to {now} while the campaign ran", was, to_do)
    present = {place_of(item) for item in resolved.items}
    for item in resolved.gone:
        if exists(item) and place_of(item) not in present:
            what = "this is another device than the one that had the name when the campaign began"
            raise LabError(what, network.key_of(item), to_do)


def is_unchanged(device: Item) -> bool:
    """Return whether a device has the name that it has in the snapshot."""
    then = identity.of(device)
    now = identity.read(device["name"], device.get("netns"))
    return now is not None and (then is None or identity.is_same_now(then, now))


def link_of(device: Item) -> Item:
    """Return ``{"name", "netns", "mtu"}`` of an existing device, with its identity."""
    request = struct.pack("16s16x", device["name"].encode())
    with netns.inside(device.get("netns")), socket.socket(
        socket.AF_INET, socket.SOCK_DGRAM
    ) as asking:
        answer = fcntl.ioctl(asking.fileno(), SIOCGIFMTU, request)
    link = {
        "name": device["name"],
        "netns": device.get("netns"),
        "mtu": struct.unpack_from("i", answer, 16)[0],
    }
    return {**link, "identity": device["identity"]} if device.get("identity") else link


def write(path: str, snapshot: Snapshot) -> None:
    """Write the whole file at one stroke and wait until it is on the disk."""
    files.make_folders(os.path.dirname(path))
    check_commands(os.path.dirname(path), snapshot)
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
