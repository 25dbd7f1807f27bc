# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where packets of a dead path are last seen: both nodes send datagrams to each other at the same time,
and each counts what it sent, what arrived, and what its devices on the path counted.

The two nodes do not talk about it. The controller starts both, and joins what each returns.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import select
import socket
import time
from typing import Any, Iterable, Iterator, Mapping, TypedDict

from .._base import network
from .._base.errors import InputError, LabError
from .._engines.payload.payload import PayloadCheck
from .._host import echo, netns
from .exchanged import Exchange, Passed

SECONDS = 3.0  # the other node may begin a second earlier or later
PAUSE_S = 0.01  # between two datagrams of a path
SIZE = 200  # bytes of a datagram
CONTENT = (b"offload.lab exchange " * 10)[:SIZE]
REQUESTS = 2  # echo requests, each with a second for its answer
ANSWER_S = 1.0
CONNECT_S = 1.5
MOST_PATHS = 16
DEV = "/proc/thread-self/net/dev"
RECEIVED, SENT = 1, 9  # columns of a row of /proc/net/dev behind the name
# The classes of devices from an end to the wire. The devices of the host behind a pod receive what the
# pod sends.
CLASSES = ("tenant", "host", "tunnel", "underlay")
INWARD = "host"


class PathToTry(TypedDict):
    """A path between two nodes, as one of them sees it."""

    path: str
    peer: str
    netns: str | None
    local: str
    address: str


def paths_of(options: Mapping[str, Any]) -> list[PathToTry]:
    """Return the paths of ``{"endpoints", "peers", "paths"}``: ends by path, and of each peer the same."""
    paths: list[PathToTry] = []
    for peer, ends in sorted(options["peers"].items()):
        for name in options["paths"]:
            local, remote = options["endpoints"].get(name), ends.get(name)
            if local and remote:
                paths.append(_path(str(name), str(peer), local, remote))
    return paths[:MOST_PATHS]


def _path(name: str, peer: str, local: Mapping[str, Any], remote: Mapping[str, Any]) -> PathToTry:
    namespace = local.get("netns")
    return {
        "path": name,
        "peer": peer,
        "netns": network.namespace_name(namespace) if namespace else None,
        "local": str(network.address(local["address"], f"path {name}")),
        "address": str(network.address(remote["address"], f"path {name}")),
    }


def exchanges(options: Mapping[str, Any]) -> list[Exchange]:
    """Return what becomes of each path; datagrams go over those on which ping or TCP does not pass."""
    port = int(options["port"]) + PayloadCheck.port_offset
    paths = paths_of(options)
    with concurrent.futures.ThreadPoolExecutor(2 * MOST_PATHS) as threads:
        pings = threads.map(_answers_ping, paths)
        connections = threads.map(lambda path: _takes_connection(path, port), paths)
        answers = list(zip(paths, pings, connections))
    dead = [path for path, ping, tcp in answers if not (ping and tcp)]
    counts, passed = _counted(dead, port, options["devices"]) if dead else ({}, [])
    rows: list[Exchange] = []
    for path, ping, tcp in answers:
        sent, arrived = counts.get(_key(path), (0, 0))
        row: Exchange = {
            "path": path["path"],
            "peer": path["peer"],
            "ping": ping,
            "tcp": tcp,
            "sent": sent,
            "arrived": arrived,
            "devices": passed if sent else [],
        }
        rows.append(row)
    return rows


def _key(path: PathToTry) -> tuple[str, str]:
    return path["peer"], path["path"]


def _answers_ping(path: PathToTry) -> bool:
    target = echo.Target(path["netns"], path["address"])
    return any(echo.ask([target], ANSWER_S) for _request in range(REQUESTS))


def _takes_connection(path: PathToTry, port: int) -> bool:
    """Return whether an end takes a connection, or refuses it: both need packets both ways."""
    try:
        with netns.inside(path["netns"]):
            source = (path["local"], 0)
            socket.create_connection((path["address"], port), CONNECT_S, source).close()
    except ConnectionRefusedError:
        return True
    except (LabError, OSError):
        return False
    return True


def _counted(
    paths: Iterable[PathToTry], port: int, classes: Mapping[str, Any]
) -> tuple[dict[tuple[str, str], tuple[int, int]], list[Passed]]:
    """Return by peer and path how many datagrams were sent and arrived, and what the devices counted."""
    devices = _devices(classes)
    before = _read(devices)
    counts = _send_and_receive(paths, port)
    after = _read(devices)
    return counts, list(_passed(devices, before, after))


def _send_and_receive(
    paths: Iterable[PathToTry], port: int
) -> dict[tuple[str, str], tuple[int, int]]:
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    with contextlib.ExitStack() as stack:
        sockets: dict[int, tuple[socket.socket, PathToTry]] = {}
        for path in paths:
            with contextlib.suppress(LabError, OSError):  # it is gone, or somebody else's
                sock = stack.enter_context(_socket(path, port))
                sockets[sock.fileno()] = (sock, path)
                counts[_key(path)] = (0, 0)
        until = time.monotonic() + SECONDS
        while sockets and time.monotonic() < until:
            for sock, path in sockets.values():
                sent, arrived = counts[_key(path)]
                counts[_key(path)] = (sent + _send(sock), arrived)
            time.sleep(PAUSE_S)
            for descriptor in select.select(list(sockets), [], [], 0)[0]:
                sock, path = sockets[descriptor]
                sent, arrived = counts[_key(path)]
                counts[_key(path)] = (sent, arrived + _arrived(sock))
    return counts


def _socket(path: PathToTry, port: int) -> socket.socket:
    """Return a socket that sends to the other end's, and receives from it alone."""
    with netns.inside(path["netns"]):
        sock = socket.socket(echo.family_of(path["address"]), socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.bind((path["local"], port))
        sock.connect((path["address"], port))
    except OSError:
        sock.close()
        raise
    return sock


def _send(sock: socket.socket) -> int:
    """Send a datagram; an error of ICMP that came back for an earlier one is of no interest."""
    with contextlib.suppress(OSError):
        return int(sock.send(CONTENT) == SIZE)
    return 0


def _arrived(sock: socket.socket) -> int:
    """Return how many datagrams have arrived as they were sent."""
    count = 0
    with contextlib.suppress(OSError):
        while True:
            count += sock.recv(2 * SIZE) == CONTENT
    return count


Place = Any  # a mapping with ``name`` and ``netns``


def _devices(classes: Mapping[str, Any]) -> list[tuple[str, Place]]:
    """Return ``[(class, device)]`` from the end to the wire."""
    devices: list[tuple[str, Place]] = []
    for name in CLASSES:
        for device in classes.get(name) or []:
            item = device if isinstance(device, dict) else {"name": device}
            network.device_name(item.get("name"))
            devices.append((name, item))
    return devices


def _read(devices: Iterable[tuple[str, Place]]) -> dict[str, tuple[int, int]]:
    """Return by key the packets that each device has received and sent so far."""
    packets: dict[str, tuple[int, int]] = {}
    for _kind, device in devices:
        with contextlib.suppress(InputError, OSError), netns.inside(device.get("netns")):
            with open(DEV) as stream:
                rows = _rows(stream.read())
            packets[network.key_of(device)] = rows.get(str(device["name"]), (0, 0))
    return packets


def _rows(text: str) -> dict[str, tuple[int, int]]:
    """Return ``{device: (received, sent)}`` of /proc/net/dev."""
    packets: dict[str, tuple[int, int]] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if colon and len(fields) > SENT:
            packets[name.strip()] = (int(fields[RECEIVED]), int(fields[SENT]))
    return packets


def _passed(
    devices: Iterable[tuple[str, Place]],
    before: Mapping[str, tuple[int, int]],
    after: Mapping[str, tuple[int, int]],
) -> Iterator[Passed]:
    for kind, device in devices:
        key = network.key_of(device)
        if key in before and key in after:
            received, sent = (new - old for new, old in zip(after[key], before[key]))
            out, back = (received, sent) if kind == INWARD else (sent, received)
            yield {"device": key, "out": max(0, out), "back": max(0, back)}
