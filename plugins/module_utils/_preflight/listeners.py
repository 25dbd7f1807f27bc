# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens on a TCP port of this host, and whether another host's port can be reached."""
from __future__ import annotations

import contextlib
import errno
import re
import socket

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host.runner import run
from ansible_collections.offload.lab.plugins.module_utils._netperf import netserver
from ansible_collections.offload.lab.plugins.module_utils._observe import probe_process

PATIENCE = 3  # seconds for an answer from the other end
ANY = ("*", "0.0.0.0", "::")
# The other end, or its kernel, answered: nothing between the two stands in the way.
REACHED = (0, errno.ECONNREFUSED)


def parse_listeners(text):
    """Return ``[{"address", "port", "program", "pid"}]`` of ``ss -Htlnp``; a program that ss may not see is empty."""
    rows = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < 5 or not words[3].rpartition(":")[2].isdigit():
            continue
        address, _colon, port = words[3].rpartition(":")
        process = re.search(r'\("([^"]*)",pid=(\d+)', line)
        rows.append({"address": address.strip("[]").partition("%")[0], "port": int(port),
                     "program": process.group(1) if process else "", "pid": int(process.group(2)) if process else 0})
    return rows


def listeners():
    """Return the TCP listeners of this network namespace, none where there is no ``ss``."""
    try:
        return parse_listeners(run(["ss", "-H", "-t", "-l", "-n", "-p"]).out)
    except LabError:
        return []


def ours(address, port):
    """Return the pids of the lab's own listeners there: its netserver's and its probe's."""
    pids = [state["pid"] for state in netserver.known().values()
            if state and (state["server"]["address"], state["server"]["port"]) == (address, port)]
    probe = probe_process.find(address, port)
    return pids + ([probe["pid"]] if probe else [])


def held(address, port, rows):
    """Return who else than the lab holds a port that we want to listen on, of :func:`listeners`; None if nobody."""
    mine = ours(address, port)
    for row in rows:
        if row["port"] == port and row["address"] in (address, *ANY) and row["pid"] not in mine:
            return row
    return None


def silent(address, port, source=None):
    """Return whether a UDP port does not answer at all: it is open, or a firewall drops. A closed one refuses."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        probe.settimeout(PATIENCE)
        try:
            if source:
                probe.bind((source, 0))
            probe.connect((address, port))
            probe.send(b"")
            probe.recv(1)
        except socket.timeout:
            return True
        except OSError as error:
            return error.errno != errno.ECONNREFUSED
    return False


def reach(address, port, source=None):
    """Return ``{"address", "port", "reached", "answer"}`` of a TCP connection that is closed at once.

    A port on which nobody listens answers with a refusal, which shows as well that no firewall is in between.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.settimeout(PATIENCE)
        try:
            if source:
                probe.bind((source, 0))
            probe.connect((address, port))
            number, answer = 0, "open"
        except socket.timeout:
            number, answer = errno.ETIMEDOUT, f"no answer within {PATIENCE} s"
        except OSError as error:
            number, answer = error.errno, error.strerror or str(error)
    return {"address": address, "port": port, "reached": number in REACHED, "answer": answer}
