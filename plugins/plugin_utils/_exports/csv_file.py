# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""trials.csv, a row a trial, and the digest of the trials: by a process of its own while another
one analyses.
"""

from __future__ import annotations

import contextlib
import csv
import multiprocessing
from collections.abc import Callable, Iterator
from itertools import product
from multiprocessing.connection import Connection
from typing import Any

from ...module_utils._base.errors import LabError
from .._trials import guards
from .._trials.digest import (
    ENDS,
    KINDS,
    PLACE,
    Digest,
)
from .._trials.nouns import NOTHING, EndCpu, Result, Trial
from .._trials.records import stream_records
from .._untrusted.texts import cell

Outcome = Digest | Exception  # of the process that digests
WORKLOAD = ("name", "test", "message_size", "streams", "tenants", "duration")
RESULTS = (
    "throughput_mbps",
    "throughput_sent_mbps",
    "transactions_per_s",
    "elapsed_s",
    "retransmits",
    "mss",
    "confidence_met",
    "local_cpu_percent",
    "remote_cpu_percent",
    "local_service_demand",
    "remote_service_demand",
)
LATENCIES = ("mean", "p50", "p90", "p99", "p999")
DEMANDS = ("service_demand_us_per_kb", "service_demand_us_per_transaction")
OF_AN_END = (*DEMANDS, *(f"{kind}_percent" for kind in KINDS))
COLUMNS = (
    *PLACE,
    "workload",
    *WORKLOAD[1:],
    *RESULTS,
    *(f"latency_{name}_us" for name in LATENCIES),
    *(f"{end}_{name}" for end, name in product(ENDS, OF_AN_END)),
    "left_out",
    "marks",
    "error",
)


def _cpu_cells(use: EndCpu | None) -> list[float | None]:
    """Return one end's service demand and CPU shares; nice counts as user."""
    percent = use.get("percent") if use else None
    if not use or not percent:
        return [None] * len(OF_AN_END)
    shares = [round(percent.get(kind, 0.0), 3) for kind in KINDS]
    shares[0] = round(percent.get("user", 0.0) + percent.get("nice", 0.0), 3)
    demands = (
        use.get("service_demand_us_per_kb"),
        use.get("service_demand_us_per_transaction"),
    )
    return [*demands, *shares]


def csv_row(trial: Trial) -> list[Any]:
    """Return a trial as one row of :data:`COLUMNS`; None, an empty cell, is what was not measured."""
    result = trial.get("result") or NOTHING
    work = trial.get("workload") or NOTHING
    row = [trial.get(name) for name in PLACE]
    row += [work.get(name) for name in WORKLOAD]
    row += [result.get(name) for name in RESULTS]
    row += _latencies(result)
    ends = (trial.get("cpu") or NOTHING).get("ends") or NOTHING
    for end in ENDS:
        row += _cpu_cells(ends.get(end))
    row += [_left_out(trial), _marks(trial), trial.get("error")]
    return _without_formulas(row)


def _without_formulas(row: list[Any]) -> list[Any]:
    return [cell(value) if type(value) is str else value for value in row]


def _latencies(result: Result) -> list[float | None]:
    latency = result.get("latency_us") or NOTHING
    return [latency.get(name) for name in LATENCIES]


def _left_out(trial: Trial) -> int:
    return int(bool(trial.get("error")) or guards.excluded(trial))


def _marks(trial: Trial) -> str:
    return "; ".join("{guard}: {reason}".format(**mark) for mark in trial.get("marks") or ())


def digest_of(record: str, path: str, control: str) -> Digest:
    """Write the good trials of a record to a file of CSV and return their :class:`Digest`."""
    digest = Digest(control)
    with open(path, "w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(COLUMNS)
        for trial in stream_records(record, []):
            rows.writerow(csv_row(trial))
            digest.see(trial)
    return digest


def _send_digest(
    reader: Connection, results: Connection, record: str, path: str, control: str
) -> None:
    """Send the digest, or the error, and end: also where nobody reads it any more."""
    reader.close()  # the other process's alone: when that is killed, the pipe breaks
    outcome: Outcome
    try:
        outcome = digest_of(record, path, control)
    except Exception as error:  # noqa: BLE001 # the other process raises it
        outcome = error
    with contextlib.suppress(BrokenPipeError):
        results.send(outcome)


@contextlib.contextmanager
def digested(record: str, path: str, control: str) -> Iterator[Callable[[], Digest]]:
    """Run :func:`digest_of` while the ``with`` block runs; yield the function that waits for what
    it returns.
    """
    fork = multiprocessing.get_context("fork")
    reader, results = fork.Pipe(duplex=False)
    process = fork.Process(
        target=_send_digest, args=(reader, results, record, path, control), daemon=True
    )
    process.start()
    results.close()  # the process has its own: when it ends, there is nothing more to read
    outcome: list[Outcome] = []

    def digest() -> Digest:
        try:
            if not outcome:
                outcome.append(reader.recv())
        except EOFError:
            raise LabError(
                "the process that wrote it was ended",
                path,
                "Check whether memory ran out, and try again.",
            )
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    try:
        yield digest
    finally:
        process.terminate()
        process.join()
