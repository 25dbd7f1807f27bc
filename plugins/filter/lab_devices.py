# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.lab import plan


def lab_devices(tenants, underlay_device, datapath="system", more=(), *, tunnels=1):
    """Return the node's devices by class."""
    return plan.devices(tenants, underlay_device, datapath, more, int(tunnels))


class FilterModule:
    """The filter offload.lab.lab_devices."""

    def filters(self):
        return {"lab_devices": lab_devices}
