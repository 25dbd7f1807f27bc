# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: a .link file of systemd for one device: the one that udev uses for it now, with our
settings (systemd.link(5)).

udev uses only the first .link file that matches; so ours repeats what the other one says, the
device's naming included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._base import network
from .._base.quoting import one_line, unit_value
from .commands import HEAD, divided

FOLDER = "/etc/systemd/network"
BASED_ON = "# Based on "


def split(settings: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return ``({key: value} of [Link], the settings that no key expresses)``.

    Keys that systemd 249 (Ubuntu 22.04) does not know are not used: it would pass over them without
    an error.
    """
    return divided(settings, lambda kind, name, value: kind.link_file_key(name, value))


def path_of(name: str) -> str:
    """Return the path of our file for a device; it sorts before the files of others."""
    return f"{FOLDER}/00-offload-lab-{network.device_name(name)}.link"


def base_of(text: str) -> str | None:
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


def text_of(match: str, keys: Mapping[str, str], base: str, base_text: str) -> str:
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
