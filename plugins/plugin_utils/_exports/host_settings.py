# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a campaign recommends for one host, device by device, as other tools are to set it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, Union

from ...module_utils._base import network
from ...module_utils._base.network import key_of
from ...module_utils._base.quoting import one_line
from ...module_utils._ethtool.features import LEGACY, SHORT_NAMES, Features, group_members
from ...module_utils._kinds.command_levels import GROUP
from ...module_utils._kinds.devices import devices_of_classes
from ...module_utils._kinds.feature import plan_features
from ...module_utils._kinds.kind import NODE
from ...module_utils._kinds.kinds import DEVICE_KINDS, HOST_KINDS
from ...module_utils._kinds.ovs import OVS
from .._untrusted.texts import comment, is_strict, printable

# The kernel's name of a feature that ethtool lists under another one.
# TuneD takes "${f:exec:...}" for a command, so no text of a node is written unchecked.
FEATURE_ROW = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}\Z")
KERNEL_NAMES = {long: pattern for _short, long, pattern in LEGACY if "*" not in pattern}
ON_OFF = {True: "on", False: "off"}
Setting = Union[bool, int, str]
# A device that is to be set: "name", "netns", and by group what is asked of it.
DeviceItem = dict[str, Any]
DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@=+-]*\Z", re.ASCII)


class HostDevice(NamedTuple):
    """A device and what it is to be set to."""

    name: str
    features: dict[str, bool]  # single bits, by the row of ethtool -k
    groups: dict[str, list[str]]  # the rows that a legacy name such as tso stands for and changes
    others: dict[str, dict[str, Setting]]  # of the other kinds, by group

    def whole_group(self, long: str) -> bool | None:
        """Return the one value that all bits of a group are to have, None where there is none."""
        values = {self.features.get(row) for row in self.groups.get(long, ())}
        return values.pop() if len(values) == 1 else None


class HostSettings(NamedTuple):
    """The settings of a host's devices, and the settings that no tool can express."""

    campaign: str
    host: str
    devices: list[HostDevice]
    missing: list[str]


class Export(NamedTuple):
    """A file for another tool: its text, and the settings that it lacks."""

    text: str
    missing: list[str]


def shown(value: Any) -> str:
    """Return a value as ethtool prints it."""
    return ON_OFF[value] if isinstance(value, bool) else str(value)


def kernel_name(row: str) -> str:
    """Return the kernel's name of a feature."""
    return KERNEL_NAMES.get(row, row)


def short_name(row: str) -> str:
    """Return the short name of a feature that has one, such as gro."""
    return SHORT_NAMES.get(row, row)


def _device(item: DeviceItem, features: Features) -> tuple[HostDevice, list[str]]:
    """Return a device's settings, and what it cannot be set to."""
    name = network.device_name(item["name"])
    changeable = {
        row for row, state in features.items() if not state["fixed"] and FEATURE_ROW.match(row)
    }
    plan = plan_features(dict(item.get("features", {})), features, name, report_fixed=True)
    missing = [
        f"{name}: {row} {ON_OFF[not fixed['active']]}, because the device has it fixed"
        for row, fixed in sorted(plan["fixed"].items())
    ]
    bits = {row: on for row, on in plan["requested"].items() if row in changeable}
    groups: dict[str, list[str]] = {}
    for long, rows in group_members(features).items():
        groups[long] = [row for row in rows if row in changeable]
    return HostDevice(name, bits, groups, _others(item)), missing


def _odd_text(item: DeviceItem, features: Features) -> str | None:
    """Return a name or value of a device that could mean something in a file; None where none does."""
    if not DEVICE.match(item["name"]):
        return f"its name {printable(item['name'])}"
    texts: list[Any] = list(features)
    for group, values in item.items():
        if isinstance(values, Mapping):
            texts += [group, *values, *values.values()]
    odd = [text for text in texts if isinstance(text, str) and not is_strict(text)]
    return printable(odd[0]) if odd else None


def _others(item: DeviceItem) -> dict[str, dict[str, Setting]]:
    """Return the settings requested of a device other than features, by group."""
    others: dict[str, dict[str, Setting]] = {}
    for group, kind in DEVICE_KINDS.items():
        if group != "features" and item.get(group):
            others[group] = {kind.setting_name(key): value for key, value in item[group].items()}
    return others


def _of_host(groups: Mapping[str, Any]) -> list[str]:
    """Return the settings of the host itself, which no tool for devices can make."""
    lines: list[str] = []
    for kind in HOST_KINDS:
        for text in kind.assigned(groups.get(kind.group, {})):
            lines.append(f"sysctl {text}, which is not a setting of a device")
    for key, value in groups.get(OVS.group, {}).items():
        lines.append(f"other_config:{key}={value} of Open vSwitch: set offload_lab_ovs_settings")
    for name, level in groups.get(GROUP, {}).items():
        lines.append(f"command {name} at {level}, which only offload_lab_commands describes")
    return lines


def _wanted(
    settings: Mapping[str, Any], present: Mapping[str, list[Any]]
) -> tuple[list[DeviceItem], list[str]]:
    """Return the settings requested per device, and the settings that match no device."""
    absent = [name for name in settings if name not in (*present, NODE)]
    missing = [f"class {name}: this host has no such device" for name in absent]
    missing += _of_host(settings.get(NODE, {}))
    if (settings.get("tunnel") or {}).get("csum") is not None:
        missing.append("the outer checksum of the tunnel, which is not a setting of a device")
    by_class = {name: dict(groups) for name, groups in settings.items() if name in present}
    return devices_of_classes(by_class, dict(present)), missing


def host_settings(
    campaign: str,
    host: str,
    settings: Mapping[str, Any],
    classes: Mapping[str, Any],
    readings: Mapping[str, Any],
) -> HostSettings:
    """Return the settings of a host's devices.

    ``settings`` belong to the host's end, by device class; ``classes`` has the devices of each
    class; ``readings`` has the present devices with their features, as module ethtool_info returns
    them.
    """
    present = {name: list(devices) for name, devices in classes.items() if devices}
    items, missing = _wanted(settings, present)
    devices: list[HostDevice] = []
    for item in items:
        key = key_of({"name": item["name"], "netns": item.get("netns")})
        if item.get("netns"):
            missing.append(f"{key}: it is in a network namespace, where the tool does not look")
        elif key not in readings:
            missing.append(f"{key}: it is not there now")
        elif odd := _odd_text(item, readings[key]["features"]):
            missing.append(f"{key}: {odd} cannot be written into a file of another tool")
        else:
            device, fixed = _device(item, readings[key]["features"])
            devices.append(device)
            missing += fixed
    return HostSettings(campaign, host, devices, missing)


Options = Mapping[str, tuple[str, Collection[str]]]  # {group: (a tool's key, names that it knows)}


def expressed(
    device: HostDevice, options: Options
) -> tuple[dict[str, dict[str, Setting]], list[str]]:
    """Return ``{a tool's key: {name: value}}`` of the other kinds than features, and the settings
    without a key.
    """
    section: dict[str, dict[str, Setting]] = {}
    missing: list[str] = []
    for group, values in device.others.items():
        option, names = options.get(group, ("", ()))
        for name, value in values.items():
            if name in names:
                section.setdefault(option, {})[name] = value
            else:
                missing += not_expressed(device, group, [name])
    return section, missing


def not_expressed(device: HostDevice, group: str, names: Iterable[str]) -> list[str]:
    """Return a line for each setting of a device that a tool has no word for."""
    values = device.features if group == "features" else device.others[group]
    shown_group = "" if group == "features" else f"{group} "
    return [f"{device.name}: {shown_group}{name} {shown(values[name])}" for name in names]


def head(settings: HostSettings, tool: str, use: str, missing: list[str]) -> str:
    """Return the comment with which a file begins."""
    lines = [
        f"# What campaign {comment(settings.campaign)} recommends for {comment(settings.host)}, for {tool}.",
        *(f"# {line}" for line in use.splitlines()),
    ]
    if missing:
        lines.append(
            f"# Not in this file, because {tool} cannot express it or the host cannot be set so:"
        )
        lines += [f"#   {comment(line)}" for line in missing]
    return "".join(one_line(line) + "\n" for line in lines)
