# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module evidence: where to look in a lab, what the packets prove; see
plugins/modules/evidence.py.
"""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ..module_utils._base.errors import LabError
from ..plugin_utils._action.controller import Answered, TaskVars
from ..plugin_utils._analysis.verdicts import verify_rows
from ..plugin_utils._paths.lab_paths import LAB
from ..plugin_utils._trials.evidence_paths import evidence_paths

OURS = ("ends", "features")  # options that the module on the node does not have


class ActionModule(ActionBase):
    """Make the paths from the ends of a lab, run the module on the client, and judge each feature
    by what it saw.
    """

    def run(self, tmp: str | None = None, task_vars: TaskVars | None = None) -> Answered:
        result: Answered = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        ends, features = (arguments.pop(name, None) for name in OURS)
        try:
            if ends:
                paths = map(LAB.named, ends["paths"])
                arguments["paths"] = evidence_paths(paths, ends["client"], ends["server"])
        except LabError as error:
            return {**result, "failed": True, "msg": str(error)}
        except (AttributeError, KeyError, TypeError):
            return {
                **result,
                "failed": True,
                "msg": "ends: it needs paths, and for client and server endpoints and "
                "devices, which module offload.lab.lab_node returns.",
            }
        if self._task.check_mode and "paths" not in arguments:
            result.update(changed=False, packets={})
        else:
            result.update(
                self._execute_module(
                    module_name="offload.lab.evidence", module_args=arguments, task_vars=task_vars
                )
            )
        if features is not None and not result.get("failed"):
            result["rows"] = verify_rows(features, result["packets"])
        return result
