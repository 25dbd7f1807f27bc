# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all readers of netperf's output share: the lines, the run being read, numbers and units. Pure."""

from __future__ import annotations

import re
from typing import Any, Iterable, Sequence, TypedDict

from .netperf import MBPS

# More digits than any counter has would only make int() slow or fail.
INTEGER = re.compile(r"-?\d{1,18}\Z")
FIXED = {places: re.compile(rf"-?\d{{1,18}}\.\d{{{places}}}\Z") for places in (1, 2, 3)}
NOT_A_NUMBER = ("nan", "-nan", "inf", "-inf")
UNIT = re.compile(r"(10\^[369]bits|[KMG]?Bytes)\s*/s(?:ec)?(?![a-z])")
NOTES = 40


class Interim(TypedDict, total=False):
    """An interim result (netperf -D); one that broke off lacks a part."""

    throughput: float
    unit: str
    seconds: float  # that it is of
    ending_at: float  # s since the epoch


class Run:
    """One netperf run while it is read; :mod:`.values` makes the dictionary from it."""

    def __init__(self, line: int, test: str | None = None, banner: bool = False) -> None:
        self.line = line
        self.test = test
        # Of the banner: whether there was one, "Send|Recv" and the like, the +/- asked for, whether
        # CPU does not count.
        self.banner = banner
        self.direction: str | None = None
        self.limit: float | None = None
        self.result_only = False
        # Of the header: the kind of table or output, its unit, whether CPU columns follow, the
        # columns of CSV.
        self.layout: str | None = None
        self.unit: str | None = None
        self.cpu = False
        self.headers: Sequence[str] = ()
        # What was printed: numbers by their keys in the result, selectors by their names, and so
        # on.
        self.values: dict[str, float | None] = {}
        self.selectors: dict[str, Any] = {}  # numbers and texts
        self.interim: list[dict[str, Any]] = []
        self.csv = False
        self.widths: dict[str, float] = {}
        self.warned = False
        # Lines that may say why there is no result, whether one was an error, whether netperf ended
        # with it.
        self.notes: list[tuple[int, str]] = []
        self.failing = False
        self.ended = False
        self.error: str | None = None
        self.done = False
        # Up to which line it was read, for what may follow directly.
        self.last = -9

    @property
    def open(self) -> bool:
        """Whether a result of this run may still follow."""
        return not self.done and self.error is None and not self.ended

    def broken(self, number: int, text: str) -> None:
        """Note that the run's row in line ``number`` is not whole; none of its numbers is to be
        used.
        """
        self.error = f"line {number}: truncated in {text.strip()[:120]!r}"


class Scan:
    """The lines of a text, the place reached, and the runs found up to there."""

    def __init__(self, lines: Iterable[tuple[int, str]], names: frozenset[str]) -> None:
        self.names = names  # of selectors, in a text whose banner is missing
        self.lines: list[str] = []
        self.numbers: list[int] = []
        for number, line in lines:
            self.lines.append(line.rstrip("\r"))
            self.numbers.append(number)
        self.at = 0
        self.runs: list[Run] = []
        self.run: Run | None = None

    @property
    def text(self) -> str:
        return self.lines[self.at]

    @property
    def number(self) -> int:
        return self.numbers[self.at]

    def ahead(self, count: int) -> str:
        """Return the line ``count`` further on, empty beyond the end."""
        line = self.at + count
        return self.lines[line] if line < len(self.lines) else ""

    def is_cut(self, count: int = 0) -> bool:
        """Return whether that line ends the text without a line end, so that its last word may not
        be whole.
        """
        return self.at + count >= len(self.lines) - 1

    def begin(self, test: str | None = None, banner: bool = False) -> Run:
        """Begin a run in this line."""
        self.run = Run(self.number, test, banner)
        self.runs.append(self.run)
        return self.run

    def inherit(self, above: Run) -> Run:
        """Begin a run in the line below the row of the one ``above``, whose headers were printed
        once for both.
        """
        run = self.begin(above.test)
        run.layout = above.layout
        run.unit = above.unit
        run.cpu = above.cpu
        run.headers = above.headers
        return run

    def above(self, layout: str | None) -> Run | None:
        """Return the run of that layout between whose row and this line is nothing but a few empty
        lines.
        """
        run = self.run
        below = (
            run is not None
            and not run.open
            and layout is not None
            and run.layout == layout
            and 0 <= self.at - run.last < 4
            and not any(line.strip() for line in self.lines[run.last : self.at])
        )
        return run if below else None

    def result_run(self) -> Run:
        """Return the run that a result found here belongs to: the open one, else a new one without
        a banner.
        """
        run = self.run
        if run is None or not run.open or (run.failing and not run.banner):
            return self.begin()
        return run


def integer(word: str) -> int | None:
    """Return a whole number, or None for netperf's -1, that is "not known"; ValueError for any
    other word.
    """
    if not INTEGER.match(word):
        raise ValueError(word)
    return int(word) if word[0] != "-" else None


def fixed(word: str, places: int) -> float | None:
    """Return a number printed with ``places`` decimals, None for nan; ValueError when it is not
    whole.
    """
    if word in NOT_A_NUMBER:
        return None
    if not FIXED[places].match(word):
        raise ValueError(word)
    return float(word)


def find_unit(text: str) -> str | None:
    """Return the unit of throughput that a header names, such as ``10^6bits/sec``, or None."""
    match = UNIT.search(text)
    return match.group(0).replace(" ", "") if match else None


def to_mbps(value: float | None, unit: str | None) -> float | None:
    """Return a throughput in 10^6 bit/s, or None where the unit is none of throughput."""
    match = UNIT.match(unit or "")
    return round(value * MBPS[match.group(1)], 6) if match and value is not None else None
