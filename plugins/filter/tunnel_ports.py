# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.lab import plan


def tunnel_ports(tunnels, datapath, port=4789, csum=False, *, tag=None):
    """Return the ports of the tunnels, as module ovs_ports takes them."""
    try:
        return plan.tunnel_ports(tunnels, datapath, int(port), csum, tag=tag)
    except (LabError, ValueError) as error:
        raise AnsibleFilterError(f"offload.lab.tunnel_ports: {error}") from error


class FilterModule:
    """The filter offload.lab.tunnel_ports."""

    def filters(self):
        return {"tunnel_ports": tunnel_ports}
