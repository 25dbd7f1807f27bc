# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the parsed results of a trial's streams become one result, summed over the time in which
all of them ran.

A stream is ``{"started", "finished"}`` in seconds since the epoch; a row is what its engine read in
its text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from ...module_utils._engines.engine import CLASSES, EngineCpu, Part, StreamRow
from .nouns import Result, Stream

Quantity = Literal["throughput_mbps", "transactions_per_s"]
LATE = 0.1  # of a stream's mean rate; below it its connection was not there yet
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
REST = 0.1  # s; a shorter rest after the last interim result says nothing


def interims(row: StreamRow) -> list[Part]:
    """Return a stream's interim results as [(start, end, rate)], in Mbit/s or in transactions/s,
    and what is left.
    """
    parts = row.get("parts") or []
    return parts + _rest(row, parts)


def _rest(row: StreamRow, parts: list[Part]) -> list[Part]:
    """Return what the last interim result leaves of the test, as one more.

    netperf looks at its clock after a number of calls that follows from the rate before: of a
    stream that becomes slow no interim result may come for seconds.
    """
    if not parts or not row.get("length"):
        return []
    start = parts[-1][1]
    end = parts[0][0] + row["length"]
    megabits = (
        row.get("throughput_sent_mbps")
        if row.get("test") == "UDP_STREAM"
        else row.get("throughput_mbps")
    )
    mean = row.get("transactions_per_s") or megabits
    elapsed = row.get("elapsed_s")
    if end - start < REST or mean is None or not elapsed:
        return []
    covered = sum((last - first) * rate for first, last, rate in parts)
    return [(start, end, max(0.0, mean * elapsed - covered) / (end - start))]


def traffic(row: StreamRow) -> list[Part]:
    """Return the interim results from the first that had traffic on.

    netperf's time begins before it connects: a connection whose first packet was lost is there a
    second later.
    """
    parts = interims(row)
    seconds = sum(end - start for start, end, _rate in parts)
    least = LATE * sum((end - start) * rate for start, end, rate in parts) / seconds if parts else 0
    return parts[next((number for number, part in enumerate(parts) if part[2] >= least), 0) :]


def window(stream: Stream, row: StreamRow, warm_up: float = 0) -> tuple[float, float]:
    """Return (start, end) of a stream's traffic that is counted, which begins ``warm_up`` seconds
    after its test.

    Interim results show it; else a test of one iteration ends with its process and took
    ``elapsed_s``; with several iterations only the process's own times are left.
    """
    parts = traffic(row)
    if parts:
        return max(parts[0][0], interims(row)[0][0] + warm_up), parts[-1][1]
    start = stream["started"]
    end = stream["finished"]
    elapsed = row.get("elapsed_s")
    if elapsed and (row.get("iterations") or 1) == 1:
        start = max(start, end - elapsed)
    return start + warm_up, end


def common(windows: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return (start, end, share): the time in which all streams ran, and its share of the longest
    stream's time.
    """
    start = max(first for first, _last in windows)
    end = min(last for _first, last in windows)
    longest = max(last - first for first, last in windows)
    return start, end, max(0.0, end - start) / longest if longest > 0 else 0.0


def rate_within(row: StreamRow, quantity: Quantity, start: float, end: float) -> float | None:
    """Return a stream's ``quantity`` (``throughput_mbps`` or ``transactions_per_s``) inside a
    window.

    It is taken from interim results; without them it is the mean of the whole run. For UDP_STREAM it is
    always this mean: its interim results count what was sent, not what arrived.
    """
    if row.get(quantity) is None or row.get("test") == "UDP_STREAM":
        return row.get(quantity)
    parts = [(min(last, end) - max(first, start), rate) for first, last, rate in interims(row)]
    covered = sum(seconds for seconds, _rate in parts if seconds > 0)
    if covered <= 0:
        return row[quantity]
    return sum(seconds * rate for seconds, rate in parts if seconds > 0) / covered


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _total(values: Iterable[float | None]) -> float | None:
    numbers = _known(values)
    return sum(numbers) if numbers else None


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = _known(values)
    return sum(numbers) / len(numbers) if numbers else None


def _one(
    rows: Sequence[StreamRow], field: Literal["local_service_demand", "remote_service_demand"]
) -> float | None:
    """Return a quantity of the whole host that only a single stream can be charged with."""
    return rows[0].get(field) if len(rows) == 1 else None


def latency(rows: Sequence[StreamRow]) -> dict[str, float | None] | None:
    """Return latencies in microseconds.

    Percentiles of several streams cannot be joined, so they are left out, unless each stream says
    how many latencies were in each class.
    """
    rows = [row for row in rows if row.get("transactions_per_s") is not None]
    if not rows:
        return None
    latencies = _joined_latency(rows) if len(rows) > 1 else rows[0].get("latency_us") or {}
    return latencies if _known(latencies.values()) else None


def _joined_latency(rows: Sequence[StreamRow]) -> dict[str, float | None]:
    joined = {
        "min": min(_known(_latency(row, "min") for row in rows), default=None),
        "max": max(_known(_latency(row, "max") for row in rows), default=None),
    }
    mean = _mean_latency(rows)
    if mean is not None:
        joined["mean"] = mean
    return {**joined, **_percentiles(rows)}


def _percentiles(rows: Sequence[StreamRow]) -> dict[str, float]:
    """Return the percentiles of the transactions of all streams; nothing where one has no classes."""
    counts = Counter[int]()
    for row in rows:
        classes = row.get("latency_classes")
        if not classes:
            return {}
        counts.update(classes)
    percentiles: dict[str, float] = {}
    counted = 0
    total = sum(counts.values())
    for number in sorted(counts):
        counted += counts[number]
        for name, share in PERCENTILES.items():
            if counted >= share * total:
                percentiles.setdefault(name, 2 ** ((number + 0.5) / CLASSES) / 1000)
    return percentiles


def _latency(row: StreamRow, name: str) -> float | None:
    return (row.get("latency_us") or {}).get(name)


def _mean_latency(rows: Sequence[StreamRow]) -> float | None:
    """Return the mean latency of all transactions; None where a stream does not tell its own."""
    pairs = []
    for row in rows:
        mean = _latency(row, "mean")
        rate = row.get("transactions_per_s")
        if not mean or not rate:
            return None
        pairs.append((mean, rate))
    return sum(mean * rate for mean, rate in pairs) / sum(rate for _mean, rate in pairs)


def _confidence_met(rows: Iterable[StreamRow]) -> bool | None:
    met = [row.get("confidence_met") for row in rows]
    if any(value is False for value in met):
        return False
    return True if met and all(met) else None


def _confidence_width(rows: Iterable[StreamRow]) -> dict[str, float] | None:
    widths: dict[str, float] = {}
    for row in rows:
        for quantity, width in (row.get("confidence_width") or {}).items():
            if width is not None:
                widths[quantity] = max(width, widths.get(quantity, width))
    return widths or None


def _total_of(
    test: str, rows: Sequence[StreamRow], megabits: Sequence[float | None]
) -> float | None:
    """Return the total of the streams of one test."""
    return _total(rate for rate, row in zip(megabits, rows) if row["test"] == test)


def _rates(
    rows: Sequence[StreamRow], quantity: Quantity, within: tuple[float, float] | None
) -> list[float | None]:
    """Return each stream's quantity, within a window or of its whole test."""
    if within is None:
        return [row.get(quantity) for row in rows]
    return [rate_within(row, quantity, *within) for row in rows]


def _sums(streams: Sequence[Stream], rows: Sequence[StreamRow], warm_up: float) -> Result:
    start, end, share = common([window(stream, row, warm_up) for stream, row in zip(streams, rows)])
    several = len(rows) > 1
    within = (start, end) if several and share or warm_up or any(map(_is_late, rows)) else None
    megabits = _rates(rows, "throughput_mbps", within)
    return {
        "throughput_mbps": _total(megabits),
        "transactions_per_s": _total(_rates(rows, "transactions_per_s", within)),
        "throughput_sent_mbps": _total(row.get("throughput_sent_mbps") for row in rows),
        "overlap": share if several else None,
        "window_start": start,
        "window_s": max(0.0, end - start),
        "warm_up_s": warm_up,
        "window_measured": all(map(interims, rows)),
        "stream_mbps": megabits if several and _known(megabits) else None,
        **_by_direction(rows, megabits),
    }


def _by_direction(rows: Sequence[StreamRow], megabits: Sequence[float | None]) -> Result:
    """Return the totals of both directions, where there are two."""
    if {row.get("test") for row in rows} != {"TCP_STREAM", "TCP_MAERTS"}:
        return {}
    return {
        "forward_mbps": _total_of("TCP_STREAM", rows, megabits),
        "reverse_mbps": _total_of("TCP_MAERTS", rows, megabits),
    }


def _is_late(row: StreamRow) -> bool:
    """Return whether a stream's first interim results had no traffic."""
    return len(traffic(row)) < len(interims(row))


def summarise(streams: Sequence[Stream], rows: Sequence[StreamRow], warm_up: float = 0) -> Result:
    """Return the ``result`` field of a trial, whose streams all have a row without an error.

    Of the first ``warm_up`` seconds of each stream nothing is in rates and overlap.
    """
    mss = _known(row.get("mss") for row in rows)
    result = _sums(streams, rows, warm_up)
    result.update(
        {
            "elapsed_s": max(_known(row.get("elapsed_s") for row in rows), default=None),
            "local_cpu_percent": _mean(row.get("local_cpu_percent") for row in rows),
            "remote_cpu_percent": _mean(row.get("remote_cpu_percent") for row in rows),
            "local_service_demand": _one(rows, "local_service_demand"),
            "remote_service_demand": _one(rows, "remote_service_demand"),
            "confidence_met": _confidence_met(rows),
            "confidence_width": _confidence_width(rows),
            "iterations": max(_known(row.get("iterations") for row in rows), default=None),
            "mss": min(mss, default=None),
            "retransmits": _total(row.get("retransmits") for row in rows),
            "latency_us": latency(rows),
            "message_size": rows[0].get("message_size"),
            "send_socket_size": rows[0].get("send_socket_size"),
            "recv_socket_size": rows[0].get("recv_socket_size"),
        }
    )
    result.update(_where_told(rows))
    return result


def _where_told(rows: Sequence[StreamRow]) -> Result:
    """Return what only some engines say, where they do."""
    result: Result = {}
    if len(rows) == 1 and rows[0].get("rtt_us"):
        result["rtt_us"] = rows[0]["rtt_us"]
    for row in rows:
        if row.get("unloaded_us"):
            result["unloaded_us"] = row["unloaded_us"]
    result.update(_receive_calls(rows))
    result.update(_zero_copy(rows))
    if any(row.get("engine_cpu") for row in rows):
        result["engine_cpu"] = {end: _busiest(rows, end) for end in ("client", "server")}
    return result


def _receive_calls(rows: Sequence[StreamRow]) -> Result:
    """Return the calls a second of all receivers, where each of them says its own."""
    if not all("receive_calls_per_s" in row for row in rows):
        return {}
    return {"receive_calls_per_s": sum(row["receive_calls_per_s"] for row in rows)}


def _zero_copy(rows: Sequence[StreamRow]) -> Result:
    """Return the counts of sends without copying, summed, where each stream has them."""
    if not all("zero_copy" in row for row in rows):
        return {}
    counts = [row["zero_copy"] for row in rows]
    return {
        "zero_copy": {
            "calls": sum(count["calls"] for count in counts),
            "completed": sum(count["completed"] for count in counts),
            "copied": sum(count["copied"] for count in counts),
        }
    }


def _busiest(rows: Iterable[StreamRow], end: str) -> EngineCpu | None:
    """Return what the busiest process of an end needed of a CPU."""
    cpus = [cpu for row in rows if (cpu := (row.get("engine_cpu") or {}).get(end))]
    return max(cpus, key=lambda cpu: cpu["own"] + cpu["kernel"], default=None)
