# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration of netplan: the seven offloads that it has keys for. Pure."""

from __future__ import annotations

from typing import Any

import yaml

from .host_settings import Export, HostDevice, HostSettings, head, not_expressed

USE = """\
Merge it into /etc/netplan, then run: netplan apply, and reboot, because udev sets offloads when a device appears.
It needs the renderer networkd, and netplan 0.105 or later, which knows false.
Where udev gives the device its name, match it by macaddress instead of by name."""
ROWS = {
    "rx-checksumming": "receive-checksum-offload",
    "tx-tcp-segmentation": "tcp-segmentation-offload",
    "tx-tcp6-segmentation": "tcp6-segmentation-offload",
    "generic-segmentation-offload": "generic-segmentation-offload",
    "generic-receive-offload": "generic-receive-offload",
    "large-receive-offload": "large-receive-offload",
}


def _offloads(device: HostDevice) -> tuple[dict[str, Any], list[str]]:
    """Return the keys of a device, and what they cannot express."""
    keys = {key: device.features[row] for row, key in ROWS.items() if row in device.features}
    told = set(ROWS)
    checksums = device.whole_group("tx-checksumming")
    if checksums is not None:
        keys["transmit-checksum-offload"] = checksums
        told.update(device.groups["tx-checksumming"])
    left = not_expressed(device, "features", [row for row in device.features if row not in told])
    for group, values in device.others.items():
        left += not_expressed(device, group, values)
    return keys, left


def netplan(settings: HostSettings) -> Export:
    """Return the configuration."""
    ethernets: dict[str, Any] = {}
    left = list(settings.left)
    for device in settings.devices:
        keys, missing = _offloads(device)
        left += missing
        if keys:
            ethernets[device.name] = {"match": {"name": device.name}, **keys}
    network = {"network": {"version": 2, "ethernets": ethernets}}
    text = yaml.safe_dump(network, sort_keys=False)
    return Export(f"{head(settings, 'netplan', USE, left)}{text}", left)
