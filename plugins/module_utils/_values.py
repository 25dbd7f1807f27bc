# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure checks of single values: each returns the value in its type, or raises InputError that names it.

Inventory and survey values arrive as strings, and may be hostile: names and addresses become arguments and paths.
"""
from __future__ import annotations

import ipaddress
import math
import re

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}\Z")
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=,@-]{0,119}\Z")
SIZE = re.compile(r"([0-9]{1,12})([KM]?)\Z", re.IGNORECASE | re.ASCII)
FACTORS = {"": 1, "K": 1024, "M": 1024 * 1024}


def _shown(value):
    return repr(value)[:80]


def name(value, what):
    """Return a name of letters, digits, ``.``, ``_`` and ``-``, at most 64, that begins with none of ``.-``."""
    if not isinstance(value, str) or not NAME.match(value):
        raise InputError("not a name of at most 64 letters, digits, '.', '_' and '-'",
                         "{0} {1}".format(what, _shown(value)))
    return value


def label(value, what):
    """Return what names a workload or a profile, such as ``tso=on``; it is never part of a path or a command."""
    if not isinstance(value, str) or not LABEL.match(value):
        raise InputError("not a name of at most 120 letters, digits, '.', '_', '=', ',', '@' and '-'",
                         "{0} {1}".format(what, _shown(value)))
    return value


def address(value, what):
    """Return an IPv4 or IPv6 address as text, in its shortest form."""
    try:
        if not isinstance(value, str) or "%" in value:  # an IPv6 zone may be any text
            raise ValueError
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise InputError("not an IP address", "{0} {1}".format(what, _shown(value)))


def number(value, what, least, most, kind=int):
    """Return a number between ``least`` and ``most``; text is accepted, a fraction is not where an int is asked."""
    try:
        if isinstance(value, bool):
            raise ValueError
        found = kind(value)
        if not math.isfinite(found) or (not isinstance(value, str) and found != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError("not a {0}".format("whole number" if kind is int else "number"),
                         "{0} {1}".format(what, _shown(value)))
    if not least <= found <= most:
        raise InputError("not between {0} and {1}".format(least, most), "{0} {1}".format(what, _shown(value)))
    return found


def size(value, what):
    """Return a size in bytes, 1 to 1 GiB; ``64K`` and ``1M`` are multiples of 1024."""
    match = SIZE.match(str(value)) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    if not match:
        raise InputError("not a size in bytes, such as 16384, 16K or 1M", "{0} {1}".format(what, _shown(value)))
    return number(int(match.group(1)) * FACTORS[match.group(2).upper()], what, 1, 1 << 30)


def boolean(value, what):
    """Return a boolean; the words that YAML and surveys use are accepted."""
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if isinstance(value, bool):
        return value
    try:
        return words[str(value).strip().lower()]
    except KeyError:
        raise InputError("neither true nor false", "{0} {1}".format(what, _shown(value)))


def mapping(value, what, keys):
    """Return a mapping whose keys are all known."""
    if not isinstance(value, dict):
        raise InputError("not a mapping", "{0} {1}".format(what, _shown(value)))
    for key in value:
        if key not in keys:
            raise InputError("unknown key {0}".format(_shown(key)), what, "Known are {0}.".format(", ".join(keys)))
    return value
