# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of netperf's classic tests, with or without their headers. Pure.

A row shows its own layout, since netperf prints sizes and counts as whole numbers and
everything else with a set number of decimals (nettest_bsd.c and the legacy part of nettest_omni.c);
that also shows where a row is truncated. The header adds the unit, and whether CPU columns follow.
"""

from __future__ import annotations

import re
from typing import Callable, List, Optional

from ...module_utils._engines.netperf.scan import (
    INTEGER,
    NOT_A_NUMBER,
    UNIT,
    Run,
    Scan,
    find_unit,
    fixed,
    integer,
)

# The first line of each table's header.
TITLES = {"Recv Send Send": "stream", "Local /Remote": "rr", "Socket Message Elapsed": "udp"}
# Its last line.
UNITS_LINE = (
    ("rr", re.compile(r"(?:bytes|frames) +(?:[Bb]ytes|frames) +bytes +bytes +secs\b")),
    ("udp", re.compile(r"bytes +bytes +secs\.? +# +#")),
    ("stream", re.compile(r"(bytes|frames) +\1 +bytes +secs\b")),
)
# With "netperf -f" a request/response test prints throughput, and names its unit one line before.
RATE_UNIT = re.compile(r"Send +Recv +Size +Size +Time +(10\^[369]bits|[KMG]Bytes) +local\b")
# The decimals of a row's first words, 0 for whole numbers.
FORMS: dict[str | None, tuple[int, ...]] = {
    "stream": (0, 0, 0, 2, 2),
    "rr": (0, 0, 0, 0, 2, 2),
    "udp": (0, 0, 2, 0, 0),
}
NUMERIC = re.compile(r"-?\d{1,18}(?:\.\d{0,3})?\Z")
HEADER_WORDS = re.compile(
    r"(?:Socket|Window) (?:Socket|Window|Size|Message) |Size Size |Send Recv "
)


def read_header(scan: Scan) -> bool:
    """Read a line of a table's header."""
    title = " ".join(scan.text.split(None, 14))
    rate = RATE_UNIT.search(title) if title.startswith("Send Recv Size Size") else None
    if title.startswith(tuple(TITLES)):
        read_title(scan, title)
    elif title.startswith(("bytes ", "frames ")):
        read_units(scan)
    elif scan.run is not None and rate:
        scan.run.unit = rate.group(1) + "/s"
    elif not HEADER_WORDS.match(title):
        return False
    scan.at += 1
    return True


def read_title(scan: Scan, title: str) -> None:
    """Read the first line of a header, which names the kind of table."""
    run = scan.result_run()
    if run.layout:
        run = scan.begin()
    run.layout = next(layout for start, layout in TITLES.items() if title.startswith(start))


def read_units(scan: Scan) -> None:
    """Read the last line of a header, which names the units."""
    text = scan.text
    for layout, form in UNITS_LINE:
        if form.search(text):
            run = scan.result_run()
            run.layout = layout
            run.cpu = " us/" in text
            run.unit = run.unit or find_unit(text) or rate_unit(text)
            return


def rate_unit(text: str) -> str | None:
    """Return the unit of a rate of requests; with service demand by KB another line of the header
    has the unit.
    """
    return next(
        (unit for unit in ("per sec", "per tran") if unit in text and "us/KB" not in text), None
    )


def read_row(scan: Scan) -> bool:
    """Read a row of a table: the one that a header announced, or one that stands alone (netperf -P
    0).
    """
    fields = scan.text.split(None, 11)
    if not fields or fields[0][-1] not in "0123456789-":
        return False
    run = scan.run
    layout = layout_of(fields)
    above = run_above(scan, fields, layout)
    try:
        row = numbers_of(fields, FORMS[layout])
    except (KeyError, ValueError):
        # Without a header a row can be known as a broken one only below another row.
        if run is None or not (above or (run.open and run.layout in FORMS)):
            return False
        return read_broken_row(scan, run, layout, bool(above))
    run = scan.inherit(above) if above else scan.result_run()
    run.layout = layout
    scan.at += ROWS[layout](scan, run, row, fields)
    run.last = scan.at
    return True


def run_above(scan: Scan, fields: list[str], layout: str | None) -> Run | None:
    """Return the run whose table goes on with these words, or None."""
    run = scan.run
    if layout is None and run is not None and is_cut_row(scan, fields):
        layout = run.layout
    return scan.above(layout)


def numbers_of(fields: list[str], forms: tuple[int, ...]) -> list[float | None]:
    """Return a row's numbers; ValueError where one is not whole."""
    return [fixed(word, form) if form else integer(word) for word, form in zip(fields, forms)]


def read_broken_row(scan: Scan, run: Run, layout: str | None, below: bool) -> bool:
    """Read what is left of a row: its run has an error and no numbers."""
    # The second line of a run whose first one is broken says nothing new.
    second = below and layout is None and run.error and run.layout != "stream"
    run = scan.inherit(run) if below and not second else run
    run.broken(scan.number, scan.text)
    scan.at += 1
    run.last = scan.at
    return True


def is_cut_row(scan: Scan, fields: list[str]) -> bool:
    """Return whether words below a row may be what is left of another row, and not just a number."""
    return all(NUMERIC.match(word) for word in fields) and (len(fields) > 1 or scan.is_cut())


def layout_of(fields: list[str]) -> str | None:
    """Return the layout whose whole numbers and decimals stand in the order of the words, or None."""
    for layout, forms in FORMS.items():
        if len(fields) >= len(forms) and all(
            ("." in word or word in NOT_A_NUMBER) == bool(form) for word, form in zip(fields, forms)
        ):
            # netperf's own choice of columns begins with the same numbers, then has the unit.
            return None if len(fields) > len(forms) and UNIT.match(fields[len(forms)]) else layout
    return None


def take_cpu(run: Run, rest: list[str]) -> bool:
    """Take the four CPU columns after a row; return whether the row is whole."""
    try:
        local = fixed(rest[0], 2)
        remote = fixed(rest[1], 2)
        demands = fixed(rest[2], 3), fixed(rest[3], 3)
    except (IndexError, ValueError):
        # Without a header what follows may be the brand of netperf -B; numbers are columns that
        # broke off.
        return not (run.cpu or (rest and re.match(r"-?\d{1,18}\.\d*\Z", rest[0])))
    run.values.update(
        local_cpu_percent=local,
        remote_cpu_percent=remote,
        local_service_demand=demands[0],
        remote_service_demand=demands[1],
    )
    return True


def finish(scan: Scan, run: Run, rest: list[str], values: dict[str, float | None]) -> None:
    """End a row of one line: take its values when it is whole."""
    if take_cpu(run, rest):
        run.values.update(values)
        run.done = True
    else:
        run.broken(scan.number, scan.text)


def stream_row(scan: Scan, run: Run, row: list[float | None], fields: list[str]) -> int:
    """``recv_size send_size message elapsed throughput [cpu]``."""
    recv, send, message, elapsed, throughput = row
    finish(
        scan,
        run,
        fields[5:],
        {
            "recv_socket_size": recv,
            "send_socket_size": send,
            "message_size": message,
            "elapsed_s": elapsed,
            "throughput": throughput,
        },
    )
    return 1


def rr_row(scan: Scan, run: Run, row: list[float | None], fields: list[str]) -> int:
    """``send_size recv_size request response elapsed rate [cpu]``, then the remote sizes."""
    send, recv, request, response, elapsed, rate = row
    finish(
        scan,
        run,
        fields[6:],
        {
            "recv_socket_size": recv,
            "send_socket_size": send,
            "message_size": request,
            "elapsed_s": elapsed,
            "throughput": rate,
        },
    )
    run.selectors.update({} if run.error else {"REQUEST_SIZE": request, "RESPONSE_SIZE": response})
    remote = scan.ahead(1).split(None, 2)
    if not 1 <= len(remote) <= 2 or not all(INTEGER.match(word) for word in remote):
        return 1
    if run.done and len(remote) == 2 and not scan.is_cut(1):
        run.selectors.update({"RSS_SIZE": int(remote[0]), "RSR_SIZE": int(remote[1])})
    return 2


def udp_row(scan: Scan, run: Run, row: list[float | None], fields: list[str]) -> int:
    """What was sent: ``size message elapsed okay errors throughput [cpu demand]``, then what
    arrived.
    """
    size, message, elapsed, okay, errors = row
    places = 1 if run.cpu or (len(fields) > 5 and re.match(r"-?\d{1,18}\.\d\Z", fields[5])) else 2
    step = 1 if scan.ahead(1).strip() else 2
    second = scan.ahead(step).split(None, 6)
    try:
        sent = udp_values(fields[5:], places)
        recv_size = integer(second[0])
        _elapsed = fixed(second[1], 2)
        arrived_okay = integer(second[2])
        arrived = udp_values(second[3:], places)
    except (IndexError, ValueError):
        run.error = f"line {scan.number}: truncated in the rows of what was sent and what arrived"
        return step + 1 if second and INTEGER.match(second[0]) and not layout_of(second) else 1
    run.values.update(
        send_socket_size=size,
        recv_socket_size=recv_size,
        message_size=message,
        elapsed_s=elapsed,
        throughput=arrived[0],
        sent=sent[0],
        local_cpu_percent=sent[1],
        local_service_demand=sent[2],
        remote_cpu_percent=arrived[1],
        remote_service_demand=arrived[2],
    )
    run.selectors.update(
        {"LOCAL_SEND_CALLS": okay, "FAILED_SENDS": errors, "REMOTE_RECV_CALLS": arrived_okay}
    )
    run.done = True
    return step + 1


def udp_values(fields: list[str], places: int) -> tuple[float | None, float | None, float | None]:
    """Return throughput, CPU and service demand of a row of UDP; netperf prints the last two only with one
    decimal.
    """
    throughput = fixed(fields[0], places)
    return (
        (throughput, fixed(fields[1], 2), fixed(fields[2], 3))
        if places == 1
        else (throughput, None, None)
    )


ReadRow = Callable[
    [Scan, Run, List[Optional[float]], List[str]], int
]  # returns how many lines it read
ROWS: dict[str | None, ReadRow] = {"stream": stream_row, "rr": rr_row, "udp": udp_row}
