# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module manifest_info: keeps what it returns in manifest.json; see
plugins/modules/manifest_info.py.
"""

from __future__ import annotations

import os
from typing import Any

from ansible.plugins.action import ActionBase

from ..module_utils._base.errors import LabError
from ..module_utils._base.network import key_of
from ..plugin_utils._action.controller import Answered, TaskVars
from ..plugin_utils._store import manifest


def _keys(classes: dict[str, Any]) -> dict[str, list[str]]:
    """Return the keys of the devices of each class that has any."""
    return {name: list(map(key_of, devices)) for name, devices in classes.items() if devices}


class ActionModule(ActionBase):
    """Read the node's conditions, and keep them in a results folder if one is given."""

    def run(self, tmp: str | None = None, task_vars: TaskVars | None = None) -> Answered:
        result: Answered = super().run(tmp, task_vars)
        arguments = self._task.args
        result.update(
            self._execute_module(
                module_name="offload.lab.manifest_info", module_args=arguments, task_vars=task_vars
            )
        )
        # Of many tenants they are long: they go to the file, and not into the event of the task.
        devices = result.pop("devices", {})
        kernel_log = result.pop("kernel_log", [])
        exchanges = result.pop("exchanges", None)
        if result.get("failed") or not arguments.get("results") or self._task.check_mode:
            return result
        conditions: manifest.NodeState = {
            "host": result["host"],
            "links": result["links"],
            "programs": result.get("programs", {}),
            "ovs": result["ovs"],
            "devices": devices,
            "kernel_log": kernel_log,
        }
        if exchanges:
            conditions["exchanges"] = exchanges
        if arguments.get("classes"):
            conditions["classes"] = _keys(arguments["classes"])
        if arguments.get("tenant_of") is not None:
            conditions["tenant_of"] = str(arguments["tenant_of"])
        try:
            result["changed"] = manifest.keep(
                os.path.abspath(arguments["results"]),
                str(arguments["campaign"]),
                (task_vars or {})["inventory_hostname"],
                arguments.get("part") or "before",
                conditions,
            )
        except LabError as error:
            result.update(failed=True, msg=str(error))
        return result
