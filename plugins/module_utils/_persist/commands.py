# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: settings as commands, for a oneshot unit of systemd or a script of ifupdown; and which of
them a host's configuration can express.

Settings of a device are ``{"features": {row: bool}, "rings": {name: value}}``: the
groups of the kinds, as :mod:`_persist.settings` resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .._base import network
from .._base.quoting import exec_start, shell_line, unit_value
from .._kinds.kind import Expressed, Kind
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


def argument_lists(name: str, settings: Mapping[str, Any]) -> list[list[str]]:
    """Return the argument lists, in the order in which the settings rest on each other."""
    steps: list[list[str]] = []
    for group, kind in DEVICE_KINDS.items():
        steps += kind.steps(settings.get(group, {}), name)
    return steps


def shell_lines(name: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the lines of a shell that write files of sysfs."""
    lines: list[str] = []
    for group, kind in DEVICE_KINDS.items():
        if settings.get(group):
            lines += kind.shell(settings[group], name)
    return lines


def divided(
    settings: Mapping[str, Any], express: Callable[[Kind, str, Any], Expressed]
) -> tuple[dict[str, str], dict[str, Any]]:
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


def unit(name: str, settings: Mapping[str, Any]) -> str:
    """Return the text of the oneshot unit of a device."""
    network.device_name(name)
    lines = [exec_start(argv) for argv in argument_lists(name, settings)]
    lines += [exec_start(["/bin/sh", "-c", line]) for line in shell_lines(name, settings)]
    return UNIT.format(name=unit_value(name), escaped=escaped(name), commands="".join(lines))


def script(name: str, settings: Mapping[str, Any]) -> str:
    """Return the text of the script of a device for /etc/network/if-up.d."""
    network.device_name(name)
    lines = [shell_line(argv) + "\n" for argv in argument_lists(name, settings)]
    lines += [line + "\n" for line in shell_lines(name, settings)]
    return SCRIPT.format(name=shell_line([name]), commands="".join(lines))
