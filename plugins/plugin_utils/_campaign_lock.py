# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One controller a campaign: a second one is refused, and a dead one holds nothing.

A campaign is many tasks, each in a worker process of its own, so that no open file can be the lock. A file names the
controller's main process instead. Where that process can be looked at (the same kernel and process namespace) it is
asked whether it lives; elsewhere the lock runs out at its time ``until``.
"""
from __future__ import annotations

import fcntl
import json
import os
import socket
import time

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._probe_process import started_at

GRACE = 300  # seconds that a lock is valid beyond what its holder expects to need


def _text(path):
    try:
        with open(path, encoding="ascii") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def _kernel():
    """Return what tells whether a process number of the lock means the same process here."""
    return [_text("/proc/sys/kernel/random/boot_id"), os.stat("/proc/self/ns/pid").st_ino]


def controller():
    """Return the identity of the main process of ansible-playbook, whose worker this is."""
    pid = os.getppid()
    started = started_at(pid)
    if pid == 1 or started is None:
        raise LabError("the controller of this task is gone", None, "Run the campaign again: it goes on from here.")
    return {"host": socket.gethostname(), "pid": pid, "started": started, "kernel": _kernel()}


def _alive(holder, now):
    if holder.get("kernel") == _kernel():
        return started_at(holder["pid"]) == holder["started"]
    return now < holder.get("until", 0)


def _read(stream):
    stream.seek(0)
    try:
        holder = json.loads(stream.read())
        return holder if isinstance(holder.get("pid"), int) else None
    except (ValueError, AttributeError):
        return None  # torn by a crash: who wrote it is dead


def acquire(path, owner, seconds, now=None):
    """Take or renew the lock of a campaign for about ``seconds``; raise LabError if another controller has it."""
    now = time.time() if now is None else now
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "a+", encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            holder = _read(stream)
            same = holder and all(holder.get(key) == value for key, value in owner.items())
            if holder and not same and _alive(holder, now):
                raise LabError(
                    f"another controller measures this campaign: process {holder['pid']} on {holder.get('host')}", path,
                    "Wait for it, or end it; if that machine is gone, remove the file.")
            stream.truncate(0)
            stream.write(json.dumps(dict(owner, until=now + seconds + GRACE)) + "\n")
    except OSError as error:
        raise InputError(f"the campaign cannot be locked ({error.strerror})", path,
                         "Set offload_lab_results_dir to a folder you may write to.")


def release(path, owner):
    """Give the lock back if it is ours; the file is removed."""
    try:
        with open(path, "r+", encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            holder = _read(stream)
            if holder and all(holder.get(key) == value for key, value in owner.items()):
                os.unlink(path)
    except OSError:
        return
