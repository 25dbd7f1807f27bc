# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.lab import device_settings as lab_device_settings


def device_settings(settings, devices, more=()):
    """Return the devices of a node with the settings that a profile has for their classes."""
    try:
        return lab_device_settings.device_settings(settings, devices, more)
    except LabError as error:
        raise AnsibleFilterError(f"offload.lab.device_settings: {error}")
    except (AttributeError, KeyError, TypeError):
        raise AnsibleFilterError("offload.lab.device_settings: expected mappings by device class (see ansible-doc).")


class FilterModule:
    """The filter offload.lab.device_settings."""

    def filters(self):
        return {"device_settings": device_settings}
