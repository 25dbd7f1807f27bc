# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address of a bridge's own device, and its VLAN inside the switch. Pure.

The userspace datapath sends the packets of its own tunnels, such as Geneve, from this address, by the
port of the bridge that leads to the other end.
"""

from __future__ import annotations

from typing import Sequence, TypedDict

from .._base.network import OWNER
from .._base.steps import Step, batch
from . import ovs_state
from .ovs_state import OvsState
from .tables import optional


class BridgeEnd(TypedDict):
    """What the device of a bridge has from us; an address that somebody else gave it is not ours."""

    address: str  # with its prefix length; "" for none
    tag: int | None  # VLAN inside the switch
    up: bool


NOTHING: BridgeEnd = {"address": "", "tag": None, "up": False}
MARK = OWNER + "-address"  # in external_ids of the bridge's own port: the address that we gave it


def seen(ovs: OvsState, bridge: str, addresses: Sequence[str], up: bool) -> BridgeEnd:
    """Return what the device of a bridge has from us; ``addresses`` are all that it has."""
    port = ovs["ports"].get(bridge, {})
    ours = port.get("external_ids", {}).get(MARK)
    if not ours:
        return NOTHING
    return {"address": ours if ours in addresses else "", "tag": optional(port["tag"]), "up": up}


def plan(bridge: str, now: BridgeEnd, after: BridgeEnd) -> list[Step]:
    """Return the steps from what the device has to what is wanted."""
    if now == after:
        return []
    commands = [
        ["clear", "Port", bridge, "tag"]
        if after["tag"] is None
        else ["set", "Port", bridge, f"tag={after['tag']}"],
        ["set", "Port", bridge, f"external_ids:{MARK}={ovs_state.quoted(after['address'])}"]
        if after["address"]
        else ["remove", "Port", bridge, "external_ids", MARK],
    ]
    lines: list[str] = []
    if now["address"] not in ("", after["address"]):
        lines.append(f"address del {now['address']} dev {bridge}")
    if after["address"]:
        lines.append(f"address replace {after['address']} dev {bridge}")
    lines.append(f"link set {bridge} {'up' if after['up'] else 'down'}")
    return [ovs_state.transaction(commands), *batch(lines)]
