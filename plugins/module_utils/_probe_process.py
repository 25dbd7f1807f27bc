# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe's process: found by its state file, started detached from the module, stopped by its own pid only."""
from __future__ import annotations

import binascii
import contextlib
import json
import os
import signal
import time

from ansible_collections.offload.lab.plugins.module_utils import _probe
from ansible_collections.offload.lab.plugins.module_utils._errors import LabError

STATE_DIR = "/run/offload-lab"


def _state_file(address, port):
    return os.path.join(STATE_DIR, "probe-{0}-{1}.json".format(address.replace(":", "_"), port))


def started_at(pid):
    """Return the process's start time in clock ticks since boot, or None: a pid alone may be somebody else's by now."""
    try:
        with open("/proc/{0}/stat".format(pid)) as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def find(address, port):
    """Return ``{"pid", "token"}`` of the probe that runs here, or None."""
    try:
        with open(_state_file(address, port)) as stream:
            state = json.load(stream)
    except (OSError, ValueError):
        return None
    if started_at(state["pid"]) != state["started"]:
        return None
    return {"pid": state["pid"], "token": state["token"]}


def _detach(server):
    """Serve in a process of its own session that keeps nothing of the module's; return its pid."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        os.waitpid(child, 0)
        with os.fdopen(read_end) as stream:
            return int(stream.read())
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.write(write_end, str(os.getpid()).encode())
        keep = server.fileno()
        os.closerange(3, keep)
        os.closerange(keep + 1, 4096)
        server.serve_forever()
    finally:
        os._exit(1)


def start(address, port):
    """Start a probe and return ``{"pid", "token"}``."""
    token = binascii.hexlify(os.urandom(16)).decode()
    try:
        server = _probe.listen(address, port, token)
        os.makedirs(STATE_DIR, mode=0o755, exist_ok=True)
        state = os.open(_state_file(address, port), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise LabError("the probe cannot listen ({0})".format(error.strerror), "{0} port {1}".format(address, port),
                       "Give an address of this node and a port that is free, and run as root (become: true).")
    pid = _detach(server)
    server.server_close()
    with os.fdopen(state, "w") as stream:
        json.dump({"pid": pid, "started": started_at(pid), "token": token}, stream)
    return {"pid": pid, "token": token}


def stop(address, port, running):
    """Stop the probe that :func:`find` found and remove its state file."""
    ticks = started_at(running["pid"])
    os.kill(running["pid"], signal.SIGTERM)
    deadline = time.monotonic() + 5
    while started_at(running["pid"]) == ticks and time.monotonic() < deadline:
        time.sleep(0.01)
    os.unlink(_state_file(address, port))
    with contextlib.suppress(OSError):  # others keep their state here too
        os.rmdir(STATE_DIR)
