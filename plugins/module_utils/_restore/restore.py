# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore a node from its snapshot with nothing but the node; the module restore and the dead man's
switch do this.
"""

from __future__ import annotations

from typing import Any, Iterable, List, TypedDict

from .._base import network
from .._base.errors import LabError
from .._base.steps import Step, shown
from .._host.apply import apply
from .._host.waiting import PATIENCE
from .._iproute import read
from .._iproute.link_plan import plan as plan_links
from .._iproute.link_plan import wanted_devices
from .._kinds.change import (
    plan_device,
    read_all,
    report,
    steps_of,
)
from .._kinds.devices import parse_devices
from .._lab import vxlan_devices
from .._ovs import buffers as packet_sockets
from .._ovs import database
from . import fired_mark, node_state
from . import snapshot as restore_snapshot
from .snapshot import Item, Other, Snapshot

# A bit may wait for another one, a queue for its channel: each round sets what has become possible
ROUNDS = 4
Commands = List[List[str]]


class Restored(TypedDict):
    """What a restore did, and the devices that are gone; ``exists``: there was a snapshot."""

    exists: bool
    commands: Commands
    missing: list[str]


def _here(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if restore_snapshot.exists(item)]


def _words(steps: Iterable[Step]) -> Commands:
    """Return the commands of steps as lists of arguments, the lines of a batch among them."""
    return [step["argv"] + (step["stdin"] or "").split() for step in shown(steps)]


def _links_step(snapshot: Snapshot, dry: bool) -> Commands:
    kept: list[Any] = _here(snapshot["links"])
    wanted = wanted_devices(kept)
    spaces = {device["netns"] for device in wanted}
    links = {netns: read.read(netns) for netns in spaces}
    steps = plan_links(links, wanted)[2]
    if not dry:
        apply(steps)
    return _words(steps)


def _devices_step(snapshot: Snapshot, dry: bool) -> tuple[Commands, dict[str, Any]]:
    """Return ``(commands, {device: what is not as it was})``."""
    devices = parse_devices(_here(snapshot["devices"]))
    states = read_all(devices)
    commands = []
    wrong = {}
    for device in devices:
        state = states[device.key]
        plans = plan_device(device, state, True)
        steps = steps_of(device, plans)
        missing = report(device, plans, state, state)["not_honoured"]
        if missing:
            wrong[device.key] = missing
        commands += _words(steps)
        if not dry:
            apply(steps)
    return commands, wrong


def _tunnels_step(other: Other, dry: bool) -> Commands:
    steps: list[Step] = []
    if other.get("vxlan"):
        steps += vxlan_devices.steps(other["vxlan"], *vxlan_devices.read())
    if other.get("ovs"):
        steps += node_state.ovs_steps(other["ovs"], node_state.read_ovs())
    if not dry:
        apply(steps)
    return _words(steps)


def _buffers_step(other: Other, dry: bool) -> Commands:
    """Bring receive buffers back, after tunnels: a recreated tunnel has a new socket."""
    sizes = node_state.read_ovs().get("buffers", {})
    buffers = node_state.buffer_changes(other.get("ovs", {}).get("buffers", {}), sizes)
    if buffers and not dry:
        packet_sockets.set_sizes(database.pid("ovs-vswitchd"), buffers)
    return [["setsockopt", name, "SO_RCVBUF", str(size)] for name, size in buffers.items()]


def _other_step(snapshot: Snapshot, dry: bool) -> Commands:
    commands: Commands = []
    for part in (_tunnels_step, _buffers_step):
        commands += part(snapshot["other"], dry)
    return commands


class NotRestoredError(LabError):
    """Something is not as the snapshot has it, though everything was tried."""


def restore(
    path: str, check_mode: bool = False, keep: bool = False, patience: float = PATIENCE
) -> Restored:
    """Set everything as the snapshot has it, read back, and only then remove the snapshot (unless
    ``keep``).

    Return ``{"exists", "commands", "missing"}``. Raises :class:`LabError` where something is not as
    it was; then the snapshot is kept. ``patience`` is for another process that restores from it.
    """
    with restore_snapshot.held(path, patience):
        return _restore(path, check_mode, keep)


def _restore(path: str, check_mode: bool, keep: bool) -> Restored:
    snapshot = restore_snapshot.read(path) or fired_mark.kept(path)
    if snapshot is None:
        return {"exists": False, "commands": [], "missing": []}
    gone = [
        network.key_of(device)
        for device in snapshot["devices"]
        if not restore_snapshot.exists(device)
    ]
    commands, wrong = _set_all(snapshot, check_mode)
    if wrong and not check_mode:
        raise NotRestoredError(
            f"not everything could be restored, so the snapshot is kept: {wrong}",
            path,
            "Set the rest by hand, then restore again.",
        )
    if not check_mode and not keep:
        restore_snapshot.remove(path)
        fired_mark.forget(path)
    return {"exists": True, "commands": commands, "missing": gone}


def _set_all(snapshot: Snapshot, check_mode: bool) -> tuple[Commands, dict[str, Any]]:
    """Return ``(commands, {device: what is not as it was})``."""
    commands: Commands = []
    wrong: dict[str, Any] = {}
    for _round in range(ROUNDS):
        links = _links_step(snapshot, check_mode)
        steps, wrong = _devices_step(snapshot, check_mode)
        others = _other_step(snapshot, check_mode)
        commands += links + steps + others
        if check_mode or not links + steps + others:
            break
    else:
        wrong = wrong or {"node": links + steps + others}
    return commands, wrong


def bring_back(snapshot: Snapshot) -> None:
    """Set what a snapshot has, which may be a part of one; raises an error where that is not possible."""
    wrong = _set_all(snapshot, False)[1]
    if wrong:
        raise NotRestoredError(f"could not be restored: {wrong}", "the snapshot")
