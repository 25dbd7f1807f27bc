# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.lab import plan


def tenant_plan(count, index, nodes, network, host_network=None, *, flat_network=None, flat_mtu=None,
                bridged_network=None, tunnels=1):
    """Return the tenants of a node, as module tenants takes them."""
    try:
        return plan.tenant_plan(int(count), int(index), int(nodes), network, host_network,
                                flat=(flat_network, int(flat_mtu or 0)), bridged_network=bridged_network,
                                tunnels=int(tunnels))
    except (LabError, ValueError) as error:
        raise AnsibleFilterError(f"offload.lab.tenant_plan: {error}") from error


class FilterModule:
    """The filter offload.lab.tenant_plan."""

    def filters(self):
        return {"tenant_plan": tenant_plan}
