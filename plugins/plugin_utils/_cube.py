# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trials of a campaign as arrays: for each metric, tables by visits by blocks. One pass, nothing else is kept.

Row 0 is the control, the last row its second visit; between them the other profiles, in the plan's order.
"""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._guards import excluded
from ansible_collections.offload.lab.plugins.plugin_utils._libraries import np
from ansible_collections.offload.lab.plugins.plugin_utils._metrics import order, values_of

LISTED = 20  # failures that are named one by one


class Cube:
    """``tables`` [{pair, path, mtu, workload, test}], ``profiles`` [name], ``values`` {metric: array}, ``counts``."""

    def __init__(self, plan):
        control = plan["control"]
        self.plan = plan
        self.profiles = [control] + [name for name in plan["profiles"] if name != control]
        self.blocks = plan["blocks"]
        self.tables = tables_of(plan)
        self.values = {}
        self.counts = {"planned": sum(len(visit["cells"]) for visit in plan["visits"]), "recorded": 0, "used": 0,
                       "failed": 0, "excluded": 0, "unplanned": 0, "twice": 0}
        self.marks, self.excluded_by, self.failures = {}, {}, []
        self.unusable = {}  # {profile: why its first trial that was left out is}
        self._rows = {name: row for row, name in enumerate(self.profiles)}
        self._places = {(table["pair"], table["path"], table["mtu"], table["workload"]): place
                        for place, table in enumerate(self.tables)}
        self._seen = set()

    def place(self, trial):
        """Return (table, row, block) of a trial in the arrays, or None where the plan has no such trial."""
        workload = trial.get("workload") or {}
        where = (trial.get("path"), trial.get("mtu"), workload.get("name"))
        table = self._places.get((trial.get("pair"), *where), self._places.get((None, *where)))
        row, block = self._rows.get(trial.get("profile")), trial.get("block")
        if table is None or row is None or not isinstance(block, int) or not 1 <= block <= self.blocks:
            return None
        return table, len(self.profiles) if row == 0 and trial.get("repeat") else row, block - 1

    def add(self, trial, include_marked=False, one_host=False):
        """Take in one trial, or count why not."""
        self.counts["recorded"] += 1
        place = self.place(trial)
        marks = {found["guard"] for found in trial.get("marks") or ()}
        for guard in marks:
            self.marks[guard] = self.marks.get(guard, 0) + 1
        if trial.get("error"):
            self._failed(trial)
        elif place is None:
            self.counts["unplanned"] += 1
        elif place in self._seen:
            self.counts["twice"] += 1
        elif not include_marked and excluded(trial):
            self._excluded(trial)
        else:
            self._seen.add(place)
            self.counts["used"] += 1
            arrays = self.values
            for name, value in values_of(trial, one_host).items():
                if name not in arrays:
                    arrays[name] = np.full((len(self.tables), len(self.profiles) + 1, self.blocks), np.nan)
                arrays[name][place] = value

    def _failed(self, trial):
        self.counts["failed"] += 1
        self.unusable.setdefault(trial.get("profile"), str(trial["error"]))
        if len(self.failures) < LISTED:
            self.failures.append({"id": trial.get("id"), "error": str(trial["error"])})

    def _excluded(self, trial):
        self.counts["excluded"] += 1
        marks = [found for found in trial["marks"] if found.get("excludes", True)]
        self.unusable.setdefault(trial["profile"], "{guard}: {reason}".format(**marks[0]))
        for guard in {found["guard"] for found in marks}:
            self.excluded_by[guard] = self.excluded_by.get(guard, 0) + 1

    def metrics(self):
        """Return the names of the metrics that were measured, in the order in which they are shown."""
        return sorted(self.values, key=order)


def tables_of(plan):
    """Return the tables of a plan: one for each pair, path, MTU and workload."""
    pairs = [f"{pair['client']}-{pair['server']}" for pair in plan.get("pairs") or ()] or [None]
    return [{"pair": pair, "path": path, "mtu": mtu, "workload": workload["name"], "test": workload["test"]}
            for pair in pairs for path in plan["paths"] for mtu in plan["mtus"] for workload in plan["workloads"]]


def collect(plan, trials, include_marked=False, one_host=False):
    """Return the :class:`Cube` of an iterable of trial records."""
    cube = Cube(plan)
    for trial in trials:
        cube.add(trial, include_marked, one_host)
    return cube
