# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the devices that the packets of each path meet at both ends of a pair."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.lab.paths import PATHS
from ansible_collections.offload.lab.plugins.plugin_utils.trials.trials import pair_endpoints


def _devices(path, devices, netns):
    """Return the underlay's devices, and the first of each other class that is in the path's own namespace.

    Of several underlay devices a path uses one: they are ``alike``.
    """
    underlay = devices.get("underlay") or ()
    found = [(device, {"alike": True} if len(underlay) > 1 else {}) for device in underlay]
    for name in PATHS[path].devices:
        if name != "underlay":
            found += [(device, {}) for device in devices.get(name) or () if device.get("netns") == netns][:1]
    return [dict({"name": device["name"], "netns": device.get("netns")}, **more) for device, more in found]


def evidence_paths(paths, client, server, port=12865, data_port=None):
    """Return ``paths`` as module evidence takes them. ``data_port``: see :func:`data_port` of trials.

    ``client`` and ``server`` have ``endpoints`` (by path) and ``devices`` (by class) of one node each.
    """
    found = []
    for path in paths:
        end = pair_endpoints(path, {"client": client["endpoints"], "server": server["endpoints"]}, port)[0]
        there = (server["endpoints"][path].get("all") or [server["endpoints"][path]])[0]
        found.append({"name": path, "netns": end["netns"], "local_address": end["local"], "address": end["address"],
                      "port": port, "data_port": data_port,
                      "client_devices": _devices(path, client["devices"], end["netns"]),
                      "server_devices": _devices(path, server["devices"], there.get("netns"))})
    return found
