# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all readers of netperf's output share: the lines, the run being read, numbers and units, and what
netperf prints around a result: banners, confidence, errors. Pure.

The forms come from print_top_test_header and display_confidence of netperf's sources.
"""

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


# A banner is "NAME TEST", then the addresses; a shell prompt may come before it on the line.
NAME = re.compile(
    r"(?:(TCP|UDP|UDPLITE|SCTP|DCCP|SDP|DG|DNS|STREAM|TCPIPV6|UDPIPV6|TIPC|XTI TCP|XTI UDP|DLPI CO|DLPI CL) "
    r"(1-TO-MANY )?(STREAM|MAERTS|SENDFILE|MSS|UNIDIRECTIONAL SEND|REQUEST/RESPONSE|Connect/Request/Response"
    r"|Connect/Close|Transactional/Request/Response)|(OMNI)(?: ([A-Za-z|]{1,30}))?)\Z"
)
LONGEST_NAME = 70
AFTER_NAME = re.compile(r" TEST(?= from\b| to\b| ?:| \(|\s*\Z)")
KINDS = {
    "UNIDIRECTIONAL SEND": "STREAM",
    "REQUEST/RESPONSE": "RR",
    "Connect/Request/Response": "CRR",
    "Connect/Close": "CC",
    "Transactional/Request/Response": "TRR",
}

LIMIT = re.compile(r"\+/-\s*(\d{1,6}\.\d{1,6})%\s*(?:@\s*)?\d\d% conf\.( on result only)?")
WIDTH = re.compile(r"(Throughput|Local CPU util|Remote CPU util)\s*:\s*(-?\d{1,12}\.\d{1,3})%")
QUANTITIES = {
    "Throughput": "throughput",
    "Local CPU util": "local_cpu",
    "Remote CPU util": "remote_cpu",
}

TROUBLE = re.compile(
    r"error|errno|fail|could ?n[o']t|cannot|no response|partial|refused|reset by|unreachable|unable"
    r"|too (?:long|small)|invalid option|requires an argument|not found|no route|timed? ?out|timeout"
    r"|denied|broken pipe|interrupted|are you sure",
    re.I,
)
# netperf names itself or one of its functions; captures are known that lost the first letter.
SPEAKER = re.compile(r"\s*(?:n?etperf: |[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+:? )")
# Without a banner only the way netperf names them shows that a function is one of its own.
OWN_SPEAKER = re.compile(
    r"\s*(?:n?etperf: |(?:s?end|r?ecv|u?dp|t?cp|s?ctp|c?reate|c?onnect|d?isconnect|c?lose|g?et"
    r"|s?et|a?lloc|a?llocate|a?ccept)_\w{1,40}: )"
)
# These come before a test begins, and end netperf: each is a run of its own.
START = re.compile(
    r"\s*(?:e?stablish control: |r?esolve_host: |c?omplete_addrinfo: |t?he test you requested \("
    r"|c?ould not open output selection file|N?etperf does not understand|\S{0,40}sh: .{0,60}netperf: "
    r"|n?etperf: (?:command )?not found)",
    re.I,
)
FOLLOW = re.compile(
    r"\s*(?:e?stablish_control could not|N?etperf could not resolve|getaddrinfo returned"
    r"|p?lease verify that|a?nd that test family|a?re you sure there is a netserver"
    r"|file must be larger)",
    re.I,
)
LAST = re.compile(
    r"\s*(?:e?stablish_control could not|N?etperf could not resolve|a?nd that test family|usage: netperf"
    r"|c?ould not open output selection file)",
    re.I,
)
USAGE = "Usage: netperf"
# Printed when everything is over, after the result.
AFTERWARDS = "hutdown_control"


def find_banner(text: str) -> tuple[str, str | None] | tuple[None, None]:
    """Return the test's name in a line that holds a banner, such as ``TCP_STREAM``, and its
    direction, if any.
    """
    for match in AFTER_NAME.finditer(text):
        name = NAME.search(text[max(0, match.start() - LONGEST_NAME) : match.start()])
        if name:
            family, many, kind, omni, direction = name.groups()
            return omni or test_name(family, many, kind), direction
    return None, None


def test_name(family: str, many: str | None, kind: str) -> str:
    """Return netperf's name of the test for ``-t`` from the words of its banner."""
    return "_".join((family.replace(" ", "_"), KINDS.get(kind, kind))) + ("_MANY" if many else "")


def read_banner(scan: Scan) -> bool:
    """Read a banner: it begins a run."""
    text = scan.text
    if " TEST" not in text:
        return False
    test, direction = find_banner(text)
    if test is None:
        return False
    early = scan.run
    run = scan.begin(test, banner=True)
    run.direction = direction
    if early is not None and early.failing and not early.banner and not early.ended:
        # What netperf writes to stderr can stand before the banner that waited in the buffer of
        # stdout.
        scan.runs.remove(early)
        run.line = early.line
        run.notes = early.notes
    set_limit(run, " ".join([text] + wrapped(scan)))
    scan.at += 1
    return True


def wrapped(scan: Scan) -> list[str]:
    """Return the next lines, in which a banner may go on that mail has wrapped."""
    lines = []
    for step in (1, 2):
        line = scan.ahead(step)
        if " TEST" in line or line.startswith("!!!"):
            break
        lines.append(line[:200])
    return lines


def set_limit(run: Run, text: str) -> None:
    """Take the confidence interval that a banner asks for."""
    match = LIMIT.search(text)
    if match:
        run.limit = float(match.group(1))
        run.result_only = bool(match.group(2))


def read_confidence(scan: Scan) -> bool:
    """Read a line of netperf's warning that the wanted confidence was not reached."""
    text = scan.text.lstrip()
    if not text.startswith("!!!"):
        return False
    run = scan.result_run()
    run.warned = True
    match = WIDTH.search(text)
    if match:
        run.widths[QUANTITIES[match.group(1)]] = float(match.group(2))
    scan.at += 1
    return True


def is_error(text: str) -> bool:
    """Return whether a line is an error message of netperf, or of the shell about it."""
    if START.match(text) or FOLLOW.match(text):
        return True
    return bool(SPEAKER.match(text) and TROUBLE.search(text) and AFTERWARDS not in text)


def failing_run(scan: Scan, text: str) -> Run | None:
    """Return the run that an error message belongs to, the open one or a new one, or None."""
    run = scan.run
    if run is not None and run.open and not START.match(text):
        return run
    begins = any(form.match(text) for form in (START, FOLLOW, OWN_SPEAKER))
    return scan.begin() if begins else None


def read_error(scan: Scan) -> bool:
    """Read an error message; without an open run it begins one."""
    text = scan.text[:400]
    run = scan.run
    if text.startswith(USAGE) and run is not None and run.failing:
        run.ended = True
    run = failing_run(scan, text) if is_error(text) else None
    if run is None:
        return False
    run.failing = True
    note(run, scan)
    if not run.banner and LAST.match(text):
        run.ended = True
    scan.at += 1
    return True


def note(run: Run, scan: Scan) -> None:
    """Keep a line that has no value: if the run has no result, the line may say why."""
    if len(run.notes) < NOTES:
        run.notes.append((scan.number, scan.text.strip()[:400]))


def reason(run: Run) -> str:
    """Return why a run without a result has none: netperf's own words where it said anything."""
    errors = [text for _number, text in run.notes if is_error(text)]
    if errors:
        return "; ".join(errors[:6])
    return "truncated before its result" + (f" ({run.notes[-1][1]})" if run.notes else "")


def read_other(scan: Scan) -> bool:
    """Keep a line of an open run that nobody else reads."""
    if scan.run is not None and scan.run.open and scan.text.strip():
        note(scan.run, scan)
    scan.at += 1
    return True
