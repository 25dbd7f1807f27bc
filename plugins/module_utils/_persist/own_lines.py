# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What diff mode shows of a file: our own lines.

A .link file of ours repeats the file of somebody else, which may hold a password (WakeOnLanPassword), and
a file that is not ours may hold anything.
"""

from __future__ import annotations

from .._kinds import feature
from .._kinds.ethtool_lists import CHANNELS, RINGS
from .managers import HEAD

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
