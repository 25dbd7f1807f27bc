# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured on: manifest.json as tables, the differences between the ends, and what changed
meanwhile.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, Collection, Iterable, Iterator, Sequence

from .._figures.nouns import PlainRow, PlainTable, plain_table
from .._statistics import text
from .._store.manifest import Manifest
from .nouns import MeasuredOn

# What a reader looks for first: how its dotted name in the manifest looks, and what it is called;
# in table order.
FIRST = tuple(
    (re.compile(pattern), label)
    for pattern, label in (
        (r"host\.virtualisation", "machine"),
        (r"host\.kernel", "kernel"),
        (r"host\.command_line", "kernel parameters"),
        (r"host\.cpus\.model", "CPU"),
        (r"host\.cpus\.online", "CPUs online"),
        (r"host\.cpus\.isolated", "CPUs isolated"),
        (r"host\.cpus\.governor", "CPU governor"),
        (r"host\.cpus\.smt", "SMT"),
        (r"host\.cpus\.numa_nodes", "NUMA nodes"),
        (r"host\.memory_kb", "memory, KB"),
        (r"host\.clocksource", "clock source"),
        (r"links\.(.+)\.mtu", "MTU of {}, bytes"),
        (r"links\.(.+)\.speed_mbps", "speed of {}, Mbit/s"),
        (r"links\.(.+)\.numa_node", "NUMA node of {}"),
        (r"devices\.([^/]+)\.driver\.driver", "driver of {}"),
        (r"devices\.([^/]+)\.driver\.version", "driver version, {}"),
        (r"devices\.([^/]+)\.driver\.firmware-version", "firmware of {}"),
        (r"programs\.(.+)\.name", "BPF program of {}"),
        (r"ovs\.version", "Open vSwitch"),
        (r"ovs\.other_config\.hw-offload", "hw-offload of Open vSwitch"),
        (r"ovs\.bridges\.(.+)\.datapath", "datapath of {}"),
        (r"host\.tools\.netperf", "netperf"),
        (r"host\.tools\.ethtool", "ethtool"),
        (r"host\.tools\.iproute2", "iproute2"),
        (r"host\.sysctls\.net\.ipv4\.tcp_congestion_control", "TCP congestion control"),
    )
)
# Differ between any two hosts, or from minute to minute, and say nothing about the comparison.
ALWAYS_DIFFERENT = re.compile(
    r"(^|\.)(hostname|boot_id|pci|bus-info|irq_affinity|numa_node|remote_ip|local_ip|memory_kb|system-id|classes)(\.|$)"
    r"|^programs\..*\.id$"
)
NUMA = re.compile(r"links\.(.+)\.numa_node")
IRQ = re.compile(r"links\.(.+)\.irq_affinity\.\d+")
MOST_LISTS = 16  # of different CPU lists of a device's interrupts in a sentence
MOST = 60  # rows of one table; manifest.json has the rest
MOST_OPEN = 12  # differences in a table that is not folded
Nodes = dict[
    str, tuple[dict[str, str], dict[str, str]]
]  # {node: what it was before and after}, flat
NodeUse = tuple[str, str, str, int, float]  # profile, node, end, visits, busy %


def flatten(value: Any, name: str = "") -> dict[str, str]:
    """Return ``{dotted name: text}`` of nested data; lists of plain values are one text."""
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        value = {str(number): item for number, item in enumerate(value)}
    if not isinstance(value, dict):
        return {name: _plain(value)}
    flat: dict[str, str] = {}
    for key, part in value.items():
        flat.update(flatten(part, f"{name}.{key}" if name else str(key)))
    return flat


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return "on" if value else "off"
    return text.NONE if value is None else str(value)


def nodes_of(manifest: Manifest | None) -> Nodes:
    """Return ``{node: (before, after)}``, both flat; ``after`` is empty when it was not recorded."""
    nodes = (manifest.get("nodes") if manifest else None) or {}
    flat = {}
    for name, data in sorted(nodes.items()):
        flat[name] = (flatten(data.get("before") or {}), flatten(data.get("after") or {}))
    return flat


def differences(nodes: Nodes) -> list[tuple[str, list[str]]]:
    """Return ``[(name, [value of each node])]`` of what differs between the nodes."""
    befores = [before for before, _after in nodes.values()]
    differing: list[tuple[str, list[str]]] = []
    for name in sorted(set(chain.from_iterable(befores))):
        values = [before.get(name, text.NONE) for before in befores]
        if len(set(values)) > 1 and not ALWAYS_DIFFERENT.search(name):
            differing.append((name, values))
    return differing


def changes(nodes: Nodes) -> list[tuple[str, str, str, str]]:
    """Return ``[(node, name, before, after)]`` of what was not the same after the campaign."""
    changed: list[tuple[str, str, str, str]] = []
    for node, (before, after) in nodes.items():
        for name in sorted(set(before) | set(after)) if after else ():
            if before.get(name) != after.get(name) and not ALWAYS_DIFFERENT.search(name):
                changed.append(
                    (node, name, before.get(name, text.NONE), after.get(name, text.NONE))
                )
    return changed


def _table(
    title: str, head: list[str], rows: Sequence[Iterable[str]], folded: bool = False
) -> PlainTable:
    caption = f"The first {MOST} of {len(rows)}; manifest.json has all." if len(rows) > MOST else ""
    return {
        **plain_table(head, rows[:MOST]),
        "title": title,
        "folded": folded,
        "caption": caption,
    }


def _shown(name: str, value: str) -> str:
    """Kernel parameters without a value are there by name only: they bear on nothing."""
    if name == "host.command_line":
        return " ".join(word for word in value.split() if "=" in word) or text.NONE
    return value


def _first_rows(nodes: Nodes, different: Collection[str]) -> list[PlainRow]:
    befores = [before for before, _after in nodes.values()]
    names = list(dict.fromkeys(chain.from_iterable(befores)))
    rows: list[PlainRow] = []
    for pattern, label in FIRST:
        matches = [match for match in map(pattern.fullmatch, names) if match]
        for match in matches[:6]:
            name = match.group(0)
            values = [_shown(name, before.get(name, text.NONE)) for before in befores]
            if any(value not in (text.NONE, "") for value in values):
                css = "differs" if name in different else ""
                rows.append({"cells": [label.format(*match.groups()), *values], "css": css})
    return rows


def placement(nodes: Nodes) -> list[str]:
    """Return what to know of the CPUs, as sentences: clock rates, the device's NUMA node, where its
    interrupts go.
    """
    sentences = []
    for node, (before, _after) in nodes.items():
        on_node = [*_governors(before), *_numa_nodes(before), *_interrupts(before)]
        sentences += [f"{node}: {sentence}" for sentence in on_node]
    return sentences


def _governors(before: dict[str, str]) -> Iterator[str]:
    names = before.get("host.cpus.governor", "").split(", ")
    slow = [name for name in names if name != "performance"]
    if any(slow):
        yield f"the CPU governor is {text.listed(slow)}, so clock rates follow the load."


def _numa_nodes(before: dict[str, str]) -> Iterator[str]:
    if before.get("host.cpus.numa_nodes", "0") == "0":
        return
    for match in filter(None, map(NUMA.fullmatch, before)):
        numa_node = before[match.group(0)]
        if numa_node != "-1":
            yield (
                f"{match.group(1)} is at NUMA node {numa_node}. Processes that run at another one are "
                "slower; client_cpus and server_cpus of a workload bind netperf."
            )


def _interrupts(before: dict[str, str]) -> Iterator[str]:
    cpus: dict[str, set[str]] = {}  # lists of CPUs, by device
    for match in filter(None, map(IRQ.fullmatch, before)):
        cpus.setdefault(match.group(1), set()).add(before[match.group(0)])
    for device, lists in cpus.items():
        if len(lists) <= MOST_LISTS:
            yield f"the interrupts of {device} go to CPUs {', '.join(sorted(lists))}."


def _of_nodes(rows: Sequence[NodeUse]) -> list[PlainTable]:
    """Return the table of what the nodes of tenants did, from its rows; none where there are none."""
    if not rows:
        return []
    cells = [
        [profile, f"{node} ({end})", str(visits), f"{busy:.1f}"]
        for profile, node, end, visits, busy in rows
    ]
    table = _table("CPU of the tenants' nodes", ["Profile", "Node", "Visits", "Busy, %"], cells)
    table["caption"] = (
        "Median over the visits; a visit includes the time between its trials. It is separate from the "
        "CPU time of the ends."
    )
    return [table]


def _share_one_kernel(nodes: Nodes) -> bool:
    values = chain.from_iterable(before.items() for before, _after in nodes.values())
    boots = [value for name, value in values if name.endswith("boot_id")]
    return len(boots) > 1 and len(set(boots)) == 1


def _notes(nodes: Nodes, different: int, changed: int) -> Iterator[str]:
    """Yield what to know of the nodes, as sentences; the numbers count settings."""
    if _share_one_kernel(nodes):
        yield (
            "The nodes share one kernel: they compete for the same CPUs, and CPU use is reported once, as "
            "combined."
        )
    if different:
        yield f"The ends differ in {text.count(different, 'setting')}, marked below."
    else:
        yield "No difference between the ends was found."
    if not any(after for _before, after in nodes.values()):
        yield "The state of the nodes after the campaign was not recorded."
    elif changed:
        yield f"{text.count(changed, 'setting was', 'settings were')} not the same after the campaign."
    else:
        yield "Nothing had changed after the campaign."
    yield from placement(nodes)


def conditions(manifest: Manifest | None, node_cpu: Sequence[NodeUse] = ()) -> MeasuredOn:
    """Return the conditions for the report."""
    nodes = nodes_of(manifest)
    if not nodes:
        note = (
            "The conditions were not recorded: the results folder has no manifest.json. "
            "These numbers cannot be compared with numbers of another host."
        )
        return MeasuredOn([note], [])
    different = differences(nodes)
    changed = changes(nodes)
    names = [name for name, _values in different]
    head = ["Condition", *nodes]
    tables: list[PlainTable] = [
        {
            "title": "The ends",
            "head": head,
            "text": head,
            "rows": _first_rows(nodes, names),
            "folded": False,
            "caption": "",
        }
    ]
    if different:
        rows = [[name, *values] for name, values in different]
        folded = len(different) > MOST_OPEN
        tables.append(_table("Differences between the ends", ["Setting", *nodes], rows, folded))
    if changed:
        head = ["Node", "Setting", "Before", "After"]
        tables.append(_table("Changed between before and after", head, changed))
    notes = list(_notes(nodes, len(different), len(changed)))
    return MeasuredOn(notes, tables + _of_nodes(node_cpu))
