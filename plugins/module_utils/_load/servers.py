# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines' servers: known by their state files, verified to be ours before they are signalled.

A state file names pid, start time, command line and network namespace of one server. All of them
must still be true of the process: a pid alone may be somebody else's by now. A server runs without
privileges, and serves clients that have the node's token and one of the addresses in its state.

Root starts a server, to which strangers can send, as nobody, without privileges, with limits. The limits
leave room for 1,000 streams. A process alone cannot reach them with what the engines ask for; they bound
what a fault or a stranger takes of the node. Where systemd runs, a scope bounds the process and its
children together.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import socket
import subprocess
from typing import Any, Collection, Dict, Iterable, Mapping, NamedTuple, Sequence, TypedDict

from .._base.errors import InputError, LabError
from .._engines.engine import Engine
from .._engines.engines import engine_named
from .._host import daemons, runner, script
from .._host import netns as host_netns
from .._host.runner import SEARCH_PATH
from .._host.waiting import wait_until

NOBODY = "65534"
GIB = 1 << 30
MOST_FILES = 4096
MOST_PROCESSES = 4096  # of user nobody, or of the scope
LIMITS = {
    "as": 4 * GIB,  # bytes of address space: a thread reserves 8 MiB and uses little
    "core": 0,
    "nofile": MOST_FILES,
    "nproc": MOST_PROCESSES,
}
MEMORY = "50%"  # of the node's, for a server and what it starts
SCOPE = "offload-lab-server-"
LAB_NAME = "OFFLOAD_LAB_NAME"
# Each is a program of util-linux that becomes the next one, so the process keeps its number.
WITHOUT_PRIVILEGES = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--no-new-privs",
    "--inh-caps=-all",
    "--bounding-set=-all",
    "--",
)


# In a user namespace of one user alone, user nobody has no number there.
WITHOUT_CAPABILITIES = ("setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--")


def has_nobody(uid_map: str) -> bool:
    """Return whether user nobody has a number in a user namespace with this ``/proc/self/uid_map``."""
    ranges = [list(map(int, line.split())) for line in uid_map.splitlines()]
    return any(first <= int(NOBODY) < first + count for first, _outside, count in ranges)


def _without_privileges() -> Sequence[str]:
    with open("/proc/self/uid_map", encoding="ascii") as stream:
        return WITHOUT_PRIVILEGES if has_nobody(stream.read()) else WITHOUT_CAPABILITIES


def _limits() -> list[str]:
    return ["prlimit", *(f"--{name}={value}" for name, value in LIMITS.items()), "--"]


def _scope() -> list[str]:
    if not script.by_systemd():
        return []
    properties = (f"MemoryMax={MEMORY}", f"TasksMax={MOST_PROCESSES}")
    unit = f"--unit={SCOPE}{secrets.token_hex(6)}"
    bounds = [f"--property={text}" for text in properties]
    return ["systemd-run", "--scope", "--quiet", "--collect", unit, *bounds, "--"]


def command(argv: Sequence[str]) -> list[str]:
    """Return the command line that becomes ``argv``, confined."""
    return [*_scope(), *_limits(), *_without_privileges(), *argv]


def environment() -> dict[str, str]:
    """Return the environment of a confined process: of a task's, which may have secrets, only the
    name of the lab that the process belongs to.
    """
    lab = {name: os.environ[name] for name in (LAB_NAME,) if name in os.environ}
    return {"LC_ALL": "C", "LANGUAGE": "C", "PATH": SEARCH_PATH, **lab}


def require_program(name: str, variables: Mapping[str, str] | None = None) -> None:
    """Raise InputError where a confined process could not start a program."""
    path = shutil.which(name, path=(variables or environment())["PATH"])
    if path is None:
        raise InputError(
            "there is no such program on the node", name, f"Install the package that has {name}."
        )
    if not _is_for_all(os.path.realpath(path)):
        raise InputError(
            f"user nobody may not run {path}", name, "Install it where all users can read it."
        )


def _is_for_all(path: str) -> bool:
    """Return whether all users may read and enter what a path goes through."""
    while True:
        if not os.stat(path).st_mode & 0o001:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


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
            arguments = stream.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return False
    # netserver splits its own arguments at the comma, in place.
    try:
        expected = argv(state["server"])
    except InputError:  # an engine that this version has not
        return False
    same = ",".join(arguments) == ",".join(expected)
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
    servers: Sequence[Server],
    state: str,
    purge: bool,
    access: Access,
) -> tuple[list[str], list[Server]]:
    """Return ``(stop, start)``: state files to remove, and servers to start.

    A server in a namespace that was removed and recreated is stopped and started again, and so is
    one that would refuse a peer.
    """
    files = {_state_file(server): server for server in servers}
    if state == "absent":
        return _known(before, files, others=not servers), []
    alive = {path for path, server in files.items() if _serves(before.get(path), server, access)}
    known = _known(before, files, others=purge)
    stop = [path for path in known if path not in alive]
    return stop, [server for path, server in files.items() if path not in alive]


def _known(before: Iterable[str], files: Collection[str], *, others: bool) -> list[str]:
    """Return the state files that are there already; with ``others`` the state of other servers, too."""
    return [path for path in before if others or path in files]


def _serves(state: State | None, server: Server, access: Access) -> bool:
    """Return whether a server runs as wanted and lets all peers in."""
    if state is None or state["server"] != server:
        return False
    return _is_inside(state, server) and _lets_in(state, access)


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
            raise InputError(
                f"cannot listen ({os.strerror(error)})",
                name(server),
                "Choose another port or address.",
            )


def _start(server: Server, access: Access, inherited: tuple[int, ...]) -> subprocess.Popen[str]:
    guests = {"token": access.token, "peers": list(access.peers)}
    with script.nameless(json.dumps(guests)) as stdin:
        process = runner.start(
            command(argv(server)),
            server["netns"],
            variables=environment(),
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
        require_program(program)
    with engine.server_inherited() as inherited:
        started = [(server, _start(server, access, inherited)) for server in servers]
        for server, process in started:
            if not _listens(server, process):
                stop_all(list(map(_state_file, servers)))
                raise LabError(
                    "did not begin to listen",
                    name(server),
                    "See whether user nobody (65534) may run "
                    f"{script.PYTHON} and {engine.served_by}.",
                )


def stop_all(paths: Sequence[str]) -> None:
    """End the servers of these state files, with what they serve, and remove the files."""
    # The session is the server's own: its group has the children that serve a running test.
    daemons.stop(filter(None, map(_read, paths)), group=True)
    daemons.forget(*paths)
