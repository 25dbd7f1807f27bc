# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module compare: campaigns against a baseline; see plugins/modules/compare.py."""

from __future__ import annotations

import os

from ..module_utils._host.files import write_changed
from ..plugin_utils._across.compare import compare_folders
from ..plugin_utils._across.comparison_text import console, documents
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
    "output": {"type": "path"},
    "threshold_percent": {"type": "float"},
}
MOST_LISTED = 50  # of the regressions in the task's result: an event must stay small


class ActionModule(ControllerAction):
    """Compare results folders, write what was asked for, and say whether the threshold holds."""

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        percent = options["threshold_percent"]
        comparison = compare_folders(options["results"], None if percent is None else percent / 100)
        changed = (
            write_changed(
                os.path.abspath(options["output"]), documents(comparison), self._task.check_mode
            )
            if options["output"]
            else []
        )
        for line in console(comparison):
            say(f"  {line}")
        return {
            "changed": bool(changed),
            "baseline": comparison["baseline"],
            "passed": comparison["passed"],
            "failures": comparison["failures"][:MOST_LISTED],
            "output": options["output"],
            "manifest_differences": len(comparison["manifest"]),
        }
