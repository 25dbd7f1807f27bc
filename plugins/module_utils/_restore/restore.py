# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore a node from its snapshot with nothing but the node; the module restore and the dead man's
switch do this.

The parts of a snapshot of an odd shape are restored one by one: a part that fails leaves the others to
be restored.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Dict, Iterable, Iterator, List, Mapping, TypedDict, cast

from .._base import network
from .._base.errors import LabError
from .._base.steps import Step, shown
from .._host.runner import apply
from .._host.waiting import PATIENCE
from .._iproute import read
from .._iproute.link_plan import plan as plan_links
from .._iproute.link_plan import wanted_devices
from .._kinds.change import (
    plan_device,
    read_all,
    report_of,
    steps_of,
)
from .._kinds.command_levels import GROUP
from .._kinds.devices import parse_devices
from .._kinds.kind import Item
from .._lab import vxlan_devices
from .._ovs import database, packet_sockets
from .._ovs.ovs_state import owner_of, transaction
from .._ovs.ports import map_commands
from . import fired_mark, identity, settings
from . import snapshot as restore_snapshot
from .applied import still_applied
from .snapshot import KeptApplied, Other, Snapshot, Switch


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


def read_other() -> Other:
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


# A bit may wait for another one, a queue for its channel: each round sets what has become possible
ROUNDS = 4
Commands = List[List[str]]


class Restored(TypedDict):
    """What a restore did; ``exists``: there was a snapshot. Devices by key."""

    exists: bool
    changed: bool  # False where all that the snapshot has is of hardware that is gone
    commands: Commands
    missing: list[str]  # the devices that are gone
    kept: list[str]  # missing devices whose part stays in the snapshot
    renamed: dict[str, str]
    notes: list[str]  # sentences for the user


NOTHING: Restored = {
    "exists": False,
    "changed": False,
    "commands": [],
    "missing": [],
    "kept": [],
    "renamed": {},
    "notes": [],
}


def _present(snapshot: Snapshot) -> Snapshot:
    """Return the part of a snapshot whose devices exist, under their names of today."""
    same_boot = restore_snapshot.same_boot(snapshot)
    devices = identity.resolve(snapshot["devices"], same_boot).items
    links = identity.resolve(snapshot["links"], same_boot).items
    return {**snapshot, "devices": devices, "links": links}


def _words(steps: Iterable[Step]) -> Commands:
    """Return the commands of steps as lists of arguments, the lines of a batch among them."""
    return [step["argv"] + (step["stdin"] or "").split() for step in shown(steps)]


def _links_step(snapshot: Snapshot, dry: bool) -> Commands:
    links_then: list[Any] = _present(snapshot)["links"]
    devices = wanted_devices(links_then)
    spaces = {device["netns"] for device in devices}
    links = {netns: read.read(netns) for netns in spaces}
    steps = plan_links(links, devices)[2]
    if not dry:
        apply(steps)
    return _words(steps)


def _devices_step(snapshot: Snapshot, dry: bool) -> tuple[Commands, dict[str, Any]]:
    """Return ``(commands, {device: what is not as it was})``."""
    devices = parse_devices(identity.plain(_present(snapshot)["devices"]))
    states = read_all(devices)
    commands = []
    wrong = {}
    for device in devices:
        state = states[device.key]
        plans = plan_device(device, state, True)
        steps = steps_of(device, plans)
        missing = report_of(device, plans, state, state)["not_honoured"]
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
        steps += ovs_steps(other["ovs"], read_ovs())
    if not dry:
        apply(steps)
    return _words(steps)


def _buffers_step(other: Other, dry: bool) -> Commands:
    """Bring receive buffers back, after tunnels: a recreated tunnel has a new socket."""
    sizes = read_ovs().get("buffers", {})
    buffers = buffer_changes(other.get("ovs", {}).get("buffers", {}), sizes)
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
    path: str,
    check_mode: bool = False,
    keep: bool = False,
    forget_missing: bool = False,
    patience: float = PATIENCE,
) -> Restored:
    """Set everything as the snapshot has it, read back, and only then remove the snapshot (unless
    ``keep``).

    Hardware that is gone keeps its part of the snapshot, unless ``forget_missing``. Raises
    :class:`LabError` where something is not as it was; then the snapshot is kept. ``patience`` is for
    another process that restores from it.
    """
    with restore_snapshot.held(path, patience):
        snapshot = restore_snapshot.read(path) or fired_mark.kept(path)
        if snapshot is None:
            return {**NOTHING}
        restored = _restore(path, snapshot, check_mode)
        restored["changed"] |= forget_missing
        if not check_mode and not keep:
            _forget(path, snapshot, forget_missing)
        return restored


def _restore(path: str, snapshot: Snapshot, check_mode: bool) -> Restored:
    forgotten = restore_snapshot.forgotten(snapshot)
    snapshot = restore_snapshot.of_this_boot(snapshot)
    resolved = identity.resolve(snapshot["devices"], restore_snapshot.same_boot(snapshot))
    commands, wrong = _set_all(_still_applied(snapshot), check_mode)
    if wrong and not check_mode:
        raise NotRestoredError(
            f"not everything could be restored, so the snapshot is kept: {wrong}",
            path,
            "Set the rest by hand, then restore again.",
        )
    kept = [item for item in resolved.gone if identity.is_hardware(item)]
    only_kept = bool(kept) and len(kept) == len(resolved.items + resolved.gone)
    return {
        "exists": True,
        "changed": bool(commands) or not only_kept,
        "commands": commands,
        "missing": [network.key_of(item) for item in resolved.gone],
        "kept": [network.key_of(item) for item in kept],
        "renamed": resolved.renamed,
        "notes": _notes(resolved) + ([forgotten] if forgotten else []),
    }


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
    wrong = _set_all(restore_snapshot.of_this_boot(snapshot), False)[1]
    if wrong:
        raise NotRestoredError(f"could not be restored: {wrong}", "the snapshot")


def _forget(path: str, snapshot: Snapshot, everything: bool) -> None:
    """Forget the snapshot, but for hardware that is gone, unless ``everything``."""
    devices, links = _kept(snapshot, snapshot["devices"]), _kept(snapshot, snapshot["links"])
    if everything or restore_snapshot.is_stale(snapshot) or not devices:
        restore_snapshot.remove(path)
    else:
        with contextlib.suppress(OSError):  # a full disk: the whole snapshot stays
            restore_snapshot.write(
                path, {**snapshot, "devices": devices, "links": links, "other": {}}
            )
    fired_mark.forget(path)


def _kept(snapshot: Snapshot, items: Iterable[Item]) -> list[Item]:
    gone = identity.resolve(items, restore_snapshot.same_boot(snapshot)).gone
    return [item for item in gone if identity.is_hardware(item)]


def _described(item: Item) -> str:
    device: identity.Identity = item["identity"]
    return f"{network.key_of(item)} ({device['driver']}, {device['permanent'] or device['bus']})"


def _notes(resolved: identity.Resolved) -> list[str]:
    """Return what a user has to know of devices that are not where they were."""
    notes = [
        f"{was} is {now} now and is restored under this name"
        for was, now in resolved.renamed.items()
    ]
    for item in resolved.gone:
        other = (
            "; another device has its name and is not changed"
            if restore_snapshot.exists(item)
            else ""
        )
        if identity.is_hardware(item):
            notes.append(
                f"{_described(item)} is gone, so its settings stay in the snapshot{other}. Restore again "
                "when it is back, or forget it: -e offload_lab_forget_missing=true"
            )
        else:
            notes.append(
                f"{network.key_of(item)} is gone, and its settings are forgotten: a software device "
                f"does not come back{other}"
            )
    return notes


def _still_applied(snapshot: Snapshot) -> Snapshot:
    """Return the originals of what apply set, but for settings that are no longer as applied.

    After a reboot the host's own configuration has set some of them. The others are what the boot, or
    somebody since, has made of them.
    """
    applied = cast(KeptApplied, snapshot).get("applied")
    if applied is None or restore_snapshot.same_boot(snapshot):
        return snapshot
    originals = identity.resolve(snapshot["devices"], same_boot=False).items
    set_then = identity.resolve(applied["devices"], same_boot=False).items
    now = settings.read_settings(settings.places(originals), missing="skip")
    return {**snapshot, "devices": still_applied(originals, set_then, now)}


Content = Dict[str, Any]  # of a snapshot's file, whatever is in it


def _rows(content: Content, key: str) -> list[Any]:
    rows = content.get(key)
    return rows if isinstance(rows, list) else []


def _same(device: Any, other: Any) -> bool:
    """Return whether two rows of a snapshot are of one device."""
    pair = (device, other)
    if not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in pair):
        return False
    return network.key_of(device) == network.key_of(other)


def parts(content: Content) -> Iterator[tuple[str, Content]]:
    """Yield ``(name, snapshot)`` for each link, each device and each other thing of a snapshot."""
    empty = {**content, "devices": [], "links": [], "other": {}}
    for row in _rows(content, "links"):
        yield f"link {row!r:.80}", {**empty, "links": [row]}
    for row in _rows(content, "devices"):
        links = [link for link in _rows(content, "links") if _same(link, row)]
        name = row.get("name") if isinstance(row, dict) else row
        yield f"device {name!r:.80}", {**empty, "devices": [row], "links": links}
    other = content.get("other")
    for name, row in other.items() if isinstance(other, dict) else ():
        yield f"{name!r:.80}", {**empty, "other": {name: row}}


def _without_commands(path: str, content: Content) -> list[str]:
    """Leave the commands out of a snapshot that others can change; return why, nothing otherwise."""
    rows = [row for row in _rows(content, "devices") if isinstance(row, dict)]
    try:
        restore_snapshot.check_commands(path, {"devices": rows})
    except LabError as error:
        for row in rows:
            row.pop(GROUP, None)
        return [str(error)]
    return []


def restore_parts(path: str) -> list[str]:
    """Restore each part of a snapshot that can be restored; return what is wrong with the others."""
    try:
        with open(path) as stream:
            content = json.load(stream)
    except (OSError, ValueError, RecursionError) as error:
        return [f"{path} cannot be read ({error})"]
    if not isinstance(content, dict):
        return [f"{path} is not a snapshot"]
    problems = _without_commands(path, content)
    for name, part in parts(content):
        try:
            bring_back(cast(Snapshot, part))
        except Exception as error:  # whatever it is, the other parts must be restored
            problems.append(f"{name}: {error!r:.300}")
    return problems
