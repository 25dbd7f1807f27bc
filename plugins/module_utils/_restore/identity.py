# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which device a snapshot means: a name may have moved to another device since.

Within one boot the kernel's index of a device in its network namespace is never given to another
one. A device that left and came back has a new index. Then hardware is known by its permanent MAC
address, its bus address and its driver; a software device has neither, so it is known by its name,
its driver and its current address. Open vSwitch and the lab recreate a tunnel when an option of it
changes, with a random address: a tunnel is known by its name and driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from typing import Iterable, Iterator, NamedTuple, TypedDict, cast

from .._base import network
from .._base.errors import InputError
from .._host import netns as namespaces
from .._kinds.kind import Item

SIOCETHTOOL = 0x8946  # linux/sockios.h
SIOCGIFHWADDR = 0x8927
DRIVER_INFO = struct.Struct("=I32s32s32s32s32s12x5I")  # struct ethtool_drvinfo
GET_DRIVER_INFO = 0x03  # linux/ethtool.h
PERMANENT = struct.Struct("=II32s")  # struct ethtool_perm_addr
GET_PERMANENT = 0x20
NETNS_COOKIE = 71  # SO_NETNS_COOKIE, since Linux 5.14
NO_BUS = ("", "N/A", "tap", "tun")  # what software devices give as their bus address
TUNNELS = ("vxlan", "geneve", "gretap", "ip6gretap", "erspan")  # drivers, as ethtool -i names them


class Identity(TypedDict):
    """What identifies a device, whatever its name."""

    namespace: int  # the network namespace in this boot
    ifindex: int
    permanent: str  # the MAC address that the hardware has, "" without one
    address: str  # the current MAC address, "" without one
    bus: str  # "" of a software device
    driver: str


class Present(NamedTuple):
    """A device that exists now."""

    name: str
    netns: str | None
    identity: Identity


class Resolved(NamedTuple):
    """The devices of a snapshot, as they are found now."""

    items: list[Item]  # with their names and identities of today
    gone: list[Item]
    renamed: dict[str, str]  # the name in the snapshot: the name of today


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("ascii", "replace").strip()


def _mac(raw: bytes) -> str:
    return raw.hex(":") if any(raw) else ""


def _ethtool(asking: socket.socket, name: str, request: bytes) -> bytes:
    """Return the answer to an ethtool request, zeros where the kernel has none."""
    buffer = ctypes.create_string_buffer(request, len(request))
    call = struct.pack("16sP16x", name.encode(), ctypes.addressof(buffer))
    try:
        fcntl.ioctl(asking.fileno(), SIOCETHTOOL, call)
    except OSError:
        return bytes(len(request))
    return buffer.raw


def _namespace(asking: socket.socket) -> int:
    """Return what the kernel calls the network namespace of a socket; on old kernels its inode,
    which a later namespace may get.
    """
    try:
        return int.from_bytes(asking.getsockopt(socket.SOL_SOCKET, NETNS_COOKIE, 8), "little")
    except OSError:
        return os.stat("/proc/self/ns/net").st_ino


def _read(asking: socket.socket, name: str) -> Identity:
    """Return the identity of a device; raises OSError where there is none of this name."""
    ifindex = socket.if_nametoindex(name)
    hardware = fcntl.ioctl(asking.fileno(), SIOCGIFHWADDR, struct.pack("16s24x", name.encode()))
    drivers = DRIVER_INFO.pack(GET_DRIVER_INFO, *[b""] * 5, *[0] * 5)
    info = DRIVER_INFO.unpack(_ethtool(asking, name, drivers))
    permanent = _ethtool(asking, name, PERMANENT.pack(GET_PERMANENT, 32, b""))
    _command, size, raw = PERMANENT.unpack(permanent)
    bus = _text(info[4])
    return {
        "namespace": _namespace(asking),
        "ifindex": ifindex,
        "permanent": _mac(raw[:size]),
        "address": _mac(hardware[18:24]),
        "bus": "" if bus in NO_BUS else bus,
        "driver": _text(info[1]),
    }


@contextlib.contextmanager
def _asking(netns: str | None) -> Iterator[socket.socket]:
    with namespaces.inside(netns), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        yield asking


def read(name: str, netns: str | None) -> Identity | None:
    """Return the identity of a device, None where there is none of this name."""
    try:
        with _asking(netns) as asking:
            return _read(asking, name)
    except (InputError, OSError):
        return None


def devices_in(netns: str | None) -> list[Present]:
    """Return all devices of a network namespace; none where it is gone."""
    devices = []
    try:
        with _asking(netns) as asking:
            for _index, name in socket.if_nameindex():
                with contextlib.suppress(OSError):  # it may go meanwhile
                    devices.append(Present(name, netns, _read(asking, name)))
    except InputError:
        return []
    return devices


def plain(items: Iterable[Item]) -> list[Item]:
    """Return devices without their identities: as the modules that set them take them."""
    return [without(item) for item in items]


def without(item: Item) -> Item:
    """Return a device without its identity."""
    return {key: value for key, value in item.items() if key != "identity"}


def of(item: Item) -> Identity | None:
    """Return the identity of a device of a snapshot; None where it has none that can be understood."""
    identity = item.get("identity")
    keys = Identity.__annotations__
    return (
        cast(Identity, identity)
        if isinstance(identity, dict) and keys.keys() <= identity.keys()
        else None
    )


def is_hardware(item: Item) -> bool:
    """Return whether a device of a snapshot has a bus address: it may come back as it was."""
    identity = of(item)
    return bool(identity and identity["bus"])


def is_same_now(old: Identity, new: Identity) -> bool:
    """Return whether two readings of one boot are of one device."""
    then = (old["namespace"], old["ifindex"], old["driver"])
    return then == (new["namespace"], new["ifindex"], new["driver"])


def _hardware(old: Identity, devices: Iterable[Present]) -> Present | None:
    """Return the one device that is this hardware. Two ports may share an address, so the bus
    address decides between them.
    """
    alike = [
        device
        for device in devices
        if (device.identity["permanent"], device.identity["driver"])
        == (old["permanent"], old["driver"])
    ]
    same_place = [device for device in alike if device.identity["bus"] == old["bus"]]
    if old["permanent"] and len(alike) == 1:
        return alike[0]
    return same_place[0] if len(same_place) == 1 else None


def _software(
    name: str, old: Identity, devices: Iterable[Present], same_boot: bool
) -> Present | None:
    """Return the device that was recreated under its name, with its driver and address."""
    for device in devices:
        new = device.identity
        if device.name != name or new["bus"] or new["driver"] != old["driver"]:
            continue
        named_only = new["driver"] in (*TUNNELS, "") or not same_boot
        return device if named_only or new["address"] == old["address"] else None
    return None


class _Search:
    """The devices that exist now, each for one device of the snapshot."""

    def __init__(self, same_boot: bool) -> None:
        self.same_boot = same_boot
        self._spaces: dict[str | None, list[Present]] = {}
        self._taken: set[tuple[str | None, str]] = set()

    def _free(self, netns: str | None) -> list[Present]:
        if netns not in self._spaces:
            self._spaces[netns] = devices_in(netns)
        return [
            present for present in self._spaces[netns] if (netns, present.name) not in self._taken
        ]

    def take(self, device: Present | None) -> Present | None:
        """Leave a device to no other one of the snapshot."""
        if device is not None:
            self._taken.add((device.netns, device.name))
        return device

    def by_index(self, item: Item) -> Present | None:
        """Return the device that never left."""
        if not self.same_boot:
            return None
        netns = item.get("netns")
        same = (
            present
            for present in self._free(netns)
            if is_same_now(item["identity"], present.identity)
        )
        return self.take(next(same, None))

    def by_properties(self, item: Item) -> Present | None:
        """Return the device that came back. Hardware goes to the host's own namespace when the one of a
        pod ends.
        """
        netns = item.get("netns")
        old: Identity = item["identity"]
        if not is_hardware(item):
            return self.take(_software(item["name"], old, self._free(netns), self.same_boot))
        device = _hardware(old, self._free(netns)) or _hardware(old, self._free(None))
        return self.take(device)

    def by_name(self, item: Item) -> Present | None:
        """Return the device of a snapshot that has no identities."""
        same = (
            present for present in self._free(item.get("netns")) if present.name == item["name"]
        )
        return self.take(next(same, None))


def resolve(items: Iterable[Item], same_boot: bool = True) -> Resolved:
    """Return the devices of a snapshot as they are found now."""
    items = list(items)
    search = _Search(same_boot)
    by_item: dict[int, Present | None] = {}
    with_identity = [index for index, item in enumerate(items) if of(item)]
    for index in with_identity:
        by_item[index] = search.by_index(items[index])
    for index, item in enumerate(items):
        if index not in with_identity:
            by_item[index] = search.by_name(item)
        elif by_item[index] is None:
            by_item[index] = search.by_properties(item)
    resolved = Resolved([], [], {})
    for index, item in enumerate(items):
        device = by_item[index]
        if device is None:
            resolved.gone.append(item)
            continue
        today = {"name": device.name, "netns": device.netns, "identity": device.identity}
        resolved.items.append({**item, **today})
        was, now = network.key_of(item), network.device_key(device.name, device.netns)
        if was != now:
            resolved.renamed[was] = now
    return resolved


def of_no_boot(items: Iterable[Item]) -> list[Item]:
    """Return devices whose index is void: the next boot assigns indexes again."""
    return [
        {**item, "identity": {**item["identity"], "ifindex": 0}} if of(item) else item
        for item in items
    ]
