# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.lab import device_settings


def visit_links(devices, mtu, overhead):
    """Return the MTU of each device at one MTU of the underlay."""
    try:
        return device_settings.visit_links(devices, mtu, overhead)
    except LabError as error:
        raise AnsibleFilterError(f"offload.lab.visit_links: {error}")
    except (AttributeError, KeyError, TypeError):
        raise AnsibleFilterError("offload.lab.visit_links: expected mappings by device class (see ansible-doc).")


class FilterModule:
    """The filter offload.lab.visit_links."""

    def filters(self):
        return {"visit_links": visit_links}
