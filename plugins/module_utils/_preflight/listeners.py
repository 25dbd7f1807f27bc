# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens on a TCP port of this host, and whether another host's port can be reached."""

from __future__ import annotations

import contextlib
import errno
import re
import socket
from typing import Iterable, Iterator, TypedDict

from .._base.errors import LabError
from .._host.runner import run
from .._load import servers
from .._observe import probe_process

PATIENCE = 3  # seconds for an answer from the other end
ANY = ("*", "0.0.0.0", "::")
# The other end, or its kernel, answered: nothing between the two is in the way.
REACHED = (0, errno.ECONNREFUSED)


class Listener(TypedDict):
    """Who listens; of a program that ss may not see there is no pid."""

    address: str
    port: int
    program: str
    pids: list[
        int
    ]  # of all processes that have the socket, such as a netserver's children, which inherit it


class Reached(TypedDict):
    """Whether another host's port answered, and what."""

    address: str
    port: int
    reached: bool
    answer: str


def parse_listeners(text: str) -> list[Listener]:
    """Return the listeners that ``ss -Htlnp`` prints."""
    rows: list[Listener] = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 5 or not fields[3].rpartition(":")[2].isdigit():
            continue
        address, _colon, port = fields[3].rpartition(":")
        processes = re.findall(r'\("([^"]*)",pid=(\d+)', line)
        rows.append(
            {
                "address": address.strip("[]").partition("%")[0],
                "port": int(port),
                "program": processes[0][0] if processes else "",
                "pids": [int(pid) for _name, pid in processes],
            }
        )
    return rows


def listeners() -> list[Listener]:
    """Return the TCP listeners of this network namespace, none where there is no ``ss``."""
    try:
        return parse_listeners(run(["ss", "-H", "-t", "-l", "-n", "-p"]).out)
    except LabError:
        return []


def ours(address: str | None, port: int) -> list[int]:
    """Return the pids of the lab's own listeners there: its netserver's and its probe's."""
    pids = [
        state["pid"]
        for state in servers.known().values()
        if state and (state["server"]["address"], state["server"]["port"]) == (address, port)
    ]
    probe = probe_process.find(address, port) if address else None
    return pids + ([probe["pid"]] if probe else [])


def held(address: str | None, port: int, rows: Iterable[Listener]) -> Listener | None:
    """Return who else than the lab holds a port that we want to listen on, of :func:`listeners`;
    None if nobody.
    """
    mine = set(ours(address, port))
    for row in rows:
        if (
            row["port"] == port
            and row["address"] in (address, *ANY)
            and not mine.intersection(row["pids"])
        ):
            return row
    return None


@contextlib.contextmanager
def connected(kind: int, address: str, port: int, source: str | None) -> Iterator[socket.socket]:
    """Give a socket of a kind that is connected to a port, from the address ``source`` if there is
    one.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.closing(socket.socket(family, kind)) as probe:
        probe.settimeout(PATIENCE)
        if source:
            probe.bind((source, 0))
        probe.connect((address, port))
        yield probe


def silent(address: str, port: int, source: str | None = None) -> bool:
    """Return whether a UDP port does not answer at all: it is open, or a firewall drops.

    A closed one refuses.
    """
    try:
        with connected(socket.SOCK_DGRAM, address, port, source) as probe:
            probe.send(b"")
            probe.recv(1)
    except socket.timeout:
        return True
    except OSError as error:
        return error.errno != errno.ECONNREFUSED
    return False


def reach(address: str, port: int, source: str | None = None) -> Reached:
    """Return the outcome of a TCP connection that is closed immediately.

    A port on which nobody listens answers with a refusal, which shows as well that no firewall is
    in between.
    """
    number: int | None = 0
    answer = "open"
    try:
        with connected(socket.SOCK_STREAM, address, port, source):
            pass
    except socket.timeout:
        number = errno.ETIMEDOUT
        answer = f"no answer within {PATIENCE} s"
    except OSError as error:
        number = error.errno
        answer = error.strerror or str(error)
    return {"address": address, "port": port, "reached": number in REACHED, "answer": answer}
