# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module netserver: it knows the addresses of the other hosts of the play; see
plugins/modules/netserver.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils._action.controller import Answered, TaskVars

MORE = "offload_lab_more_peers"


def _of_ends(endpoints: Mapping[str, Any]) -> list[str]:
    """Return the addresses of the ends of a host's paths."""
    addresses = []
    for path in endpoints.values():
        addresses += [end["address"] for end in path.get("all") or [path]]
    return addresses


def _of_devices(variables: Mapping[str, Any]) -> list[str]:
    """Return the addresses of a host's devices. A host that forwards may put its own address into
    what it forwards.
    """
    node = variables.get("offload_lab_node") or {}
    addresses = [variables.get("offload_lab_underlay_address") or ""]
    addresses += [port["address"] for port in variables.get("offload_lab_more_ports") or ()]
    for device in (node, *(node.get("more") or ())):
        addresses += device.get("addresses") or ()
    return [text.partition("/")[0] for text in addresses]


def addresses_of(variables: Mapping[str, Any]) -> list[str]:
    """Return the addresses that a host has in the lab."""
    return [*_of_ends(variables.get("offload_lab_endpoints") or {}), *_of_devices(variables)]


def peers_of(hosts: Iterable[Mapping[str, Any]], more: Iterable[str]) -> list[str]:
    """Return the addresses of other hosts, and those that a user adds, each once."""
    addresses: list[str] = []
    for variables in hosts:
        addresses += addresses_of(variables)
    return list(dict.fromkeys(filter(None, [*addresses, *more])))


class ActionModule(ActionBase):
    """Add the option peers where it is not given, and run the module."""

    def run(self, tmp: str | None = None, task_vars: TaskVars | None = None) -> Answered:
        result: Answered = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        if arguments.get("peers") is None and arguments.get("state", "present") == "present":
            arguments["peers"] = self._peers(task_vars or {})
        result.update(
            self._execute_module(
                module_name="offload.lab.netserver", module_args=arguments, task_vars=task_vars
            )
        )
        return result

    def _peers(self, task_vars: TaskVars) -> list[str]:
        """Return the addresses of all other hosts of the play."""
        names = task_vars.get("ansible_play_hosts_all") or ()
        others = [name for name in names if name != task_vars.get("inventory_hostname")]
        others = others or list(names)  # a lab of one node
        more = task_vars.get(MORE)
        more = self._templar.template(more) if more else []
        return peers_of([task_vars["hostvars"][name] for name in others], more)
