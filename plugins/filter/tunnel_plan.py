# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.lab import plan


def _addresses(variables, per_port):
    """Return a node's addresses on the underlay: the first, or that of each port."""
    more = (variables.get("offload_lab_more_ports") or []) if per_port else []
    return [variables.get("offload_lab_underlay_address"), *(port["address"] for port in more)]


def tunnel_plan(nodes, node, hostvars, vni, *, per_port=False, remotes=None):
    """Return the tunnels of a node."""
    try:
        ends = {name: _addresses(hostvars[name], per_port) for name in nodes}
        return plan.tunnels(ends, node, int(vni), remotes=remotes)
    except (LabError, ValueError) as error:
        raise AnsibleFilterError(f"offload.lab.tunnel_plan: {error}") from error


class FilterModule:
    """The filter offload.lab.tunnel_plan."""

    def filters(self):
        return {"tunnel_plan": tunnel_plan}
