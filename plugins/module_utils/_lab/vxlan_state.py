# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's kernel VXLAN devices in a snapshot: some of it is only restored by recreating a device."""

from __future__ import annotations

from typing import Mapping, TypedDict, cast

from .._base.steps import Step
from .._iproute import read as iproute_read
from .._ovs import database, ports, state
from .._ovs.state import Port, State
from .vxlan_plan import (
    OURS,
    Fdb,
    Links,
    Summary,
    Wanted,
    must_recreate,
    plan_present,
    summary,
)


class Kept(TypedDict):
    """What a snapshot has of a device."""

    device: Summary
    bridge: str | None
    port: Port | None


def read() -> tuple[Links, dict[str, Fdb], State]:
    """Return ``(links, {name: forwarding database}, Open vSwitch)``: what :func:`saved` and
    :func:`steps` take.
    """
    links = iproute_read.read()
    names = [
        name for name, link in links.items() if link["kind"] == "vxlan" and link["alias"] == OURS
    ]
    return (
        links,
        {name: iproute_read.read_fdb(name) for name in names},
        database.read(missing_ok=True),
    )


def saved(links: Links, fdbs: Mapping[str, Fdb], ovs: State) -> dict[str, Kept]:
    """Return ``{name: {"device", "bridge", "port"}}`` of the lab's devices; without a port, the
    last two are None.
    """
    devices: dict[str, Kept] = {}
    for name, fdb in fdbs.items():
        port = ovs["ports"].get(name)
        devices[name] = {
            "device": summary(links[name], fdb),
            "bridge": port["bridge"] if port else None,
            "port": state.summary(port) if port else None,
        }
    return devices


def steps(
    kept: Mapping[str, Kept], links: Links, fdbs: Mapping[str, Fdb], ovs: State
) -> list[Step]:
    """Return the steps that recreate devices which differ so, each in its bridge again.

    One that is gone stays so.
    """
    steps = []
    for name in sorted(set(kept) & set(fdbs)):
        old = kept[name]
        anew = must_recreate(summary(links[name], fdbs[name]), old["device"])
        if anew:
            steps += plan_present(
                links, fdbs[name], ovs, cast(Wanted, dict(old["device"], name=name))
            )
        # Without its port it may be because a restore before was stopped in between.
        if old["port"] and old["bridge"] in ovs["bridges"] and (anew or name not in ovs["ports"]):
            commands = ports.port_commands(old["bridge"], name, None, old["port"])
            steps.append(state.transaction(commands, wait=ovs["vswitchd"]))
    return steps
