# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of netperf, of every version and format from 2.4 to 2.7, as dictionaries. Pure.

Engine netperf reads what our trials print, and its readers are used here, too. :mod:`.classic` has the
tables, :mod:`.columns` CSV and columns. Interim results of logs, and what -v adds to the tables or
leaves of them, are read here.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator

from ...module_utils._engines.netperf import output, scan
from ...module_utils._engines.netperf.scan import Run, Scan, fixed
from ...module_utils._engines.netperf.values import Row
from . import classic, columns

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# Marks of quoted mail and of comments in front of a pasted log.
QUOTE = re.compile(r"(?:(?:[>#*]|//) ?)+")
INTERIM = re.compile(
    r".{0,200}?Interim result:\s*(-?\d{1,18}\.\d\d) (\S{1,12}\s{0,8}/s) over (-?\d{1,9}\.\d{1,3}) "
    r"seconds ending at (\d{1,12}\.\d{3})\s*\Z"
)
INTERIM_CSV = re.compile(
    r"\s*(-?\d{1,18}\.\d\d),(\S{1,12}\s{0,8}/s),(-?\d{1,9}\.\d{1,3}),(\d{1,12}\.\d{3})\s*\Z"
)

HISTOGRAM = re.compile(r"(?:UNIT|TEN|HUNDRED)_M?U?SEC\b|>?100_SECS:|HIST_TOTAL:|Histogram of ")
BARE = re.compile(r"\s*(-?\d{1,18}\.\d\d)(?:\s+(\S.*))?\s*\Z")
BARE_DEMAND = re.compile(r"\s*(-?\d{1,18}\.\d{2,3})(?: +([A-Z?]))?\s*\Z")


class LogScan(Scan):
    """The lines of a log."""

    def __init__(self, text: str) -> None:
        super().__init__(lines_of(text), columns.NAMES)
        # The last line of the paragraph that was checked, and of its list of lone numbers.
        self.bare_until = self.checked_until = -1


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines of a log with their numbers, without colours and marks of quoted text."""
    for number, line in enumerate(ESCAPES.sub("", text).split("\n"), 1):
        # A log kept in JSON has its line ends written as backslash and n.
        for part in line.split("\\n"):
            mark = QUOTE.match(part)
            yield number, part[mark.end() :] if mark else part


def read_interim(scan: Scan) -> bool:
    """Read an interim result (netperf -D), also in its CSV form."""
    text = scan.text
    match = None
    if "Interim result:" in text:
        match = INTERIM.match(text)
    elif "/s," in text:
        match = INTERIM_CSV.match(text)
    if not match:
        return False
    throughput, unit, seconds, ending = match.groups()
    run = scan.result_run()
    run.csv = match.re is INTERIM_CSV
    run.interim.append(
        {
            "throughput": float(throughput),
            "unit": unit.replace(" ", ""),
            "seconds": float(seconds),
            "ending_at": float(ending),
        }
    )
    scan.at += 1
    return True


def read_details(scan: Scan) -> bool:
    """Read what netperf -v 2 adds behind the table: alignments, histogram, segment size."""
    text = scan.text.lstrip()
    if HISTOGRAM.match(text):
        scan.at += 1
        return True
    if (
        text.startswith("Maximum")
        and scan.ahead(1).startswith("Segment")
        and scan.ahead(2).startswith("Size (bytes)")
    ):
        return read_segment(scan)
    if not text.startswith("Alignment ") or "Offset" not in text:
        return False
    return read_alignment(scan, text)


def read_alignment(scan: Scan, text: str) -> bool:
    """Read the table of alignments, and what follows in it of requests and responses."""
    row = scan.ahead(3).split(None, 8)
    if "RoundTrip" in text and len(row) == 8 and scan.run is not None and scan.run.done:
        with contextlib.suppress(ValueError):
            scan.run.selectors.update(
                RT_LATENCY=fixed(row[4], 3), TRANSACTION_RATE=fixed(row[5], 3)
            )
    scan.at += 4 if row and row[0].isdigit() else 3
    return True


def read_segment(scan: Scan) -> bool:
    """Read the segment size that TCP_MSS, and netperf -v 2, print."""
    step = 3 if scan.ahead(3).strip() else 4
    run = scan.run
    if run is None or "TRANSPORT_MSS" in run.selectors:
        run = scan.begin()
    if run.error is None and is_whole_size(scan.ahead(step)) and not scan.is_cut(step):
        run.selectors["TRANSPORT_MSS"] = int(scan.ahead(step))
        run.layout = run.layout or "mss"
        run.done = True
    elif not run.done:
        run.broken(scan.number, scan.text)
    scan.at += step + 1
    return True


def is_whole_size(line: str) -> bool:
    """Return whether a segment size is whole, which is printed in six places, or with a space
    behind it.
    """
    word = line.strip()
    return word.isdigit() and len(word) < 10 and (len(line) >= 6 or line.endswith(" "))


def read_bare(scan: LogScan) -> bool:
    """Read the lone number of netperf -v 0, with the brand of -B behind it."""
    waiting = waiting_run(scan)
    demand = BARE_DEMAND.match(scan.text)
    match = bare_number(scan, waiting is not None)
    if waiting and demand and (demand.group(2) or "." not in demand.group(1)[-3:]):
        waiting.selectors["SERVICE_DEMAND"] = float(demand.group(1))
        waiting.done = True
    elif match and (waiting or in_list(scan)):
        run = waiting or scan.begin()
        run.values["throughput"] = float(match.group(1))
        if match.group(2):
            run.selectors["RESULT_BRAND"] = match.group(2).strip()
        run.done = True
    else:
        return False
    scan.at += 1
    return True


def waiting_run(scan: Scan) -> Run | None:
    """Return the open run that has only a banner so far, or None."""
    run = scan.run
    if run is None or not (run.open and run.banner):
        return None
    read = run.layout or run.selectors or run.csv or "," in scan.ahead(1)
    return None if read else run


def bare_number(scan: Scan, after_banner: bool) -> re.Match[str] | None:
    """Return the line's lone number and brand; None where it may be what is left of another."""
    match = BARE.match(scan.text)
    if match and not match.group(2) and (after_banner or scan.is_cut()):
        return match if is_whole(scan, after_banner) else None
    return match


def is_whole(scan: Scan, after_banner: bool) -> bool:
    """Return whether a lone number may be whole, which is printed with a width of 7 and often a
    space behind it.

    A shorter one is what is left of a service demand; one that ends the text below a banner, of an
    interim result.
    """
    text = scan.text
    return len(text.rstrip()) >= 7 and not (
        after_banner and scan.is_cut() and text == text.rstrip()
    )


def in_list(scan: LogScan) -> bool:
    """Return whether the paragraph holds nothing but such numbers: a number in prose is no result."""
    if scan.at > scan.checked_until:
        last = scan.at
        while (
            last < len(scan.lines)
            and scan.lines[last].strip()
            and "netperf" not in scan.lines[last]
        ):
            last += 1
        # The last line of a text may be what is left of a number.
        paragraph = scan.lines[scan.at : min(last, len(scan.lines) - 1)]
        is_list = begins_paragraph(scan) and all(BARE.match(line) for line in paragraph)
        scan.checked_until = last
        scan.bare_until = last if is_list else -1
    return scan.at <= scan.bare_until


def begins_paragraph(scan: Scan) -> bool:
    """Return whether the line before is none, empty, or a command."""
    before = scan.lines[scan.at - 1].strip() if scan.at else ""
    return not before or "netperf" in before


# Each reads what it knows in the line reached and moves on, or leaves the line to the next one.
READERS: tuple[Callable[[LogScan], bool], ...] = (
    classic.read_row,
    scan.read_banner,
    output.read_keyval,
    read_interim,
    scan.read_confidence,
    classic.read_header,
    read_details,
    columns.read_csv,
    columns.read_csv_row,
    columns.read_human,
    read_bare,
    scan.read_error,
    scan.read_other,
)


def parse_netperf(text: str) -> list[Row]:
    """Return one dictionary a run, in the order of the text; the filter's documentation has all its
    keys and units.

    The text may hold any number of runs, and anything between them. A run that broke off, or
    failed, has an ``error`` and no numbers. It accepts any text.
    """
    return output.read_runs(LogScan(text), READERS)
