# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module lab_node: what a node has in the lab, from its variables; see
plugins/modules/lab_node.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..plugin_utils._action.controller import (
    Answered,
    ControllerAction,
    Options,
    Spec,
    TaskVars,
)
from ..plugin_utils._campaign.chosen import OWN_PATHS
from ..plugin_utils._lab import guests, lab_node
from ..plugin_utils._lab.guests import GuestPort
from ..plugin_utils._lab.lab_node import Variables
from ..plugin_utils._paths.lab_paths import USUAL_TENANT_PATH, OwnPath, with_own
from ..plugin_utils._paths.own_paths import Walked, other_ends, own_paths, walked_of

PREFIX = "offload_lab_"
SPEC: Spec = {
    "part": {"type": "str", "choices": ["ends", "devices", "tunnels", "own"], "default": "ends"},
    "datapath": {"type": "str", "choices": ["system", "netdev"], "default": "system"},
    **OWN_PATHS,
}


class ActionModule(ControllerAction):
    """Read the variables of the node, and return what they make of it."""

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        if options["part"] == "own":
            walked = task_vars["hostvars"][task_vars["inventory_hostname"]]["__offload_lab_walked"]
            return {
                "own": self._own(task_vars),
                "other_ends": other_ends(walked["paths"]),
                "changed": False,
            }
        if task_vars["inventory_hostname"] in task_vars["groups"].get(guests.GROUP, ()):
            return {**self._of_guest(options, task_vars), "changed": False}
        if task_vars["inventory_hostname"] in lab_node.forwarders_of(task_vars["groups"]):
            return {**self._of_forwarder(options, task_vars), "changed": False}
        nodes = list(task_vars["groups"].get(self._value("group", task_vars, "lab_nodes"), ()))
        return {
            **self._part(options, self._variables(task_vars), nodes, task_vars),
            "changed": False,
        }

    def _own(self, task_vars: TaskVars) -> dict[str, OwnPath]:
        """Return the paths of an existing network, as the nodes of the play see it."""
        walked: dict[str, Walked] = {}
        for node in task_vars["ansible_play_hosts"]:
            node_walked = walked_of(task_vars["hostvars"][node])
            if node_walked:
                walked[node] = node_walked
        return own_paths(walked)

    def _value(self, name: str, task_vars: TaskVars, default: Any = None) -> Any:
        return self._templar.template(task_vars.get(PREFIX + name, default))

    def _variables(self, task_vars: TaskVars) -> Variables:
        """Return the variables of the node, of their types."""
        values = {
            PREFIX + name: self._value(name, task_vars)
            for name in lab_node.VARIABLES
            if PREFIX + name in task_vars
        }
        spec = {PREFIX + name: option for name, option in lab_node.VARIABLES.items()}
        checked = ArgumentSpecValidator(spec).validate(values)
        if checked.error_messages:
            raise AnsibleActionFail(checked.error_messages[0])
        return {
            name: checked.validated_parameters.get(PREFIX + name) for name in lab_node.VARIABLES
        }

    def _of_guest(self, options: Options, task_vars: TaskVars) -> Mapping[str, Any]:
        device = str(self._value("underlay_device", task_vars, ""))
        if options["part"] == "devices":
            return {"devices": guests.devices_of(device)}
        return lab_node.guest_ends_of(
            device,
            str(self._value("underlay_address", task_vars, "")),
            str(self._value("tenant_path", task_vars, USUAL_TENANT_PATH)),
            options["datapath"],
        )

    def _of_forwarder(self, options: Options, task_vars: TaskVars) -> Mapping[str, Any]:
        names = list(self._value("forwarder_devices", task_vars) or [])
        if options["part"] == "devices":
            return {"devices": lab_node.forwarder_devices(names)}
        ours = "offload_lab_node" in task_vars
        return lab_node.forwarder_in_lab(names, options["datapath"], ours=ours)

    def _part(
        self,
        options: Options,
        variables: Variables,
        nodes: list[str],
        task_vars: TaskVars,
    ) -> Mapping[str, Any]:
        node = task_vars["inventory_hostname"]
        if options["part"] == "tunnels":
            return lab_node.tunnels_of(variables, nodes, node, task_vars["hostvars"])
        ports = self._guests(variables, task_vars)
        paths = with_own(options["own_paths"])
        arguments = (variables, nodes, options["datapath"], ports, node)
        if options["part"] == "devices":
            return {"devices": lab_node.devices_of(*arguments, paths=paths)}
        return lab_node.ends_of(*arguments, paths=paths)

    @staticmethod
    def _guests(variables: Variables, task_vars: TaskVars) -> list[GuestPort]:
        """Return the ports of the node's guests."""
        there = {
            name: task_vars["hostvars"][name] for name in task_vars["groups"].get(guests.GROUP, ())
        }
        return guests.ports_of(
            task_vars["inventory_hostname"], there, bool(variables["uplink_device"])
        )
