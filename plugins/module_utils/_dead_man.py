# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dead man's switch: a process on the node that restores it when no controller has been heard of for a while.

It needs nothing of the controller: the code that restores is written beside the snapshot, as one zip file that python3
runs. It waits by itself: a systemd timer would have to be started anew at each sign of life, this takes one utime(2).
"""
from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import time
import zipfile

from ansible_collections.offload.lab.plugins.module_utils import _restore, _snapshot
from ansible_collections.offload.lab.plugins.module_utils._errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._probe_process import started_at
from ansible_collections.offload.lab.plugins.module_utils._runner import run, start
from ansible_collections.offload.lab.plugins.module_utils._sign_of_life import ALIVE, FIRED, renew

PROGRAM = "/var/lib/offload-lab/dead_man_switch.zip"
STATE = "/run/offload-lab/dead_man_switch.json"
UNIT = "offload-lab-dead-man-switch"
PACKAGE = "ansible_collections.offload.lab.plugins.module_utils"
MAIN = "import sys\nfrom {0} import _dead_man\n_dead_man.watch(float(sys.argv[1]), sys.argv[2])\n".format(PACKAGE)
ATTEMPTS = 5


def _watching(seconds):
    """Return True when no sign of life came for ``seconds``, False when there is nothing to watch any more."""
    seen, since = None, time.monotonic()
    while time.monotonic() - since < seconds:
        try:
            found = os.stat(ALIVE).st_mtime_ns
        except OSError:
            return False
        if found != seen:  # not its age: the wall clock may jump
            seen, since = found, time.monotonic()
        time.sleep(min(5, seconds / 10))
    return True


def watch(minutes, path):
    """Wait until no controller has been heard of for ``minutes``, then restore the node from the snapshot ``path``.

    The snapshot is kept: what is restored twice is the same, and a controller that wakes up again finds it.
    """
    _remember({"pid": os.getpid(), "started": started_at(os.getpid()), "minutes": minutes, "path": path})
    if not _watching(minutes * 60):
        return
    with open(FIRED, "w"):
        pass
    for _attempt in range(ATTEMPTS):
        try:
            _restore.restore(path, keep=True)
            break
        except (LabError, OSError) as error:
            sys.stderr.write("{0}\n".format(error))
            time.sleep(min(10, minutes * 60))
    _forget(ALIVE, STATE)


def _remember(state):
    os.makedirs(os.path.dirname(STATE), mode=0o755, exist_ok=True)
    with open(STATE + ".new", "w") as stream:
        json.dump(state, stream)
    os.rename(STATE + ".new", STATE)


def _forget(*paths):
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
        with contextlib.suppress(OSError):  # others keep their state here too
            os.rmdir(os.path.dirname(path))


def find():
    """Return what the switch that is armed remembers (``pid``, ``minutes``, ``path``), or None."""
    try:
        with open(STATE) as stream:
            state = json.load(stream)
    except (OSError, ValueError):
        return None
    return state if started_at(state["pid"]) == state["started"] else None


def write_program():
    """Write the code of this file and of all it rests on as one zip file."""
    os.makedirs(os.path.dirname(PROGRAM), mode=0o755, exist_ok=True)
    with zipfile.ZipFile(PROGRAM + ".new", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__main__.py", MAIN)
        folders = PACKAGE.split(".")
        for depth in range(len(folders)):
            archive.writestr("/".join(folders[:depth + 1]) + "/__init__.py", "")
        for name, module in sorted(sys.modules.items()):
            if name.startswith(PACKAGE + "."):
                archive.writestr(name.replace(".", "/") + ".py", inspect.getsource(module))
    os.chmod(PROGRAM + ".new", 0o600)
    os.rename(PROGRAM + ".new", PROGRAM)


def by_systemd():
    """Tell whether systemd can start it here: it runs, and this is not a node in namespaces of its machine."""
    try:
        same = all(os.readlink("/proc/1/ns/" + kind) == os.readlink("/proc/self/ns/" + kind) for kind in ("net", "mnt"))
    except OSError:
        return False
    return same and os.path.isdir("/run/systemd/system")


def arm(minutes, path):
    """Start the switch and return what :func:`find` then finds."""
    if _snapshot.read(path) is None:
        raise LabError("there is no snapshot to restore from", path, "Write it first: module offload.lab.snapshot.")
    write_program()
    _forget(FIRED)
    with open(ALIVE, "w"):
        pass
    argv = [sys.executable, PROGRAM, str(minutes), path]
    if by_systemd():
        run(["systemd-run", "--quiet", "--collect", "--unit=" + UNIT] + argv)
    else:
        null = subprocess.DEVNULL
        start(argv, start_new_session=True, cwd="/", stdin=null, stdout=null, stderr=null)
    deadline = time.monotonic() + 10
    while find() is None:
        if time.monotonic() > deadline:
            raise LabError("it did not start within 10 s", "dead man's switch", "Try: {0}".format(" ".join(argv)))
        time.sleep(0.02)
    return find()


def disarm():
    """End the switch and remove all it has on the node."""
    state = find()
    if state:
        with contextlib.suppress(OSError):
            os.kill(state["pid"], signal.SIGTERM)
        deadline = time.monotonic() + 10
        while find() and time.monotonic() < deadline:
            time.sleep(0.01)
    _forget(ALIVE, FIRED, PROGRAM, STATE)


def leftovers():
    """Return the files of the switch that are on the node."""
    return [path for path in (ALIVE, FIRED, PROGRAM, STATE) if os.path.exists(path)]


__all__ = ["arm", "disarm", "find", "leftovers", "renew", "watch"]
