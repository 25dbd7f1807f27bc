# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of one task of module visit, their record, and the progress of the campaign."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any

from ...module_utils._base import checks, network
from ...module_utils._base.errors import InputError
from ...module_utils._engines.engine import Endpoint
from ...module_utils._engines.workload import engines_of, sampling_engine
from .._campaign.nouns import PartSource, Plan, Visit
from .._campaign.plan_file import (
    paths_of,
    read_confirmation,
    read_current_plan,
    read_search,
)
from .._campaign.visits import all_workloads
from .._paths.lab_paths import LAB
from .._paths.path import MetDevice, OnNode
from .._store import campaign_lock
from . import progress, steps, trials
from .evidence import Learned
from .evidence_paths import crossed_devices, evidence_paths
from .nouns import CellToMeasure, Measured, Trial
from .records import Records, key_of


def _pick_visit(visits: Iterable[Visit], block: int, number: int, mtu: int | None) -> Visit:
    named = [
        visit
        for visit in visits
        if (visit["block"], visit["visit"]) == (block, number) and mtu in (None, visit["mtu"])
    ]
    where = f"block {block} visit {number}"
    if not named:
        raise InputError(
            "the plan has no such visit", where, "Take block, visit and mtu from the plan."
        )
    if len(named) > 1:
        raise InputError("the plan has it at several MTUs", where, "Give 'mtu' too.")
    return named[0]


def _once(devices: Iterable[list[MetDevice]]) -> list[MetDevice]:
    """Return each device once."""
    return list(
        {network.key_of(device): device for device in chain.from_iterable(devices)}.values()
    )


class Measurement:
    """One task: its cells, its record and its progress.

    ``show`` and ``warn`` take a text for the user. A ``dry`` one changes nothing on the controller
    either. ``memory`` is a folder for what the tasks of this run know of the record.
    """

    def __init__(
        self,
        options: dict[str, Any],
        show: Callable[[str], None],
        warn: Callable[[str], None],
        dry: bool = False,
        memory: str | None = None,
    ) -> None:
        self.options = options
        self.show = show
        self.warn = warn
        self.pair = (
            f"{options['client']}-{options['server']}" if options["server"] else options["client"]
        )
        self.plan = self._read_plan()
        self.paths = paths_of(self.plan) if self.plan else LAB
        self.parts = self._parts()
        self.visits = list(chain.from_iterable(self.parts))
        self.make_ups = list(chain.from_iterable(map(steps.make_up_visits, self.parts)))
        self.visit = self._visit()
        self.cells = self._cells()
        self.lock = f"{options['record']}.lock" if options["record"] and not dry else None
        self.hold()
        self.records = Records(options["record"], dry, memory) if options["record"] else None
        for text in self.records.repaired if self.records else ():
            warn(text)
        self.cells = self._shortened(self.cells)
        self.trials: list[Trial] = []
        self.skipped = self.collected = 0
        self.seen: dict[str, dict[str, Any]] = {}  # packets, as module evidence returns them
        self.sampled_s = 0.0
        self.progress = dict[str, str]()
        name = self.plan["name"] if self.plan else checks.name(options["campaign"], "campaign")
        self.names = {
            "campaign": name,
            "client": options["client"],
            "server": options["server"],
            "pair": self.pair,
        }
        if options["forwarder"]:
            self.names["forwarder"] = options["forwarder"]["name"]
        self.key = self._spool_key(name)
        self.sights = self._sights()

    def hold(self) -> None:
        """Keep other controllers from the record: take the campaign's lock, or renew it."""
        if self.lock:
            campaign_lock.acquire(self.lock, campaign_lock.controller())

    def locked(self) -> AbstractContextManager[None]:
        """Return a context in which the lock is renewed until it ends."""
        return campaign_lock.kept(self.lock, campaign_lock.controller() if self.lock else {})

    def _read_plan(self) -> Plan | None:
        if not self.options["plan"]:
            return None
        plan = read_current_plan(self.options["plan"])
        if plan is None:
            raise InputError(
                "there is no such plan",
                self.options["plan"],
                "Make it with module offload.lab.plan.",
            )
        return plan

    def _parts(self) -> list[list[Visit]]:
        """Return the visits of each part of the campaign: the planned ones, and what is decided
        since.
        """
        if not self.plan:
            return []
        folder = os.path.dirname(self.options["plan"])
        search = read_search(folder) if self.plan["design"] == "search" else None
        parts: list[PartSource | None] = [
            self.plan,
            *(search["rounds"] if search else ()),
            read_confirmation(folder),
        ]
        return [part["visits"] for part in parts if part]

    def _visit(self) -> Visit | None:
        block = self.options["block"]
        if not self.plan or block is None:
            return None
        return _pick_visit(self.visits, block, self.options["visit"], self.options["mtu"])

    def _cells(self) -> list[CellToMeasure]:
        if self.plan and self.visit:
            return trials.checked(
                trials.visit_cells(
                    self.plan,
                    self.visit,
                    self.options["endpoints"],
                    self.options["port"],
                    self.pair,
                )
            )
        cells: list[Any] = [
            dict(cell, pair=cell.get("pair") or self.pair) for cell in self.options["cells"] or ()
        ]
        return trials.checked(cells)

    def _shortened(self, cells: list[CellToMeasure]) -> list[CellToMeasure]:
        """Return the cells, shorter where the record shows that the fault strikes often."""
        if not self.plan or not self.records:
            return cells
        return trials.checked(trials.shortened(self.plan, cells, self.records.struck))

    def _sights(self) -> dict[str, object]:
        """Return ``{"sampling", "watch"}``: the devices to sample on each path, and to watch in a trial."""
        sampling = self.options["sampling"]
        watch = self.options["watch"]
        devices = self.options["devices"]
        if self.plan and devices:
            nodes: list[OnNode] = [
                {"endpoints": self.options["endpoints"][end], "devices": devices[end]}
                for end in ("client", "server")
            ]
            planned = list(map(self.paths.named, self.plan["paths"]))
            paths = evidence_paths(
                planned,
                nodes[0],
                nodes[1],
                self.options["port"],
                data_port=trials.data_port(self.plan, self.pair, self.options["port"]),
                forwarder=(self.options["forwarder"] or {}).get("devices"),
            )
            engine = sampling_engine(self.plan["workloads"], self.plan.get("sampling"))
            datagrams = trials.datagrams_to_sample(self.plan)
            here = {"paths": paths, "engine": engine, "datagrams": datagrams}
            sampling = {**sampling, **here} if sampling else None
            crossed = [crossed_devices(planned, node["devices"]) for node in nodes]
            client = [crossed[0], *(path["client_devices"] for path in paths)]
            server = [crossed[1], *(path["server_devices"] for path in paths)]
            watch = {
                "client": _once(client),
                "server": _once(server),
                "forwarder": _once(path.get("forwarder_devices", []) for path in paths),
            }
        return {"sampling": sampling or None, "watch": watch}

    def _spool_key(self, name: str) -> str:
        """Return the name of this campaign's chunks: a campaign of the same name in another folder
        is another one.
        """
        source = f"{os.path.abspath(self.options['record'] or '')}\n{self.plan and self.plan.get('created')}"
        short = re.sub(r"[^A-Za-z0-9_.]", "_", name)[:40].lstrip(".") or "campaign"
        return f"{short}-{hashlib.sha256(source.encode()).hexdigest()[:12]}"

    def chunk_name(self, cells: list[CellToMeasure]) -> str:
        """Return the name of a chunk in the client's spool."""
        text = f"{self.pair}-{cells[0]['id']}" if cells else self.pair
        return re.sub(r"[^A-Za-z0-9_.-]", "_", text)[-64:].lstrip("-.")

    def _known(self, cell: CellToMeasure) -> bool:
        return self.records is not None and (self.pair_of(cell), cell["id"]) in self.records.known

    def pair_of(self, cell: CellToMeasure) -> str:
        """Return the pair that a cell is recorded under."""
        return str(cell.get("pair") or self.pair)

    def todo(self) -> list[CellToMeasure]:
        """Return the cells that are not in the record; of a visit that measures again, those that
        are due.
        """
        cells = [cell for cell in self.cells if not self._known(cell)]
        if not (self.plan and self.visit and self.visit.get("again")):
            return cells
        recorded = self.records.known if self.records else {}
        due = set[str]()
        for part in self.parts:
            due |= steps.due_again(self.plan, part, recorded, self.pair)
        return [cell for cell in cells if cell["id"] in due]

    def chunks(self) -> list[list[CellToMeasure]]:
        """Return the cells that are not in the record, in lists of about ``chunk_seconds``, at most
        ``chunks``.
        """
        todo = self.todo()
        self.skipped = len(self.cells) - len(todo) - self.collected
        return trials.chunks_of(todo, self.options["chunk_seconds"])[
            : self.options["chunks"] or None
        ]

    def chunks_again(self) -> list[list[CellToMeasure]]:
        """Go on with the visit that measures again what the machine spoilt in this one, and return
        its cells as :meth:`chunks` does; none while the visit has cells of its own left.
        """
        if not self.visit or self.todo():
            return []
        self.visit = self.make_ups[self.visits.index(self.visit)]
        self.cells = self._shortened(self._cells())
        return trials.chunks_of(self.todo(), self.options["chunk_seconds"])

    sent = staticmethod(trials.sent)

    def reach(self, cells: Iterable[CellToMeasure], collect: bool) -> list[Endpoint]:
        """Return the endpoints that must answer first: of all paths of a plan before it begins, or
        of plain cells.

        In a visit of a plan nothing is checked beforehand: what fails there is a trial with its
        error.
        """
        if self.plan and not (collect and self.options["endpoints"]):
            return []
        ends = list(chain.from_iterable(cell["endpoints"] for cell in cells))
        for path in self.plan["paths"] if self.plan else ():
            ends += trials.pair_endpoints(
                self.paths.named(path), self.options["endpoints"], self.options["port"]
            )
        return list({(end["netns"], end["address"]): end for end in ends}.values())

    def engines(self, cells: Iterable[CellToMeasure]) -> list[str]:
        """Return the engines whose servers must answer first: a plan's, or those that plain cells use."""
        loads = all_workloads(self.plan) if self.plan else [cell["workload"] for cell in cells]
        return engines_of(loads)

    def record(self, answer: dict[str, Any]) -> list[str]:
        """Record an answer of the module and return the names of the spool files that are done
        with.
        """
        done = []
        self.seen = answer.get("packets") or self.seen
        self.sampled_s += answer.get("sampled_s", 0.0)
        for name, rows in sorted((answer.get("left") or {}).items()):
            self.collected += self._take_all(rows)
            done.append(name)
        self._take_all(answer.get("cells") or ())
        if answer.get("spooled"):
            done.append(answer["spooled"])
        if self.plan and self.visit and self.trials:
            self._show(self.plan, self.visit)
        return done

    def _take_all(self, rows: Iterable[Measured]) -> int:
        """Record the rows of the client; return how many were new."""
        return sum(self._take(row) for row in rows)

    def _take(self, row: Measured) -> bool:
        """Record one row of the client; return whether it was new."""
        cell = self._planned(row)
        if cell is None:
            self.warn(f"the client had measured {row['id']}, which is not in this plan: left out")
            return False
        names = dict(self.names, pair=self.pair_of(cell))
        expect = self.options["expect"]
        if expect and self.plan:
            expect = dict(expect, steal_limit=self._steal_limit())
        trial = trials.trial(cell, row, names, expect, self._evidence_for(cell), paths=self.paths)
        if self.records and key_of(trial) in self.records.known:
            return False
        if self.records:
            self.records.append(trial)
        self.trials.append(trial)
        return True

    def _steal_limit(self) -> float | None:
        """Return the campaign's limit, or the one that follows from what the machine usually takes."""
        limit = self.plan and self.plan.get("steal_limit")
        if limit is None and self.records and self.visit:
            return self.records.usual_steal.limit(self.visit["profile"])
        return limit

    def _evidence_for(self, cell: CellToMeasure) -> Learned | None:
        """Return the visit's evidence for a cell of this task; what an earlier task left has none
        any more.
        """
        if not any(cell["id"] == mine["id"] for mine in self.cells):
            return None
        evidence: Learned | None = self.options["evidence"]
        return {**(evidence or {}), "packets": self.seen} if self.seen else evidence

    def _planned(self, row: Measured) -> CellToMeasure | None:
        """Return the cell that a row belongs to: of this task, or left by an earlier one of the
        plan.
        """
        for cell in self.cells:
            if cell["id"] == row["id"] and row.get("pair") in (None, self.pair_of(cell)):
                return cell
        if self.plan is None:
            return None
        for visit in [*self.visits, *self.make_ups]:
            cells = trials.visit_cells(
                self.plan, visit, None, self.options["port"], row.get("pair") or self.pair
            )
            struck = self.records.struck if self.records else ()
            for cell in trials.shortened(self.plan, cells, struck):
                if cell["id"] == row["id"]:
                    return cell
        return None

    def _show(self, plan: Plan, visit: Visit) -> None:
        recorded = (
            {name for _pair, name in self.records.known}
            if self.records
            else {t["id"] for t in self.trials}
        )
        seconds = progress.seconds_left(
            plan, self.visits, recorded, self.records.starts if self.records else {}
        )
        done = sum(cell["id"] in recorded for cell in visit["cells"])
        line = progress.progress_line(self.visits, visit, done, self.trials[-1], seconds)
        self.progress = {"progress": f"{self.pair}: {line}"}
        self.show(self.progress["progress"])

    def summary(self) -> dict[str, object]:
        """Return the task's result: counts, the first errors, and the trials themselves if nothing
        keeps them.
        """
        failed = [f"{trial['id']}: {trial['error']}" for trial in self.trials if trial["error"]]
        marked = sum(1 for trial in self.trials if trial["marks"])
        tally = {
            "changed": bool(self.trials),
            "measured": len(self.trials),
            "failed_trials": len(failed),
            "errors": failed[:10],
            "marked": marked,
            "skipped_trials": max(0, self.skipped),
            "collected": self.collected,
            "sampled_s": self.sampled_s,
            "record": self.options["record"],
            **self.progress,
            "msg": f"{len(self.trials)} trials recorded, {len(failed)} with an error",
        }
        if not self.records:
            tally["trials"] = self.trials
        return tally
