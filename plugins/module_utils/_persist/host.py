# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to last of each device, as this device takes it, and what a host's network configuration is:
which kind it has for a device, its files and properties; and what diff mode shows of a file, our own
lines.

A .link file of ours repeats the file of somebody else, which may hold a password (WakeOnLanPassword), and
a file that is not ours may hold anything.
"""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import re
import shutil
from collections.abc import Mapping
from typing import Dict

from .._base.errors import InputError, LabError
from .._host import files
from .._host.runner import SEARCH_PATH, run
from .._iproute.parse import Link
from .._iproute.read import read
from .._kinds import feature
from .._kinds.change import plan_device, read_all
from .._kinds.devices import Device, parse_devices
from .._kinds.ethtool_lists import CHANNELS, RINGS
from .._kinds.kind import Asked, Item, SettingPlan, Values
from . import managers
from .managers import HEAD
from .plan import Seen

INTERFACES = ("/etc/network/interfaces", "/etc/network/interfaces.d/*")
DEFAULT_LINK = ("/usr/lib/systemd/network/99-default.link", "/lib/systemd/network/99-default.link")
ADDRESS = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}\Z", re.IGNORECASE)
NO_ADDRESS = "00:00:00:00:00:00"


def read_text(path: str) -> str | None:
    """Return the text of a file, None where there is none."""
    try:
        with open(path) as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def has_program(name: str) -> bool:
    """Return whether a program is installed."""
    return shutil.which(name, path=SEARCH_PATH) is not None


def connection_of(name: str) -> str | None:
    """Return the UUID of the connection by which NetworkManager runs a device, or None."""
    if not has_program("nmcli"):
        return None
    answer = run(
        ["nmcli", "-g", "GENERAL.NM-MANAGED,GENERAL.CON-UUID", "device", "show", name], check=False
    )
    return managers.parse_device(answer.out) if answer.rc == 0 else None


def stanza_of(name: str) -> bool:
    """Return whether ifupdown has a stanza for a device."""
    paths = itertools.chain.from_iterable(sorted(glob.glob(pattern)) for pattern in INTERFACES)
    pattern = re.compile(rf"^\s*iface\s+{re.escape(name)}\s", re.MULTILINE)
    return has_program("ifup") and any(pattern.search(read_text(path) or "") for path in paths)


def link_of(name: str) -> Seen:
    """Return what a .link file for a device has to repeat."""
    answer = run(["udevadm", "info", "--query=property", f"--path=/sys/class/net/{name}"]).out
    properties = dict(line.partition("=")[::2] for line in answer.splitlines())
    base = properties.get("ID_NET_LINK_FILE") or next(filter(os.path.exists, DEFAULT_LINK), "")
    if base == managers.link_path(name):
        base = managers.link_base(read_text(base) or "") or ""
    address = run(["ethtool", "-P", name], check=False).out.rpartition(" ")[2].strip()
    match = (
        f"PermanentMACAddress={address}"
        if ADDRESS.match(address) and address != NO_ADDRESS
        else f"OriginalName={name}"
    )
    return Seen("systemd_link", match, base, (read_text(base) or "") if base else "")


def see(name: str, method: str) -> Seen:
    """Return how a device is configured; with a ``method`` other than auto, as it can be by that
    kind.
    """
    connection = connection_of(name) if method in ("auto", "networkmanager") else None
    if connection:
        return Seen("networkmanager", connection=connection)
    if method == "networkmanager":
        raise InputError(
            "NetworkManager has no active connection for the device", name, "Use persist auto."
        )
    if method == "ifupdown" or (method == "auto" and stanza_of(name)):
        return Seen("ifupdown")
    if method == "systemd_link" or (method == "auto" and os.path.exists("/run/udev/control")):
        return link_of(name)
    return Seen("none")


def read_properties(properties: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return ``{uuid: {property: value}}``, as they are now; a connection that is gone is left out."""
    by_connection = {}
    for uuid, values in properties.items():
        names = sorted(values)
        with contextlib.suppress(LabError):
            answer = run(["nmcli", "-g", ",".join(names), "connection", "show", uuid])
            by_connection[uuid] = managers.parse_properties(answer.out, names)
    return by_connection


def write_text(path: str, text: str | None) -> None:
    """Write a file at one stroke, or remove it. A script gets the right to run, and a file that repeats
    lines of others is root's alone.
    """
    if text is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    mode = 0o755 if text[:2] == "#!" else 0o644
    files.write(path, text, 0o600 if is_confidential(path, text) else mode)


HIDDEN = "(not shown)"
# Keys of systemd.link(5) that we set, or that say which device is meant and how it is named.
OURS = frozenset(
    [
        *feature.LINK_FILE.values(),
        *CHANNELS.link_file.values(),
        *RINGS.link_file.values(),
        "AlternativeNamesPolicy",
        "MACAddressPolicy",
        "Name",
        "NamePolicy",
        "OriginalName",
        "PermanentMACAddress",
    ]
)


def shown(path: str, text: str) -> str:
    """Return the text of a file as diff mode shows it."""
    if HEAD not in text:
        return f"({len(text.splitlines())} lines that offload.lab did not write)\n"
    if not path.endswith(".link"):
        return text
    return "".join(_line(line) + "\n" for line in text.splitlines())


def _line(line: str) -> str:
    key, equals, _value = line.partition("=")
    if not equals or line.startswith("#") or key.strip() in OURS:
        return line
    return f"{key}={HIDDEN}"


def is_confidential(path: str, text: str) -> bool:
    """Return whether a file of ours has lines that are not shown."""
    return path.endswith(".link") and shown(path, text) != text


from .._kinds.kinds import DEVICE_KINDS

IN_NAMESPACE = "it is in the network namespace of a container, a pod or the lab"
OF_CONTAINER = "it is the port of a container or pod, and a new one has another name"
NO_PROGRAM = "no program of the host sets it"

DeviceSettings = Dict[str, Dict[str, Values]]  # {device: {group: values}}


def resolve(items: list[Item]) -> tuple[DeviceSettings, dict[str, str]]:
    """Return ``({device: settings}, {device: why its settings cannot last})``; what a device cannot
    change is left out of its settings.
    """
    devices = parse_devices(items)
    links = read() if devices else {}
    reasons = {device.key: _why_left_out(device, links) for device in devices}
    reasons.update(_not_lasting(devices))
    matching = [device for device in devices if device.name in links and not reasons[device.key]]
    settings = _of_devices(matching)
    return (
        {name: groups for name, groups in settings.items() if groups},
        {key: reason for key, reason in reasons.items() if reason},
    )


def _not_lasting(devices: list[Device]) -> dict[str, str]:
    """Return why some kinds of settings cannot last, by device and kind."""
    reasons: dict[str, str] = {}
    for device in devices:
        for group, kind in DEVICE_KINDS.items():
            if not kind.lasts and kind.asked_of(device.requested):
                reasons[f"{device.key} {group}"] = NO_PROGRAM
    return reasons


def _why_left_out(device: Device, links: Mapping[str, Link]) -> str:
    """Return why the settings of a device cannot last; nothing where they can."""
    if device.netns:
        return IN_NAMESPACE
    link = links.get(device.name)
    return OF_CONTAINER if link and is_port_of_container(link) else ""


def is_port_of_container(link: Link) -> bool:
    """Return whether a link is the host's end of the veth of a container or pod.

    Its other end is in another namespace. A host that is a container itself has such a device, too,
    but with an address, and in no bridge.
    """
    if link["kind"] != "veth" or link["peer_netns"] is None:
        return False
    return bool(link["master"]) or not link["global"]


def _of_devices(devices: list[Device]) -> DeviceSettings:
    states = read_all(devices)
    by_name: DeviceSettings = {}
    for device in devices:
        plans = plan_device(device, states[device.key], True)
        lasting = {group: plan for group, plan in plans.items() if DEVICE_KINDS[group].lasts}
        groups = {group: _changeable(plan) for group, plan in lasting.items()}
        by_name[device.name] = {group: values for group, values in groups.items() if values}
    return by_name


def _changeable(plan: SettingPlan) -> Values:
    return {name: value for name, value in plan["requested"].items() if name not in plan["fixed"]}


def merge(old: Mapping[str, Asked], new: Mapping[str, Asked]) -> DeviceSettings:
    """Return the settings of both; where both have one, the newer.

    They are in the order in which the file of the originals keeps them, so that the same settings
    give the same text each time.
    """
    merged = {name: dict(kinds) for name, kinds in old.items()}
    for name, kinds in new.items():
        for kind, values in kinds.items():
            earlier = merged.setdefault(name, {}).get(kind, {})
            merged[name][kind] = dict(sorted({**earlier, **values}.items()))
    return merged
