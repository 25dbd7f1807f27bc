# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module manifest: keeps what it returns in manifest.json; see plugins/modules/manifest.py."""
from __future__ import annotations

import os
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.store import manifest

OURS = ("part", "results", "campaign", "settings_of", "tenant_of")  # options that the module on the node does not use
SETTINGS = ["features", "channels", "rings", "coalesce", "rx_flow_hash", "rss", "driver", "tunnels", "kernel_log"]


class ActionModule(ActionBase):
    """Read the node's conditions, and keep them in a results folder if one is given."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        given = dict(self._task.args)
        ours = {name: given.pop(name, None) for name in OURS}
        result.update(self._execute_module(module_name="offload.lab.manifest", module_args=given, task_vars=task_vars))
        if result.get("failed") or not ours["results"] or self._task.check_mode:
            return result
        read = self._execute_module(module_name="offload.lab.ethtool_info", task_vars=task_vars, module_args={
            "devices": ours["settings_of"] or [], "gather": SETTINGS})
        if read.get("failed"):
            return {**result, **read}
        conditions: manifest.Conditions = {
            "host": result["host"], "links": result["links"], "ovs": result["ovs"], "devices": read["devices"],
            "kernel_log": read["kernel_log"]}
        if ours["tenant_of"] is not None:
            conditions["tenant_of"] = str(ours["tenant_of"])
        try:
            result["changed"] = manifest.keep(os.path.abspath(ours["results"]), str(ours["campaign"]),
                                              (task_vars or {})["inventory_hostname"], ours["part"] or "before",
                                              conditions)
        except LabError as error:
            result.update(failed=True, msg=str(error))
        return result
