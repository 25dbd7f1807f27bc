# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finished cells on the node's disk until the controller has recorded them, and the end of a chunk
left running.

A chunk is one file: a header line with pid and start time of its module, then one JSON line a
finished cell. The module keeps the file locked while it runs: if the lock cannot be taken, the
chunk is still measuring.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import json
import os
import signal
from typing import Any, Dict

from .._base.checks import name as checked_name
from .._base.errors import LabError
from .._host import files
from .._host.processes import started_at
from .._host.waiting import PATIENCE, wait_until

Trial = Dict[str, Any]  # what a cell's run returned, with its id and pair


class Chunk:
    """The spool file of one chunk, held open and locked."""

    def __init__(self, folder: str, campaign: str, chunk: str) -> None:
        files.make_folders(os.path.dirname(os.path.abspath(folder)))
        files.make_state_folder(folder)
        base = f"{checked_name(campaign, 'campaign')}-{checked_name(chunk, 'chunk')}.jsonl"
        self.path = os.path.join(folder, base)
        self.descriptor = os.open(
            self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.append({"pid": os.getpid(), "started": started_at(os.getpid())})
        files.sync_folder(folder)

    def append(self, record: Trial) -> None:
        """Write one line and wait until it is on the disk."""
        data = (json.dumps(record) + "\n").encode()
        while data:
            data = data[os.write(self.descriptor, data) :]
        os.fsync(self.descriptor)


def _rows(path: str) -> list[Trial]:
    """Return the complete JSON lines of a file; a line torn by a crash is not one."""
    with open(path) as stream:
        lines = stream.read().split("\n")[:-1]
    rows = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def _locked(path: str) -> bool:
    with open(path) as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return True
            raise
    return False


def _end_module(path: str, patience: float = PATIENCE) -> None:
    """End the module that still fills a chunk; its processes die with it."""
    headers = [row for row in _rows(path) if isinstance(row.get("pid"), int)]
    for header in headers[-1:]:
        if started_at(header["pid"]) == header.get(
            "started"
        ):  # else the pid is somebody else's by now
            os.kill(header["pid"], signal.SIGKILL)
    if not wait_until(lambda: not _locked(path), patience=patience):
        raise LabError(
            "another measurement of this campaign still runs",
            path,
            "Wait for it to end, or end the process that holds the file.",
        )


def collect(folder: str, campaign: str) -> dict[str, list[Trial]]:
    """Return ``{file: [cells]}`` of a campaign's chunks that no controller has acknowledged.

    A chunk that still runs is ended first: its controller is gone, and the cells it has finished
    are kept.
    """
    checked_name(campaign, "campaign")
    chunks = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), f"{campaign}-*.jsonl"))):
        if _locked(path):
            _end_module(path)
        chunks[path] = [row for row in _rows(path) if "id" in row]
    return chunks
