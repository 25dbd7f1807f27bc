# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.lab import device_settings


def all_devices(devices, classes=None):
    """Return the devices of all classes, or of some, each once."""
    try:
        return device_settings.all_devices(devices, classes)
    except LabError as error:
        raise AnsibleFilterError(f"offload.lab.all_devices: {error}")
    except (AttributeError, KeyError, TypeError):
        raise AnsibleFilterError("offload.lab.all_devices: expected mappings by device class (see ansible-doc).")


class FilterModule:
    """The filter offload.lab.all_devices."""

    def filters(self):
        return {"all_devices": all_devices}
