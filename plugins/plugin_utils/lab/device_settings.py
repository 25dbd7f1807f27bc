# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the settings of a profile by device class become the list of devices that module ethtool takes."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError

ETHTOOL = ("features", "rx_flow_hash", "channels", "rings", "coalesce")


def device_settings(settings, devices, more=()):
    """Return ``[{"name", "netns", "features", ...}]``.

    ``settings`` is ``{class: {kind: {name: value}}}`` as a plan's profile has it for one end, ``devices``
    ``{class: [{"name", "netns"}]}`` as the lab has them on a node. Kinds that are neither ethtool's nor among ``more``
    are left out. A device in two classes is set once, the later class wins.
    """
    found = {}
    for name, wanted in settings.items():
        groups = {kind: wanted[kind] for kind in (*ETHTOOL, *more) if wanted.get(kind)}
        if not groups:
            continue
        if not devices.get(name):
            raise InputError("the node has no device of this class", f"class {name}",
                             f"Known are {', '.join(sorted(devices)) or 'none'}; see offload_lab_devices.")
        for device in devices[name]:
            entry = found.setdefault((device.get("netns"), device["name"]),
                                     {"name": device["name"], "netns": device.get("netns")})
            for kind, values in groups.items():
                entry[kind] = {**entry.get(kind, {}), **values}
    return list(found.values())


def all_devices(devices, classes=None):
    """Return ``[{"name", "netns"}]`` of all classes, or of some, each device once."""
    found = {}
    for name in devices if classes is None else classes:
        for device in devices.get(name) or ():
            found[device.get("netns"), device["name"]] = {"name": device["name"], "netns": device.get("netns")}
    return list(found.values())


def visit_links(devices, mtu, overhead, tunnelled=("tenant", "tenant_port", "host", "host_port", "tunnel")):
    """Return ``[{"name", "netns", "mtu"}]`` for an MTU of the underlay; what is inside the tunnel has less."""
    flat = {device["name"] for name in tunnelled for device in devices.get(name) or () if device.get("flat")}
    return ([{**device, "mtu": mtu} for device in all_devices(devices, ["underlay"])]
            + [{**device, "mtu": mtu - (0 if device["name"] in flat else overhead)}
               for device in all_devices(devices, tunnelled)])
