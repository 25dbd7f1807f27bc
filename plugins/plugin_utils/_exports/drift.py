# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where applied settings are no longer there, of a fleet: as text, JUnit and OpenMetrics. Pure.

A host is what module applied_info returned of it, or None where it could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, NotRequired, TypedDict
from xml.etree import ElementTree

from .._untrusted.texts import printable
from .pipeline import Sample, add_case, exposition, xml_text


class Setting(TypedDict):
    """A setting that is no longer as it was applied."""

    kind: str
    name: str
    applied: Any
    now: Any


class DriftedDevice(TypedDict):
    """A device whose settings were applied."""

    device: str
    missing: bool  # the device is not there
    drifted: list[Setting]
    settings: int  # that were applied
    programs: NotRequired[dict[str, str]]  # BPF programs of others: names by hook


class AppliedHost(TypedDict):
    """What module applied returned of a host."""

    devices: list[DriftedDevice]
    since: float  # s since the epoch
    age_s: float
    rebooted: bool


FAMILIES = {
    "offload_lab_host_read": "1 for a host whose settings could be read",
    "offload_lab_applied_settings": "Settings of a device that were applied",
    "offload_lab_drifted_settings": "Settings of a device that are no longer as they were applied",
    "offload_lab_applied_timestamp_seconds": "When settings were last applied to a host",
}
SHOWN = {True: "on", False: "off", None: "not there"}


def _shown(value: Any) -> str:
    return SHOWN[value] if value is None or isinstance(value, bool) else str(value)


def _row(row: Setting) -> str:
    """Return what became of one setting."""
    return f"{row['kind']} {row['name']}: applied {_shown(row['applied'])}, is {_shown(row['now'])}"


def _since(host: AppliedHost) -> str:
    """Return when and how long ago settings were applied, and whether the host was rebooted."""
    day = datetime.fromtimestamp(host["since"], timezone.utc).date().isoformat()
    days = int(host["age_s"] // 86400)
    ago = "today" if days == 0 else f"{days} day{'s' * (days != 1)} ago"
    return f"{day} ({ago}{'; the host was rebooted since' if host['rebooted'] else ''})"


def _device_lines(device: DriftedDevice) -> Iterator[str]:
    if device["missing"]:
        yield f"  {device['device']}: the device is not there"
    for row in device["drifted"]:
        yield f"  {device['device']} {_row(row)}"


def _program_lines(device: DriftedDevice) -> Iterator[str]:
    for hook, program in (device.get("programs") or {}).items():
        yield f"  {device['device']}: a BPF program of others, {program}, is attached ({hook})"


def _host_lines(name: str, host: AppliedHost | None) -> Iterator[str]:
    if host is None:
        yield f"{name}: could not be read"
        return
    if not host["devices"]:
        yield f"{name}: nothing was applied"
        return
    count = sum(device["settings"] for device in host["devices"])
    gone = sum(len(device["drifted"]) for device in host["devices"])
    gone += sum(device["settings"] for device in host["devices"] if device["missing"])
    how = f"{gone} of {count} settings are no longer" if gone else f"all {count} settings are"
    yield f"{name}: {how} as they were applied on {_since(host)}"
    for device in host["devices"]:
        yield from _device_lines(device)
        yield from _program_lines(device)


def text(hosts: Mapping[str, AppliedHost | None]) -> str:
    """Return a line for each host, and one for each setting that is no longer there."""
    lines: list[str] = []
    for name in sorted(hosts):
        lines += _host_lines(name, hosts[name])
    return "".join(printable(line) + "\n" for line in lines)


def _device_case(suite: ElementTree.Element, name: str, device: DriftedDevice) -> None:
    lines = [line.strip() for line in _device_lines(device)]
    message = "; ".join(lines) or f"{device['settings']} settings are as they were applied"
    add_case(suite, name, device["device"], message, "drifted" if lines else "")


def junit(hosts: Mapping[str, AppliedHost | None]) -> str:
    """Return JUnit XML, a suite for each host and a case for each device: it fails where a setting
    is no longer there, or a host could not be read.
    """
    root = ElementTree.Element("testsuites", name="offload.lab drift")
    for name in sorted(hosts):
        suite = ElementTree.SubElement(root, "testsuite", name=name)
        host = hosts[name]
        if host is None:
            add_case(suite, name, "read", "the host could not be read", "unreachable")
        elif not host["devices"]:
            add_case(suite, name, "applied", "nothing was applied", "skipped")
        for device in host["devices"] if host else ():
            _device_case(suite, name, device)
    return xml_text(root)


def _samples(hosts: Mapping[str, AppliedHost | None]) -> Iterator[Sample]:
    for name in sorted(hosts):
        host = hosts[name]
        yield "offload_lab_host_read", {"host": name}, int(host is not None)
        if host is None:
            continue
        if host["devices"]:
            yield "offload_lab_applied_timestamp_seconds", {"host": name}, host["since"]
        for device in host["devices"]:
            labels: dict[str, str | int | None] = {"host": name, "device": device["device"]}
            gone = device["settings"] if device["missing"] else len(device["drifted"])
            yield "offload_lab_applied_settings", labels, device["settings"]
            yield "offload_lab_drifted_settings", labels, gone


def openmetrics(hosts: Mapping[str, AppliedHost | None]) -> str:
    """Return OpenMetrics text."""
    return exposition(_samples(hosts), FAMILIES)


FORMATS = {"text": text, "junit": junit, "openmetrics": openmetrics}
