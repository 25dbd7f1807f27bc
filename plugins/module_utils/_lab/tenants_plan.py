# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of tenants: what a host has of them, and the steps to what is wanted.

One ip process makes all namespaces and veths, one the inside of each namespace, and one transaction
the ports. New ports come up last and all together: ovs-vswitchd reads all links and addresses of
the host again when one changes. No device gets an IPv6 link-local address: with one it solicits
routers again and again, and the switch floods that to all ports (docs/scale.md). Neighbours that
are known for good save such questions, too.
"""

from __future__ import annotations

from typing import Iterable, Mapping, Sequence, TypedDict

from .._base.errors import InputError
from .._base.network import ALIAS
from .._base.steps import Step, batch
from .._ovs import ovs_state
from .._ovs import ports as ovs_ports
from .._ovs.tables import Row
from .tenants_check import (
    DEVICE,
    INNER,
    LINUX_BRIDGE,
    OUTER,
    PORT,
    Link,
    Links,
    Parts,
    Tenant,
)

OWNER = "tenants"
NOTHING: Link = {
    "mtu": None,
    "mac": None,
    "up": False,
    "alias": None,
    "global": [],
    "neighbors": {},
}


class TenantsSeen(TypedDict):
    """What a host has; ``inside`` are the links of the namespaces that were read."""

    links: Links  # of the host
    inside: dict[str, Links]
    ids: dict[str, int | None]  # of its namespaces
    ovs: ovs_state.OvsState
    ipv6: bool  # whether the kernel has it


class TenantSummary(TypedDict):
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


def owned_namespaces(host: TenantsSeen) -> set[str]:
    """Return the namespaces that are ours: our veth leads there, or their loopback carries our
    mark.
    """
    return led_to(host["links"], host["ids"]) | {
        name
        for name, links in host["inside"].items()
        if links.get("lo", {}).get("alias") == mark(name)
    }


def own_links(tenant: Tenant) -> list[str]:
    """Return the names of a tenant's links in the namespace of the host."""
    links = [tenant["port"]]
    if tenant["linux_bridge"]:
        links += [tenant["linux_bridge"], tenant["name"] + INNER, tenant["switch_port"]]
    if not tenant["netns"]:
        links.append(tenant["device"])
    return links


def check_free(host: TenantsSeen, tenants: Mapping[str, Tenant]) -> None:
    """Raise InputError when a namespace or device of a wanted tenant exists and is not ours."""
    owned = owned_namespaces(host)
    for tenant in tenants.values():
        alias = mark(tenant["name"])
        if tenant["netns"] in host["ids"] and tenant["netns"] not in owned:
            raise InputError(
                f"the network namespace exists and is not ours (alias of its lo: not {alias})",
                tenant["netns"],
                f"Choose another name, or remove it: ip netns del {tenant['netns']}",
            )
        for name in own_links(tenant):
            if host["links"].get(name, {"alias": alias})["alias"] != alias:
                raise InputError(
                    f"the device exists and is not ours (its alias is not {alias})",
                    name,
                    f"Choose another name, or remove it: ip link del {name}",
                )


def ends(host: TenantsSeen, tenant: Parts) -> tuple[Link, Link] | tuple[None, None]:
    """Return ``(port, device)``, the two links of a tenant's veth; ``(None, None)`` if they are not
    its two ends.
    """
    port = host["links"].get(tenant["port"])
    inside = host["inside"].get(tenant["netns"], {}) if tenant["netns"] else host["links"]
    device = inside.get(tenant["device"])
    if not port or not device:
        return None, None
    if tenant["netns"]:
        joined = (port["peer_index"], device["peer_index"]) == (device["index"], port["index"])
    else:
        joined = (port["peer"], device["peer"]) == (device["name"], port["name"])
    return (port, device) if joined else (None, None)


def summary(host: TenantsSeen, tenant: Parts) -> TenantSummary | None:
    """Return what a user sees of an existing tenant, or None."""
    port, device = ends(host, tenant)
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
        "bridge": host["ovs"]["ports"].get(tenant["switch_port"], {}).get("bridge"),
    }


def predicted(tenant: Tenant, bridge: str, before: TenantSummary | None) -> TenantSummary:
    """Return :func:`summary` as it will be; a MAC address that is not given is left to the kernel."""
    mac = before["mac"] if before else None
    return {
        "netns": tenant["netns"],
        "device": tenant["device"],
        "port": tenant["port"],
        "addresses": tenant["addresses"],
        "mtu": tenant["mtu"],
        "mac": tenant["mac"] or mac,
        "up": True,
        "neighbors": tenant["neighbors"],
        "bridge": bridge,
    }


def present_tenants(host: TenantsSeen, names: Iterable[str]) -> dict[str, Parts]:
    """Return the tenants that are there, by name, as :func:`wanted_tenant` would name their parts."""
    owned = owned_namespaces(host)
    ports = host["ovs"]["ports"]
    return {
        name: {
            "name": name,
            "netns": name if name in host["ids"] and name in owned else None,
            "device": name + DEVICE,
            "port": name + PORT,
            "switch_port": name + (OUTER if name + OUTER in ports else PORT),
        }
        for name in names
    }


def _set_line(name: str, link: Link, mtu: int, settings: str = "") -> list[str]:
    """Return the line, if one is needed, that sets MTU, state and what ``settings`` say of a link."""
    settings += "" if link["mtu"] == mtu else f" mtu {mtu}"
    settings += "" if link["up"] else " up"
    return [f"link set dev {name}{settings}"] if settings else []


def _no_link_local(host: TenantsSeen) -> str:
    return " addrgenmode none" if host["ipv6"] else ""


def bridge_lines(host: TenantsSeen, tenant: Tenant) -> list[str]:
    """Return the lines for the Linux bridge between a tenant and the switch, once the tenant's veth
    is there.
    """
    bridge = tenant["linux_bridge"]
    links = host["links"]
    if bridge is None:
        return _bridge_removal(host, tenant["name"])
    inner = tenant["name"] + INNER
    outer = tenant["switch_port"]
    port = tenant["port"]
    lines, new = _bridge_made(host, tenant, bridge)
    if host["ipv6"]:
        lines += [f"link set dev {link}{_no_link_local(host)}" for link in new]
    now = {link: NOTHING if link in new else links[link] for link in (bridge, inner, outer)}
    # The port is new where the veth was not whole: then it has its alias, and comes up last
    now[port] = ends(host, tenant)[0] or dict(NOTHING, alias=mark(tenant["name"]), up=True)
    for link, have in now.items():
        lines += _bridged_line(tenant, link, have, bridge if link in (inner, port) else None)
    return lines


def _bridge_made(host: TenantsSeen, tenant: Tenant, bridge: str) -> tuple[list[str], list[str]]:
    """Return the lines that make what is missing of a Linux bridge, and the names of these links."""
    links = host["links"]
    mtu = tenant["mtu"]
    inner = tenant["name"] + INNER
    outer = tenant["switch_port"]
    lines = []
    new = []
    if bridge not in links:
        lines.append(f"link add name {bridge} mtu {mtu} type bridge stp_state 0 mcast_snooping 0")
        new.append(bridge)
    if links.get(inner, {}).get("peer") != outer or outer not in links:
        lines += [f"link del dev {end}" for end in (inner, outer) if end in links]
        lines.append(f"link add name {inner} mtu {mtu} type veth peer name {outer} mtu {mtu}")
        new += [inner, outer]
    return lines, new


def _bridge_removal(host: TenantsSeen, name: str) -> list[str]:
    """Return the lines that remove the Linux bridge of a tenant, if it is there."""
    parts = [name + part for part in (LINUX_BRIDGE, INNER)]
    return [
        f"link del dev {part}"
        for part in parts
        if host["links"].get(part, NOTHING)["alias"] == mark(name)
    ]


def _bridged_line(tenant: Tenant, link: str, have: Link, bridge: str | None) -> list[str]:
    """Return the line, if one is needed, that sets a link, and joins it to the ``bridge`` if it has
    one. A new link has its MTU already.
    """
    alias = mark(tenant["name"])
    settings = "" if have["alias"] == alias else f" alias {alias}"
    if bridge and have.get("master") != bridge:
        settings += f" master {bridge}"
    now = dict(have, mtu=have["mtu"] or tenant["mtu"])
    return _set_line(link, now, tenant["mtu"], settings)


def _host_lines(host: TenantsSeen, tenant: Tenant, owned: set[str]) -> list[str]:
    """Return the lines for the host: the namespace, the veth, and the port's settings."""
    port = ends(host, tenant)[0]
    if port is not None:
        return _set_line(tenant["port"], port, tenant["mtu"])
    lines = _leftover_lines(host, tenant)
    if tenant["netns"] and tenant["netns"] not in host["ids"]:
        lines.append(f"netns add {tenant['netns']}")
    if not tenant["netns"] and tenant["name"] in owned:
        lines.append(f"netns del {tenant['name']}")
    return lines + _veth_lines(host, tenant)


def _leftover_lines(host: TenantsSeen, tenant: Tenant) -> list[str]:
    """Return the lines that remove the links of a veth that is not whole."""
    leftovers = [name for name in (tenant["port"], tenant["device"]) if name in host["links"]]
    if len(leftovers) == 2 and host["links"][leftovers[0]]["peer"] == leftovers[1]:
        leftovers = leftovers[:1]  # its removal removes the other end
    return [f"link del dev {name}" for name in leftovers]


def _veth_lines(host: TenantsSeen, tenant: Tenant) -> list[str]:
    """Return the lines that make a tenant's veth.

    The other end is made directly in its namespace: moving it there afterwards costs 16 ms a
    tenant.
    """
    port = tenant["port"]
    mtu = tenant["mtu"]
    mac = f" address {tenant['mac']}" if tenant["mac"] else ""
    netns = f" netns {tenant['netns']}" if tenant["netns"] else ""
    return [
        f"link add name {port} mtu {mtu} type veth peer name {tenant['device']} mtu {mtu}{mac}{netns}",
        f"link set dev {port} alias {mark(tenant['name'])}{_no_link_local(host)}",
    ]


def _loopback_lines(host: TenantsSeen, tenant: Tenant) -> list[str]:
    alias = mark(tenant["name"])
    loopback = host["inside"].get(tenant["netns"] or "", {}).get("lo", NOTHING)
    ready = loopback["alias"] == alias and loopback["up"]
    return [] if ready or not tenant["netns"] else [f"link set dev lo alias {alias} up"]


def _device_lines(host: TenantsSeen, tenant: Tenant, device: Link | None, have: Link) -> list[str]:
    """Return the lines for addresses and settings of the tenant's device, which is ``have``."""
    name = tenant["device"]
    alias = mark(tenant["name"])
    lines = [
        f"address del {text} dev {name}"
        for text in have["global"]
        if text not in tenant["addresses"]
    ]
    # Without nodad IPv6 would look for duplicates first, and the address could not be used for a
    # second.
    lines += [
        f"address add {text} dev {name}{' nodad' if ':' in text else ''}"
        for text in tenant["addresses"]
        if text not in have["global"]
    ]
    settings = _no_link_local(host) if device is None else ""
    settings += "" if have["alias"] == alias else f" alias {alias}"
    settings += "" if tenant["mac"] in (None, have["mac"]) else f" address {tenant['mac']}"
    return lines + _set_line(name, have, tenant["mtu"], settings)


def _inside_lines(host: TenantsSeen, tenant: Tenant, device: Link | None) -> list[str]:
    """Return the lines for the tenant's own namespace; ``device`` is None if it is new.

    The kernel forgets the neighbours of a device that gets another MAC address or loses its last
    IPv4 address. So those that are not wanted go first, and after any change all others are set
    again.
    """
    name = tenant["device"]
    neighbors = tenant["neighbors"]
    have = device or dict(NOTHING, mtu=tenant["mtu"], mac=tenant["mac"])
    changes = _device_lines(host, tenant, device, have)
    present = {} if changes else have["neighbors"]
    gone = [
        f"neigh del {address} dev {name}"
        for address in sorted(have["neighbors"])
        if address not in neighbors
    ]
    new = [
        f"neigh replace {address} lladdr {mac} dev {name} nud permanent"
        for address, mac in neighbors.items()
        if present.get(address) != mac
    ]
    return gone + _loopback_lines(host, tenant) + changes + new


def veth_steps(host: TenantsSeen, tenants: Mapping[str, Tenant], gone: Iterable[str]) -> list[Step]:
    """Return the steps for namespaces and veths; ``gone`` are the lines that remove what is no
    longer wanted.
    """
    cuts: list[Step] = []
    lines = list(gone)
    inside = []
    up = []
    owned = owned_namespaces(host)
    for tenant in tenants.values():
        device = ends(host, tenant)[1]
        if device is None:
            if tenant["device"] in host["inside"].get(tenant["netns"] or "", {}):
                cuts += batch([f"link del dev {tenant['device']}"], tenant["netns"])
            up.append(f"link set dev {tenant['port']} up")
        lines += _host_lines(host, tenant, owned) + bridge_lines(host, tenant)
        inside += batch(_inside_lines(host, tenant, device), tenant["netns"])
    return cuts + batch(lines) + inside + batch(up)


def removal_lines(host: TenantsSeen, names: Sequence[str]) -> list[str]:
    """Return the lines that remove tenants.

    The kernel removes a veth with its namespace in no time; one by one they take 20 ms each.
    """
    owned = owned_namespaces(host)
    ours = marked(host["links"])
    going = led_to(host["links"], host["ids"])
    lines = [f"netns del {name}" for name in names if name in owned and name in host["ids"]]
    lines += [f"link del dev {name + PORT}" for name in names if name in ours and name not in going]
    for name in names:
        lines += _bridge_removal(host, name)
    return lines


def _settled(root: Row) -> list[ovs_state.Command]:
    """Return the command that waits for ovs-vswitchd where it still works on a change that nobody
    waited for.
    """
    behind = root.get("next_cfg", 0) != root.get("cur_cfg", 0)
    return [["wait-until", "Open_vSwitch", ".", f"cur_cfg>={root['next_cfg']}"]] if behind else []


def _release(
    ovs: ovs_state.OvsState, bridge: str, ports: Sequence[str]
) -> tuple[list[Step], ovs_state.OvsState]:
    """Return ``(step, state after it)``: Open vSwitch holds on to a device that is gone, so its
    port must go first.
    """
    stale = sorted(port for port in ports if port in ovs["ports"])
    commands = [["del-port", bridge, port] for port in stale]
    if ports and not commands:
        commands = _settled(ovs["root"])
    remaining = {name: port for name, port in ovs["ports"].items() if name not in stale}
    return ([ovs_state.transaction(commands)] if commands else []), {**ovs, "ports": remaining}


def _removal(root: Row, commands: list[ovs_state.Command]) -> list[Step]:
    """Return the step that removes ports without waiting for the userspace datapath, which takes 18
    ms for each.

    The counter shows whoever needs to know that ovs-vswitchd is still at work.
    """
    if not commands:
        return []
    counter = ["set", "Open_vSwitch", ".", f"next_cfg={root.get('next_cfg', 0) + 1}"]
    return [ovs_state.transaction(commands + [counter], wait=False)]


def plan_present(
    host: TenantsSeen, bridge: str, tenants: Mapping[str, Tenant], gone: Sequence[str] = ()
) -> list[Step]:
    """Return the steps to the wanted tenants, and away from those whose names are ``gone``."""
    check_free(host, tenants)
    ports = ovs_ports.wanted_ports(
        [{"name": tenant["switch_port"], "tag": tenant["tag"]} for tenant in tenants.values()],
        OWNER,
    )
    ovs_state.check_ports(host["ovs"], bridge, ports, OWNER)
    release, ovs = _release(host["ovs"], bridge, _remade_ports(host, tenants))
    _before, _after, commands = ovs_ports.changes(ovs, bridge, ports, OWNER)
    removals = port_removals(ovs, bridge, gone)
    # A tenant that gets a Linux bridge, or loses its own, has another port on the switch
    others = [port for port in _ports_of(tenants) if port not in ports]
    ours = ovs_ports.ours(ovs, bridge, OWNER)
    removals += [["del-port", bridge, port] for port in sorted(others) if port in ours]
    veths = veth_steps(host, tenants, removal_lines(host, gone))
    if commands:
        return release + veths + [ovs_state.transaction(removals + commands)]
    return release + veths + _removal(ovs["root"], removals)


def _remade_ports(host: TenantsSeen, tenants: Mapping[str, Tenant]) -> list[str]:
    """Return the ports of the wanted tenants whose devices are made, perhaps again."""
    remade = [tenant["port"] for tenant in tenants.values() if ends(host, tenant)[0] is None]
    switch_ports = [tenant["switch_port"] for tenant in tenants.values()]
    return remade + [
        port for port in switch_ports if port not in host["links"] and port not in remade
    ]


def _ports_of(names: Iterable[str]) -> list[str]:
    """Return the ports that tenants may have on the switch, with a Linux bridge or without."""
    ports: list[str] = []
    for name in names:
        ports += [name + PORT, name + OUTER]
    return ports


def port_removals(
    ovs: ovs_state.OvsState, bridge: str, names: Iterable[str]
) -> list[ovs_state.Command]:
    """Return the commands that remove the tenants' ports from the bridge."""
    ours = ovs_ports.ours(ovs, bridge, OWNER)
    return [["del-port", bridge, port] for port in _ports_of(sorted(names)) if port in ours]


def plan_absent(host: TenantsSeen, bridge: str, names: Sequence[str]) -> list[Step]:
    """Return the steps that remove tenants, by name."""
    return batch(removal_lines(host, names)) + _removal(
        host["ovs"]["root"], port_removals(host["ovs"], bridge, names)
    )


def present_names(host: TenantsSeen, bridge: str) -> list[str]:
    """Return the names of all tenants that are ours, whole or in part."""
    names = {*marked(host["links"]), *owned_namespaces(host)}
    names.update(port[: -len(PORT)] for port in ovs_ports.ours(host["ovs"], bridge, OWNER))
    for link in host["links"].values():
        name = link["name"][: -len(LINUX_BRIDGE)]
        if link["name"] == name + LINUX_BRIDGE and link["alias"] == mark(name):
            names.add(name)
    return sorted(names)
