# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of playbook ``look``: lines of the console, a page, and JSON."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from .._figures.nouns import PlainTable
from .._report.nouns import Sentence
from .._report.phrases import line
from .._statistics import text
from .._trials import drop_reasons
from .._untrusted.texts import printable
from . import traffic
from .page import Page, html_of, json_of, table_of
from .traffic import Acting, Host

HEAD = ["device", "MTU", "packets out", "in", "cut by it", "TSO", "TX checksum", "GRO", "too long"]
NOTHING = (
    "Nothing is suspicious in the traffic of these seconds. Only a test under load shows more."
)
DATA = "look.json"


def _cell(acting: Acting, state: str) -> str:
    """Return what an offload does, and its setting: ``applied 99 % (on)``."""
    share = "" if acting.share is None else f" {traffic.percent(acting.share)}"
    return f"{acting.verdict}{share}" + (f" ({state})" if state else "")


def _row(host: Host, device: str) -> list[str]:
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
        *(_cell(acting[name], states.get(name, "")) for name in traffic.SETTINGS),
        f"{too_long:,}",
    ]


def _device_table(host: Host) -> PlainTable:
    rows = [_row(host, device) for device in host.counted["devices"]]
    nothing = [["No device had traffic.", *[""] * (len(HEAD) - 1)]]
    return table_of(f"{host.name}: devices", HEAD, rows or nothing, DATA)


def _drop_table(host: Host) -> PlainTable:
    """Return all drops, also those that a healthy host has."""
    rows = []
    for drop in host.traced.get("drops", ()):
        meaning = drop_reasons.meaning_of(drop["reason"], drop["place"])
        what = meaning.text if meaning else "a healthy host has these, too"
        rows.append([drop["reason"] or text.NONE, drop["place"], f"{drop['count']:,}", what])
    head = ["reason", "function", "packets", "meaning"]
    return table_of(f"{host.name}: dropped packets", head, rows or [["none", "", "", ""]], DATA)


def answer(hosts: Sequence[Host], inventory: str) -> list[Sentence]:
    """Return what is suspicious, what a reader has to know, and the next command."""
    sentences: list[Sentence] = []
    remarks: list[Sentence] = []
    for host in hosts:
        sentences += traffic.suspicious(host)
        remarks += traffic.notes(host)
    command = traffic.BROKEN.format(inventory=inventory)
    following = line("note", f"Next: {traffic.CHECK}{command}", command)
    return [*(sentences or [line("same", NOTHING)]), *remarks, following]


def _aligned(table: PlainTable) -> list[str]:
    rows = [table["head"], *(row["cells"] for row in table["rows"])]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _tables(host: Host) -> list[PlainTable]:
    return [_device_table(host), _drop_table(host)]


def console(hosts: Sequence[Host], inventory: str) -> str:
    """Return the lines for the console."""
    rows: list[str] = []
    for host in hosts:
        for table in _tables(host):
            rows += [f"{table['title']}:", *(f"  {row}" for row in _aligned(table))]
        rows.append(traffic.cost(host))
    rows += [sentence["text"] for sentence in answer(hosts, inventory)]
    return "\n".join(map(printable, rows))


def page(hosts: Sequence[Host], inventory: str) -> str:
    """Return the page as HTML."""
    tables = list(itertools.chain.from_iterable(map(_tables, hosts)))
    note = " ".join(map(traffic.cost, hosts))
    content = Page("look", "What do offloads do here?", answer(hosts, inventory), note, tables)
    return html_of(content, [], "", "")


def _verdicts(host: Host, device: str) -> dict[str, object]:
    return {name: result._asdict() for name, result in host.acting(device).items()}


def _document(host: Host) -> dict[str, object]:
    verdicts = {device: _verdicts(host, device) for device in host.counted["devices"]}
    return {**host.counted, "settings": host.states, "offloads": verdicts}


def data(hosts: Sequence[Host], inventory: str) -> str:
    """Return the counts and verdicts as JSON."""
    return json_of(
        {
            "hosts": {host.name: _document(host) for host in hosts},
            "answer": answer(hosts, inventory),
        }
    )


FORMS: dict[str, Callable[[Sequence[Host], str], str]] = {
    "text": console,
    "html": page,
    "json": data,
}
