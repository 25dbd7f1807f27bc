# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module visit: sends chunks to the client, records each trial; see
plugins/modules/visit.py.
"""

from __future__ import annotations

import os
import shlex
from typing import Any

from ansible.plugins.action import ActionBase

from ..module_utils._base.errors import LabError
from ..module_utils._load.spec import SPEC
from ..plugin_utils._action.console import say, warn
from ..plugin_utils._trials.measure import Measurement
from ..plugin_utils._trials.nouns import CellToMeasure

NEEDS = {
    "mutually_exclusive": [("plan", "cells")],
    "required_one_of": [("plan", "cells")],
    "required_together": [("block", "visit")],
    "required_by": {"block": ("plan", "endpoints")},
}


class ActionModule(ActionBase):
    """Measure a visit or a list of cells."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        self._warnings: list[Any] = []  # of the module, which core wants back as it gave them
        _checked, options = self.validate_argument_spec(SPEC, **NEEDS)
        options["client"] = options["client"] or (task_vars or {}).get(
            "inventory_hostname", "client"
        )
        try:
            work = Measurement(options, say, warn, self._task.check_mode)
            with work.locked():
                result.update(self._measure(work, options, task_vars))
            result["warnings"] = result.get("warnings", []) + self._warnings
        except LabError as error:
            # Not raised: core would then leave out failed_when.
            result.update(failed=True, msg=str(error))
        return result

    def _measure(
        self, work: Measurement, options: dict[str, Any], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        if self._task.check_mode:
            return self._call(work, work.todo(), options, task_vars, collect=False)
        if options["collect"]:
            self._record(work, self._call(work, [], options, task_vars, collect=True), options)
        for chunks in (work.chunks, work.chunks_again):  # the second, when the first are recorded
            for chunk in chunks():
                work.hold()
                answer = self._call(work, chunk, options, task_vars, collect=False)
                self._record(work, answer, options)
        return work.summary()

    def _call(
        self,
        work: Measurement,
        cells: list[CellToMeasure],
        options: dict[str, Any],
        task_vars: dict[str, Any] | None,
        collect: bool,
    ) -> dict[str, Any]:
        """Run the module once on the client; its failure is ours."""
        arguments = {
            "cells": [work.sent(cell) for cell in cells],
            "campaign": work.key,
            "collect": collect,
            "spool": options["spool"],
            "chunk": work.chunk_name(cells) if work.records else None,
            "probe": None if collect else options["probe"],
            "forwarder": None if collect else options["forwarder"],
            "watch": work.sights["watch"],
            "look": None if collect or work.seen else work.sights["look"],
            "reach": work.reach(cells, collect),
            "engines": work.engines(cells),
            "token": options["token"],
        }
        answer: dict[str, Any] = self._execute_module(
            module_name="offload.lab.visit", module_args=arguments, task_vars=task_vars
        )
        if answer.get("failed"):
            raise LabError(answer.get("msg", "the module failed"))
        self._warnings += answer.pop("warnings", None) or []
        return answer

    def _record(self, work: Measurement, answer: dict[str, Any], options: dict[str, Any]) -> None:
        """Record what came back, and only then let the client forget it."""
        names = work.record(answer)
        if names:
            paths = [os.path.join(options["spool"], os.path.basename(name)) for name in names]
            self._low_level_execute_command(
                "rm -f -- " + " ".join(shlex.quote(path) for path in paths)
            )
