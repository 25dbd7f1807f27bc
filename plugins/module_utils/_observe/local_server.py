# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a server of this node answers on the node, where no path is in between.

A client cannot distinguish a server that is gone from a path on which nothing passes.
"""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

from .._base.errors import LabError
from .._host import daemons
from .._host import netns as host_netns

CONNECTED_S = 3.0  # until a connection within a node is there: one SYN may be lost
CLOSED_S = 10.0  # until a server has closed the connection of somebody without the token
NO_TOKEN = b"?" * 200 + b"\n"


def answers(address: str, port: int) -> bool | None:
    """Return whether the lab's server at an address and a port of this node answers; None where it
    is not known.
    """
    state = _state_at(address, port)
    if state is None:
        return None
    if not daemons.lives(state):
        return False
    try:
        with host_netns.inside(state["server"]["netns"]):
            return _closes(address, port) if _passes(address) else None
    except (LabError, OSError):
        return None


def _state_at(address: str, port: int) -> dict[str, Any] | None:
    """Return the state file of the server at an address and a port, also where it is gone."""
    for path in daemons.state_files(daemons.SERVER):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(path) as stream:
            state = json.load(stream)
            server = state["server"]
            ports = range(server["port"], server["port"] + server.get("count", 1))
            if server["address"] == address and port in ports:
                return state
    return None


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _passes(address: str) -> bool:
    """Return whether a connection to an address of this namespace is possible within it; it is not
    where the loopback device is down.
    """
    with socket.socket(_family(address), socket.SOCK_STREAM) as listener:
        listener.bind((address, 0))
        listener.listen(1)
        there = listener.getsockname()[:2]
        with contextlib.suppress(OSError):
            socket.create_connection(there, CONNECTED_S).close()
            return True
    return False


def _closes(address: str, port: int) -> bool:
    """Return whether the server takes a connection and closes it, as it does without the token."""
    try:
        connection = socket.create_connection((address, port), CONNECTED_S)
    except OSError:
        return False
    with connection:
        connection.settimeout(CLOSED_S)
        try:
            connection.sendall(NO_TOKEN)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
        except socket.timeout:
            return False
        except OSError:  # a reset
            return True
    return True
