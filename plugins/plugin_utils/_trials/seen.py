# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a record so far, for the tasks of one run: each reads on where the last one ended.

Each task is a process of its own. So what it has read is a line for each trial in the temporary folder
of the run. The record itself stays as it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from .guards import spoilt, stolen
from .nouns import Trial
from .payload import checked, strikes_often


class SeenTrial(NamedTuple):
    """What later tasks need to know of a trial in the record."""

    line: int
    end: int  # the byte of the record after it
    pair: str
    trial: str
    spoilt: bool  # by the machine
    profile: str
    stolen: float | None  # % of the CPU time
    mtu: int
    block: int
    visit: int
    started: float | None
    struck: str | None  # the path, where the fault strikes often; one second shows it, too


def seen_trial(line: int, end: int, record: Trial) -> SeenTrial:
    """Return what is to be known of a trial, whose line ends before byte ``end``."""
    return SeenTrial(
        line=line,
        end=end,
        pair=str(record.get("pair") or ""),
        trial=record["id"],
        spoilt=spoilt(record),
        profile=record.get("profile"),
        stolen=stolen(record),
        mtu=record.get("mtu"),
        block=record.get("block"),
        visit=record.get("visit"),
        started=record.get("started"),
        struck=_struck(record),
    )


def _struck(record: Trial) -> str | None:
    check = checked(record)
    return record.get("path") if check and strikes_often(check) else None


class Memory:
    """The trials of a record that the tasks of this run have read. Without a folder it stays empty."""

    def __init__(self, folder: str | None, record: str) -> None:
        name = hashlib.sha256(os.path.abspath(record).encode()).hexdigest()[:20]
        self.path = os.path.join(folder, f"offload-lab-record-{name}") if folder else None
        self.record = record

    @contextlib.contextmanager
    def held(self) -> Iterator[list[SeenTrial]]:
        """Yield the trials that are known. Nobody else adds any meanwhile."""
        if self.path is None:
            yield []
            return
        with open(self.path, "a+", encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            self.stream = stream
            yield self._read(stream)

    def _read(self, stream: IO[str]) -> list[SeenTrial]:
        stream.seek(0)
        first, *lines = stream.read().splitlines() or [""]
        trials = [SeenTrial(*json.loads(line)) for line in lines]
        if first == self._file() and self._reaches(trials):
            return trials
        stream.truncate(0)
        stream.write(f"{self._file()}\n")
        return []

    def _reaches(self, trials: list[SeenTrial]) -> bool:
        """Return whether the record still has a line that ends where the last of these does."""
        if not trials:
            return True
        try:
            with open(self.record, "rb") as record:
                record.seek(trials[-1].end - 1)
                return record.read(1) == b"\n"
        except OSError:
            return False

    def _file(self) -> str:
        """Return which file the record is: one that was repaired or fetched is another."""
        try:
            found = os.stat(self.record)
        except FileNotFoundError:
            return "none"
        return f"{found.st_dev} {found.st_ino}"

    def add(self, trials: Iterable[SeenTrial]) -> None:
        """Keep more trials. Call it only while the memory is held."""
        if self.path is not None:
            self.stream.writelines(f"{json.dumps(trial)}\n" for trial in trials)
