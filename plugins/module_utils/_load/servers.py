# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines' servers: known by their state files, verified to be ours before they are signalled.

A state file names pid, start time, command line and network namespace of one server. All of them
must still be true of the process: a pid alone may be somebody else's by now. A server runs without
privileges, and serves clients that have the node's token and one of the addresses in its state.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import socket
import subprocess
from typing import Any, Dict, Iterable, Mapping, NamedTuple, Sequence, TypedDict

from .._base.errors import InputError, LabError
from .._engines.engine import Engine
from .._engines.engines import engine_named
from .._host import confined, daemons, runner, script
from .._host import netns as host_netns
from .._host.waiting import wait_until


class _Place(TypedDict):
    netns: str | None
    address: str
    port: int
    engine: str


class Server(_Place, total=False):
    """A server that is wanted."""

    count: int  # of its ports, one after the other; one where it is not there


class Access(NamedTuple):
    """Who may connect to the servers of a node."""

    token: str
    peers: Sequence[str]  # addresses


# "pid" and "started" of its process, "inode" of its namespace, "server", and "token" and "peers"
State = Dict[str, Any]


def engine_of(server: Server) -> Engine:
    """Return the engine of a server. Versions before 1.0 had netservers alone, and named none."""
    # Not get(): of a torn state file, server is None, which has to raise TypeError.
    name = server["engine"] if "engine" in server else "netperf"  # noqa: SIM401
    return engine_named(name)


def argv(server: Server) -> list[str]:
    """Return the command line of a server."""
    return engine_of(server).serve(server["address"], server["port"], server.get("count", 1))


def ports(server: Server) -> range:
    """Return the ports of a server."""
    return range(server["port"], server["port"] + server.get("count", 1))


def labels(server: Server) -> list[str]:
    """Return what people call it, a text for each port: ``tenant1/192.168.10.2:12865``."""
    netns = server["netns"] + "/" if server["netns"] else ""
    host = f"[{server['address']}]" if ":" in server["address"] else server["address"]
    return [f"{netns}{host}:{port}" for port in ports(server)]


def label(server: Server) -> str:
    """Return what people call a server by its first port."""
    return labels(server)[0]


def name(server: Server) -> str:
    """Return a server in a message: ``netserver tenant1/192.168.10.2:12865``."""
    return f"{engine_of(server).server} {label(server)}"


def _state_file(server: Server) -> str:
    address = server["address"].replace(":", "_")
    return os.path.join(
        daemons.FOLDER, f"{daemons.SERVER}{server['netns'] or ''}@{address}-{server['port']}.json"
    )


def _is_ours(state: State) -> bool:
    """Return whether the process of a state file still runs and is the one that was started."""
    pid = state["pid"]
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            words = stream.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return False
    # netserver splits its own arguments at the comma, in place.
    try:
        expected = argv(state["server"])
    except InputError:  # an engine that this version has not
        return False
    same = ",".join(words) == ",".join(expected)
    return same and host_netns.inode(f"/proc/{pid}/ns/net") == state["inode"]


def _read(path: str) -> State | None:
    return daemons.read(path, _is_ours)


def known() -> dict[str, State | None]:
    """Return ``{state file: state, or None for one whose process is gone}`` of this node."""
    return {path: _read(path) for path in daemons.state_files(daemons.SERVER)}


def token_of(before: Iterable[State | None]) -> str:
    """Return the token of the servers that run on a node, or a new one."""
    known = [state["token"] for state in before if state and state.get("token")]
    return known[0] if known else secrets.token_hex(16)


def _lets_in(state: State | None, access: Access) -> bool:
    """Return whether a server that runs knows the token and all of the peers."""
    if not state or state.get("token") != access.token:
        return False
    return set(access.peers) <= set(state["peers"])


def _is_inside(state: State | None, server: Server) -> bool:
    """Return whether a server runs, in the namespace that has the wanted name now."""
    if not state:
        return False
    return state["inode"] == host_netns.inode(host_netns.path_of(server["netns"]))


def plan(
    before: Mapping[str, State | None],
    wanted: Sequence[Server],
    state: str,
    purge: bool,
    access: Access,
) -> tuple[list[str], list[Server]]:
    """Return ``(stop, start)``: state files to remove, and servers to start.

    A server in a namespace that was removed and recreated is stopped and started again, and so is
    one that would refuse a peer.
    """
    files = {_state_file(server): server for server in wanted}
    if state == "absent":
        return [path for path in before if not wanted or path in files], []
    alive = set()
    for path, server in files.items():
        there = before.get(path)
        same = there is not None and there["server"] == server
        if same and _is_inside(there, server) and _lets_in(there, access):
            alive.add(path)
    stop = [path for path in before if path not in alive and (path in files or purge)]
    return stop, [server for path, server in files.items() if path not in alive]


def _bind_error(server: Server) -> int | None:
    """Return the errno of binding to the address and the ports here, 0 when all are free."""
    errors = (_bind_error_at(server, port) for port in ports(server))
    return next(filter(None, errors), 0)


def _bind_error_at(server: Server, port: int) -> int | None:
    family = socket.AF_INET6 if ":" in server["address"] else socket.AF_INET
    with host_netns.inside(server["netns"]), contextlib.closing(
        socket.socket(family, socket.SOCK_STREAM)
    ) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server["address"], port))
        except OSError as error:
            return error.errno
    return 0


def require_free(servers: Iterable[Server], check_mode: bool = False) -> None:
    """Raise before anything is started when an address is not here, or its port is held by somebody
    else.

    In check mode an earlier task may only have said that it would make the namespace and the
    address.
    """
    for server in servers:
        if check_mode and not os.path.exists(host_netns.path_of(server["netns"])):
            continue
        error = _bind_error(server)
        if check_mode and error == errno.EADDRNOTAVAIL:
            continue
        if error == errno.EADDRNOTAVAIL:
            raise InputError(
                "the node does not have this address",
                name(server),
                "Give an address of the node, and of the namespace if one is given.",
            )
        if error == errno.EADDRINUSE:
            raise InputError(
                "the port is held by a process that is not the lab's",
                name(server),
                "Stop it (ss -ltnp shows which), or choose another port.",
            )
        if error:
            raise InputError(f"cannot listen ({os.strerror(error)})", name(server))


def _start(server: Server, access: Access, inherited: tuple[int, ...]) -> subprocess.Popen[str]:
    guests = {"token": access.token, "peers": list(access.peers)}
    with script.nameless(json.dumps(guests)) as stdin:
        process = runner.start(
            confined.command(argv(server)),
            server["netns"],
            variables=confined.environment(),
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=inherited,
        )
    inode = host_netns.inode(host_netns.path_of(server["netns"]))
    state = {"inode": inode, "server": server, **guests}
    daemons.write(_state_file(server), process.pid, state, mode=0o600)
    return process


def _listens(server: Server, process: subprocess.Popen[str]) -> bool:
    last = ports(server)[-1]
    return wait_until(
        lambda: _bind_error_at(server, last) == errno.EADDRINUSE,
        alive=lambda: process.poll() is None,
    )


def start_all(servers: Sequence[Server], access: Access) -> None:
    """Start servers of one engine, detached from the module, and wait until all of them listen."""
    if not servers:
        return
    engine = engine_of(servers[0])
    for program in dict.fromkeys((script.PYTHON, engine.served_by)):
        confined.require_program(program)
    with engine.server_inherited() as inherited:
        started = [(server, _start(server, access, inherited)) for server in servers]
        for server, process in started:
            if not _listens(server, process):
                stop_all(list(map(_state_file, servers)))
                raise LabError(
                    "did not begin to listen",
                    name(server),
                    "Its process runs as user nobody (65534): see whether that user may run "
                    f"{script.PYTHON} and {engine.served_by}.",
                )


def stop_all(paths: Sequence[str]) -> None:
    """End the servers of these state files, with what they serve, and remove the files."""
    # The session is the server's own: its group has the children that serve a running test.
    daemons.stop(filter(None, map(_read, paths)), group=True)
    daemons.forget(*paths)
