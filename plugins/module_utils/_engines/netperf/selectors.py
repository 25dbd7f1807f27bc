# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output selectors of netperf's omni tests: their names, their columns' headers, their values'
form. Pure.

Names and headers are what ``netperf -- -k all``, ``-o all`` and ``-O all`` of netperf 2.7.0 print.
"""

from __future__ import annotations

import re

from .scan import NOT_A_NUMBER, UNIT, Run

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


def upper(header: str) -> str:
    """Return a header in the form of a selector's name."""
    return re.sub(r"[^A-Z0-9]+", "_", header.upper()).strip("_")


def table() -> dict[str, str]:
    """Return ``{header: name}`` of all selectors."""
    headers = {}
    for item in (PLAIN + OTHER).replace("\n", "|").split("|"):
        header, _colon, name = item.partition(": ")
        for side in ("Local", "Remote") if "*" in header else ("",):
            own = header.replace("*", side)
            headers[own] = (
                name.replace("*", side.upper()).replace("@", side[:1]) if name else upper(own)
            )
    headers.pop("")
    return headers


HEADERS = table()
NAMES = frozenset(HEADERS.values())
FIRST_WORDS = frozenset(header.split(None, 1)[0] for header in HEADERS)
WORDS = frozenset(" ".join(HEADERS).split())


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
    wanted = places(name)
    if name == "THROUGHPUT_UNITS":
        return is_unit(text)
    return not wanted or bool(NUMBER.match(text)) and len(text.partition(".")[2]) >= wanted


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
