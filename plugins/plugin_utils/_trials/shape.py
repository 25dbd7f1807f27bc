# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a line of trials.jsonl must be before anything is made of it.

Of each trial the keys are checked that become names, texts or places: schemas/trial.json for every
number of 100,000 trials would take longer than the report. A number that is none makes the analysis
fail; :func:`explained` then looks for it with the schema, and names its line and key.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from ...module_utils._base.errors import InputError
from .._campaign.schema import trouble_in
from .._untrusted.texts import clean, clean_all, is_plain
from .nouns import NOTHING, Trial

NAMES = ("campaign", "pair", "client", "server", "path", "profile")
OF_WORKLOAD = ("name", "test")
WHOLE = ("block", "visit", "cell", "mtu")
OTHER_NAMES = ("id", "part", "again", "forwarder")
TEXTS = ("error", "path_stopped", "interrupted")
NOT_THERE = type(None)
KNOWN_SHAPES = 4096  # that are kept
FAILURES = (TypeError, KeyError, AttributeError, IndexError, ValueError, ArithmeticError)
IS_NAME = re.compile(r"[A-Za-z0-9 ._+:~/@,=()-]{1,4096}\Z", re.ASCII).match
# Of 100,000 trials, reading takes most of the time: these take a third of dict.get.
NAMES_OF = itemgetter(*NAMES)
WHOLE_OF = itemgetter(*WHOLE)


@functools.lru_cache(maxsize=KNOWN_SHAPES)
def _odd_key(
    names: tuple[Any, ...], workload: tuple[Any, ...], types: tuple[type, ...]
) -> str | None:
    """Return the first key whose name or type cannot be used, or None; the trials of a visit share
    all of them.
    """
    keys = (*NAMES, *(f"workload.{key}" for key in OF_WORKLOAD))
    for key, name in zip(keys, (*names, *workload)):
        if name is not None and not (isinstance(name, str) and IS_NAME(name)):
            return key
    for key, kind in zip(WHOLE, types):
        if kind not in (int, NOT_THERE):
            return key
    return None


def _first_odd(trial: Any) -> str | None:
    """Return the first key that is not what it must be, or None."""
    workload = trial.get("workload", NOTHING)
    if type(workload) is not dict:
        return "workload"
    try:
        names, numbers = NAMES_OF(trial), WHOLE_OF(trial)
    except KeyError:  # of an earlier version
        names, numbers = tuple(map(trial.get, NAMES)), tuple(map(trial.get, WHOLE))
    of_workload = workload.get("name"), workload.get("test")
    try:
        odd = _odd_key(names, of_workload, tuple(map(type, numbers)))
    except TypeError:  # a list or a mapping in the place of a name
        return "names"
    if odd:
        return odd
    for key in OTHER_NAMES:
        if key in trial and not (type(trial[key]) is str and IS_NAME(trial[key])):
            return key
    return None


def _clean_marks(marks: Any) -> None:
    """Clean the texts of marks; raise ValueError where they are no marks."""
    for mark in marks if type(marks) is list else [None]:
        if type(mark) is not dict:
            raise ValueError("its marks cannot be used")
        for key in ("guard", "reason"):
            text = mark.get(key)
            if type(text) is not str:
                raise ValueError("its marks cannot be used")
            if not is_plain(text):
                mark[key] = clean(text)


def check(trial: Any) -> None:
    """Raise ValueError that names the first key which is not what it must be; texts that nodes may
    have written become clean.
    """
    key = _first_odd(trial)
    if key:
        raise ValueError(f"its {key} cannot be used")
    clean_texts(trial)


def clean_texts(trial: Any) -> None:
    """Clean the texts of a trial that a report shows: its error, its marks, its check of the payload."""
    for key in TEXTS:
        text = trial.get(key)
        if text is not None:
            if type(text) is not str:
                raise ValueError(f"its {key} cannot be used")
            trial[key] = clean(text)
    if trial.get("marks"):
        _clean_marks(trial["marks"])
    result = trial.get("result") or NOTHING
    if "payload" in result:
        result["payload"] = clean_all(result["payload"], "payload")


@contextlib.contextmanager
def explained(path: str, trials: Iterable[Trial]) -> Iterator[None]:
    """Give what fails inside the key of the trial that is to blame, if one does not fit the schema."""
    try:
        yield
    except FAILURES as error:
        for trial in trials:
            trouble = trouble_in(trial, "trial")
            if trouble:
                raise InputError(
                    f"trial {trial['id']}: {trouble}",
                    path,
                    "Move the line out of the file; its cell is measured again.",
                ) from error
        raise
