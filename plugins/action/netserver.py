# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module netserver: it knows the addresses of the other hosts of the play; see
plugins/modules/netserver.py.
"""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils._lab import peers


class ActionModule(ActionBase):
    """Add the option peers where it is not given, and run the module."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        given = dict(self._task.args)
        if given.get("peers") is None and given.get("state", "present") == "present":
            given["peers"] = self._peers(task_vars or {})
        result.update(
            self._execute_module(
                module_name="offload.lab.netserver", module_args=given, task_vars=task_vars
            )
        )
        return result

    def _peers(self, task_vars: dict[str, Any]) -> list[str]:
        """Return the addresses of all other hosts of the play."""
        names = task_vars.get("ansible_play_hosts_all") or ()
        others = [name for name in names if name != task_vars.get("inventory_hostname")]
        others = others or list(names)  # a lab of one node
        more = task_vars.get(peers.MORE)
        more = self._templar.template(more) if more else []
        return peers.peers_of([task_vars["hostvars"][name] for name in others], more)
