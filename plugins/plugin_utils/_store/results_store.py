# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which results of a campaign go to a store, whether a folder is deleted with its job, and the hours of a
day in which a network may be measured.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._host import lease
from ...module_utils._host.store import TRIALS, Addition, FileDigest, digest

RECORD = (
    "plan.json",
    "manifest.json",
    "decisions.jsonl",
    # Earlier versions had a file for each part.
    "confirmation.json",
    "looks.json",
    "search.json",
    "spending.json",
    TRIALS,
)
REMEDY = (
    "Set offload_lab_results_host (a host of the inventory, or a node) and offload_lab_results_store (a folder "
    "there), or offload_lab_results_dir to a folder that AWX shows its jobs; or offload_lab_results_temporary to "
    "true, if the results may go with the job."
)

Files = Mapping[str, FileDigest]  # {name of a file of the store: what it has}
HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])\Z", re.ASCII)


class Answer(lease.LeaseAnswer):
    """What module results_store answers; who did not ask for the lease gets neither ``holder`` nor
    ``alive``.
    """

    changed: bool
    files: dict[str, FileDigest]


class News(TypedDict):
    """What the folder has and the store has not."""

    append: Addition | None  # of the record
    whole: dict[str, str]  # {file name: text}


class StoredTrials(TypedDict):
    """How far a campaign is, in trials."""

    campaign: str
    planned: int
    recorded: int  # may be more: some are measured again


def in_awx(environment: Mapping[str, str]) -> bool:
    """Return whether this is a job of AWX, by the variables that it sets for each."""
    return "JOB_ID" in environment and "AWX_HOST" in environment


def _mount_point(path: str) -> str:
    path = os.path.realpath(path)
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def refuse_temporary(folder: str, environment: Mapping[str, str]) -> None:
    """Raise InputError where AWX deletes the folder with the job: it is the container's, or the
    job's private one.
    """
    if not in_awx(environment):
        return
    private = os.path.dirname(
        os.path.dirname(environment.get("AWX_ISOLATED_DATA_DIR", "/runner/artifacts/1"))
    )
    real = os.path.realpath(folder)
    mounted = _mount_point(real)
    inside = any(
        os.path.commonpath([real, os.path.realpath(temporary)]) == os.path.realpath(temporary)
        for temporary in (private, "/tmp", "/var/tmp", "/dev/shm")
    )  # noqa: S108
    if inside or mounted == "/":
        raise InputError(
            "the results would be lost: AWX removes this folder with its job", folder, REMEDY
        )


def to_fetch(folder: str, files: Files) -> list[str]:
    """Return the files of the store that the folder lacks.

    A record that has the store's and more is kept.
    """
    lacking = []
    for name in RECORD:
        path = os.path.join(folder, name)
        if name in files and not (
            os.path.exists(path) and _begins_with(path, files[name], name == TRIALS)
        ):
            lacking.append(name)
    return lacking


def _begins_with(path: str, stored: FileDigest, longer: bool) -> bool:
    """Return whether a file is the known one, or where it may be longer, begins with it."""
    size = os.path.getsize(path)
    return (size >= stored["size"] if longer else size == stored["size"]) and digest(
        path, stored["size"]
    ) == stored


def _text(path: str, offset: int = 0) -> str:
    with open(path, "rb") as stream:
        stream.seek(offset)
        return stream.read().decode("utf-8", "surrogateescape")


def news(folder: str, files: Files, names: Iterable[str] = RECORD) -> News:
    """Return what the folder has and the store, which has ``files``, has not."""
    append: Addition | None = None
    replaced: dict[str, str] = {}
    for name in names:
        path = os.path.join(folder, name)
        stored = files.get(name)
        missing = not os.path.exists(path) or os.path.islink(path)
        if missing or (stored and digest(path) == stored):
            continue
        if name == TRIALS and (stored is None or _begins_with(path, stored, True)):
            offset = stored["size"] if stored else 0
            append = {"offset": offset, "text": _text(path, offset)}
        else:
            replaced[name] = _text(path)
    return {"append": append, "whole": replaced}


def record_size(folder: str) -> int:
    """Return the bytes of the record; 0 where there is none."""
    path = os.path.join(folder, TRIALS)
    return os.path.getsize(path) if os.path.exists(path) else 0


def standing(folder: str) -> StoredTrials:
    """Return how far a campaign is."""
    planned = recorded = 0
    plan = os.path.join(folder, "plan.json")
    trials = os.path.join(folder, TRIALS)
    if os.path.exists(plan):
        with open(plan, encoding="utf-8") as stream:
            planned = sum(len(visit["cells"]) for visit in json.load(stream)["visits"])
    if os.path.exists(trials):
        with open(trials, "rb") as stream:
            recorded = sum(1 for _line in stream)
    return {"campaign": os.path.basename(folder), "planned": planned, "recorded": recorded}


@dataclass(frozen=True)
class TimeWindow:
    """From one minute of the day to another, by the controller's clock; it may span midnight."""

    begin: int  # minutes since midnight
    end: int  # minutes since midnight, the first that is outside

    def is_open(self, now: datetime) -> bool:
        """Return whether a moment is in it."""
        minute = now.hour * 60 + now.minute
        if self.begin < self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end


def parse(text: str) -> TimeWindow | None:
    """Return the window that a text such as ``22:00-05:30`` gives; None for an empty one."""
    if not text:
        return None
    match = HOURS.match(text)
    if not match:
        raise InputError(
            "not two times of a day",
            f"offload_lab_only_between {text!r}",
            "Give HH:MM-HH:MM, for example 22:00-05:30.",
        )
    numbers = [int(word) for word in match.groups()]
    window = TimeWindow(numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3])
    if window.begin == window.end:
        raise InputError(
            "begins when it ends",
            f"offload_lab_only_between {text!r}",
            "Give two times that differ.",
        )
    return window


def check_open(text: str, now: datetime) -> None:
    """Raise InputError when a moment is outside of the window."""
    window = parse(text)
    if window and not window.is_open(now):
        raise InputError(
            f"it is {now:%H:%M} on the controller, and it may be measured from "
            f"{text.replace('-', ' to ')} only",
            "offload_lab_only_between",
            "Run it then, from a timer or cron for example: it goes on where it stopped.",
        )
