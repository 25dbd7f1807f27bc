# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils import _lab_plan


def lab_view(tenants, underlay_device, underlay_address, datapath="system"):
    """Return the node's end of each path and its devices."""
    return {
        "endpoints": _lab_plan.endpoints(tenants, underlay_address),
        "devices": _lab_plan.devices(tenants, underlay_device, datapath),
    }


class FilterModule(object):
    """The filter offload.lab.lab_view."""

    def filters(self):
        return {"lab_view": lab_view}
