# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The management devices: those that carry the controller's SSH connection, and those below them.

The connection is found in the environment of this process or of those that started it (sudo drops
it from its own). A connection of another network namespace, such as a node's of a single-host lab,
does not use the devices of this one.

Where no SSH session is found (become by run0 or systemd-run, a connection by docker, podman, kubectl
or SSM), nothing says which device carries the connection. Then the devices of the default routes
are taken for it, unless the controller runs on this host itself.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Iterable, Mapping, NamedTuple

from .._base.errors import InputError, LabError, ParseError
from .._host.runner import run
from . import read
from .parse import Link

LONGEST_CHAIN = 64
CONTROLLER = "ansible"  # how the name of a controller's process begins
TO_DO = "Name it in offload_lab_allow_management_device (option allow_management_device) if you mean to change it."


def parse_route(text: str) -> list[str]:
    """Return the devices in the output of ``ip -json route get``."""
    try:
        return [row["dev"] for row in json.loads(text or "[]") if isinstance(row.get("dev"), str)]
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise ParseError(f"not a route ({error})", 1, "Give the output of ip -json route get.")


def parse_default_routes(text: str) -> list[str]:
    """Return the devices in the output of ``ip -json route show table all default``."""
    devices: list[str] = []
    try:
        for row in json.loads(text or "[]"):
            ways = [row, *row.get("nexthops", [])]
            devices += [way["dev"] for way in ways if isinstance(way.get("dev"), str)]
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise ParseError(f"not routes ({error})", 1, "Give the output of ip -json route show.")
    return sorted(set(devices) - {"lo"})


def carriers(device: str, links: Mapping[str, Link]) -> list[str]:
    """Return the device and all devices below it, sorted: a VLAN's parent, the members of a bond or
    a bridge.

    ``links`` are by name, as :func:`.parse.parse_links` returns them. The peer of a veth is not
    below it.
    """
    under: set[str] = set()
    waiting = [device]
    while waiting:
        name = waiting.pop()
        if name in under or name not in links:
            continue
        under.add(name)
        below = links[name]["peer"]
        if isinstance(below, str) and links[name]["kind"] != "veth":
            waiting.append(below)
        waiting += [other for other, link in links.items() if link["master"] == name]
    return sorted(under)


def devices_of(connection: str, route: list[str], links: Mapping[str, Link]) -> list[str]:
    """Return the devices that carry ``connection``, the text of SSH_CONNECTION.

    ``route`` are the devices on the way to the controller, ``links`` the result of
    :func:`.parse.parse_links`.
    """
    server = connection.split()[2]
    starts = list(route)
    for name, link in links.items():
        if server in [address.rpartition("/")[0] for address in link["addresses"]]:
            starts.append(name)
    names: set[str] = set()
    for start in starts:
        names.update(carriers(start, links))
    return sorted(names)


def _text(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def connection(proc: str = "/proc", pid: str = "self") -> str | None:
    """Return SSH_CONNECTION of the SSH session that this process belongs to; None where there is
    none, or it does not use this host's devices.
    """
    home = os.readlink(f"{proc}/{pid}/ns/net")
    for _depth in range(LONGEST_CHAIN):
        environment = dict(
            entry.partition("=")[::2] for entry in _text(f"{proc}/{pid}/environ").split("\0")
        )
        fields = _text(f"{proc}/{pid}/stat").rpartition(")")[2].split()
        try:
            same = os.readlink(f"{proc}/{pid}/ns/net") == home
        except OSError:
            return None
        if not same:
            return None
        if len(environment.get("SSH_CONNECTION", "").split()) == 4 and _from_here(
            proc, fields, home
        ):
            return environment["SSH_CONNECTION"]
        if len(fields) < 2 or fields[1] in ("0", "1"):
            return None
        pid = fields[1]
    return None


def _from_here(proc: str, fields: list[str], home: str) -> bool:
    """Return whether the sshd that started this process is in this network namespace: a node's
    commands come from another.
    """
    pid = fields[1] if len(fields) > 1 else "0"
    for _depth in range(LONGEST_CHAIN):
        if pid in ("0", ""):
            return True
        if _text(f"{proc}/{pid}/comm").startswith("sshd"):
            try:
                return os.readlink(f"{proc}/{pid}/ns/net") == home
            except OSError:
                return True
        above = _text(f"{proc}/{pid}/stat").rpartition(")")[2].split()
        pid = above[1] if len(above) > 1 else "0"
    return True


def _named(proc: str, pid: str) -> list[str]:
    """Return the names that a process may be known by: a script's are its first words."""
    argv = _text(f"{proc}/{pid}/cmdline").split("\0")[:3]
    return [os.path.basename(word) for word in argv]


def is_local(proc: str = "/proc", pid: str = "self") -> bool:
    """Return whether no device of this host can carry the connection: the controller runs here, or this
    process is in another network namespace than the host's first one, as nodes are.
    """
    try:
        if os.readlink(f"{proc}/{pid}/ns/net") != os.readlink(f"{proc}/1/ns/net"):
            return True
    except OSError:
        pass  # only root may see it; then the routes decide
    for _depth in range(LONGEST_CHAIN):
        if any(name.startswith(CONTROLLER) for name in _named(proc, pid)):
            return True
        fields = _text(f"{proc}/{pid}/stat").rpartition(")")[2].split()
        if len(fields) < 2 or fields[1] in ("0", "1"):
            return False
        pid = fields[1]
    return False


class Management(NamedTuple):
    """The devices that carry the controller's connection."""

    devices: list[str]
    assumed: bool  # they carry the default routes, since there is no SSH session


def find() -> Management:
    """Return the devices that carry the controller's connection, or that may carry it."""
    text = connection()
    if text is not None:
        client = text.split()[0].partition("%")[0]
        try:
            route = parse_route(run(["ip", "-json", "route", "get", client]).out)
        except LabError:
            route = []
        return Management(devices_of(text, route, read.read()), False)
    return Management([], False) if is_local() else _by_default_routes()


def _by_default_routes() -> Management:
    starts: set[str] = set()
    for family in ("-4", "-6"):
        argv = ["ip", family, "-json", "route", "show", "table", "all", "default"]
        with contextlib.suppress(LabError):  # a kernel without this family
            starts.update(parse_default_routes(run(argv).out))
    if not starts:
        return Management([], False)
    links = read.read()
    devices: set[str] = set()
    for start in starts:
        devices.update(carriers(start, links))
    return Management(sorted(devices), bool(devices))


def warning(management: Management) -> str | None:
    """Return what a user has to know of devices that are only assumed."""
    if not management.assumed:
        return None
    return (
        "This connection is not SSH, so nothing says which device carries it. The devices of the default "
        f"routes are protected: {', '.join(management.devices)}. {TO_DO}"
    )


def check(changed: Iterable[str], allow: Iterable[str]) -> None:
    """Raise :class:`InputError` if a device of the keys ``changed`` carries the connection and is
    not allowed.
    """
    if not any("/" not in name for name in changed):
        return
    carrying = find()
    why = "is on a default route, so it perhaps carries" if carrying.assumed else "carries"
    for name in carrying.devices:
        if name in changed and name not in allow:
            raise InputError(f"{why} the controller's connection and would be changed", name, TO_DO)
