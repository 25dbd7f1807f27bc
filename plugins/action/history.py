# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module history: many campaigns as one page; see plugins/modules/history.py."""

from __future__ import annotations

import os

from ..module_utils._host.files import write_changed
from ..plugin_utils._across.history import history_of
from ..plugin_utils._across.page import answer, documents
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


class ActionModule(ControllerAction):
    """Find the campaigns, look for changes, write the page."""

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        history = history_of(options["results"])
        changed = write_changed(
            os.path.abspath(options["output"]), documents(history), self._task.check_mode
        )
        for item in answer(history):
            say(f"  {item['text']}")
        changes = [
            {"campaign": change["campaign"], "number": change["number"], "p": change["p"]}
            for change in history["changes"]
        ]
        return {
            "changed": bool(changed),
            "campaigns": len(history["campaigns"]),
            "output": options["output"],
            "changes": changes,
        }
