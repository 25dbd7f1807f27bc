# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths that the lab builds, and all paths that a campaign may name. Pure.

The end of each path, except the underlay's, is a tenant or the host's veth. Each kind of tenant is
the end of one path, and one variable assigns it to a node. A lab has one type of tunnel, and only the
tunnel paths of this type. A forwarded path leads through a host that forwards and has the ends of
another path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from ...module_utils._lab.tenants_check import TenantOptions
from .path import (
    GENEVE,
    GRE,
    PLAIN,
    UNDERLAY,
    VXLAN,
    Devices,
    Encapsulation,
    Endpoints,
    Existing,
    Path,
)

TENANT = "tenant"  # the class of the devices in tenants
Variables = Mapping[str, Any]  # of a node, as Ansible has them
HOST = "host"  # the class of the host's own end of the switch


@dataclass(frozen=True)
class LabPath(Path):
    """A path that the lab builds."""

    kind: str = ""  # of the tenant that is its end, see kind_of; "" for the underlay's own address
    variable: str = ""  # gives a node such a tenant, without offload_lab_
    usual: str | int = ""  # the value of the variable where it is not set
    like: str = ""  # the path whose ends it has, where a forwarder is between the nodes


class OwnPath(TypedDict):
    """A path of an existing network, as a fact of Ansible has it."""

    classes: list[str]  # of the devices that a campaign may vary
    vni: int | None  # of VXLAN, None where the packets are in no such tunnel
    port: int | None  # of VXLAN
    mtu: int  # bytes, of the path's own packets
    nodes: dict[str, Existing]


@dataclass(frozen=True)
class FixedPath(Path):
    """A path whose MTU belongs to the network that it is part of."""

    own_mtu: int = 0  # bytes

    def mtu(self, underlay_mtu: int, underlay_ip: int = 4, tag: int = 0) -> int:
        return self.own_mtu


FORWARDER_NEEDED = "offload_lab_forwarding, and have a host in the group lab_forwarders"
USUAL_TUNNEL = VXLAN.name


def _through(tunnel: Encapsulation) -> tuple[LabPath, ...]:
    """Return the paths through a tunnel."""
    also = "" if tunnel.name == USUAL_TUNNEL else f"offload_lab_tunnel_type: {tunnel.name}, and "
    return (
        LabPath(
            f"physical_{tunnel.name}",
            (UNDERLAY, HOST),
            tunnel,
            kind="host",
            variable="host_network",
            usual="192.168.0.0/24",
            needs=f"{also}offload_lab_host_network, a network for the host veths",
        ),
        LabPath(
            f"tenant_{tunnel.name}",
            (UNDERLAY, TENANT),
            tunnel,
            kind="plain",
            variable="tenant_count",
            usual=1,
            several=True,
            needs=f"{also}offload_lab_tenant_count: 1, or more",
        ),
        LabPath(
            f"tenant_bridge_{tunnel.name}",
            (UNDERLAY, TENANT),
            tunnel,
            kind="bridged",
            variable="bridged_network",
            needs=f"{also}offload_lab_bridged_network, a network for the tenants behind a Linux "
            "bridge",
        ),
        LabPath(
            f"routed_{tunnel.name}",
            (UNDERLAY, TENANT),
            tunnel,
            like=f"tenant_{tunnel.name}",
            several=True,
            needs=also + FORWARDER_NEEDED,
        ),
    )


LAB_PATHS = (
    LabPath("physical", (UNDERLAY,)),
    LabPath(
        "tenant",
        (UNDERLAY, TENANT),
        by_uplink=True,
        kind="flat",
        variable="uplink_device",
        needs="offload_lab_uplink_device, a second device for tenants without a tunnel",
    ),
    LabPath("routed", (UNDERLAY,), like="physical", needs=FORWARDER_NEEDED),
    *_through(VXLAN),
    *_through(GENEVE),
    *_through(GRE),
)
FORWARDED = [path.name for path in LAB_PATHS if path.like]  # by way of a forwarder
# What is left behind NAT: the outer packets of a tunnel come from an address that its end does not know
WITHOUT_TUNNEL = [path.name for path in LAB_PATHS if not path.tunnelled]
USUAL_TENANT_PATH = "tenant_vxlan"  # of a tenant that is a host and names none


def kind_of(tenant: TenantOptions) -> str:
    """Return the kind of a tenant, which decides the path that it is the end of."""
    if not tenant.get("namespace", True):
        return "host"
    if tenant.get("flat"):
        return "flat"
    return "bridged" if tenant.get("linux_bridge") else "plain"


def paths_with(tunnel: str) -> list[LabPath]:
    """Return the paths of a lab whose tunnels have this type."""
    return [path for path in LAB_PATHS if path.encapsulation.name in ("none", tunnel)]


def path_of(tenant: TenantOptions, tunnel: str = USUAL_TUNNEL) -> str:
    """Return the name of the path that a tenant, or the host's veth, is the end of."""
    kind = kind_of(tenant)
    return next(path.name for path in paths_with(tunnel) if path.kind == kind)


def add_forwarded(endpoints: Endpoints) -> None:
    """Add the ends of the paths by way of a forwarder to those that a node has."""
    for path in LAB_PATHS:
        if path.like in endpoints:
            endpoints[path.name] = endpoints[path.like]


def _is_given(path: LabPath, variables: Variables) -> bool:
    """Return whether the variables of a node give it the tenant that is the end of a path."""
    value = variables.get(f"offload_lab_{path.variable}", path.usual)
    return bool(value) and str(value) != "0"


def paths_on(variables: Variables) -> set[str]:
    """Return the names of the lab's paths that end at a node with these variables.

    If the user lists the tenants in offload_lab_tenants, no others are planned. If the node has
    ends of existing paths, none is planned.
    """
    if variables.get("offload_lab_ends"):
        return {"physical"}
    tunnel = variables.get("offload_lab_tunnel_type") or USUAL_TUNNEL
    return _with_forwarded({"physical"} | _ends_of_tenants(variables, tunnel), variables)


def _ends_of_tenants(variables: Variables, tunnel: str) -> set[str]:
    """Return the paths of the tenants that are listed, or else of those that variables give."""
    tenants: list[TenantOptions] = variables.get("offload_lab_tenants") or []
    if tenants:
        return {path_of(tenant, tunnel) for tenant in tenants if tenant.get("addresses")}
    built = [path for path in paths_with(tunnel) if path.variable]
    return {path.name for path in built if _is_given(path, variables)}


def _with_forwarded(ends: set[str], variables: Variables) -> set[str]:
    """Return the paths of a node, and those by way of a forwarder where there is one; through NAT
    none gets that has a tunnel.
    """
    forwarding = variables.get("offload_lab_forwarding")
    if not forwarding:
        return ends
    with_forwarded = ends | {path.name for path in LAB_PATHS if path.like in ends}
    return with_forwarded & set(WITHOUT_TUNNEL) if forwarding == "nat" else with_forwarded


@dataclass(frozen=True)
class Paths:
    """Paths by name."""

    by_name: Mapping[str, Path]

    def named(self, name: str) -> Path:
        """Return a path; an unknown one, such as an imported log's, is plain."""
        return self.by_name.get(name) or Path(name, (UNDERLAY,))

    def existing(self) -> list[str]:
        """Return the names of the paths that exist without the lab."""
        return [name for name, path in self.by_name.items() if path.nodes]

    def classes(self, names: Iterable[str]) -> list[str]:
        """Return the device classes that the packets of these paths meet, each once."""
        classes: list[str] = []
        for name in names:
            classes += self.named(name).devices
        return list(dict.fromkeys(classes))

    def add_existing(self, node: str, endpoints: Endpoints, devices: Devices) -> None:
        """Add to a node's ends and devices what it has of the paths that exist already."""
        for path in self.by_name.values():
            there = path.nodes.get(node)
            if there is None:
                continue
            endpoints[path.name] = there["end"]
            for name, existing in there["devices"].items():
                of_class = devices.setdefault(name, [])
                of_class += [device for device in existing if device not in of_class]


LAB = Paths({path.name: path for path in LAB_PATHS})


def _encapsulation(path: OwnPath) -> Encapsulation:
    if path["vni"] is None:
        return PLAIN
    return Encapsulation(VXLAN.name, VXLAN.overhead, path["vni"], path["port"])


def as_paths(existing_paths: Mapping[str, OwnPath]) -> tuple[Path, ...]:
    """Return these paths as a source of them."""
    return tuple(
        FixedPath(
            name,
            tuple(path["classes"]),
            _encapsulation(path),
            nodes=path["nodes"],
            own_mtu=path["mtu"],
        )
        for name, path in existing_paths.items()
    )


def with_own(existing: Mapping[str, OwnPath] | None) -> Paths:
    """Return the lab's paths and the paths of an existing network."""
    return Paths({**LAB.by_name, **{path.name: path for path in as_paths(existing or {})}})
