# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics: the quantities of a trial that are compared, each by a name of its own, such as
``service_demand_client``.

CPU shares come from one window of /proc/stat at each end; ends that share one host are
``combined``, never added up. Without that window netperf's own figures are used, for a single
stream only: parallel streams each bill the whole host.
"""

from __future__ import annotations

import functools
from typing import Any, Iterator

from ...module_utils._engines.engine import Workload
from .._campaign.nouns import Plan
from .._statistics.rules import MATTERS
from .._statistics.states import margin_of
from .._store.manifest import Manifest
from .._trials.cpu import TRAFFIC_SHARE
from .._trials.nouns import NOTHING, Cpu, EndCpu, Result, Trial
from .result import Described

MAIN = ("throughput", "transactions")
CALLS = "receive_calls"  # medians only: fewer of them are a means, no end
ENDS = ("client", "server", "forwarder", "combined")
LATENCIES = ("mean", "p50", "p90", "p99", "p999")
SHOWN_AS = {"p999": "p99.9"}
CPU_KINDS = ("user", "system", "softirq", "irq", "steal", "iowait")  # user includes nice
COMPARED_KINDS = (
    "busy",
    "user",
    "system",
    "softirq",
)  # the others are rare and often zero: medians only
TRANSACTIONS = ("TCP_RR", "UDP_RR", "TCP_CRR")
Values = dict[str, "float | None"]  # by metric; None: not measured


def describe(name: str, test: str) -> Described:
    """Return what a metric is in a table of this netperf test."""
    label, unit, better, end = _parts(name, test in TRANSACTIONS)
    return Described(metric=name, label=label, unit=unit, better=better, end=end)


def _parts(name: str, transactions: bool) -> tuple[str, str, str | None, str | None]:
    if name == "throughput":
        return "throughput", "Mbit/s", "higher", None
    if name == "transactions":
        return "transactions", "1/s", "higher", None
    if name == CALLS:
        return "receive calls", "1/s", None, None
    if name.startswith("latency_"):
        return f"latency, {SHOWN_AS.get(name[8:], name[8:])}", "µs", "lower", None
    if name.startswith("service_demand_"):
        return "service demand", "µs/transaction" if transactions else "µs/KB", "lower", name[15:]
    _cpu, end, kind = name.split("_")
    return f"CPU {kind}", "% of the host's CPU time", None, end


def better(name: str) -> str | None:
    """Return which direction of a metric is better: higher, lower, or None where it depends on the
    throughput.
    """
    return _parts(name, False)[2]


def order(name: str) -> tuple[int, int, int, str]:
    """Return a metric's place among others, for sorting."""
    groups = ("throughput", "transactions", "latency", "service", "cpu", CALLS)
    kind = next(number for number, group in enumerate(groups) if name.startswith(group))
    kinds = ("busy", *CPU_KINDS)
    end = next((ENDS.index(part) for part in name.split("_") if part in ENDS), 0)
    last = name.rsplit("_", 1)[-1]
    detail = 0
    for names in (LATENCIES, kinds):
        if last in names:
            detail = names.index(last)
    return kind, end, detail, name


def compared(name: str) -> bool:
    """Return whether effects are computed for this metric, or its medians only."""
    if name.startswith("cpu_"):
        return name.rsplit("_", 1)[-1] in COMPARED_KINDS
    return name != CALLS


@functools.lru_cache(maxsize=None)
def _names(end: str) -> tuple[str, list[tuple[str, str]], str]:
    """Return the names of one end's metrics, made once: this runs for every trial."""
    return (
        f"service_demand_{end}",
        [(kind, f"cpu_{end}_{kind}") for kind in CPU_KINDS],
        f"cpu_{end}_busy",
    )


def _window(end: str, use: EndCpu, values: Values) -> None:
    demand_name, kinds, busy = _names(end)
    demand = use.get("service_demand_us_per_kb", use.get("service_demand_us_per_transaction"))
    if demand is not None:
        values[demand_name] = demand
    percent = use.get("percent")
    if percent:
        for kind, name in kinds:
            values[name] = percent.get(kind, 0.0)
        values[kinds[0][1]] = percent.get(kinds[0][0], 0.0) + percent.get("nice", 0.0)
        idle = percent.get("idle", 0.0) + percent.get("iowait", 0.0) + percent.get("steal", 0.0)
        values[busy] = sum(percent.values()) - idle


def _of_probes(cpu: Cpu, values: Values) -> None:
    share = cpu.get("traffic_share")
    if share is not None and share < TRAFFIC_SHARE:
        return
    for end, use in (cpu.get("ends") or {}).items():
        _window(end, use, values)


def _is_one_stream(workload: Workload) -> bool:
    return workload.get("streams", 1) == 1 and (workload.get("tenants") or 1) == 1


def _of_netperf(result: Result, one_host: bool, values: Values) -> None:
    local = result.get("local_service_demand"), result.get("local_cpu_percent")
    remote = result.get("remote_service_demand"), result.get("remote_cpu_percent")
    ends = {"combined": local} if one_host else {"client": local, "server": remote}
    for end, (demand, busy) in ends.items():
        if demand is not None:
            values[f"service_demand_{end}"] = demand
        if busy is not None:
            values[f"cpu_{end}_busy"] = busy


def _rates(test: str | None, result: Result) -> Values:
    """Return what was done in a second."""
    if test in TRANSACTIONS:
        return {"transactions": result.get("transactions_per_s")}
    rates: Values = {"throughput": result.get("throughput_mbps")}
    if test == "UDP_STREAM":
        rates[CALLS] = result.get("receive_calls_per_s")
    return rates


def values_of(trial: Trial, one_host: bool = False) -> dict[str, float]:
    """Return ``{metric: value}`` of what a trial measured.

    ``one_host`` says that both ends are one machine.
    """
    result: Result = trial.get("result") or {}
    workload: Workload = trial.get("workload") or NOTHING
    values = _rates(workload.get("test"), result)
    latency = result.get("latency_us")
    if latency:
        for name in LATENCIES:
            values[f"latency_{name}"] = latency.get(name)
    cpu = trial.get("cpu")
    if cpu:
        _of_probes(cpu, values)
    elif _is_one_stream(workload):
        _of_netperf(result, one_host, values)
    return {name: value for name, value in values.items() if value is not None}


def matters_percent(plan: Plan) -> float:
    """Return the smallest difference that matters in a campaign, in per cent."""
    matters = plan.get("matters")
    return MATTERS if matters is None else float(matters)


def margin(plan: Plan) -> float:
    """Return what matters in a campaign as a logarithm."""
    return margin_of(matters_percent(plan))


def block_seconds(plan: Plan) -> float | None:
    """Return about how long one block takes, at all MTUs."""
    return plan["estimated_s"] / plan["blocks"] if plan.get("estimated_s") else None


def one_host(manifest: Manifest | None) -> bool:
    """Return whether the nodes of a manifest share one kernel, by their boot ids."""
    boot_ids = list(_boot_ids(manifest.get("nodes"))) if manifest else []
    return len(boot_ids) > 1 and len(set(boot_ids)) == 1


def _boot_ids(nodes: Any) -> Iterator[Any]:
    for node in nodes.values() if isinstance(nodes, dict) else ():
        boot_id = _search(node.get("before", node) if isinstance(node, dict) else {}, "boot_id")
        if boot_id:
            yield boot_id


def _search(data: Any, key: str) -> Any:
    if not isinstance(data, dict):
        return None
    if key in data:
        return data[key]
    for value in data.values():
        value_below = _search(value, key)
        if value_below:
            return value_below
    return None
