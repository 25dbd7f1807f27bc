# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure reading of /proc/stat and /proc/softirqs, and the CPU time spent between two snapshots.

Formats: proc(5) and the kernel's Documentation/filesystems/proc.rst. Times in /proc/stat are in
clock ticks (USER_HZ), user includes guest time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from ...module_utils._base.errors import ParseError
from ...module_utils._observe.reading import CounterReading
from .nouns import Cpu, EndCpu, Result, Watched

ENDS: tuple[Literal["client", "server", "forwarder"], ...] = ("client", "server", "forwarder")
KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
IDLE_KINDS = ("idle", "iowait")
NET_SOFTIRQS = ("NET_RX", "NET_TX")
TRAFFIC_SHARE = 0.9  # with less of it in the counted time, CPU and bytes do not belong together


def _is_number(text: str) -> bool:
    """Return whether this is the number of a CPU: digits, and not more than any machine has."""
    return text.isascii() and text.isdigit() and len(text) < 10


def _numbers(columns: Iterable[str], line: int) -> list[int]:
    try:
        return [int(word) for word in columns]
    except ValueError:
        raise ParseError("not a row of counters: {!r}".format(" ".join(columns)[:60]), line)


def parse_stat(text: str) -> dict[int, dict[str, int]]:
    """Return ``{cpu number: {kind: ticks}}`` from /proc/stat; the summary row ``cpu`` is left out.

    Kernels before 2.6.11 print fewer columns: the missing kinds are 0.
    """
    cpus: dict[int, dict[str, int]] = {}
    for line, row in enumerate(text.splitlines(), 1):
        columns = row.split()
        name = columns[0][3:] if columns and columns[0].startswith("cpu") else ""
        if not _is_number(name):
            continue
        values = _numbers(columns[1 : 1 + len(KINDS)], line)
        if len(values) < 4:
            raise ParseError(f"fewer than four times for cpu{name}", line)
        cpus[int(name)] = dict(zip(KINDS, values + [0] * (len(KINDS) - len(values))))
    return cpus


def _cpus_named(columns: list[str], line: int) -> list[int]:
    """Return the CPUs that the header of /proc/softirqs names."""
    if not all(word[:3] == "CPU" and _is_number(word[3:]) for word in columns):
        raise ParseError("the header does not name every CPU", line)
    return [int(word[3:]) for word in columns]


def parse_softirqs(text: str) -> dict[str, dict[int, int]]:
    """Return ``{softirq: {cpu number: count}}`` from /proc/softirqs; a cut or elided row is an
    error.
    """
    header: list[int] = []
    rows: dict[str, dict[int, int]] = {}
    for line, row in enumerate(text.splitlines(), 1):
        columns = row.split()
        if columns and columns[0].startswith("CPU"):
            header = _cpus_named(columns, line)
        elif columns and columns[0].endswith(":"):
            counts = _numbers(columns[1:], line)
            if len(counts) != len(header):
                raise ParseError(
                    f"{columns[0]} has {len(counts)} counts for {len(header)} CPUs", line
                )
            rows[columns[0][:-1]] = dict(zip(header, counts))
    return rows


def _elapsed(
    before: dict[str, int], after: dict[str, int], kinds: Iterable[str], hertz: int
) -> dict[str, float]:
    """Seconds by kind. iowait and idle may go backwards (proc(5)): such a kind counts as 0."""
    return {kind: max(0, after[kind] - before[kind]) / float(hertz) for kind in kinds}


def cpu_seconds(
    before: dict[int, dict[str, int]], after: dict[int, dict[str, int]], hertz: int = 100
) -> dict[int, dict[str, float]]:
    """Return ``{cpu: {kind: seconds}}`` between two parsed snapshots, for the CPUs that are in
    both.
    """
    return {
        cpu: _elapsed(before[cpu], after[cpu], KINDS, hertz)
        for cpu in sorted(before)
        if cpu in after
    }


def _counts_between(before: dict[int, int], after: dict[int, int]) -> dict[int, int]:
    return {cpu: max(0, after[cpu] - before[cpu]) for cpu in sorted(before) if cpu in after}


def softirq_counts(
    before: dict[str, dict[int, int]], after: dict[str, dict[int, int]]
) -> dict[str, dict[int, int]]:
    """Return ``{softirq: {cpu: count}}`` of the network between two parsed snapshots."""
    return {
        name: _counts_between(before[name], after[name])
        for name in NET_SOFTIRQS
        if name in before and name in after
    }


def busy_seconds(seconds: Mapping[str, float]) -> float:
    """Return the seconds of one CPU that were not idle; steal is not ours and is left out."""
    return sum(value for kind, value in seconds.items() if kind not in IDLE_KINDS + ("steal",))


def _given(seconds: Mapping[str, float]) -> float:
    """Return the seconds of one CPU that the hypervisor did not take away."""
    return sum(value for kind, value in seconds.items() if kind != "steal")


def _seconds_of(kind: str, cpus: Mapping[int, Mapping[str, float]]) -> float:
    return sum(cpu[kind] for cpu in cpus.values())


def end_window(before: CounterReading, after: CounterReading, hertz: int = 100) -> EndCpu:
    """Return the CPU use of one end between two raw snapshots ``{"time", "stat", "softirqs"}``.

    ``cpus`` seconds by CPU and kind, ``percent`` of the whole host by kind, ``busy_percent`` by CPU
    of the time that the hypervisor left it (one that never was idle was at its limit, also where
    some of its time was stolen), ``busy_s`` CPU seconds spent, ``window_s`` the length,
    ``softirqs`` network softirqs by CPU.
    """
    cpus = cpu_seconds(parse_stat(before["stat"]), parse_stat(after["stat"]), hertz)
    window = after["time"] - before["time"]
    totals = {kind: _seconds_of(kind, cpus) for kind in KINDS}
    all_kinds = sum(totals.values())
    return {
        "window_s": window,
        "cpus": cpus,
        "busy_s": sum(busy_seconds(cpu) for cpu in cpus.values()),
        "busy_percent": {
            cpu: 100.0 * busy_seconds(seconds) / _given(seconds)
            for cpu, seconds in cpus.items()
            if _given(seconds)
        },
        "percent": {kind: 100.0 * value / all_kinds for kind, value in totals.items()}
        if all_kinds
        else {},
        "softirqs": softirq_counts(
            parse_softirqs(before["softirqs"]), parse_softirqs(after["softirqs"])
        ),
    }


def service_demand(busy_s: float, megabits_per_s: float, window_s: float) -> float | None:
    """Return service demand in microseconds of CPU per KB (1024 bytes), netperf's unit; None
    without data.
    """
    kilobytes = megabits_per_s * 1e6 / 8 / 1024 * window_s
    return busy_s * 1e6 / kilobytes if kilobytes > 0 else None


def transaction_demand(busy_s: float, transactions_per_s: float, window_s: float) -> float | None:
    """Return service demand in microseconds of CPU per transaction; None without any."""
    count = transactions_per_s * window_s
    return busy_s * 1e6 / count if count > 0 else None


def features_changed(before: CounterReading, after: CounterReading) -> list[str]:
    """Return the devices whose active features differ between two snapshots; a device that is gone
    counts too.
    """
    first = before.get("features") or {}
    last = after.get("features") or {}
    return sorted(device for device in first if first[device] != last.get(device))


def programs_changed(before: CounterReading, after: CounterReading) -> list[str]:
    """Return the devices whose BPF programs differ between two snapshots."""
    first = before.get("programs") or {}
    last = after.get("programs") or {}
    return sorted(device for device in first if first[device] != last.get(device, first[device]))


def traffic_share(before: CounterReading, after: CounterReading, result: Result) -> float | None:
    """Return the share of the time between two snapshots in which all streams sent; None where it
    is not known.

    A connection whose first packet is lost is there a second later, when the CPU was counted
    without its traffic.
    """
    if not result.get("window_measured"):
        return None
    start = result["window_start"]
    end = result["window_start"] + result["window_s"]
    length = after["time"] - before["time"]
    return (
        max(0.0, min(end, after["time"]) - max(start, before["time"])) / length
        if length > 0
        else None
    )


def _end_of_trial(
    before: CounterReading, after: CounterReading, result: Result, share: float | None
) -> EndCpu:
    end = end_window(before, after, before.get("hertz", 100))
    end["throttled"] = max(0, after.get("throttled", 0) - before.get("throttled", 0))
    if share is not None and share < TRAFFIC_SHARE:
        return end
    megabits = result.get("throughput_mbps")
    transactions = result.get("transactions_per_s")
    if megabits:
        end["service_demand_us_per_kb"] = service_demand(end["busy_s"], megabits, end["window_s"])
    elif transactions:
        end["service_demand_us_per_transaction"] = transaction_demand(
            end["busy_s"], transactions, end["window_s"]
        )
    return end


def _share_a_kernel(pairs: Collection[list[CounterReading]]) -> bool:
    """Return whether several nodes are one kernel."""
    return len(pairs) > 1 and len({pair[0]["boot_id"] for pair in pairs}) == 1


def cpu_of_trial(snapshots: Watched, result: Result) -> Cpu:
    """Return a trial's ``cpu`` field.

    Nodes that share one kernel (the same boot id) are reported once, as ``combined``; nothing is
    added twice. ``result`` has ``throughput_mbps`` or ``transactions_per_s``, which are the same
    over the window. Where the traffic ran in less than :data:`TRAFFIC_SHARE` of it there is no
    service demand.
    """
    pairs: dict[str, list[CounterReading]] = {
        end: snapshots[end] for end in ENDS if snapshots.get(end)
    }
    combined = "client" in pairs and _share_a_kernel(pairs.values())
    windows = {"combined": pairs["client"]} if combined else pairs
    share = (
        traffic_share(pairs["client"][0], pairs["client"][1], result) if "client" in pairs else None
    )
    return {
        "combined": combined,
        "ends": {
            name: _end_of_trial(before, after, result, share)
            for name, (before, after) in windows.items()
        },
        "traffic_share": share,
        "features_changed": {
            end: features_changed(*pair) for end, pair in pairs.items() if features_changed(*pair)
        },
        "programs_changed": {
            end: programs_changed(*pair) for end, pair in pairs.items() if programs_changed(*pair)
        },
        "clock_error_s": snapshots.get("clock_error_s"),
        "clock_offset_s": snapshots.get("clock_offset_s"),
    }
