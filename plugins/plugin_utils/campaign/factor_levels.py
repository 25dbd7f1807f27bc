# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a level may be: each function returns the value to set, or raises ValueError with what is allowed."""
from __future__ import annotations

import re

SWITCH = {"off": False, "on": True}


def switch(level: str) -> bool:
    """Return the bool of ``off`` or ``on``."""
    if level in SWITCH:
        return SWITCH[level]
    raise ValueError("off or on")


def number(level: str) -> int:
    """Return a number from 0 to 2^32 - 1."""
    if re.fullmatch(r"[0-9]{1,10}", str(level), re.ASCII) and int(level) < 2 ** 32:
        return int(level)
    raise ValueError("a number from 0 to 4294967295")


def number_or_switch(level: str) -> bool | int:
    """Return a number, or the bool of ``off`` or ``on``."""
    return SWITCH[level] if level in SWITCH else number(level)


def hash_fields(level: str) -> str:
    """Return the letters of ``ethtool -N DEV rx-flow-hash TYPE LETTERS``."""
    if re.fullmatch(r"[mvtsdfnelr]{1,10}", str(level)):
        return level
    raise ValueError("letters of 'mvtsdfnelr', such as sd or sdfn")


def cpus(level: str) -> str:
    """Return ``off``, ``all``, or a hexadecimal mask of CPUs."""
    text = str(level)
    if text in ("off", "all") or re.fullmatch(r"[0-9a-f]{1,8}(,[0-9a-f]{8}){0,31}", text):
        return text
    raise ValueError("off, all, or a hexadecimal mask of CPUs such as f")
