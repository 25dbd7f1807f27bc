# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""trials.jsonl: appended and synced line by line, read back whole or with what is damaged named.

Each line ends with ``"check"``, the CRC-32 of the record without it, so a line that was torn by a
crash or changed on the disk is noticed. A line without a check is read without one.

Each task of a run is a process of its own. It reads on where the last one ended: see :class:`Memory`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple, cast

from ...module_utils._base.errors import InputError, LabError
from ...module_utils._host import files, lease
from . import shape
from .guards import UsualSteal, spoilt, stolen
from .nouns import Trial
from .payload import checked, strikes_often
from .progress import Starts, note_start

fast_loads: Callable[[str], Any] | None
try:
    from orjson import loads as fast_loads
except ImportError:  # the same in more time
    fast_loads = None

Good = tuple[int, str, Trial]  # line number, text, record
Bad = tuple[int, str, str]  # line number, text, reason
CHECK = re.compile(r', "check": "([0-9a-f]{8})"\}\Z')
CHECK_LENGTH = 22  # characters


def encode(record: Trial) -> str:
    """Return a record as one line with its check."""
    body = json.dumps(
        {key: value for key, value in record.items() if key != "check"}, allow_nan=False
    )
    return f'{body[:-1]}, "check": "{zlib.crc32(body.encode()):08x}"}}\n'


def _parse(body: str, ours: bool) -> Any:
    """Return the JSON value of a text.

    Only what we wrote ourselves (its check is right) is given to orjson, which makes floats of
    integers that do not fit 64 bits: no trial has any.
    """
    if ours and fast_loads:
        with contextlib.suppress(
            ValueError
        ):  # a lone surrogate, or nested too deeply: json may know
            return fast_loads(body)
    return json.loads(body)


def decode(line: str) -> Trial:
    """Return the record in a line; ValueError says why it is none."""
    check = CHECK.match(line, max(0, len(line) - CHECK_LENGTH))
    body = line[: check.start()] + "}" if check else line
    if check and f"{zlib.crc32(body.encode('utf-8', 'surrogateescape')):08x}" != check.group(1):
        raise ValueError("the line was changed after it was written")
    try:
        record: Any = _parse(body, bool(check))
    except (ValueError, RecursionError):
        raise ValueError("this is not a JSON record") from None
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        raise ValueError("this is not a trial: it has no id")
    shape.check(record)
    return cast(Trial, record)


def key_of(record: Trial) -> tuple[str, str]:
    """Return what a trial is known by: its pair of nodes and its id."""
    return str(record.get("pair") or ""), record["id"]


def _lines(path: str, start: int = 0) -> Iterator[bytes]:
    """Yield the lines of a file from byte ``start`` with their ends; a missing file has none."""
    try:
        with open(path, "rb") as stream:
            stream.seek(start)
            yield from stream
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(
            f"the record cannot be read ({error.strerror})",
            path,
            "Check the file and its permissions.",
        )


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
    """Return what later tasks need of a trial, whose line ends before byte ``end``."""
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
    """The trials of a record that the tasks of this run have read: a line for each in the temporary folder
    of the run. Without a folder it stays empty.
    """

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
            file = os.stat(self.record)
        except FileNotFoundError:
            return "none"
        return f"{file.st_dev} {file.st_ino}"

    def add(self, trials: Iterable[SeenTrial]) -> None:
        """Keep more trials. Call it only while the memory is held."""
        if self.path is not None:
            self.stream.writelines(f"{json.dumps(trial)}\n" for trial in trials)


class JudgedLine(NamedTuple):
    """A line of a record, and the trial in it or why there is none."""

    number: int
    end: int  # the byte after it
    text: str
    record: Trial | str


def _judged(path: str, read_before: Sequence[SeenTrial] = ()) -> Iterator[JudgedLine]:
    """Yield the lines of a record after those that were read before."""
    lines = {(trial.pair, trial.trial): trial.line for trial in read_before}
    end = read_before[-1].end if read_before else 0
    first_line = read_before[-1].line + 1 if read_before else 1
    for number, raw in enumerate(_lines(path, end), first_line):
        end += len(raw)
        text = raw.decode("utf-8", "surrogateescape")
        line = text.rstrip("\n")
        if not line:
            continue
        try:
            record = decode(line)
            if line == text:
                raise ValueError("the last line is torn")
            first = lines.setdefault(key_of(record), number)
            if first != number:
                raise ValueError(f"trial {record['id']} is in line {first} already")
        except ValueError as error:
            yield JudgedLine(number, end, line, str(error))
        else:
            yield JudgedLine(number, end, line, record)


def scan(path: str) -> tuple[list[Good], list[Bad]]:
    """Return the good and the bad lines of a record file."""
    good = list[Good]()
    bad = list[Bad]()
    for number, _end, line, record in _judged(path):
        if isinstance(record, str):
            bad.append((number, line, record))
        else:
            good.append((number, line, record))
    return good, bad


def stream_records(path: str, problems: list[str]) -> Iterator[Trial]:
    """Yield the records one by one, for files that are larger than memory; ``problems`` gets a text
    a bad line.
    """
    for number, _end, _line, record in _judged(path):
        if isinstance(record, str):
            problems.append(f"line {number}: {record}")
        else:
            yield record


def read(path: str) -> tuple[list[Trial], list[str]]:
    """Return ``(records, problems)`` of a record file and leave it alone; a missing file has none
    of both.
    """
    good, bad = scan(path)
    return [record for _number, _line, record in good], [
        f"line {number}: {reason}" for number, _line, reason in bad
    ]


def _set_aside(path: str, good: list[Good], bad: list[Bad]) -> None:
    """Move damaged lines to ``<path>.damaged``; the good ones are in place again at one stroke."""
    aside = files.append_descriptor(path + ".damaged")
    with os.fdopen(aside, "a", encoding="utf-8", errors="surrogateescape") as stream:
        stream.writelines(line + "\n" for _number, line, _reason in bad)
        stream.flush()
        os.fsync(stream.fileno())
    files.write_result(path, "".join(line + "\n" for _number, line, _record in good))
    files.sync_folder(os.path.dirname(os.path.abspath(path)))


@contextlib.contextmanager
def _locked(path: str) -> Iterator[int]:
    """Have the record file, made if it is missing, to ourselves: pairs that measure simultaneously
    write to one file.

    Gives its descriptor. After waiting, the file may have been repaired, and so replaced: then it
    is opened again.
    """
    while True:
        descriptor = files.append_descriptor(path)
        try:
            lease.wait_for(descriptor, path)
            if os.path.exists(path) and os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                yield descriptor
                return
        finally:
            os.close(descriptor)


class Records:
    """The record file of a campaign, open for more trials. ``repaired`` says what was set aside,
    one text a line.

    With ``dry`` the file is only read. ``memory`` is a folder of this run: it keeps what earlier tasks
    have read, so that no task reads it again.
    """

    def __init__(self, path: str, dry: bool = False, memory: str | None = None) -> None:
        self.path = path
        self.memory = Memory(memory, path)
        self.repaired: list[str] = []
        self.known: dict[tuple[str, str], bool] = {}  # was it spoilt by the machine?
        self.usual_steal = UsualSteal()
        self.starts: Starts = {}
        self.struck: set[tuple[str, str, str]] = set()  # profile, pair and path
        self.size = 0
        try:
            if dry:
                self._read_on(repair=False)
            else:
                files.make_results_folder(os.path.dirname(os.path.abspath(path)))
                with _locked(path):
                    self._read_on(repair=True)
        except OSError as error:
            raise InputError(
                f"the record cannot be written ({error.strerror})",
                path,
                "Set offload_lab_results_dir to a folder you may write to.",
            )

    def _read_on(self, repair: bool) -> None:
        """Take in what earlier tasks have read, and read the lines after it."""
        with self.memory.held() as read_before:
            fresh, is_whole = self._fresh(read_before)
            if is_whole:
                self.memory.add(fresh)
        if repair and not is_whole:
            good, bad = scan(self.path)
            _set_aside(self.path, good, bad)
            self.repaired = [
                f"{self.path} line {number}: {reason}; kept in {self.path}.damaged"
                for number, _line, reason in bad
            ]
        for trial in (*read_before, *fresh):
            self._take(trial)
        self.size = os.path.getsize(self.path) if os.path.exists(self.path) else 0

    def _fresh(self, read_before: Sequence[SeenTrial]) -> tuple[list[SeenTrial], bool]:
        """Return the trials after those that were read before, and whether all these lines are good."""
        fresh = []
        is_whole = True
        for number, end, _line, record in _judged(self.path, read_before):
            if isinstance(record, str):
                is_whole = False
            else:
                fresh.append(seen_trial(number, end, record))
        return fresh, is_whole

    def _take(self, trial: SeenTrial) -> None:
        self.known[trial.pair, trial.trial] = trial.spoilt
        self.usual_steal.add_percent(trial.profile, trial.stolen)
        if trial.struck:
            self.struck.add((trial.profile, trial.pair, trial.struck))
        note_start(self.starts, (trial.mtu, trial.block, trial.visit), trial.started)

    def append(self, record: Trial) -> None:
        """Write one trial and wait until it is on the disk. A trial that is known is refused."""
        shape.clean_texts(record)
        try:
            with _locked(self.path) as descriptor:
                self._refuse_known(record, os.fstat(descriptor).st_size)
                self._write_whole(descriptor, encode(record).encode())
            if not self.known:
                files.sync_folder(os.path.dirname(os.path.abspath(self.path)))
        except OSError as error:
            raise LabError(
                f"the trial cannot be recorded ({error.strerror})",
                self.path,
                "Make room or repair the folder, then run the campaign again: it goes on from here.",
            )
        self._take(seen_trial(0, self.size, record))

    def _refuse_known(self, record: Trial, size: int) -> None:
        """Raise if the trial is recorded. A worker whose controller was killed may have recorded it."""
        if size != self.size:
            for _number, _end, _line, other in _judged(self.path):
                if not isinstance(other, str):
                    self.known[key_of(other)] = spoilt(other)
        if key_of(record) in self.known:
            raise LabError(
                "this trial is recorded already",
                f"{self.path} {record['id']}",
                "Run the campaign again.",
            )

    def _write_whole(self, descriptor: int, line: bytes) -> None:
        size = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError(
                    28, os.strerror(28)
                )  # ENOSPC: a short write to a file means that the disk is full
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        self.size = size + len(line)
