# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: settings as properties ``ethtool.…`` of a connection of NetworkManager
(nm-settings-nmcli(5)).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from .commands import divided

UUID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}\Z")


def split(settings: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
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


def modify(uuid: str, properties: Mapping[str, str]) -> list[str]:
    """Return the command that sets properties; an empty value takes one away."""
    arguments = itertools.chain.from_iterable(sorted(properties.items()))
    return ["nmcli", "connection", "modify", uuid, *arguments]
