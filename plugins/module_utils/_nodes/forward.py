# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan what makes a node of the single-host lab forward packets between others.

All of it is in the node's own network namespace, and goes with it.
"""

from __future__ import annotations

from .._base.steps import Step
from .node import DEVICE, INNER_BRIDGE, Node

# The first device is inside; packets that leave by another have the address of that one.
MASQUERADE = f"""table ip offload_lab {{
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    oifname != "{DEVICE}" masquerade
  }}
}}
"""


def bridge_lines(node: Node) -> list[str]:
    """Return the ``ip -batch`` lines that make the bridge of a node that bridges; it has the node's
    addresses.
    """
    if node.get("forwards") != "bridged":
        return []
    made = [f"link add name {INNER_BRIDGE} type bridge stp_state 0 mcast_snooping 0"]
    made += [f"address add {address} dev {INNER_BRIDGE}" for address in node["addresses"]]
    return [*made, f"link set dev {INNER_BRIDGE} up"]


def forward_steps(node: Node) -> list[Step]:
    """Return the steps that let a node route, and masquerade where that is asked for."""
    name = node["name"]
    forwards = node.get("forwards")
    if forwards not in ("routed", "nat"):
        return []
    steps = [Step(["tee", "/proc/sys/net/ipv4/ip_forward"], "1", name)]
    if forwards == "nat":
        steps.append(Step(["nft", "-f", "-"], MASQUERADE, name))
    return steps
