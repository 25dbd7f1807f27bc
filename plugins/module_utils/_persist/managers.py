# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: settings as those take them that configure a device: the .link file of udev (systemd.link(5)),
properties ``ethtool.…`` of a connection of NetworkManager (nm-settings-nmcli(5)), commands of a oneshot
unit of systemd or of a script of ifupdown; and which settings each of them can express.

Settings of a device are ``{"features": {row: bool}, "rings": {name: value}}``: the
groups of the kinds, as :mod:`_persist.lasting` resolves them.

udev uses only the first .link file that matches; so ours repeats what the other one says, the
device's naming included.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

from .._base import network
from .._base.quoting import exec_start, one_line, shell_line, unit_value
from .._kinds.kind import Asked, Expressed, Kind, Values
from .._kinds.kinds import DEVICE_KINDS, GROUPS

HEAD = "# Written by offload.lab (playbook apply.yml); playbook revert.yml takes it away again.\n"
# Wanted by the device, and over when it has run: it is started whenever the device appears, for example
# when an agent has made its tunnel again. In a container systemd may not hear of devices; there it is
# started at the boot.
UNIT = (
    HEAD
    + """# Settings of {name} that the host's own network configuration cannot express.
[Unit]
Description=Offloads of {name}, applied by offload.lab
After=sys-subsystem-net-devices-{escaped}.device network-pre.target
After=systemd-networkd.service NetworkManager.service networking.service
ConditionPathExists=/sys/class/net/{name}
StartLimitIntervalSec=0

[Service]
Type=oneshot
{commands}
[Install]
WantedBy=multi-user.target sys-subsystem-net-devices-{escaped}.device
"""
)
SCRIPT = (
    "#!/bin/sh\n"
    + HEAD
    + """# ifupdown runs it for every interface that comes up.
[ "$IFACE" = {name} ] || exit 0
{commands}exit 0
"""
)


def argument_lists(name: str, settings: Asked) -> list[list[str]]:
    """Return the argument lists, in the order in which the settings rest on each other."""
    steps: list[list[str]] = []
    for group, kind in DEVICE_KINDS.items():
        steps += kind.steps(settings.get(group, {}), name)
    return steps


def shell_lines(name: str, settings: Asked) -> list[str]:
    """Return the lines of a shell that write files of sysfs."""
    lines: list[str] = []
    for group, kind in DEVICE_KINDS.items():
        if settings.get(group):
            lines += kind.shell(settings[group], name)
    return lines


def divided(
    settings: Asked, express: Callable[[Kind, str, Any], Expressed]
) -> tuple[dict[str, str], dict[str, Values]]:
    """Return ``({key: value} that a host's configuration expresses, the settings that it cannot)``."""
    keys: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for group, values in settings.items():
        for name, value in values.items():
            expressed = express(GROUPS[group], name, value)
            if expressed:
                keys[expressed[0]] = expressed[1]
            else:
                rest.setdefault(group, {})[name] = value
    return keys, rest


def escaped(name: str) -> str:
    """Return the name of a device as systemd-escape has it in names of units."""
    return re.sub(
        r"[^a-zA-Z0-9:_.]|^\.",
        lambda match: "".join(f"\\x{byte:02x}" for byte in match.group().encode()),
        name,
    )


def unit_name(name: str) -> str:
    """Return the name of the unit of a device."""
    return f"offload-lab-{escaped(name)}.service"


def unit(name: str, settings: Asked) -> str:
    """Return the text of the oneshot unit of a device."""
    network.device_name(name)
    lines = [exec_start(argv) for argv in argument_lists(name, settings)]
    lines += [exec_start(["/bin/sh", "-c", line]) for line in shell_lines(name, settings)]
    return UNIT.format(name=unit_value(name), escaped=escaped(name), commands="".join(lines))


def script(name: str, settings: Asked) -> str:
    """Return the text of the script of a device for /etc/network/if-up.d."""
    network.device_name(name)
    lines = [shell_line(argv) + "\n" for argv in argument_lists(name, settings)]
    lines += [line + "\n" for line in shell_lines(name, settings)]
    return SCRIPT.format(name=shell_line([name]), commands="".join(lines))


FOLDER = "/etc/systemd/network"
BASED_ON = "# Based on "


def link_keys(settings: Asked) -> tuple[dict[str, str], dict[str, Values]]:
    """Return ``({key: value} of [Link], the settings that no key expresses)``.

    Keys that systemd 249 (Ubuntu 22.04) does not know are not used: it would pass over them without
    an error.
    """
    return divided(settings, lambda kind, name, value: kind.link_file_key(name, value))


def link_path(name: str) -> str:
    """Return the path of our file for a device; it sorts before the files of others."""
    return f"{FOLDER}/00-offload-lab-{network.device_name(name)}.link"


def link_base(text: str) -> str | None:
    """Return the path of the file on which our file with this text is based."""
    return next(
        (line[len(BASED_ON) :] for line in text.splitlines() if line.startswith(BASED_ON)), None
    )


def sections(text: str) -> dict[str, list[str]]:
    """Return ``{section: [assignment]}`` of a file, without comments."""
    by_title: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            lines = by_title.setdefault(line[1:-1], [])
        elif line and line[0] not in "#;":
            lines.append(line)
    return by_title


def link_text(match: str, keys: Mapping[str, str], base: str, base_text: str) -> str:
    """Return the text of our file; ``match`` is the assignment of [Match], ``base`` the file in use
    and its text.
    """
    parts = sections(base_text)
    parts.pop("Match", None)
    link = [line for line in parts.pop("Link", []) if line.partition("=")[0].strip() not in keys]
    parts = {
        "Match": [one_line(match)],
        "Link": link + [f"{key}={unit_value(value)}" for key, value in sorted(keys.items())],
        **parts,
    }
    body = "\n\n".join("\n".join([f"[{name}]", *lines]) for name, lines in parts.items())
    return HEAD + f"{BASED_ON}{one_line(base)}\n{body}\n"


UUID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}\Z")


def connection_properties(settings: Asked) -> tuple[dict[str, str], dict[str, Values]]:
    """Return ``({property: value}, the settings that no property of NetworkManager 1.26 or later
    expresses)``.
    """
    return divided(settings, lambda kind, name, value: kind.connection_property(name, value))


def parse_device(text: str) -> str | None:
    """Return the UUID of a device's connection from ``nmcli -g GENERAL.NM-MANAGED,GENERAL.CON-UUID
    device show``.
    """
    lines = [*text.splitlines(), "", ""]
    uuid = lines[1].strip()
    return uuid if lines[0].strip() == "yes" and UUID.match(uuid) else None


def parse_properties(text: str, names: list[str]) -> dict[str, str]:
    """Return ``{property: value}``, empty for one that is not set, from ``nmcli -g NAMES connection
    show``.
    """
    return dict(zip(names, [*text.split("\n"), *[""] * len(names)]))


def modify_connection(uuid: str, properties: Mapping[str, str]) -> list[str]:
    """Return the command that sets properties; an empty value takes one away."""
    arguments = itertools.chain.from_iterable(sorted(properties.items()))
    return ["nmcli", "connection", "modify", uuid, *arguments]
