# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what the host's own network configuration has to say so that settings survive a reboot, and
the way there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Dict, NamedTuple, TypedDict

from .._base.errors import LabError
from .._kinds.kind import Asked, Values
from .._kinds.sysfs import QUEUE
from . import managers

SCHEMA = 1
UNITS = "/etc/systemd/system/"
NO_MANAGER = "NetworkManager and ifupdown do not configure it, and udev does not run"
IF_UP = "/etc/network/if-up.d/offload-lab-"


Properties = Dict[str, Dict[str, str]]  # of NetworkManager's connections, by UUID


class KeptFile(TypedDict):
    """A file's text before it was written for the first time, and ours."""

    before: str | None
    written: str


class Persisted(TypedDict):
    """What was made to last on a host, and the originals."""

    schema: int
    devices: dict[str, dict[str, Any]]  # settings, by group
    files: dict[str, KeptFile]
    properties: Properties


class Seen(NamedTuple):
    """How a device is configured on its host: the kind, and what that kind needs."""

    kind: str  # systemd_link, networkmanager, ifupdown, or none
    match: str = ""  # the assignment that identifies the device in a .link file
    base: str = ""  # the .link file that it has now, and its text
    base_text: str = ""
    connection: str = ""  # UUID, of NetworkManager


class Wanted(NamedTuple):
    """Files with their text, properties of connections, and what a reader has to know."""

    files: dict[str, str]
    properties: Properties
    notes: list[str]


def wanted_of(name: str, settings: Asked, manager: Seen) -> Wanted:
    """Return what makes the settings of one device last."""
    if manager.kind == "none":
        return Wanted(
            {}, {}, [f"{name}: nothing was written, the settings last until the next reboot"]
        )
    if manager.kind == "ifupdown":
        return Wanted(
            {IF_UP + re.sub(r"[^A-Za-z0-9_-]", "_", name): managers.script(name, settings)}, {}, []
        )
    target, rest = _expressed(name, settings, manager)
    if rest:
        unit = managers.unit_name(name)
        target.files[UNITS + unit] = managers.unit(name, rest)
        names = ", ".join(_names(rest))
        target.notes.append(f"{name}: {manager.kind} cannot express {names}; unit {unit} sets it")
    return target


def _expressed(name: str, settings: Asked, manager: Seen) -> tuple[Wanted, Asked]:
    """Return what the host's own configuration expresses, and the settings that it cannot."""
    target = Wanted({}, {}, [])
    rest = dict(settings)
    if manager.kind == "systemd_link":
        keys, rest = managers.link_keys(settings)
        if keys:
            target.files[managers.link_path(name)] = managers.link_text(
                manager.match, keys, manager.base, manager.base_text
            )
    if manager.kind == "networkmanager":
        values, rest = managers.connection_properties(settings)
        if values:
            target.properties[manager.connection] = values
    return target, {kind: values for kind, values in rest.items() if values}


def _names(settings: Asked) -> list[str]:
    """Return what settings are called, in order; queues are called as their kind."""
    names: set[str] = set()
    for group, values in settings.items():
        names.update(group if QUEUE.match(name) else name for name in values)
    return sorted(names)


WORDS = {
    "systemd_link": "by systemd",
    "networkmanager": "by NetworkManager",
    "ifupdown": "by ifupdown",
}


def lasting(methods: Mapping[str, str], left_out: Mapping[str, str]) -> str:
    """Return how long the settings of devices last, and what keeps them."""
    kept = [f"{name} ({WORDS[kind]})" for name, kind in methods.items() if kind != "none"]
    lost = [f"{name} ({NO_MANAGER})" for name, kind in methods.items() if kind == "none"]
    lost += [f"{name} ({why})" for name, why in left_out.items()]
    clauses = []
    if kept:
        clauses.append(
            f"Set again after a reboot and when the device is recreated: {', '.join(kept)}."
        )
    if lost:
        clauses.append(
            f"Only until the next reboot, or until the device is deleted: {', '.join(lost)}."
        )
    return " ".join(clauses)


def check_possible(managers: Mapping[str, str], left_out: Mapping[str, str]) -> None:
    """Raise LabError where no device can keep its settings; ``managers`` are the kinds of devices."""
    reasons = [f"{name}: {NO_MANAGER}" for name, kind in managers.items() if kind == "none"]
    if len(reasons) == len(managers) and (managers or left_out):
        reasons += [f"{name}: {why}" for name, why in left_out.items()]
        raise LabError(
            f"nothing on this host can keep the settings ({'; '.join(reasons)})",
            "offload_lab_persist",
            "Leave offload_lab_persist out, or write the settings for another tool by offload_lab_export.",
        )


def together(parts: list[Wanted]) -> Wanted:
    """Return what several devices want as one."""
    target = Wanted({}, {}, [])
    for part in parts:
        target.files.update(part.files)
        for uuid, values in part.properties.items():
            target.properties.setdefault(uuid, {}).update(values)
        target.notes.extend(part.notes)
    return target


def empty() -> Persisted:
    """Return the state of a host on which nothing was written."""
    return {"schema": SCHEMA, "devices": {}, "files": {}, "properties": {}}


def check_unchanged(state: Persisted, files: Mapping[str, str | None]) -> None:
    """Raise LabError where somebody has changed a file of ours since."""
    for path, kept in state["files"].items():
        if files.get(path) not in (kept["written"], kept["before"]):
            raise LabError(
                "somebody has changed this file since offload.lab wrote it",
                path,
                "Restore its text from /var/lib/offload-lab/persisted.json, or remove the file.",
            )


def next_state(
    state: Persisted,
    devices: Mapping[str, dict[str, Values]],
    target: Wanted,
    files: Mapping[str, str | None],
    properties: Mapping[str, Mapping[str, str]],
) -> Persisted:
    """Return the state when ``target`` is written: each original is what was there before the first
    time.
    """
    kept: dict[str, KeptFile] = {}
    for path, text in target.files.items():
        entry = state["files"].get(path)
        kept[path] = {"before": entry["before"] if entry else files.get(path), "written": text}
    originals: Properties = {}
    for uuid, values in target.properties.items():
        first = {**properties.get(uuid, {}), **state["properties"].get(uuid, {})}
        originals[uuid] = {name: first.get(name, "") for name in values}
    return {"schema": SCHEMA, "devices": dict(devices), "files": kept, "properties": originals}


def file_changes(
    state: Persisted, target: Wanted, files: Mapping[str, str | None]
) -> dict[str, str | None]:
    """Return ``{path: text}`` of the files to write, None to remove."""
    targets = {
        path: target.files.get(path, kept["before"]) for path, kept in state["files"].items()
    }
    targets.update(target.files)
    return {path: text for path, text in sorted(targets.items()) if files.get(path) != text}


def property_changes(
    state: Persisted, target: Wanted, now: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return ``{uuid: {property: value}}`` to set."""
    targets = {uuid: dict(values) for uuid, values in state["properties"].items()}
    for uuid, values in target.properties.items():
        targets.setdefault(uuid, {}).update(values)
    changes = {}
    for uuid, values in targets.items():
        there = now.get(uuid, {})
        other = {name: value for name, value in values.items() if there.get(name, "") != value}
        if other:
            changes[uuid] = other
    return changes


def _units(files: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the text of each unit among the files, by the unit's name."""
    return {path[len(UNITS) :]: text for path, text in files.items() if path.startswith(UNITS)}


def steps(
    files: Mapping[str, str | None], properties: Mapping[str, Mapping[str, str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the commands before the files are written and those after."""
    units = _units(files)
    switch = ["systemctl", "disable", "--quiet"]
    gone = [[*switch, unit] for unit, text in units.items() if text is None]
    after = []
    if any(path.startswith(managers.FOLDER) for path in files):
        after.append(["udevadm", "control", "--reload"])
    if units:
        after.append(["systemctl", "daemon-reload"])
    switch = ["systemctl", "enable", "--quiet"]
    after += [[*switch, unit] for unit, text in units.items() if text is not None]
    after += [
        managers.modify_connection(uuid, values) for uuid, values in sorted(properties.items())
    ]
    return gone, after
