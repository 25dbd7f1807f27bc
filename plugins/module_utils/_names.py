# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure checks of the names and addresses that users give, before anything is changed."""
from __future__ import annotations

import ipaddress
import re

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError

MAX_DEVICE = 15  # IFNAMSIZ of linux/if.h, less the final NUL
MIN_MTU = 68  # RFC 791
OWNER = "offload-lab"  # the key of external_ids that marks what is ours in Open vSwitch
ALIAS = "offload.lab:"  # the beginning of the ifalias of links that are ours

# A name is an argument of ip and ovs-vsctl, a word of a batch file and a file name in /sys and /run/netns.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]*\Z")


def check_name(name, what, longest=MAX_DEVICE):
    """Return ``name``, or raise InputError when it cannot be the name of a ``what``."""
    if not _NAME.match(name):
        raise InputError("not a usable name for a {0}".format(what), repr(name),
                         "Use letters, digits and _ . : @ + -, beginning with a letter, a digit or _.")
    if len(name) > longest:
        raise InputError("{0} characters are too many for a {1}".format(len(name), what), repr(name),
                         "Use at most {0} characters.".format(longest))
    return name


def check_unique(names, what):
    """Raise InputError when a name is given twice."""
    names = list(names)
    for name in names:
        if names.count(name) > 1:
            raise InputError("given {0} times".format(names.count(name)), "{0} {1}".format(what, name),
                             "Give each {0} once.".format(what))


def check_range(value, lowest, highest, what):
    """Return ``value``, or raise InputError when it is outside of ``lowest`` to ``highest``."""
    if not lowest <= value <= highest:
        raise InputError("{0} is out of range".format(value), what,
                         "Use a value from {0} to {1}.".format(lowest, highest))
    return value


def check_address(text, what):
    """Return the address (``198.18.0.1``) as an :mod:`ipaddress` object."""
    try:
        if "%" in text:  # an IPv6 zone may be any text
            raise ValueError(text)
        return ipaddress.ip_address(text)
    except ValueError:
        raise InputError("not an IP address", "{0} {1!r}".format(what, text),
                         "Give an IPv4 or IPv6 address without a prefix length.")


def check_interface(text, what):
    """Return the address with prefix length (``192.168.10.1/24``) as an :mod:`ipaddress` object."""
    try:
        if "/" not in text or "%" in text:
            raise ValueError(text)
        return ipaddress.ip_interface(text)
    except ValueError:
        raise InputError("not an IP address with its prefix length", "{0} {1!r}".format(what, text),
                         "Write it as 192.168.10.1/24.")
