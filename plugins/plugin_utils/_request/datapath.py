# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the datapath of a lab's switch cannot do of what is asked for. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...module_utils._base.errors import InputError
from ...module_utils._engines.sockets.sockets import Sockets
from ...module_utils._engines.workload import Workload
from .._campaign.nouns import Campaign
from .._lab.lab_node import tunnel_of
from .._lab.tunnels import InTunnel, check_tunnel
from .._paths.lab_paths import Variables
from .._paths.sources import LAB

SENDS_TOGETHER = "UDP_STREAM"  # the test of engine sockets that does


def tunnel_asked(variables: Variables) -> InTunnel:
    """Return the tunnel that the variables of a node ask for, whose names begin with offload_lab_."""

    def value(name: str, default: Any) -> Any:
        return variables.get(f"offload_lab_{name}", default)

    per_port = str(value("tunnel_per_port", False)).lower() in ("true", "yes", "1", "on")
    return tunnel_of(
        {
            "tunnel_type": value("tunnel_type", None),
            "tenant_vlan": int(value("tenant_vlan", 0)),
            "tunnel_per_port": per_port,
            "uplink_device": value("uplink_device", ""),
        }
    )


def refused(datapath: str, tunnel: InTunnel, campaign: Campaign | None) -> Iterator[str]:
    """Yield why a lab with this datapath cannot have this tunnel, or measure this campaign."""
    try:
        check_tunnel(tunnel, datapath)
    except InputError as error:
        yield str(error)
    if datapath == "netdev" and campaign:
        yield from _lost(campaign)


def _lost(campaign: Campaign) -> Iterator[str]:
    """Yield the workloads whose datagrams do not get through a tunnel of the userspace datapath as
    they were sent.
    """
    paths = [LAB.by_name[name] for name in campaign["paths"] if name in LAB.by_name]
    through = " and ".join(path.name for path in paths if path.tunnelled)
    for workload in campaign["workloads"] if through else ():
        if _sends_together(workload):
            yield (
                f"workload {workload['name']} sends several datagrams with one call, which the "
                f"userspace datapath loses or joins on {through}. Give it udp_segment: false."
            )


def _sends_together(workload: Workload) -> bool:
    """Return whether one call sends several datagrams."""
    if workload["test"] != SENDS_TOGETHER or workload.get("engine") != Sockets.name:
        return False
    return workload.get("udp_segment", True)
