# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address of a path's other end, where the user did not give it. Pure."""

from __future__ import annotations

import ipaddress
from typing import Iterable, Mapping, TypedDict

from .._base.errors import InputError
from .parse import Link

ADVICE = "Give this end the address of the other one."


class Begin(TypedDict):
    """Where a path begins on a host."""

    name: str  # of the path
    netns: str | None  # the name or the file of the namespace
    addresses: list[str]  # that other hosts may reach, without prefix lengths


def addresses_of(links: Mapping[str, Link]) -> list[str]:
    """Return the addresses of a namespace that other hosts may reach, without prefix lengths."""
    addresses = []
    for link in links.values():
        for text in link["global"]:
            address = ipaddress.ip_interface(text).ip
            if not address.is_loopback:
                addresses.append(str(address))
    return addresses


def _end_of(name: str, others: Iterable[Begin]) -> Begin:
    """Return the one end of a path that the other hosts have."""
    ends = [end for end in others if end["name"] == name]
    if not ends:
        raise InputError(
            "no other host of the play has an end of it",
            f"path {name}",
            "Give another host an end of the same name, or this one the address of its other end.",
        )
    if len(ends) > 1:
        raise InputError(f"{len(ends)} other hosts have an end of it", f"path {name}", ADVICE)
    return ends[0]


def other_address(name: str, others: Iterable[Begin]) -> str:
    """Return the address to which a path of this name goes, from what the other hosts have.

    Where the other end has IPv4 and IPv6, IPv4 is taken. Raises InputError where it is not clear.
    """
    addresses = [ipaddress.ip_address(text) for text in _end_of(name, others)["addresses"]]
    candidates = [address for address in addresses if address.version == 4] or addresses
    if not candidates:
        raise InputError("the other end has no address", f"path {name}", ADVICE)
    if len(candidates) > 1:
        listed = ", ".join(str(address) for address in candidates)
        raise InputError(f"the other end has the addresses {listed}", f"path {name}", ADVICE)
    return str(candidates[0])
