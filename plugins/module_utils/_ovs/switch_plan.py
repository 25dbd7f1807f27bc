# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of the switch: Open vSwitch runs with the settings that its datapath needs, and has
our bridge, with the address and VLAN of the bridge's own device.

The userspace datapath sends the packets of its own tunnels, such as Geneve, from this address, by the
port of the bridge that leads to the other end.
"""

from __future__ import annotations

from typing import Sequence, TypedDict

from .._base.errors import InputError
from .._base.network import OWNER
from .._base.steps import Step, batch
from . import ovs_state
from .ovs_state import OvsState
from .tables import optional

OVS_CTL = "/usr/share/openvswitch/scripts/ovs-ctl"
TSO = "userspace-tso-enable"
TSO_MARK = OWNER + "-tso"  # in external_ids of Open_vSwitch: we have set TSO
STARTED = "started"  # value of OWNER there: we have started the daemons


class SwitchSeen(TypedDict):
    """The state of a host: whether ovsdb-server and ovs-vswitchd run, and the state of the database, or
    of its file.
    """

    db: bool
    vswitchd: bool
    ovs: ovs_state.OvsState


class Service(TypedDict):
    """The steps that start and stop the daemons."""

    start_db: Step
    start: Step
    stop_vswitchd: Step
    stop: Step


class SwitchSummary(TypedDict):
    """What a user sees of the switch."""

    running: bool
    userspace_tso: bool
    datapath: str | None  # None: our bridge is not there


def service_of(unit: str | None = None) -> Service:
    """Return the steps that start and stop the daemons: by systemd with the ``unit`` of the
    package, or by ovs-ctl.
    """

    def ctl(action: str, *options: str) -> Step:
        return Step([OVS_CTL, action, *options])

    def systemd(action: str, *names: str) -> Step:
        return Step(["systemctl", action, *names])

    if unit:
        return {
            "start_db": systemd("start", "ovsdb-server"),
            "start": systemd("start", "ovs-vswitchd", unit),
            "stop_vswitchd": systemd("stop", "ovs-vswitchd"),
            "stop": systemd("stop", unit),
        }
    return {
        "start_db": ctl("start", "--system-id=random", "--no-ovs-vswitchd"),
        "start": ctl("start", "--system-id=random"),
        "stop_vswitchd": ctl("stop", "--no-ovsdb-server"),
        "stop": ctl("stop"),
    }


def summary(state: SwitchSeen, name: str) -> SwitchSummary:
    """Return what a user sees of the switch, for results and diffs."""
    root = state["ovs"]["root"]
    bridge = state["ovs"]["bridges"].get(name)
    return {
        "running": state["db"] and state["vswitchd"],
        "userspace_tso": root.get("other_config", {}).get(TSO) == "true",
        "datapath": None if bridge is None else bridge["datapath_type"] or "system",
    }


def _foreign(state: SwitchSeen, name: str) -> list[str]:
    """Return the names of the other bridges that are not ours."""
    return sorted(
        other
        for other, row in state["ovs"]["bridges"].items()
        if other != name and ovs_state.owner_of(row) is None
    )


def _settings(state: SwitchSeen, tso: bool) -> list[ovs_state.Command]:
    """Return the commands that set what must be there before ovs-vswitchd starts, and our marks."""
    commands = []
    if tso:
        commands.append(
            ["set", "Open_vSwitch", ".", f"other_config:{TSO}=true", f"external_ids:{TSO_MARK}=set"]
        )
    if not state["db"] and not state["vswitchd"]:
        commands.append(["set", "Open_vSwitch", ".", f"external_ids:{OWNER}={STARTED}"])
    return commands


def _service_steps(state: SwitchSeen, name: str, datapath: str, service: Service) -> list[Step]:
    """Return the steps that get the daemons running with the settings of the datapath."""
    tso = datapath == "netdev" and not summary(state, name)["userspace_tso"]
    restart = tso and state["vswitchd"]
    if restart:
        _refuse_restart(state, name)
    steps = []
    if restart:
        # Stopped before it is set: while the setting is there, a running daemon has read it.
        steps.append(service["stop_vswitchd"])
    if restart or not state["db"]:
        steps.append(service["start_db"])  # systemd has stopped it, too
    commands = _settings(state, tso)
    if commands:
        steps.append(ovs_state.transaction(commands, wait=False))
    if tso or not state["vswitchd"]:
        steps.append(service["start"])
    return steps


def _refuse_restart(state: SwitchSeen, name: str) -> None:
    """Raise InputError where ovs-vswitchd also serves bridges that are not ours."""
    foreign = _foreign(state, name)
    if foreign:
        raise InputError(
            f"other_config:{TSO}=true needs a restart of ovs-vswitchd, which also serves the bridges "
            f"{', '.join(foreign)}",
            "Open vSwitch",
            "Set it and restart Open vSwitch yourself, or use a host whose Open vSwitch is not in use.",
        )


def plan_present(state: SwitchSeen, name: str, datapath: str, service: Service) -> list[Step]:
    """Return the steps to a running Open vSwitch with our bridge ``name`` on ``datapath`` (system
    or netdev).
    """
    ovs_state.check_bridge(state["ovs"], name)
    steps = _service_steps(state, name, datapath, service)
    now = summary(state, name)["datapath"]
    if now is None:
        settings = ["set", "Bridge", name, f"datapath_type={datapath}"]
        mark = ovs_state.mark("Bridge", name, "switch")
        steps.append(ovs_state.transaction([["add-br", name], settings, mark]))
    elif now != datapath:
        steps.append(ovs_state.transaction([["set", "Bridge", name, f"datapath_type={datapath}"]]))
    return steps


def _removals(state: SwitchSeen, name: str) -> list[ovs_state.Command]:
    """Return the commands that remove our bridge, settings and marks."""
    ids = _marks(state)
    bridge = state["ovs"]["bridges"].get(name)
    commands = []
    if bridge is not None and ovs_state.owner_of(bridge) is not None:
        _refuse_strangers(state, name)
        commands.append(["del-br", name])
    if TSO_MARK in ids:
        commands.append(["remove", "Open_vSwitch", ".", "other_config", TSO])
    settings = sorted(mark for mark in ids if mark.startswith(ovs_state.SET_MARK))
    for mark in settings:
        key = mark[len(ovs_state.SET_MARK) :]
        commands.append(["remove", "Open_vSwitch", ".", "other_config", key])
    marks = [mark for mark in (OWNER, TSO_MARK) if mark in ids] + settings
    if marks:
        commands.append(["remove", "Open_vSwitch", ".", "external_ids", *marks])
    return commands


def _marks(state: SwitchSeen) -> dict[str, str]:
    """Return the external_ids of Open vSwitch, ours among them."""
    ids: dict[str, str] = state["ovs"]["root"].get("external_ids", {})
    return ids


def _refuse_strangers(state: SwitchSeen, name: str) -> None:
    """Raise InputError where our bridge has ports that are not ours."""
    strangers = sorted(
        port
        for port, row in state["ovs"]["ports"].items()
        if row["bridge"] == name and port != name and ovs_state.owner_of(row) is None
    )
    if strangers:
        raise InputError(
            f"the bridge has ports that are not ours: {', '.join(strangers)}",
            name,
            f"Remove them first: ovs-vsctl del-port {name} {strangers[0]}",
        )


def plan_absent(state: SwitchSeen, name: str, service: Service) -> list[Step]:
    """Return the steps that remove our bridge and settings, and stop the daemons if we have started
    them.

    A crashed ovs-vswitchd leaves devices in the kernel, which only it can remove: it is started for
    that, but not where others have bridges, who may have stopped it on purpose.
    """
    commands = _removals(state, name)
    foreign = bool(_foreign(state, name))
    if not commands:
        return []
    wake = not state["vswitchd"] and not foreign
    steps = []
    if wake:
        steps.append(service["start"])
    elif not state["db"]:
        steps.append(service["start_db"])
    steps.append(ovs_state.transaction(commands, wait=wake or state["vswitchd"]))
    return steps + _afterwards(state, foreign, wake, service)


def _afterwards(state: SwitchSeen, foreign: bool, wake: bool, service: Service) -> list[Step]:
    """Return the steps that leave the daemons as they were before the lab."""
    marks = _marks(state)
    ours = marks.get(OWNER) == STARTED and not foreign
    if ours or not state["db"]:
        return [service["stop"]]
    if wake:
        return [service["stop_vswitchd"]]
    if TSO_MARK in marks and not foreign:
        return [service["stop_vswitchd"], service["start_db"], service["start"]]
    return []


def predict(state: SwitchSeen, name: str, datapath: str | None) -> SwitchSummary:
    """Return :func:`summary` as it would be: with our bridge on ``datapath``, or (None) without it."""
    before = summary(state, name)
    if datapath:
        return {
            "running": True,
            "userspace_tso": before["userspace_tso"] or datapath == "netdev",
            "datapath": datapath,
        }
    ids = _marks(state)
    ours = ovs_state.owner_of(state["ovs"]["bridges"].get(name, {})) is not None
    stopped = ids.get(OWNER) == STARTED and not _foreign(state, name)
    return {
        "running": before["running"] and not stopped,
        "userspace_tso": before["userspace_tso"] and TSO_MARK not in ids,
        "datapath": None if ours else before["datapath"],
    }


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
