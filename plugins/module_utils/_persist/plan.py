# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what the host's own network configuration has to say so that settings survive a reboot, and
the way there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._base.errors import LabError
from . import commands, link_file, networkmanager

SCHEMA = 1
UNITS = "/etc/systemd/system/"
IF_UP = "/etc/network/if-up.d/offload-lab-"


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
    properties: dict[str, dict[str, str]]
    notes: list[str]


def wanted_of(name: str, settings: Mapping[str, Any], seen: Seen) -> Wanted:
    """Return what makes the settings of one device last."""
    files, properties, rest = {}, {}, dict(settings)
    if seen.kind == "none":
        return Wanted(
            {}, {}, [f"{name}: nothing was written, the settings last until the next reboot"]
        )
    if seen.kind == "ifupdown":
        return Wanted(
            {IF_UP + re.sub(r"[^A-Za-z0-9_-]", "_", name): commands.script(name, settings)}, {}, []
        )
    if seen.kind == "systemd_link":
        keys, rest = link_file.split(settings)
        if keys:
            files[link_file.path_of(name)] = link_file.text_of(
                seen.match, keys, seen.base, seen.base_text
            )
    if seen.kind == "networkmanager":
        values, rest = networkmanager.split(settings)
        properties = {seen.connection: values} if values else {}
    rest = {kind: values for kind, values in rest.items() if values}
    if not rest:
        return Wanted(files, properties, [])
    files[UNITS + commands.unit_name(name)] = commands.unit(name, rest)
    names = sorted(
        item
        for kind, values in rest.items()
        for item in (values if isinstance(values, dict) else [kind])
    )
    return Wanted(
        files,
        properties,
        [
            f"{name}: {seen.kind} cannot express {', '.join(names)}; unit "
            f"{commands.unit_name(name)} sets it"
        ],
    )


def together(parts: list[Wanted]) -> Wanted:
    """Return what several devices want as one."""
    properties: dict[str, dict[str, str]] = {}
    for part in parts:
        for uuid, values in part.properties.items():
            properties.setdefault(uuid, {}).update(values)
    return Wanted(
        {path: text for part in parts for path, text in part.files.items()},
        properties,
        [note for part in parts for note in part.notes],
    )


def empty() -> dict[str, Any]:
    """Return the state of a host on which nothing was written."""
    return {"schema": SCHEMA, "devices": {}, "files": {}, "properties": {}}


def check_unchanged(state: Mapping[str, Any], files: Mapping[str, str | None]) -> None:
    """Raise LabError where somebody has changed a file of ours since."""
    for path, kept in state["files"].items():
        if files.get(path) not in (kept["written"], kept["before"]):
            raise LabError(
                "somebody has changed this file since offload.lab wrote it",
                path,
                "Restore its text from /var/lib/offload-lab/persisted.json, or remove the file.",
            )


def next_state(
    state: Mapping[str, Any],
    devices: Mapping[str, Any],
    wanted: Wanted,
    files: Mapping[str, str | None],
    properties: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """Return the state when ``wanted`` is written: each original is what was there before the first
    time.
    """
    kept = {
        path: {
            "before": state["files"].get(path, {"before": files.get(path)})["before"],
            "written": text,
        }
        for path, text in wanted.files.items()
    }
    originals = {
        uuid: {
            name: state["properties"]
            .get(uuid, {})
            .get(name, properties.get(uuid, {}).get(name, ""))
            for name in values
        }
        for uuid, values in wanted.properties.items()
    }
    return {"schema": SCHEMA, "devices": dict(devices), "files": kept, "properties": originals}


def file_changes(
    state: Mapping[str, Any], wanted: Wanted, files: Mapping[str, str | None]
) -> dict[str, str | None]:
    """Return ``{path: text}`` of the files to write, None to remove."""
    targets = {
        path: wanted.files.get(path, kept["before"]) for path, kept in state["files"].items()
    }
    targets.update(wanted.files)
    return {path: text for path, text in sorted(targets.items()) if files.get(path) != text}


def property_changes(
    state: Mapping[str, Any], wanted: Wanted, now: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return ``{uuid: {property: value}}`` to set."""
    targets = {uuid: dict(values) for uuid, values in state["properties"].items()}
    for uuid, values in wanted.properties.items():
        targets.setdefault(uuid, {}).update(values)
    changes = {
        uuid: {
            name: value
            for name, value in values.items()
            if now.get(uuid, {}).get(name, "") != value
        }
        for uuid, values in targets.items()
    }
    return {uuid: values for uuid, values in changes.items() if values}


def steps(
    files: Mapping[str, str | None], properties: Mapping[str, Mapping[str, str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the commands before the files are written and those after."""
    units = [path[len(UNITS) :] for path in files if path.startswith(UNITS)]
    gone = [
        ["systemctl", "disable", "--quiet", unit] for unit in units if files[UNITS + unit] is None
    ]
    after = (
        [["udevadm", "control", "--reload"]]
        if any(path.startswith(link_file.FOLDER) for path in files)
        else []
    )
    after += [["systemctl", "daemon-reload"]] if units else []
    after += [
        ["systemctl", "enable", "--quiet", unit]
        for unit in units
        if files[UNITS + unit] is not None
    ]
    return gone, after + [
        networkmanager.modify(uuid, values) for uuid, values in sorted(properties.items())
    ]
