# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of netperf as our trials ask for it: ``KEY=VALUE``, with interim results between. Pure.

After print_omni_keyword of netperf's nettest_omni.c. :mod:`.scan` has the text and the run being read,
:mod:`.banner` what stands around results, :mod:`.values` the keys of the result. The room
``_netperf_logs`` has the other formats of netperf.
"""

from __future__ import annotations

import re
from typing import Callable, Sequence, TypeVar

from . import scan
from .netperf import LATENCY_SELECTORS, SELECTORS
from .scan import NOT_A_NUMBER, UNIT, Run, Scan
from .values import Row, entry

AnyScan = TypeVar("AnyScan", bound=Scan)
KEYVAL = re.compile(r"\s{0,20}([A-Z][A-Z0-9_]{2,40})=(.*)\Z", re.S)
CUT_NAME = re.compile(r"\s*[A-Z][A-Z0-9_]{0,40}\s*\Z")
INTERIM_KEYVAL = re.compile(
    r"\s{0,20}NETPERF_(INTERIM_RESULT|UNITS|INTERVAL|ENDING)\[\d{1,9}\]=(.*)\Z", re.S
)
INTERIM_KEYS = {
    "INTERIM_RESULT": "throughput",
    "UNITS": "unit",
    "INTERVAL": "seconds",
    "ENDING": "ending_at",
}
SIMPLE = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?\s*\Z")
NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?\Z")
# Decimals of the selectors that results are made of, by the end of the name, as
# print_omni_init_list sets them.
PLACES = (
    ("THROUGHPUT", 2),
    ("ELAPSED_TIME", 2),
    ("_CPU_UTIL", 2),
    ("_PEAK_UTIL", 2),
    ("_SD", 3),
    ("_CONFID", 3),
    ("MEAN_LATENCY", 2),
    ("STDDEV_LATENCY", 2),
    ("RT_LATENCY", 3),
    ("TRANSACTION_RATE", 3),
    ("CONFIDENCE_INTERVAL", 6),
)


def read_keyval(scan: Scan) -> bool:
    """Read one line ``NAME=VALUE``."""
    if "=" not in scan.text:
        return read_cut_name(scan)
    match = KEYVAL.match(scan.text)
    if not match:
        return read_interim_keyval(scan)
    name, text = match.groups()
    run = scan.run
    # All the lines of a run come together; a name that comes again is of the next one (netperf -P
    # 0).
    if run is None or not is_between(scan) or name in run.selectors:
        if not (name in scan.names or (run is not None and run.open and run.banner)):
            return False
        run = scan.result_run()
    run.layout = "keyval"
    run.done = True
    run.last = scan.at
    store(run, name, text, scan.is_cut())
    scan.at += 1
    return True


def read_cut_name(scan: Scan) -> bool:
    """Read a line among the lines of a run that broke off before its ``=``."""
    run = scan.run
    if run is None or not CUT_NAME.match(scan.text) or not is_between(scan):
        return False
    run.broken(scan.number, scan.text)
    run.last = scan.at
    scan.at += 1
    return True


def is_between(scan: Scan) -> bool:
    """Return whether the line follows one of a run's lines, or an empty one behind it."""
    run = scan.run
    before = scan.at - 1 if scan.at and scan.lines[scan.at - 1].strip() else scan.at - 2
    return run is not None and run.layout == "keyval" and run.last == before


def read_interim_keyval(scan: Scan) -> bool:
    """Read a line of an interim result of netperf -D with -k: four lines make one."""
    match = INTERIM_KEYVAL.match(scan.text)
    if not match:
        return False
    key = INTERIM_KEYS[match.group(1)]
    run = scan.result_run()
    if key == "throughput":
        run.interim.append({})
    if run.interim and key not in run.interim[-1] and not scan.is_cut():
        value = match.group(2).strip()
        run.interim[-1][key] = float(value) if SIMPLE.match(value) else value
    scan.at += 1
    return True


def is_unit(text: str) -> bool:
    """Return whether a text is a whole unit of throughput."""
    match = UNIT.match(text)
    return text == "Trans/s" or bool(match and match.end() == len(text))


def places(name: str) -> int:
    """Return how many decimals netperf prints of a selector, 0 where it is a whole number, a text,
    or not known.
    """
    return next((count for end, count in PLACES if name.endswith(end)), 0)


def is_whole_value(name: str, text: str) -> bool:
    """Return whether nothing is cut off the text of a selector's value, as far as can be seen."""
    decimals = places(name)
    if name == "THROUGHPUT_UNITS":
        return is_unit(text)
    return not decimals or bool(NUMBER.match(text)) and len(text.partition(".")[2]) >= decimals


def read_value(name: str, text: str) -> float | str | None:
    """Return a selector's value: a number, a text, None for nan or nothing; ValueError when it is
    not whole.
    """
    text = text.strip()
    if text in NOT_A_NUMBER:
        return None
    if not is_whole_value(name, text):
        raise ValueError(text)
    if NUMBER.match(text):
        return float(text) if "." in text else int(text)
    return (text.strip('"') if text[:1] == '"' else text) or None


def store(run: Run, name: str, text: str, cut: bool) -> None:
    """Keep a selector of a run, or its error when the value is not whole.

    ``cut`` says that the text ends behind the value, without a line end.
    """
    try:
        value = read_value(name, text)
    except ValueError:
        run.error = f"truncated in {name}={text.strip()[:60]}"
        return
    # A whole number, or a word, at the very end of a text may have gone on.
    if not (cut and not places(name) and name != "THROUGHPUT_UNITS" and text.strip()[-1:] != '"'):
        run.selectors[name] = value


# A reader reads what it knows in the line reached and moves on, or leaves the line to the next one.
READERS = (
    scan.read_banner,
    read_keyval,
    scan.read_confidence,
    scan.read_error,
    scan.read_other,
)


def read_runs(scan: AnyScan, readers: Sequence[Callable[[AnyScan], bool]]) -> list[Row]:
    """Return one dictionary a run, in the order of the text; the last reader reads any line."""
    while scan.at < len(scan.lines):
        if not scan.text.strip():
            scan.at += 1
            continue
        for reader in readers:
            if reader(scan):
                break
    return [entry(run) for run in scan.runs]


def parse_output(text: str) -> list[Row]:
    """Return the runs of a text that a trial's netperf printed."""
    lines = enumerate(text.split("\n"), 1)
    return read_runs(Scan(lines, frozenset(SELECTORS + LATENCY_SELECTORS)), READERS)
