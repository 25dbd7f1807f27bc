# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's netservers: known by their state files, verified to be ours before they are signalled.

A state file names pid, start time, command line and network namespace of one netserver. All of them must still be
true of the process: a pid alone may be somebody else's by now.
"""
from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import time

from ansible_collections.offload.lab.plugins.module_utils import _netns, _runner
from ansible_collections.offload.lab.plugins.module_utils._errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._probe_process import started_at

STATE_DIR = "/run/offload-lab"
PREFIX = "netserver-"
PATIENCE = 10  # seconds to begin listening, or to be gone


def argv(server):
    """Return the command line of a netserver ``{"netns", "address", "port"}``."""
    family = "6" if ":" in server["address"] else "4"
    return ["netserver", "-D", "-L", "{0},{1}".format(server["address"], family), "-p", str(server["port"]), "-N"]


def label(server):
    """Return what people call it: ``tenant1/192.168.10.2:12865``."""
    netns = server["netns"] + "/" if server["netns"] else ""
    host = "[{0}]".format(server["address"]) if ":" in server["address"] else server["address"]
    return "{0}{1}:{2}".format(netns, host, server["port"])


def _state_file(server):
    name = "{0}{1}@{2}-{3}.json".format(PREFIX, server["netns"] or "", server["address"].replace(":", "_"),
                                        server["port"])
    return os.path.join(STATE_DIR, name)


def _lives(state):
    """Tell whether the process is there. One that ends has no command line any more, and its port for a moment yet."""
    return started_at(state["pid"]) == state["started"]


def _is_ours(state):
    """Tell whether the process of a state file still runs and is the one that was started."""
    pid = state["pid"]
    if not _lives(state):
        return False
    try:
        with open("/proc/{0}/cmdline".format(pid), "rb") as stream:
            words = stream.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return False
    # netserver splits its own arguments at the comma, in place.
    parts = [part for word in words for part in word.split(",")]
    wanted = [part for word in argv(state["server"]) for part in word.split(",")]
    return parts == wanted and _netns.inode("/proc/{0}/ns/net".format(pid)) == state["inode"]


def _read(path):
    try:
        with open(path) as stream:
            state = json.load(stream)
        return state if _is_ours(state) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def known():
    """Return ``{state file: state, or None for one whose process is gone}`` of this node."""
    try:
        names = sorted(os.listdir(STATE_DIR))
    except OSError:
        return {}
    paths = [os.path.join(STATE_DIR, name) for name in names if name.startswith(PREFIX) and name.endswith(".json")]
    return dict((path, _read(path)) for path in paths)


def plan(before, wanted, state, purge):
    """Return ``(stop, start)``: state files to be done away with, and servers to be started.

    A netserver in a namespace that was removed and made anew is stopped and started again.
    """
    files = dict((_state_file(server), server) for server in wanted)
    if state == "absent":
        return [path for path in before if not wanted or path in files], []
    alive = set(path for path, server in files.items() if before.get(path)
                and before[path]["inode"] == _netns.inode(_netns.path_of(server["netns"])))
    stop = [path for path in before if path not in alive and (path in files or purge)]
    return stop, [server for path, server in files.items() if path not in alive]


def _bind_error(server):
    """Return the errno of binding to the address and port here, 0 when they are free."""
    family = socket.AF_INET6 if ":" in server["address"] else socket.AF_INET
    with _netns.inside(server["netns"]), contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server["address"], server["port"]))
        except OSError as error:
            return error.errno
    return 0


def require_free(servers, check_mode=False):
    """Raise before anything is started when an address is not here, or its port is held by somebody else.

    In check mode an earlier task may only have said that it would make the namespace and the address.
    """
    for server in servers:
        if check_mode and not os.path.exists(_netns.path_of(server["netns"])):
            continue
        error = _bind_error(server)
        if check_mode and error == errno.EADDRNOTAVAIL:
            continue
        if error == errno.EADDRNOTAVAIL:
            raise InputError("the node does not have this address", "netserver {0}".format(label(server)),
                             "Give an address of the node, and of the namespace if one is given.")
        if error == errno.EADDRINUSE:
            raise InputError("the port is held by a process that is not the lab's",
                             "netserver {0}".format(label(server)),
                             "Stop it (ss -ltnp shows which), or choose another port.")
        if error:
            raise InputError("cannot listen ({0})".format(os.strerror(error)), "netserver {0}".format(label(server)))


def _start(server):
    with _netns.inside(server["netns"]):
        inode = _netns.inode("/proc/self/ns/net")
        process = _runner.start(argv(server), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True, cwd="/")
    return process, {"pid": process.pid, "started": started_at(process.pid), "inode": inode, "server": server}


def _save(server, state):
    descriptor = os.open(_state_file(server), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    with os.fdopen(descriptor, "w") as stream:
        json.dump(state, stream)


def start_all(servers):
    """Start netservers, detached from the module, and wait until all of them listen."""
    os.makedirs(STATE_DIR, mode=0o755, exist_ok=True)
    started = []
    for server in servers:
        process, state = _start(server)
        _save(server, state)
        started.append((server, process))
    limit = time.monotonic() + PATIENCE
    for server, process in started:
        while _bind_error(server) != errno.EADDRINUSE:
            if process.poll() is not None or time.monotonic() > limit:
                stop_all([_state_file(one) for one, _process in started])
                raise LabError("did not begin to listen", "netserver {0}".format(label(server)),
                               "Run '{0}' by hand to see why.".format(" ".join(argv(server))))
            time.sleep(0.01)


def stop_all(paths):
    """End the netservers of these state files, with what they serve, and remove the files."""
    states = [(path, _read(path)) for path in paths]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for _path, state in states:
            if state and _is_ours(state):
                # The session is the netserver's own: its group has the children that serve a running test.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(state["pid"], number)
        limit = time.monotonic() + PATIENCE / 2.0
        while any(state and _lives(state) for _path, state in states) and time.monotonic() < limit:
            time.sleep(0.01)
    for path, _state in states:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    with contextlib.suppress(OSError):  # others keep their state here too
        os.rmdir(STATE_DIR)
