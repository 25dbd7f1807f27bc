# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: settings as commands, for a oneshot unit of systemd or a script of ifupdown.

Settings of a device are ``{"features": {row: bool}, "channels" | "rings" | "coalesce" |
"rx_flow_hash": {name: value}, "rps": mask}``, as :mod:`_persist.settings` resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._ethtool.features_plan import feature_steps
from .._ethtool.settings_plan import setting_steps

HEAD = "# Written by offload.lab (playbook apply.yml); playbook revert.yml takes it away again.\n"
RPS = "for queue in /sys/class/net/{0}/queues/rx-*/rps_cpus; do echo {1} >{2}queue; done"
UNIT = (
    HEAD
    + """# Settings of {name} that the host's own network configuration cannot express.
[Unit]
Description=Offloads of {name}, applied by offload.lab
Wants=sys-subsystem-net-devices-{escaped}.device
After=sys-subsystem-net-devices-{escaped}.device network-pre.target
After=systemd-networkd.service NetworkManager.service networking.service

[Service]
Type=oneshot
RemainAfterExit=yes
{commands}
[Install]
WantedBy=multi-user.target
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


def ethtool_commands(name: str, settings: Mapping[str, Any]) -> list[list[str]]:
    """Return the argument lists of ethtool, in the order in which the settings rest on each other."""
    steps: list[list[str]] = []
    for kind in ("channels", "rings", "coalesce", "rx_flow_hash"):
        steps += setting_steps(kind, settings.get(kind, {}), name)
    return steps + feature_steps(settings.get("features", {}), name)


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
    lines = [f"ExecStart={' '.join(argv)}\n" for argv in ethtool_commands(name, settings)]
    if settings.get("rps"):
        lines.append("ExecStart=/bin/sh -c '" + RPS.format(name, settings["rps"], "$$") + "'\n")
    return UNIT.format(name=name, escaped=escaped(name), commands="".join(lines))


def script(name: str, settings: Mapping[str, Any]) -> str:
    """Return the text of the script of a device for /etc/network/if-up.d."""
    lines = [" ".join(argv) + "\n" for argv in ethtool_commands(name, settings)]
    if settings.get("rps"):
        lines.append(RPS.format(name, settings["rps"], "$") + "\n")
    return SCRIPT.format(name=name, commands="".join(lines))
