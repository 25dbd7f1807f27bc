# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module ethtool shows people: warnings and the texts of diff mode. Pure."""

from __future__ import annotations

from typing import Any


def printed(value: Any) -> str:
    """Return a value as ethtool prints it; a feature with what is requested of it."""
    if isinstance(value, dict):
        requested = value.get("requested")
        return printed(value["active"]) + (
            "" if requested is None else f" [requested {printed(requested)}]"
        )
    return (
        {True: "on", False: "off", None: "n/a"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )


def lines(devices: dict[str, dict[str, Any]], moment: str) -> str:
    """Return the text of diff mode, for ``moment`` before or after: what differs, a line for each
    value.
    """
    rows: list[str] = []
    for key, device in devices.items():
        for kind, values in device[moment].items():
            rows.extend(
                f"{key} {kind} {name}: {printed(value)}"
                for name, value in values.items()
                if device["before"][kind].get(name) != device["after"][kind].get(name)
            )
    return "".join(row + "\n" for row in rows)


def cannot_vary(devices: dict[str, dict[str, Any]]) -> list[str]:
    """Return what the devices cannot be set to although it was asked for, a sentence each."""
    texts = []
    for key, device in devices.items():
        for names in device["fixed"].values():
            for name, values in names.items():
                why = values.get("reason") or f"it is fixed {printed(bool(values.get('active')))}"
                texts.append(f"{key}: {name} cannot be varied: {why}")
    return texts


def warnings(devices: dict[str, dict[str, Any]]) -> list[str]:
    """Return one warning for each device on which something is not as asked."""
    texts = []
    for key, device in devices.items():
        missed = []
        for kind in device["not_honoured"].values():
            for name, values in kind.items():
                missed.append(f"{name} (asked {printed(values['asked'])}, is {printed(values)})")
        reasons = sorted({step["reason"] for step in device["failed_steps"]})
        if missed:
            why = f" ({'; '.join(reasons)})" if reasons else ""
            texts.append(f"{key}: not honoured: {', '.join(missed)}{why}")
    return texts
