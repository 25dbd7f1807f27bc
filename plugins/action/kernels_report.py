# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module kernels_report: a campaign under several kernels as one page; see
plugins/modules/kernels_report.py.
"""

from __future__ import annotations

import os

from ..module_utils._host.files import write_changed
from ..plugin_utils._across.kernels import report_of
from ..plugin_utils._across.kernels_page import answer, documents, ordered_changes
from ..plugin_utils._action.controller import (
    Answered,
    ControllerAction,
    Options,
    Spec,
    TaskVars,
    say,
)

SPEC: Spec = {
    "results": {"type": "list", "elements": "path", "required": True},
    "output": {"type": "path", "required": True},
}
MOST_LISTED = 50  # of the changes in the task's result: an event must stay small


class ActionModule(ControllerAction):
    """Find the campaigns, compare the kernels, write the page."""

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        report = report_of(options["results"])
        changed = write_changed(
            os.path.abspath(options["output"]), documents(report), self._task.check_mode
        )
        for item in answer(report):
            say(f"  {item['text']}")
        changes = [
            {
                "effect": effect["id"],
                "before": change["before"],
                "after": change["after"],
                "ratio": change["ratio"],
                "verdict": change["verdict"],
            }
            for effect, change in ordered_changes(report)[:MOST_LISTED]
        ]
        return {
            "changed": bool(changed),
            "kernels": [kernel["kernel"] for kernel in report["kernels"]],
            "changes": changes,
            "output": options["output"],
        }
