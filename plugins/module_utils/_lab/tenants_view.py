# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure view of the tenants that a host has: what is ours, which veths are whole, what is in the
way.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, TypedDict

from .._base.errors import InputError
from .._base.marks import ALIAS
from .._ovs.state import State
from .tenants_check import (
    DEVICE,
    INNER,
    OUTER,
    PORT,
    Parts,
    Tenant,
)

Link = Dict[str, Any]  # as _iproute reads it, with its permanent neighbors
Links = Dict[str, Link]
NOTHING: Link = {
    "mtu": None,
    "mac": None,
    "up": False,
    "alias": None,
    "global": [],
    "neighbors": {},
}


class Seen(TypedDict):
    """What a host has; ``inside`` are the links of the namespaces that were looked into."""

    links: Links  # of the host
    inside: dict[str, Links]
    ids: dict[str, int | None]  # of its namespaces
    ovs: State
    ipv6: bool  # whether the kernel has it


class Summary(TypedDict):
    """What a user sees of a tenant."""

    netns: str | None
    device: str
    port: str
    addresses: list[str]
    mtu: int
    mac: str | None
    up: bool
    neighbors: dict[str, str]
    bridge: str | None


def mark(name: str) -> str:
    """Return the alias of a tenant's links."""
    return ALIAS + name


def marked(links: Links) -> list[str]:
    """Return the names of the tenants whose port on the host carries our mark."""
    names = [name[: -len(PORT)] for name in links if name.endswith(PORT)]
    return sorted(name for name in names if links[name + PORT]["alias"] == mark(name))


def led_to(links: Links, ids: Mapping[str, int | None]) -> set[str]:
    """Return the namespaces that our veths lead to."""
    return {
        name
        for name in marked(links)
        if ids.get(name) is not None and links[name + PORT]["peer_netns"] == ids[name]
    }


def owned_namespaces(seen: Seen) -> set[str]:
    """Return the namespaces that are ours: our veth leads there, or their loopback carries our
    mark.
    """
    return led_to(seen["links"], seen["ids"]) | {
        name
        for name, links in seen["inside"].items()
        if links.get("lo", {}).get("alias") == mark(name)
    }


def own_links(tenant: Tenant) -> list[str]:
    """Return the names of a tenant's links in the namespace of the host."""
    bridge = (
        [tenant["linux_bridge"], tenant["name"] + INNER, tenant["switch_port"]]
        if tenant["linux_bridge"]
        else []
    )
    return [tenant["port"]] + bridge + ([] if tenant["netns"] else [tenant["device"]])


def check_free(seen: Seen, wanted: Mapping[str, Tenant]) -> None:
    """Raise InputError when a namespace or device of a wanted tenant exists and is not ours."""
    owned = owned_namespaces(seen)
    for tenant in wanted.values():
        alias = mark(tenant["name"])
        if tenant["netns"] in seen["ids"] and tenant["netns"] not in owned:
            raise InputError(
                f"the network namespace exists and is not ours (alias of its lo: not {alias})",
                tenant["netns"],
                f"Choose another name, or remove it: ip netns del {tenant['netns']}",
            )
        for name in own_links(tenant):
            if seen["links"].get(name, {"alias": alias})["alias"] != alias:
                raise InputError(
                    f"the device exists and is not ours (its alias is not {alias})",
                    name,
                    f"Choose another name, or remove it: ip link del {name}",
                )


def ends(seen: Seen, tenant: Parts) -> tuple[Link, Link] | tuple[None, None]:
    """Return ``(port, device)``, the two links of a tenant's veth; ``(None, None)`` if they are not
    its two ends.
    """
    port = seen["links"].get(tenant["port"])
    device = (seen["inside"].get(tenant["netns"], {}) if tenant["netns"] else seen["links"]).get(
        tenant["device"]
    )
    if not port or not device:
        return None, None
    if tenant["netns"]:
        joined = (port["peer_index"], device["peer_index"]) == (device["index"], port["index"])
    else:
        joined = (port["peer"], device["peer"]) == (device["name"], port["name"])
    return (port, device) if joined else (None, None)


def summary(seen: Seen, tenant: Parts) -> Summary | None:
    """Return what a user sees of a tenant that is there, or None."""
    port, device = ends(seen, tenant)
    if port is None or device is None:
        return None
    return {
        "netns": tenant["netns"],
        "device": tenant["device"],
        "port": tenant["port"],
        "addresses": device["global"],
        "mtu": device["mtu"],
        "mac": device["mac"],
        "up": port["up"] and device["up"],
        "neighbors": device["neighbors"],
        "bridge": seen["ovs"]["ports"].get(tenant["switch_port"], {}).get("bridge"),
    }


def predicted(tenant: Tenant, bridge: str, before: Summary | None) -> Summary:
    """Return :func:`summary` as it will be; a MAC address that is not given is left to the kernel."""
    known = before["mac"] if before else None
    return {
        "netns": tenant["netns"],
        "device": tenant["device"],
        "port": tenant["port"],
        "addresses": tenant["addresses"],
        "mtu": tenant["mtu"],
        "mac": tenant["mac"] or known,
        "up": True,
        "neighbors": tenant["neighbors"],
        "bridge": bridge,
    }


def present_tenants(seen: Seen, names: Iterable[str]) -> dict[str, Parts]:
    """Return the tenants that are there, by name, as :func:`wanted_tenant` would name their parts."""
    owned, ports = owned_namespaces(seen), seen["ovs"]["ports"]
    return {
        name: {
            "name": name,
            "netns": name if name in seen["ids"] and name in owned else None,
            "device": name + DEVICE,
            "port": name + PORT,
            "switch_port": name + (OUTER if name + OUTER in ports else PORT),
        }
        for name in names
    }
