# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was read of a netperf run to its dictionary: one set of keys for every test and output
format. Pure.
"""

from __future__ import annotations

from typing import Any, Iterable, TypedDict

from .scan import Interim, Run, reason, to_mbps

KEYS = (
    "test",
    "throughput_mbps",
    "throughput_sent_mbps",
    "throughput",
    "throughput_unit",
    "elapsed_s",
    "local_cpu_percent",
    "remote_cpu_percent",
    "local_service_demand",
    "remote_service_demand",
    "recv_socket_size",
    "send_socket_size",
    "message_size",
    "transactions_per_s",
    "confidence_met",
)
OMNI = ("keyval", "csv", "human")
RATE_UNITS = ("Trans/s", "per sec")
WIDTHS = {
    "throughput": "THROUGHPUT_CONFID",
    "local_cpu": "LOCAL_CPU_CONFID",
    "remote_cpu": "REMOTE_CPU_CONFID",
}
# Which end's sizes say what was sent and received: of the data, and of the two directions of a
# request.
SIZES = {
    "send": (("RSR_SIZE", "RSR_SIZE_END"), ("LSS_SIZE", "LSS_SIZE_END"), ("LOCAL_SEND_SIZE",)),
    "receive": (("LSR_SIZE", "LSR_SIZE_END"), ("RSS_SIZE", "RSS_SIZE_END"), ("REMOTE_SEND_SIZE",)),
    "rr": (("LSR_SIZE", "LSR_SIZE_END"), ("LSS_SIZE", "LSS_SIZE_END"), ("REQUEST_SIZE",)),
}


class Row(TypedDict):
    """A run of netperf; the filter's documentation has all its keys.

    A number is None where it was not printed.
    """

    test: str | None
    throughput_mbps: float | None
    throughput_sent_mbps: float | None
    throughput: float | None
    throughput_unit: str | None
    elapsed_s: float | None
    local_cpu_percent: float | None
    remote_cpu_percent: float | None
    local_service_demand: float | None
    remote_service_demand: float | None
    recv_socket_size: int | None  # bytes, as the other sizes
    send_socket_size: int | None
    message_size: int | None
    transactions_per_s: float | None
    confidence_met: bool | None
    confidence_width: dict[str, float]  # % of the mean, the whole interval, by quantity
    confidence_limit: float | None  # %, half of the interval that was asked for
    error: str | None
    line: int  # of the text, from 1
    interim: list[Interim]
    selectors: dict[str, Any]  # {netperf's name: number or text}


def entry(run: Run) -> Row:
    """Return the dictionary of a run; one with an ``error`` has no numbers, but for whole interim
    results.
    """
    values: Any = dict.fromkeys(KEYS)
    if not run.done and run.error is None:
        run.error = reason(run)
    if run.error is None:
        values.update(numbers(run))
    values.update(
        test=run.test,
        confidence_width=widths(run),
        confidence_limit=run.limit,
        error=run.error,
        line=run.line,
        interim=[item for item in run.interim if len(item) == 4],
        selectors={} if run.error else run.selectors,
    )
    return values


def numbers(run: Run) -> dict[str, object]:
    """Return the numbers of a whole run, and note an error where the one that matters is missing."""
    values: dict[str, Any] = dict(omni_numbers(run) if run.layout in OMNI else run.values)
    sent = values.pop("sent", None)
    throughput = values.get("throughput")
    unit = run.unit or run.selectors.get("THROUGHPUT_UNITS")
    rate = throughput if unit in RATE_UNITS else transaction_rate(run)
    without = run.layout == "mss" or "SERVICE_DEMAND" in run.selectors
    if throughput is None and rate is None and not without:
        run.error = "netperf printed no throughput"
        return {}
    values.update(
        throughput_unit=unit,
        throughput_mbps=to_mbps(throughput, unit),
        transactions_per_s=rate,
        throughput_sent_mbps=to_mbps(sent, unit),
        confidence_met=confidence_met(run),
    )
    for side in ("local", "remote"):
        unmeasured(values, side + "_cpu_percent", side + "_service_demand")
    return values


def unmeasured(values: dict[str, object], cpu: str, demand: str) -> None:
    """Drop the -1.00 that netperf prints for what it did not measure; its other negative numbers
    stay as printed.
    """
    if values.get(cpu) == -1.0:
        values[cpu] = values[demand] = None
    elif values.get(demand) == -1.0:
        values[demand] = None


def direction(run: Run) -> str:
    """Return the direction of the data as netperf names it, such as ``Send|Recv``, empty where it
    was not printed.
    """
    return str(run.selectors.get("DIRECTION") or run.direction or "")


def is_request_response(run: Run) -> bool:
    """Return whether the run is of requests and responses."""
    return (
        (run.test or "").endswith(("RR", "CC", "RR_MANY"))
        or "|" in direction(run)
        or run.selectors.get("THROUGHPUT_UNITS") == "Trans/s"
    )


def transaction_rate(run: Run) -> float | None:
    """Return the rate printed next to a throughput in bits; netperf prints a senseless 1.000 for
    other tests.
    """
    return run.selectors.get("TRANSACTION_RATE") if is_request_response(run) else None


def kind_of_sizes(run: Run) -> str:
    """Return the row of :data:`SIZES` that is of this run's test."""
    if is_request_response(run):
        return "rr"
    receives = "MAERTS" in (run.test or "") or direction(run) == "Receive"
    return "receive" if receives else "send"


def first_known(run: Run, names: Iterable[str]) -> float | None:
    """Return the first number of these selectors; a negative one is not known."""
    for name in names:
        value = run.selectors.get(name)
        if isinstance(value, (int, float)) and value >= 0:
            return value
    return None


def omni_numbers(run: Run) -> dict[str, float | None]:
    """Return the numbers of a run that was printed by selectors."""
    values = run.selectors
    kind = kind_of_sizes(run)
    recv, send, message = SIZES[kind]
    local, remote = (first_known(run, [end + "_SEND_THROUGHPUT"]) for end in ("LOCAL", "REMOTE"))
    sent = local or remote
    return {
        "throughput": values.get("THROUGHPUT"),
        "elapsed_s": values.get("ELAPSED_TIME"),
        "sent": None if kind == "rr" else sent or None,
        "local_cpu_percent": values.get("LOCAL_CPU_UTIL"),
        "remote_cpu_percent": values.get("REMOTE_CPU_UTIL"),
        "local_service_demand": values.get("LOCAL_SD"),
        "remote_service_demand": values.get("REMOTE_SD"),
        "recv_socket_size": first_known(run, recv),
        "send_socket_size": first_known(run, send),
        "message_size": first_known(run, message),
    }


def widths(run: Run) -> dict[str, float]:
    """Return the widths of the confidence intervals in percent, by quantity, where netperf printed
    them.
    """
    printed = {quantity: run.selectors.get(name) for quantity, name in WIDTHS.items()}
    return run.widths or {
        quantity: width for quantity, width in printed.items() if width is not None and width >= 0
    }


def confidence_met(run: Run) -> bool | None:
    """Return whether netperf reached the confidence it was asked for (-i, -I), None where it was
    not asked or not said.

    Tables carry a warning when it was not. By selectors netperf gives only the widths reached: they
    are held against CONFIDENCE_INTERVAL, and where that was not printed against the +/- of the
    banner, which is half of it.
    """
    if run.warned:
        return False
    if run.layout not in OMNI:
        return True if run.limit is not None else None
    limit = run.selectors.get("CONFIDENCE_INTERVAL")
    limit = limit if limit is not None and limit > 0 else run.limit
    reached = widths(run)
    if limit is None or "throughput" not in reached:
        return None
    if run.result_only:
        return reached["throughput"] <= limit
    return max(reached.values()) <= limit
