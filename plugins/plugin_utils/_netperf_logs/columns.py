# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of netperf's omni tests, also of migrated ones, as CSV and as columns for people. Pure.

After print_omni_csv and print_omni_human of netperf's nettest_omni.c. Names and headers are what
``netperf -- -k all``, ``-o all`` and ``-O all`` of netperf 2.7.0 print.
"""

from __future__ import annotations

import csv
import re

from ...module_utils._engines.netperf.output import SIMPLE, is_unit, store
from ...module_utils._engines.netperf.scan import FIXED, Run, Scan

DIRECTIONS = ("Send", "Receive", "Recv", "Send|Recv", "Connect|Send|Recv", "Connect|Close")
# Mail programs wrap the long header of CSV; one of all selectors makes some 60 lines of 80
# characters.
MOST_LINES = 100
# Headers that are the selector's name but for case and spaces; "*" stands for Local and for Remote.
PLAIN = """
Socket Type|Protocol|Direction|Throughput|Throughput Units|Source Port|Source Family|Command Line
* Send Size|* Recv Size|* CPU Util %|* Send Throughput|* Recv Throughput|* CPU Bind|* CPU Count|* CPU Model
* Send Calls|* Recv Calls|* Bytes Per Recv|* Bytes Per Send|* Bytes Sent|* Send Offset|* Recv Offset|* Send Width
* Recv Width|* Send Dirty Count|* Recv Dirty Count|* Recv Clean Count|* NODELAY|* Cork|* Sysname|* System Model
* Release|* Version|* Machine|* Interface Name|* Interface Vendor|* Interface Device|* Interface Subvendor
* Interface Subdevice|* Interface Slot|* Driver Name|* Driver Version|* Driver Firmware|* Driver Bus
* Interval Usecs|* Interval Burst|* Socket TOS|* Fill File
"""
# Headers of other selectors, "HEADER: NAME"; in a name "*" stands for LOCAL and REMOTE, "@" for L
# and R.
OTHER = """
Elapsed Time (sec): ELAPSED_TIME|Request Size Bytes: REQUEST_SIZE|Response Size Bytes: RESPONSE_SIZE
* Send Socket Size Requested: @SS_SIZE_REQ|* Send Socket Size Initial: @SS_SIZE|* Send Socket Size Final: @SS_SIZE_END
* Recv Socket Size Requested: @SR_SIZE_REQ|* Recv Socket Size Initial: @SR_SIZE|* Recv Socket Size Final: @SR_SIZE_END
* CPU User %: *_CPU_PERCENT_USER|* CPU System %: *_CPU_PERCENT_SYSTEM|* CPU I/O %: *_CPU_PERCENT_IOWAIT
* CPU IRQ %: *_CPU_PERCENT_IRQ|* CPU swintr %: *_CPU_PERCENT_SWINTR|* CPU Util Method: *_CPU_METHOD
* Service Demand: *_SD|Service Demand Units: SD_UNITS|* Peak Per CPU Util %: *_CPU_PEAK_UTIL
* Peak Per CPU ID: *_CPU_PEAK_ID|* CPU Frequency MHz: *_CPU_FREQUENCY
Confidence Level Percent: CONFIDENCE_LEVEL|Confidence Width Target: CONFIDENCE_INTERVAL
Confidence Iterations Run: CONFIDENCE_ITERATION|Throughput Confidence Width (%): THROUGHPUT_CONFID
* CPU Confidence Width (%): *_CPU_CONFID|Transaction Rate Tran/s: TRANSACTION_RATE
Round Trip Latency usec/tran: RT_LATENCY|Initial Burst Requests: BURST_SIZE
* Transport Retransmissions: *_TRANSPORT_RETRANS|Transport MSS bytes: TRANSPORT_MSS
Source Address: SOURCE_ADDR|Destination Port: DEST_PORT|Destination Address: DEST_ADDR|Destination Family: DEST_FAMILY
* Bytes Received: *_BYTES_RECVD|* Bytes Xferred: *_BYTES_XFERD|* Send Alignment: *_SEND_ALIGN
* Recv Alignment: *_RECV_ALIGN|* OS Security Type ID: *_SECURITY_TYPE_ID|* OS Security Type: *_SECURITY_TYPE
* OS Security Enabled Num: *_SECURITY_ENABLED_NUM|* OS Security Enabled: *_SECURITY_ENABLED
* OS Security Specific: *_SECURITY_SPECIFIC|Result Tag: RESULT_BRAND|Test UUID: UUID
Minimum Latency Microseconds: MIN_LATENCY|Maximum Latency Microseconds: MAX_LATENCY
50th Percentile Latency Microseconds: P50_LATENCY|90th Percentile Latency Microseconds: P90_LATENCY
99th Percentile Latency Microseconds: P99_LATENCY|Mean Latency Microseconds: MEAN_LATENCY
Stddev Latency Microseconds: STDDEV_LATENCY|* Socket Priority: *_SOCKET_PRIO
* Congestion Control Algorithm: *_CONG_CONTROL
"""


def read_csv(scan: Scan) -> bool:
    """Read the header of CSV and the row of values after it."""
    text = scan.text
    if text.split(" ", 1)[0].split(",", 1)[0] not in FIRST_WORDS:
        return False
    if not ("," in text or SIMPLE.match(scan.ahead(1))) or not is_csv_header(text):
        return False
    step = 1
    while step < MOST_LINES and is_header_text(scan.ahead(step).replace(",", " ")):
        text += " " + scan.ahead(step)
        step += 1
    run = scan.result_run()
    run.layout = "csv"
    run.headers = [" ".join(part.split()) for part in text.split(",")]
    values = split_csv(scan.ahead(step))
    if len(values) < len(run.headers):
        run.broken(scan.number, scan.ahead(step) or text)
    else:
        take(scan, run, values, step)
    scan.at += step + 1
    run.last = scan.at
    return True


def is_csv_header(text: str) -> bool:
    """Return whether a line begins like a header: known columns, at least one of them whole."""
    parts = [part.strip() for part in text.split(",")]
    return all(part.split(" ", 1)[0] in FIRST_WORDS for part in parts) and any(
        part in HEADERS for part in parts
    )


def is_header_text(text: str) -> bool:
    """Return whether a line holds nothing but words of headers."""
    fields = text.split()
    return bool(fields) and all(word in WORDS for word in fields)


def split_csv(line: str) -> list[str]:
    """Return the values of a CSV line; netperf puts quotes only around its command line."""
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line]))
    except (csv.Error, StopIteration):
        return []


def take(scan: Scan, run: Run, values: list[str], step: int) -> None:
    """Keep the values of a run's columns, which stand ``step`` lines further on."""
    run.done = True
    cut = len(run.headers) - 1 if scan.is_cut(step) and len(values) == len(run.headers) else -1
    for column, (header, value) in enumerate(zip(run.headers, values)):
        name = HEADERS.get(header) or upper(header)
        # netperf 2.7 gives several columns of Remote OS Security one header: the first is kept.
        if name and name not in run.selectors:
            store(run, name, value, column == cut)


def read_csv_row(scan: Scan) -> bool:
    """Read a row of CSV without its header (netperf -P 0 -- -o)."""
    if "," not in scan.text:
        return False
    above = scan.above("csv")
    if above and above.headers:
        values = split_csv(scan.text)
        if len(values) == len(above.headers):
            run = scan.inherit(above)
            take(scan, run, values, 0)
            scan.at += 1
            run.last = scan.at
            return True
    return scan.text.lstrip()[:1].isdigit() and read_lone_csv_row(scan)


def read_lone_csv_row(scan: Scan) -> bool:
    """Read a row below no header: of its values only the throughput is certain."""
    run = scan.run
    if run is not None and run.open and (run.banner or run.layout or run.interim):
        # netperf that prints a banner prints the header too; what looks like a row is a broken
        # interim result.
        return False
    throughput = throughput_in([part.strip() for part in scan.text.split(",", 400)])
    if not throughput:
        return False
    run = scan.result_run()
    run.layout = "csv"
    run.done = True
    run.selectors.update(throughput)
    scan.at += 1
    return True


def throughput_in(parts: list[str]) -> dict[str, float | str]:
    """Return the throughput in a row of CSV, next to its unit or as the only number of its form."""
    unit = next(filter(is_unit, parts), None)
    numbers = [part for part in parts if FIXED[2].match(part)]
    if unit:
        before = parts[max(0, parts.index(unit) - 1)]
        return {"THROUGHPUT": float(before), "THROUGHPUT_UNITS": unit} if before in numbers else {}
    if len(numbers) == 1 and any(part in DIRECTIONS for part in parts):
        return {"THROUGHPUT": float(numbers[0])}
    return {}


def read_human(scan: Scan) -> bool:
    """Read a block of columns: four lines of header, the first with one word a column, and
    the values.
    """
    fields = scan.text.split()
    if not fields or not FIRST_WORDS.issuperset(fields):
        return False
    step = lines_of_header(scan)
    starts = [match.start() for match in re.finditer(r"\S+", scan.text)]
    rows = [slices(scan.ahead(line), starts) for line in range(min(step, 4))]
    headers = [" ".join(" ".join(cells).split()) for cells in zip(*rows)]
    if sum(header in HEADERS for header in headers) * 2 < len(headers):
        return False
    run = human_run(scan, headers)
    run.headers = headers
    values = cells_of(scan.ahead(step), starts)
    if len(values) != len(headers):
        run.broken(scan.numbers[min(scan.at + step, len(scan.numbers) - 1)], scan.ahead(step))
    else:
        take(scan, run, values, step)
    scan.at += step + 1
    return True


def lines_of_header(scan: Scan) -> int:
    """Return after how many lines of header the values of a block of columns stand."""
    step = 1
    while step < 4 and (not scan.ahead(step).strip() or is_header_text(scan.ahead(step))):
        step += 1
    while step < 5 and not scan.ahead(step).strip():
        step += 1
    return step


def human_run(scan: Scan, headers: list[str]) -> Run:
    """Return the run of a block: netperf prints up to four blocks a run, each of other columns."""
    run = scan.run
    names = [HEADERS.get(header) or upper(header) for header in headers]
    if (
        run is None
        or not run.done
        or run.layout != "human"
        or any(name in run.selectors for name in names)
    ):
        run = scan.result_run()
    run.layout = "human"
    return run


def slices(line: str, starts: list[int]) -> list[str]:
    """Return the parts of a line that begin at the given places."""
    return [line[start:end] for start, end in zip(starts, starts[1:] + [None])]


def cells_of(line: str, starts: list[int]) -> list[str]:
    """Return the values of a line of columns; of a line whose spaces were lost, its words."""
    aligned = all(start == 0 or line[start - 1 : start] in ("", " ") for start in starts)
    cells = [cell.strip() for cell in slices(line, starts)]
    if aligned and cells and cells[-1]:
        return cells
    return line.split()


def upper(header: str) -> str:
    """Return a header in the form of a selector's name."""
    return re.sub(r"[^A-Z0-9]+", "_", header.upper()).strip("_")


def table() -> dict[str, str]:
    """Return ``{header: name}`` of all selectors."""
    headers = {}
    for item in (PLAIN + OTHER).replace("\n", "|").split("|"):
        header, _colon, name = item.partition(": ")
        for side in ("Local", "Remote") if "*" in header else ("",):
            of_side = header.replace("*", side)
            headers[of_side] = (
                name.replace("*", side.upper()).replace("@", side[:1]) if name else upper(of_side)
            )
    headers.pop("")
    return headers


HEADERS = table()
NAMES = frozenset(HEADERS.values())
FIRST_WORDS = frozenset(header.split(None, 1)[0] for header in HEADERS)
WORDS = frozenset(" ".join(HEADERS).split())
