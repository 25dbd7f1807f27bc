# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a snapshot keeps beside MTU and ethtool's settings: RPS, RSS, Open vSwitch, the lab's kernel VXLAN devices.

Of devices in other network namespaces only ethtool's settings are kept: the lab makes them with one queue.
"""
from __future__ import annotations

import glob
import os

from ansible_collections.offload.lab.plugins.module_utils import _ovs, _vxlan_state
from ansible_collections.offload.lab.plugins.module_utils._ethtool_read import read_rss
from ansible_collections.offload.lab.plugins.module_utils._ovs_state import quoted, transaction

QUEUES = "/sys/class/net/{0}/queues"


def read_rps(name):
    """Return ``{"rx-0/rps_cpus": mask, "rx-0/rps_flow_cnt": number}`` of a device's receive queues."""
    base, found = QUEUES.format(glob.escape(name)), {}
    for kind in ("rps_cpus", "rps_flow_cnt"):
        for path in sorted(glob.glob("{0}/rx-*/{1}".format(base, kind))):
            with open(path) as stream:
                found["/".join(path.split("/")[-2:])] = stream.read().strip()
    return found


def read_ovs():
    """Return ``other_config`` of Open vSwitch, the options of its tunnels and its ports' receive buffers in bytes.

    Nothing where it does not run.
    """
    state = _ovs.read(missing_ok=True)
    if not state["running"]:
        return {}
    return {"other_config": dict(state["root"].get("other_config") or {}),
            "tunnels": dict((name, dict(port["interface"].get("options") or {}))
                            for name, port in state["ports"].items() if port["interface"].get("type") == "vxlan"),
            "buffers": _ovs.port_buffers()}


def read(devices):
    """Return ``{"rps": {device: ...}, "rss": {device: [queue of each entry]}, "ovs": ..., "vxlan": ...}`` of a node."""
    own = [device["name"] for device in devices if not device.get("netns")]
    rss = dict((name, read_rss(name, None).get("indirection")) for name in own)
    return {"rps": dict((name, read_rps(name)) for name in own),
            "rss": dict((name, table) for name, table in rss.items() if table), "ovs": read_ovs(),
            "vxlan": _vxlan_state.saved(*_vxlan_state.read())}


def rps_writes(name, saved, now):
    """Return ``[(path, value)]`` that bring the queues back; a queue that is gone is left out."""
    return [(os.path.join(QUEUES.format(name), queue), value) for queue, value in sorted(saved.items())
            if now.get(queue, value) != value]


def rss_step(name, saved, now):
    """Return the argument list that brings an RSS table back, None where it is as it was or cannot be written so.

    ``ethtool -X`` writes two kinds of tables: round robin over the first queues (``equal``, what drivers begin with),
    and one run of entries a queue (``weight``).
    """
    if not now or saved == now or len(saved) != len(now):
        return None
    queues = max(saved) + 1
    if saved == [entry % queues for entry in range(len(saved))]:
        return ["ethtool", "-X", name, "equal", str(queues)]
    if saved == sorted(saved):
        return ["ethtool", "-X", name, "weight"] + [str(saved.count(queue)) for queue in range(queues)]
    return None


def buffer_changes(saved, now):
    """Return ``{device: size}`` of the receive buffers that are not as saved; a device that is gone is left out."""
    return dict((name, saved[name]) for name in sorted(set(saved) & set(now)) if saved[name] != now[name])


def _replace(table, record, column, values):
    words = ["{0}:{1}={2}".format(column, quoted(key), quoted(value)) for key, value in sorted(values.items())]
    return [["clear", table, record, column]] + ([["set", table, record] + words] if words else [])


def ovs_steps(saved, now):
    """Return the one transaction, as a list of steps, that brings Open vSwitch's configuration back."""
    commands = []
    if now and saved.get("other_config", {}) != now["other_config"]:
        commands += _replace("Open_vSwitch", ".", "other_config", saved.get("other_config", {}))
    for name, options in sorted(saved.get("tunnels", {}).items()):
        if now and now["tunnels"].get(name, options) != options:
            commands += _replace("Interface", name, "options", options)
    return [transaction(commands)] if commands else []
