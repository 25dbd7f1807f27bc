# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.lab import plan


def lab_endpoints(tenants, underlay_address, mtu, largest_mtu, more=()):
    """Return the node's end of each path."""
    try:
        return plan.endpoints(plan.checked(tenants, int(mtu), int(largest_mtu)), underlay_address,
                              more)
    except LabError as error:
        raise AnsibleFilterError(f"offload.lab.lab_endpoints: {error}") from error


class FilterModule:
    """The filter offload.lab.lab_endpoints."""

    def filters(self):
        return {"lab_endpoints": lab_endpoints}
