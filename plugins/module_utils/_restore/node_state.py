# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a snapshot keeps in addition to MTU and the kinds of settings of devices: the lab's ports of Open vSwitch and
VXLAN devices.
"""

from __future__ import annotations

from typing import Mapping

from .._base.steps import Step
from .._lab import vxlan_devices
from .._ovs import database
from .._ovs.ovs_state import owner_of, transaction
from .._ovs.ports import map_commands
from .snapshot import Other, Switch


def read_ovs() -> Switch:
    """Return ``{"tunnels": {port: options}, "buffers": {port: receive buffer in bytes}}`` of the
    lab's own ports.

    Nothing where Open vSwitch does not run. No key of its ``other_config`` is kept: a campaign
    changes none of them.
    """
    state = database.read(missing_ok=True)
    if not state["running"]:
        return {}
    of_lab = {name: port for name, port in state["ports"].items() if owner_of(port)}
    return {
        "tunnels": {
            name: dict(port["interface"].get("options") or {})
            for name, port in of_lab.items()
            if port["interface"].get("type") == "vxlan"
        },
        "buffers": {name: size for name, size in database.port_buffers().items() if name in of_lab},
    }


def read() -> Other:
    """Return ``{"ovs": ..., "vxlan": ...}`` of a node."""
    return {
        "ovs": read_ovs(),
        "vxlan": vxlan_devices.saved(*vxlan_devices.read()),
    }


def buffer_changes(saved: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Return ``{device: size}`` of the receive buffers that are not as saved; a device that is gone
    is left out.
    """
    return {name: saved[name] for name in sorted(set(saved) & set(now)) if saved[name] != now[name]}


def ovs_steps(saved: Switch, now: Switch) -> list[Step]:
    """Return the one transaction, as a list of steps, that brings the options of the lab's own
    tunnels back.

    ``now`` has the lab's own ports alone, so a port of others is left alone even where an old
    snapshot has it.
    """
    commands = []
    for name, options in sorted(saved.get("tunnels", {}).items()):
        if name in now.get("tunnels", {}):
            commands += map_commands("Interface", name, "options", now["tunnels"][name], options)
    return [transaction(commands)] if commands else []
