# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module import_logs: netperf's logs as a campaign; see
plugins/modules/import_logs.py.
"""

from __future__ import annotations

import json
import os

from ..module_utils._base.errors import InputError
from ..module_utils._host.files import write_changed
from ..plugin_utils._action.controller import Answered, ControllerAction, Options, Spec, TaskVars
from ..plugin_utils._campaign.schema import validate
from ..plugin_utils._trials.import_logs import import_logs
from ..plugin_utils._trials.records import encode

SPEC: Spec = {
    "name": {"type": "str", "required": True},
    "logs": {"type": "list", "elements": "dict", "required": True},
    "source": {"type": "str"},
    "control": {"type": "str"},
    "profiles": {"type": "dict"},
    "results_dir": {"type": "path", "default": "results"},
}


class ActionModule(ControllerAction):
    """Read logs on the controller and write plan.json and trials.jsonl of a campaign marked as
    imported.
    """

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        results_dir = os.path.abspath(options.pop("results_dir"))
        spec = {key: value for key, value in options.items() if value is not None}
        validate(spec, "import", "import_logs")
        plan, trials = import_logs(
            spec, {log["file"]: self._text(log["file"]) for log in spec["logs"]}
        )
        folder = os.path.join(results_dir, plan["name"])
        changed = write_changed(
            folder,
            {
                "plan.json": json.dumps(plan, indent=1) + "\n",
                "trials.jsonl": "".join(encode(trial) for trial in trials),
            },
            self._task.check_mode,
        )
        broken = [trial["id"] for trial in trials if trial["error"]]
        return {
            "changed": bool(changed),
            "results": folder,
            "trials": len(trials),
            "broken": broken[:50],
        }

    def _text(self, name: str) -> str:
        try:
            with open(self._loader.path_dwim(name), encoding="utf-8", errors="replace") as stream:
                return stream.read()
        except OSError as error:
            raise InputError(
                f"the log cannot be read ({error.strerror})", name, "Give the path of a text file."
            )
