# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout in batches: what the check of each host found before and after its settings were applied,
and whether its batch keeps them. Pure.

A fault that the check found before as well is not the rollout's: a cure is rolled out where the
payload is broken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._figures.nouns import PlainTable
from .._report.nouns import Sentence
from .._report.phrases import line
from .._statistics import text
from .._untrusted.texts import printable
from .page import Page, html_of, json_of, table_of
from .traffic import TracedHost, suspicious

APPLIED, REVERTED, NOT_BEGUN = "applied", "reverted", "not begun"
NOT_REVERTED = "could not be reverted"
NUMBER = re.compile(r"[\d.,]*\d")
HEAD = ["host", "batch", "state", "before", "after"]
DATA = "rollout.json"
AGAIN = "ansible-playbook -i {inventory} offload.lab.integrity"


class Fault(NamedTuple):
    """A fault that a check found: where, and what."""

    where: str
    what: str


def _of_traffic(counted: Mapping[str, Any]) -> list[Fault]:
    """Return the faults in a host's own traffic. Numbers in a sentence make no other fault of it."""
    sentences = suspicious(TracedHost("traffic", counted, {}))
    worse = [sentence["text"] for sentence in sentences if sentence["tone"] == "worse"]
    return [Fault(NUMBER.sub("N", what), what) for what in worse]


def faults_of(checked: Sequence[Mapping[str, Any]]) -> list[Fault]:
    """Return the faults that a check found, on the paths or in the host's own traffic."""
    faults: list[Fault] = []
    for row in checked:
        if "counted" in row:
            faults += _of_traffic(row["counted"])
        elif row.get("trouble"):
            faults.append(Fault(str(row["path"]), f"{row['path']}: {row['trouble']}"))
    return faults


def _texts(faults: Sequence[Fault]) -> list[str]:
    return [fault.what for fault in faults]


class RolledHost(NamedTuple):
    """A host of a rollout. The number of its batch is 0 until the batch begins."""

    name: str
    batch: int
    before: list[Fault]
    after: list[Fault]
    error: str  # why its settings could not be applied or checked
    revert_error: str

    @property
    def harm(self) -> str:
        """Return what the settings broke; empty where they broke nothing."""
        places_before = {fault.where for fault in self.before}
        new = [fault.what for fault in self.after if fault.where not in places_before]
        return self.error.rstrip(".") or text.listed(new)


def hosts_of(facts: Mapping[str, Mapping[str, Any]]) -> list[RolledHost]:
    """Return the hosts of a rollout from what its tasks kept of each host, in that order."""
    begun = [fact["batch"] for fact in facts.values() if fact.get("batch")]
    numbers = {first: number for number, first in enumerate(dict.fromkeys(begun), 1)}
    return [
        RolledHost(
            name,
            numbers.get(fact.get("batch"), 0),
            faults_of(fact.get("before") or ()),
            faults_of(fact.get("after") or ()),
            str(fact.get("error") or ""),
            str(fact.get("revert_error") or ""),
        )
        for name, fact in facts.items()
    ]


def harmed_batches(hosts: Sequence[RolledHost]) -> set[int]:
    """Return the batches that do not keep the settings: one of their hosts is harmed."""
    return {host.batch for host in hosts if host.batch and host.harm}


def states_of(hosts: Sequence[RolledHost]) -> dict[str, str]:
    """Return what became of each host."""
    harmed = harmed_batches(hosts)
    states = {}
    for host in hosts:
        reverted = NOT_REVERTED if host.revert_error else REVERTED
        begun = reverted if host.batch in harmed else APPLIED
        states[host.name] = begun if host.batch else NOT_BEGUN
    return states


def _stop(hosts: Sequence[RolledHost], number: int, kept: str) -> list[Sentence]:
    """Return why the rollout stops at a batch; ``kept`` names how many hosts keep the settings."""
    batch = [host for host in hosts if host.batch == number]
    sentences = [line("worse", f"{host.name}: {host.harm}.") for host in batch if host.harm]
    what = f"Batch {number} ({text.count(len(batch), 'host')}) is reverted, and the rollout stops"
    sentences.append(line("worse", f"{what}. The settings stay on {kept}."))
    not_reverted = [host for host in batch if host.revert_error]
    return sentences + [
        line("worse", f"{host.name} {NOT_REVERTED}: {host.revert_error}") for host in not_reverted
    ]


def answer(hosts: Sequence[RolledHost], inventory: str) -> list[Sentence]:
    """Return what was applied, why the rollout stopped, and the next command."""
    applied = list(states_of(hosts).values()).count(APPLIED)
    kept = f"{applied} of {text.count(len(hosts), 'host')}"
    harmed = harmed_batches(hosts)
    if not harmed:
        tone = "better" if applied == len(hosts) else "note"
        return [line(tone, f"The settings are applied to {kept}.")]
    command = AGAIN.format(inventory=inventory)
    following = line("note", f"Next: find the setting: {command}", command)
    return [*_stop(hosts, min(harmed), kept), following]


def _table(hosts: Sequence[RolledHost]) -> PlainTable:
    states = states_of(hosts)
    rows = [
        [
            host.name,
            str(host.batch or text.NONE),
            states[host.name],
            text.listed(_texts(host.before)) or text.NONE,
            host.error or text.listed(_texts(host.after)) or text.NONE,
        ]
        for host in hosts
    ]
    return table_of("Hosts", HEAD, rows, DATA)


def console(hosts: Sequence[RolledHost], inventory: str) -> str:
    """Return the lines for the console."""
    return "\n".join(printable(sentence["text"]) for sentence in answer(hosts, inventory))


def page(hosts: Sequence[RolledHost], inventory: str) -> str:
    """Return the page as HTML."""
    note = "A fault that the check also found before the settings were applied stops no rollout."
    content = Page("rollout", "Rollout", answer(hosts, inventory), note, [_table(hosts)])
    return html_of(content)


def data(hosts: Sequence[RolledHost], inventory: str) -> str:
    """Return the report as JSON."""
    states = states_of(hosts)
    rows = {
        host.name: {
            "batch": host.batch,
            "state": states[host.name],
            "before": _texts(host.before),
            "after": _texts(host.after),
            "harm": host.harm,
        }
        for host in hosts
    }
    return json_of({"hosts": rows, "answer": answer(hosts, inventory)})


FORMS: dict[str, Callable[[Sequence[RolledHost], str], str]] = {
    "text": console,
    "html": page,
    "json": data,
}
