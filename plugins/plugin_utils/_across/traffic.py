# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the offloads of a host do with its own traffic, and what is suspicious, by rules that name
their threshold. Pure: it reads what module traffic_info returned.

The report of playbook ``look``: lines of the console, a page, and JSON.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._figures.nouns import PlainTable
from .._report.nouns import Sentence
from .._report.phrases import line
from .._statistics import text
from .._trials import drop_reasons
from .._untrusted.texts import printable
from .page import Page, html_of, json_of, table_of

ENOUGH = 50  # packets of data, or more; of fewer nothing is said
MOSTLY = 0.9  # applied from this share of the data on
HARDLY = 0.1  # not applied up to this share
FEWEST_DROPS = 10  # of a path; of a broken checksum or header one is enough
MOST_RETRANSMITTED = 0.01  # of the packets sent
APPLIED, PARTLY, NOT_APPLIED, UNKNOWN = "applied", "partly applied", "not applied", "not known"
PAST_GRO = "packets go past GRO"
SETTINGS = {"tso": "TSO", "tx": "TX checksum", "gro": "GRO"}
BROKEN = "ansible-playbook -i {inventory} offload.lab.integrity"
CHECK = "Is an offload broken here? "
HEAD = ["device", "MTU", "packets out", "in", "cut by it", "TSO", "TX checksum", "GRO", "too long"]
NOTHING = (
    "Nothing is suspicious in the traffic of these seconds. Only a test under load shows more."
)
DATA = "look.json"


class Acting(NamedTuple):
    """What an offload does: a finding, and the share of the data for which it acts."""

    finding: str
    share: float | None


def _acting(part: float, total: float) -> Acting:
    if total < ENOUGH:
        return Acting(UNKNOWN, None)
    share = part / total
    if share >= MOSTLY:
        return Acting(APPLIED, share)
    return Acting(PARTLY if share > HARDLY else NOT_APPLIED, share)


def offloads(counts: Mapping[str, int], segments: float) -> dict[str, Acting]:
    """Return what TSO, TX checksum offload and GRO of a device do.

    ``segments`` is the average number of segments of a packet that the device cuts.
    """
    cut = counts.get("cut", 0) * segments
    merged = counts.get("into_gro_full", 0) - counts.get("received_full", 0)
    gro = _acting(max(0, merged), counts.get("into_gro_full", 0))
    if not counts.get("into_gro") and counts.get("received_full", 0) >= ENOUGH:
        gro = Acting(PAST_GRO, 0.0)
    tx = Acting(UNKNOWN, None)
    if "checksum_left" in counts:
        tx = _acting(counts["checksum_left"], counts.get("sent", 0))
    return {"tso": _acting(cut, cut + counts.get("sent_full", 0)), "tx": tx, "gro": gro}


class TracedHost(NamedTuple):
    """A host: what its module returned, and the state of its offloads: ``{device: {"tso": "on"}}``."""

    name: str
    counted: Mapping[str, Any]
    states: Mapping[str, Mapping[str, str]]

    @property
    def traced(self) -> Mapping[str, Any]:
        """Return what tracepoints counted; empty where they are not allowed."""
        return self.counted.get("traced") or {}

    def at(self, device: str) -> Mapping[str, int]:
        """Return what was counted at a device."""
        counts: Mapping[str, int] = self.traced.get("devices", {}).get(device, {})
        return counts

    def acting(self, device: str) -> dict[str, Acting]:
        """Return what the offloads of a device do."""
        return offloads(self.at(device), self.traced.get("segments", {}).get(device, 1.0))


def percent(share: float) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.{0 if share >= 0.1 else 2}f} %"


def _packets(count: int) -> str:
    return text.count(count, "packet")


def _of_drops(host: TracedHost) -> Iterator[Sentence]:
    """Yield a sentence for each reason that names a fault."""
    total = sum(drop["count"] for drop in host.traced.get("drops", ()))
    for row in drop_reasons.lost(host.traced.get("drops", ())):
        fewest = FEWEST_DROPS if row.meaning.kind == drop_reasons.PATH else 1
        if row.packets >= fewest:
            drops = f"{host.name}: drops of the host: {drop_reasons.phrase(row, total)}."
            yield line("worse", f"{drops} The rule: {fewest} or more.")


def _of_packets(host: TracedHost, device: str) -> Iterator[Sentence]:
    """Yield a sentence for each count that no healthy device has."""
    counts = host.at(device)
    rules = {
        "sent_too_long": "left above the MTU, and nothing says where to cut them",
        "received_too_long": "came in above the MTU, and nothing says where to cut them",
        "timeouts": "waited too long in a transmit queue (time-out)",
    }
    for counter, what in rules.items():
        if counts.get(counter):
            found = f"{host.name}, {device}: {_packets(counts[counter])} {what}."
            yield line("worse", f"{found} The rule: 1 or more.")


def _of_settings(host: TracedHost, device: str) -> Iterator[Sentence]:
    """Yield a sentence for each offload that is on and does not act."""
    for name, acting in host.acting(device).items():
        idle = acting.finding in (NOT_APPLIED, PAST_GRO)
        if idle and host.states.get(device, {}).get(name) == "on":
            share = percent(acting.share or 0)
            what = (
                f"{host.name}, {device}: {SETTINGS[name]} is on, and acts on {share} of the data."
            )
            yield line("note", f"{what} The rule: {percent(HARDLY)} or less.")


def _of_errors(host: TracedHost) -> Iterator[Sentence]:
    """Yield sentences about retransmits and checksum errors."""
    sent = sum(counts.get("sent", 0) for counts in host.traced.get("devices", {}).values())
    again = host.traced.get("host", {}).get("retransmitted", 0)
    if again >= FEWEST_DROPS and again > MOST_RETRANSMITTED * sent:
        limit = percent(MOST_RETRANSMITTED)
        what = f"{host.name}: TCP retransmitted {again} segments; {_packets(sent)} were sent."
        yield line("worse", f"{what} The rule: more than {limit}, and {FEWEST_DROPS} or more.")
    for name, count in sorted(host.counted.get("errors", {}).items()):
        if name.endswith("CsumErrors"):
            yield line("worse", f"{host.name}: {name} rose by {count}. The rule: 1 or more.")


def suspicious(host: TracedHost) -> list[Sentence]:
    """Return what is suspicious, the worst first."""
    sentences = [*_of_drops(host), *_of_errors(host)]
    for device in host.counted.get("devices", {}):
        sentences += [*_of_packets(host, device), *_of_settings(host, device)]
    return sorted(sentences, key=lambda sentence: sentence["tone"] != "worse")


def notes(host: TracedHost) -> Iterator[Sentence]:
    """Yield what a reader has to know of the counts."""
    if host.counted.get("note"):
        yield line("unknown", f"{host.name}: {host.counted['note']}")
    for device, row in host.counted.get("devices", {}).items():
        if row["same_name"] > 1 and host.traced and not host.traced["by_namespace"]:
            yield line(
                "unknown",
                f"{host.name}, {device}: {row['same_name']} network namespaces have a device of this name, "
                "and this kernel counts them together.",
            )
    if host.traced.get("missing"):
        names = text.listed(host.traced["missing"])
        yield line("unknown", f"{host.name}: this kernel cannot count {names}.")


def cost(host: TracedHost) -> str:
    """Return what counting cost."""
    spent = host.counted["cost"]
    total = spent["cpu_seconds"] + spent["packet_seconds"]
    share = total / (host.counted["seconds"] * spent["cpus"])
    return (
        f"{host.name}: counted for {text.number(spent['counted_seconds'])} of "
        f"{text.number(host.counted['seconds'])} s, with {spent['counters']} counters. Cost: about "
        f"{text.number(total)} s of CPU time, {percent(share)} of the host's."
    )


def _cell(acting: Acting, state: str) -> str:
    """Return what an offload does, and its setting: ``applied 99 % (on)``."""
    share = "" if acting.share is None else f" {percent(acting.share)}"
    return f"{acting.finding}{share}" + (f" ({state})" if state else "")


def _row(host: TracedHost, device: str) -> list[str]:
    moved, counts = host.counted["devices"][device], host.at(device)
    states = host.states.get(device, {})
    acting = host.acting(device)
    too_long = counts.get("sent_too_long", 0) + counts.get("received_too_long", 0)
    return [
        device,
        str(moved["mtu"]),
        f"{moved.get('packets_out', 0):,}",
        f"{moved.get('packets_in', 0):,}",
        f"{counts.get('cut', 0):,}",
        *(_cell(acting[name], states.get(name, "")) for name in SETTINGS),
        f"{too_long:,}",
    ]


def _device_table(host: TracedHost) -> PlainTable:
    rows = [_row(host, device) for device in host.counted["devices"]]
    nothing = [["No device had traffic.", *[""] * (len(HEAD) - 1)]]
    return table_of(f"{host.name}: devices", HEAD, rows or nothing, DATA)


def _drop_table(host: TracedHost) -> PlainTable:
    """Return all drops, also those that a healthy host has."""
    rows = []
    for drop in host.traced.get("drops", ()):
        meaning = drop_reasons.meaning_of(drop["reason"], drop["place"])
        what = meaning.text if meaning else "a healthy host has these, too"
        rows.append([drop["reason"] or text.NONE, drop["place"], f"{drop['count']:,}", what])
    head = ["reason", "function", "packets", "meaning"]
    return table_of(f"{host.name}: dropped packets", head, rows or [["none", "", "", ""]], DATA)


def answer(hosts: Sequence[TracedHost], inventory: str) -> list[Sentence]:
    """Return what is suspicious, what a reader has to know, and the next command."""
    sentences: list[Sentence] = []
    remarks: list[Sentence] = []
    for host in hosts:
        sentences += suspicious(host)
        remarks += notes(host)
    command = BROKEN.format(inventory=inventory)
    following = line("note", f"Next: {CHECK}{command}", command)
    return [*(sentences or [line("same", NOTHING)]), *remarks, following]


def _aligned(table: PlainTable) -> list[str]:
    rows = [table["head"], *(row["cells"] for row in table["rows"])]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _tables(host: TracedHost) -> list[PlainTable]:
    return [_device_table(host), _drop_table(host)]


def console(hosts: Sequence[TracedHost], inventory: str) -> str:
    """Return the lines for the console."""
    rows: list[str] = []
    for host in hosts:
        for table in _tables(host):
            rows += [f"{table['title']}:", *(f"  {row}" for row in _aligned(table))]
        rows.append(cost(host))
    rows += [sentence["text"] for sentence in answer(hosts, inventory)]
    return "\n".join(map(printable, rows))


def page(hosts: Sequence[TracedHost], inventory: str) -> str:
    """Return the page as HTML."""
    tables = list(itertools.chain.from_iterable(map(_tables, hosts)))
    note = " ".join(map(cost, hosts))
    content = Page("look", "What do offloads do here?", answer(hosts, inventory), note, tables)
    return html_of(content)


def _findings(host: TracedHost, device: str) -> dict[str, object]:
    return {name: result._asdict() for name, result in host.acting(device).items()}


def _document(host: TracedHost) -> dict[str, object]:
    findings = {device: _findings(host, device) for device in host.counted["devices"]}
    return {**host.counted, "settings": host.states, "offloads": findings}


def data(hosts: Sequence[TracedHost], inventory: str) -> str:
    """Return the counts and findings as JSON."""
    return json_of(
        {
            "hosts": {host.name: _document(host) for host in hosts},
            "answer": answer(hosts, inventory),
        }
    )


FORMS: dict[str, Callable[[Sequence[TracedHost], str], str]] = {
    "text": console,
    "html": page,
    "json": data,
}
