# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: from which addresses the other hosts of a lab connect to a node's servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MORE = "offload_lab_more_peers"


def _of_ends(endpoints: Mapping[str, Any]) -> list[str]:
    """Return the addresses of the ends of a host's paths."""
    addresses = []
    for path in endpoints.values():
        addresses += [end["address"] for end in path.get("all") or [path]]
    return addresses


def _of_devices(variables: Mapping[str, Any]) -> list[str]:
    """Return the addresses of a host's devices. A host that forwards may put its own address into
    what it forwards.
    """
    node = variables.get("offload_lab_node") or {}
    addresses = [variables.get("offload_lab_underlay_address") or ""]
    addresses += [port["address"] for port in variables.get("offload_lab_more_ports") or ()]
    for device in (node, *(node.get("more") or ())):
        addresses += device.get("addresses") or ()
    return [text.partition("/")[0] for text in addresses]


def addresses_of(variables: Mapping[str, Any]) -> list[str]:
    """Return the addresses that a host has in the lab."""
    return [*_of_ends(variables.get("offload_lab_endpoints") or {}), *_of_devices(variables)]


def peers_of(hosts: Iterable[Mapping[str, Any]], more: Iterable[str]) -> list[str]:
    """Return the addresses of other hosts, and those that a user adds, each once."""
    found: list[str] = []
    for variables in hosts:
        found += addresses_of(variables)
    return list(dict.fromkeys(filter(None, [*found, *more])))
