# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines' servers: known by their state files, verified to be ours before they are signalled.

A state file names pid, start time, command line and network namespace of one server. All of them
must still be true of the process: a pid alone may be somebody else's by now.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
from typing import Any, Dict, Iterable, Mapping, Sequence, TypedDict

from .._base.errors import InputError, LabError
from .._engines.engine import Engine
from .._engines.engines import engine_named
from .._host import daemons, runner
from .._host import netns as host_netns
from .._host.waiting import wait_until


class Server(TypedDict):
    """A server that is wanted."""

    netns: str | None
    address: str
    port: int
    engine: str


State = Dict[str, Any]  # "pid" and "started" of its process, "inode" of its namespace, "server"


def engine_of(server: Server) -> Engine:
    """Return the engine of a server. Versions before 1.0 had netservers alone, and named none."""
    # Not get(): of a torn state file, server is None, which has to raise TypeError.
    name = server["engine"] if "engine" in server else "netperf"  # noqa: SIM401
    return engine_named(name)


def argv(server: Server) -> list[str]:
    """Return the command line of a server."""
    return engine_of(server).serve(server["address"], server["port"])


def label(server: Server) -> str:
    """Return what people call it: ``tenant1/192.168.10.2:12865``."""
    netns = server["netns"] + "/" if server["netns"] else ""
    host = f"[{server['address']}]" if ":" in server["address"] else server["address"]
    return f"{netns}{host}:{server['port']}"


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


def _is_inside(state: State | None, server: Server) -> bool:
    """Return whether a server runs, in the namespace that has the wanted name now."""
    if not state:
        return False
    return state["inode"] == host_netns.inode(host_netns.path_of(server["netns"]))


def plan(
    before: Mapping[str, State | None], wanted: Sequence[Server], state: str, purge: bool
) -> tuple[list[str], list[Server]]:
    """Return ``(stop, start)``: state files to remove, and servers to start.

    A server in a namespace that was removed and recreated is stopped and started again.
    """
    files = {_state_file(server): server for server in wanted}
    if state == "absent":
        return [path for path in before if not wanted or path in files], []
    alive = {path for path, server in files.items() if _is_inside(before.get(path), server)}
    stop = [path for path in before if path not in alive and (path in files or purge)]
    return stop, [server for path, server in files.items() if path not in alive]


def _bind_error(server: Server) -> int | None:
    """Return the errno of binding to the address and port here, 0 when they are free."""
    family = socket.AF_INET6 if ":" in server["address"] else socket.AF_INET
    with host_netns.inside(server["netns"]), contextlib.closing(
        socket.socket(family, socket.SOCK_STREAM)
    ) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server["address"], server["port"]))
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


def _start(server: Server, inherited: tuple[int, ...]) -> subprocess.Popen[str]:
    process = runner.start(
        argv(server),
        server["netns"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=inherited,
    )
    inode = host_netns.inode(host_netns.path_of(server["netns"]))
    daemons.write(_state_file(server), process.pid, {"inode": inode, "server": server})
    return process


def _listens(server: Server, process: subprocess.Popen[str]) -> bool:
    return wait_until(
        lambda: _bind_error(server) == errno.EADDRINUSE, alive=lambda: process.poll() is None
    )


def start_all(servers: Sequence[Server]) -> None:
    """Start servers of one engine, detached from the module, and wait until all of them listen."""
    if not servers:
        return
    with engine_of(servers[0]).inherited() as inherited:
        started = [(server, _start(server, inherited)) for server in servers]
        for server, process in started:
            if not _listens(server, process):
                stop_all(list(map(_state_file, servers)))
                raise LabError(
                    "did not begin to listen",
                    name(server),
                    f"Run '{' '.join(argv(server))}' by hand to see why.",
                )


def stop_all(paths: Sequence[str]) -> None:
    """End the servers of these state files, with what they serve, and remove the files."""
    # The session is the server's own: its group has the children that serve a running test.
    daemons.stop(filter(None, map(_read, paths)), group=True)
    daemons.forget(*paths)
