# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the client of a cell is let in by the servers: with the token of the node that they run on.

Clients of engines sockets and payload get it in their environment, which only root can read. netperf
and iperf3 cannot be given one without showing it to all users of the node, so this process holds a
connection to the door of each server while they run, see :mod:`.._engines.door`.
"""

from __future__ import annotations

import contextlib
import socket
import time
from typing import Iterator, NamedTuple, Sequence

from .._base.errors import LabError
from .._engines.door import OPEN
from .._engines.engine import Engine, Line
from .._engines.wire import TOKEN_VARIABLE
from .._host import netns as host_netns

ANSWER_S = 15.0  # for a connection and an answer, as for the check of an endpoint
END_S = 3.0  # for the server to listen again
SOON_S = 1.0  # for a server to end what it does for a client that was killed
PAUSE_S = 0.02
MOST_ANSWER = 4096  # bytes


class Admission(NamedTuple):
    """What a door has answered, and the connection that keeps it open."""

    connection: socket.socket
    algorithms: list[str]  # of TCP, that the server may set; none where it does not say


class Door(NamedTuple):
    """Where a server's door is, and from where it is reached."""

    netns: str | None
    local: str | None
    address: str
    port: int


def doors_of(engine: Engine, lines: Sequence[Line]) -> list[Door]:
    """Return the doors that processes of a cell pass, each once."""
    doors = []
    for line in lines:
        port = engine.door_port(line)
        if port:
            end = line.end
            doors.append(Door(end["netns"], end["local"], end["address"], port))
    return list(dict.fromkeys(doors))


def variables(engine: Engine, token: str) -> dict[str, str]:
    """Return what the environment of an engine's client has for it."""
    return {TOKEN_VARIABLE: token} if token and engine.reads_token else {}


def _ask(door: Door, token: str, seconds: float) -> Admission | None:
    """Return the connection on which the door has answered, None where it closed it."""
    source = (door.local, 0) if door.local else None
    with host_netns.inside(door.netns):
        connection = socket.create_connection(
            (door.address, door.port), timeout=seconds, source_address=source
        )
    try:
        connection.sendall(f"{token}\n".encode())
        answer = connection.recv(MOST_ANSWER).decode("ascii", "replace").split()
    except BaseException:
        connection.close()
        raise
    if answer[:1] == [OPEN]:
        return Admission(connection, answer[1:])
    connection.close()
    return None


def _unanswered(error: ConnectionError, where: str) -> LabError:
    if isinstance(error, ConnectionRefusedError):
        return LabError("nothing listens", where, "Run playbook lab.yml again.")
    return LabError(
        "resets each connection: too many wait",
        where,
        "See who connects to it: ss -tn on the server's node.",
    )


def _enter(engine: Engine, door: Door, token: str) -> Admission:
    where = f"{engine.server} {door.address} port {door.port}"
    soon = time.monotonic() + SOON_S
    until = time.monotonic() + ANSWER_S
    while True:
        try:
            admission = _ask(door, token, max(0.1, until - time.monotonic()))
        except ConnectionError as error:  # it ends what served another cell, or too many wait
            if time.monotonic() > until:
                raise _unanswered(error, where)
            time.sleep(PAUSE_S)
            continue
        except OSError as error:
            raise LabError(f"does not answer ({error})", where, "Check firewalls and the path.")
        if admission is None and not engine.serves_many and time.monotonic() < soon:
            time.sleep(PAUSE_S)  # this was the iperf3 of a client that has just left
            continue
        if admission is None:
            raise LabError(
                "refuses this client: its address or its token is not one that the server knows",
                where,
                "If there is a NAT: Add the address that the server sees to offload_lab_more_peers.",
            )
        return admission


def _leave(connection: socket.socket) -> None:
    """Close a connection when the door is ready for the next client."""
    with connection, contextlib.suppress(OSError):
        connection.settimeout(END_S)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def _check_algorithm(engine: Engine, door: Door, admission: Admission, name: str) -> None:
    """Raise LabError where the server may not set the algorithm of a workload: netserver would go on
    with another one.
    """
    allowed = admission.algorithms
    if name and allowed and name not in allowed:
        raise LabError(
            f"may not use the TCP algorithm {name}: its process has no privileges",
            f"{engine.server} {door.address} port {door.port}",
            f"Allow it there: sysctl net.ipv4.tcp_allowed_congestion_control='{' '.join(allowed)} {name}'",
        )


@contextlib.contextmanager
def admitted(
    engine: Engine, lines: Sequence[Line], token: str, algorithm: str = ""
) -> Iterator[None]:
    """Be admitted by the servers of a cell while its processes run; ``algorithm`` is what the
    workload asks of TCP. Without a token there is no door: such a server is not ours.
    """
    with contextlib.ExitStack() as stack:
        for door in doors_of(engine, lines) if token else ():
            admission = _enter(engine, door, token)
            stack.callback(_leave, admission.connection)
            _check_algorithm(engine, door, admission, algorithm)
        yield
