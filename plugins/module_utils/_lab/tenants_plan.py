# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of tenants: one ip process for all namespaces and veths, one for the inside of
each, one transaction.

New ports come up last and all together: ovs-vswitchd reads all links and addresses of the host
again when one changes. No device gets an IPv6 link-local address: with one it solicits routers
again and again, and the switch floods that to all ports (docs/scale.md). Neighbours that are known
for good save such questions, too.

``seen`` and ``wanted`` are those of :mod:`_tenants_view` and :mod:`_tenants_check`.
"""

from __future__ import annotations

from typing import Iterable, Mapping, Sequence

from .._base.steps import Step, batch
from .._ovs import ports as ovs_ports
from .._ovs import state
from .._ovs.tables import Row
from .tenants_check import (
    INNER,
    LINUX_BRIDGE,
    OUTER,
    PORT,
    Tenant,
)
from .tenants_view import (
    NOTHING,
    Link,
    Seen,
    check_free,
    ends,
    led_to,
    mark,
    marked,
    owned_namespaces,
)

OWNER = "tenants"


def _set_line(name: str, link: Link, mtu: int, words: str = "") -> list[str]:
    """Return the line, if one is needed, that sets MTU, state and what ``words`` say of a link."""
    words += "" if link["mtu"] == mtu else f" mtu {mtu}"
    words += "" if link["up"] else " up"
    return [f"link set dev {name}{words}"] if words else []


def _no_link_local(seen: Seen) -> str:
    return " addrgenmode none" if seen["ipv6"] else ""


def bridge_lines(seen: Seen, tenant: Tenant) -> list[str]:
    """Return the lines for the Linux bridge between a tenant and the switch, once the tenant's veth
    is there.
    """
    links, name, alias = seen["links"], tenant["linux_bridge"], mark(tenant["name"])
    if name is None:
        return [
            f"link del dev {tenant['name'] + part}"
            for part in (LINUX_BRIDGE, INNER)
            if links.get(tenant["name"] + part, NOTHING)["alias"] == alias
        ]
    inner, outer = tenant["name"] + INNER, tenant["switch_port"]
    lines, made = [], []
    if name not in links:
        lines.append(
            f"link add name {name} mtu {tenant['mtu']} type bridge stp_state 0 mcast_snooping 0"
        )
        made.append(name)
    if links.get(inner, {}).get("peer") != outer or outer not in links:
        lines += [f"link del dev {left}" for left in (inner, outer) if left in links]
        lines += [
            f"link add name {inner} mtu {tenant['mtu']} type veth peer name {outer} mtu {tenant['mtu']}"
        ]
        made += [inner, outer]
        links = {known: link for known, link in links.items() if known not in (inner, outer)}
    lines += [f"link set dev {link}{_no_link_local(seen)}" for link in made if seen["ipv6"]]
    if ends(seen, tenant)[0] is None:
        links = {known: link for known, link in links.items() if known != tenant["port"]}
    for link in (name, inner, outer, tenant["port"]):
        have = links.get(
            link, NOTHING if link != tenant["port"] else dict(NOTHING, alias=alias, up=True)
        )
        words = "" if have["alias"] == alias else f" alias {alias}"
        words += (
            f" master {name}"
            if link in (inner, tenant["port"]) and have.get("master") != name
            else ""
        )
        lines += _set_line(link, dict(have, mtu=have["mtu"] or tenant["mtu"]), tenant["mtu"], words)
    return lines


def _host_lines(seen: Seen, tenant: Tenant, owned: set[str]) -> list[str]:
    """Return the lines for the host: the namespace, the veth, and the port's settings."""
    port, lines = ends(seen, tenant)[0], []
    if port is not None:
        return _set_line(tenant["port"], port, tenant["mtu"])
    left = [name for name in (tenant["port"], tenant["device"]) if name in seen["links"]]
    if len(left) == 2 and seen["links"][left[0]]["peer"] == left[1]:
        left = left[:1]  # the other end goes with it
    lines += [f"link del dev {name}" for name in left]
    if tenant["netns"] and tenant["netns"] not in seen["ids"]:
        lines.append(f"netns add {tenant['netns']}")
    if not tenant["netns"] and tenant["name"] in owned:
        lines.append(f"netns del {tenant['name']}")
    mac = f" address {tenant['mac']}" if tenant["mac"] else ""
    netns = f" netns {tenant['netns']}" if tenant["netns"] else ""
    # The other end is made directly in its namespace: moving it there afterwards costs 16 ms a
    # tenant.
    return lines + [
        f"link add name {tenant['port']} mtu {tenant['mtu']} type veth peer name {tenant['device']} mtu "
        f"{tenant['mtu']}{mac}{netns}",
        f"link set dev {tenant['port']} alias {mark(tenant['name'])}{_no_link_local(seen)}",
    ]


def _loopback_lines(seen: Seen, tenant: Tenant) -> list[str]:
    alias = mark(tenant["name"])
    loopback = seen["inside"].get(tenant["netns"] or "", {}).get("lo", NOTHING)
    whole = loopback["alias"] == alias and loopback["up"]
    return [] if whole or not tenant["netns"] else [f"link set dev lo alias {alias} up"]


def _device_lines(seen: Seen, tenant: Tenant, device: Link | None, have: Link) -> list[str]:
    """Return the lines for addresses and settings of the tenant's device, which is ``have``."""
    name, alias = tenant["device"], mark(tenant["name"])
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
    words = _no_link_local(seen) if device is None else ""
    words += "" if have["alias"] == alias else f" alias {alias}"
    words += "" if tenant["mac"] in (None, have["mac"]) else f" address {tenant['mac']}"
    return lines + _set_line(name, have, tenant["mtu"], words)


def _inside_lines(seen: Seen, tenant: Tenant, device: Link | None) -> list[str]:
    """Return the lines for the tenant's own namespace; ``device`` is None if it is new.

    The kernel forgets the neighbours of a device that gets another MAC address or loses its last
    IPv4 address. So those that are not wanted go first, and after any change all others are set
    again.
    """
    name, wanted = tenant["device"], tenant["neighbors"]
    have = device or dict(NOTHING, mtu=tenant["mtu"], mac=tenant["mac"])
    changes = _device_lines(seen, tenant, device, have)
    known = {} if changes else have["neighbors"]
    gone = [
        f"neigh del {address} dev {name}"
        for address in sorted(have["neighbors"])
        if address not in wanted
    ]
    new = [
        f"neigh replace {address} lladdr {mac} dev {name} nud permanent"
        for address, mac in wanted.items()
        if known.get(address) != mac
    ]
    return gone + _loopback_lines(seen, tenant) + changes + new


def veth_steps(seen: Seen, wanted: Mapping[str, Tenant], gone: Iterable[str]) -> list[Step]:
    """Return the steps for namespaces and veths; ``gone`` are the lines that remove what is no
    longer wanted.
    """
    cuts, host, inside, up, owned = [], list(gone), [], [], owned_namespaces(seen)
    for tenant in wanted.values():
        device = ends(seen, tenant)[1]
        if (
            device is None
            and tenant["netns"]
            and tenant["device"] in seen["inside"].get(tenant["netns"], {})
        ):
            cuts += batch([f"link del dev {tenant['device']}"], tenant["netns"])
        host += _host_lines(seen, tenant, owned) + bridge_lines(seen, tenant)
        inside += batch(_inside_lines(seen, tenant, device), tenant["netns"])
        up += [f"link set dev {tenant['port']} up"] if device is None else []
    return cuts + batch(host) + inside + batch(up)


def removal_lines(seen: Seen, names: Sequence[str]) -> list[str]:
    """Return the lines that remove tenants: a veth goes with its namespace, which takes no time (20
    ms one by one).
    """
    owned, ours, going = (
        owned_namespaces(seen),
        marked(seen["links"]),
        led_to(seen["links"], seen["ids"]),
    )
    lines = [f"netns del {name}" for name in names if name in owned and name in seen["ids"]]
    lines += [f"link del dev {name + PORT}" for name in names if name in ours and name not in going]
    return lines + [
        f"link del dev {name + part}"
        for name in names
        for part in (LINUX_BRIDGE, INNER)
        if seen["links"].get(name + part, NOTHING)["alias"] == mark(name)
    ]


def _settled(root: Row) -> list[state.Command]:
    """Return the command that waits for ovs-vswitchd if it still works on what somebody else did
    not wait for.
    """
    behind = root.get("next_cfg", 0) != root.get("cur_cfg", 0)
    return [["wait-until", "Open_vSwitch", ".", f"cur_cfg>={root['next_cfg']}"]] if behind else []


def _release(ovs: state.State, bridge: str, ports: Sequence[str]) -> tuple[list[Step], state.State]:
    """Return ``(step, state after it)``: Open vSwitch holds on to a device that is gone, so its
    port must go first.
    """
    stale = sorted(port for port in ports if port in ovs["ports"])
    commands = [["del-port", bridge, port] for port in stale] or (
        _settled(ovs["root"]) if ports else []
    )
    left = {name: port for name, port in ovs["ports"].items() if name not in stale}
    return ([state.transaction(commands)] if commands else []), {**ovs, "ports": left}


def _removal(root: Row, commands: list[state.Command]) -> list[Step]:
    """Return the step that removes ports without waiting for the userspace datapath, which takes 18
    ms for each.

    The counter tells whoever needs to know that ovs-vswitchd is not done yet.
    """
    if not commands:
        return []
    counter = ["set", "Open_vSwitch", ".", f"next_cfg={root.get('next_cfg', 0) + 1}"]
    return [state.transaction(commands + [counter], wait=False)]


def plan_present(
    seen: Seen, bridge: str, wanted: Mapping[str, Tenant], gone: Sequence[str] = ()
) -> list[Step]:
    """Return the steps to the wanted tenants, and away from those whose names are ``gone``."""
    check_free(seen, wanted)
    ports = ovs_ports.wanted_ports(
        [{"name": tenant["switch_port"], "tag": tenant["tag"]} for tenant in wanted.values()], OWNER
    )
    state.check_ports(seen["ovs"], bridge, ports, OWNER)
    remade = [tenant["port"] for tenant in wanted.values() if ends(seen, tenant)[0] is None]
    remade += [
        tenant["switch_port"]
        for tenant in wanted.values()
        if tenant["switch_port"] not in seen["links"] and tenant["switch_port"] not in remade
    ]
    release, ovs = _release(seen["ovs"], bridge, remade)
    _before, _after, commands = ovs_ports.changes(ovs, bridge, ports, OWNER)
    removals = port_removals(ovs, bridge, gone)
    others = {name + part for name in wanted for part in (PORT, OUTER)} - set(ports)
    removals += [
        ["del-port", bridge, other]
        for other in sorted(others & set(ovs_ports.ours(ovs, bridge, OWNER)))
    ]
    veths = veth_steps(seen, wanted, removal_lines(seen, gone))
    transaction = (
        [state.transaction(removals + commands)] if commands else _removal(ovs["root"], removals)
    )
    return release + veths + transaction


def port_removals(ovs: state.State, bridge: str, names: Iterable[str]) -> list[state.Command]:
    """Return the commands that remove the tenants' ports from the bridge."""
    ours = ovs_ports.ours(ovs, bridge, OWNER)
    return [
        ["del-port", bridge, name + part]
        for name in sorted(names)
        for part in (PORT, OUTER)
        if name + part in ours
    ]


def plan_absent(seen: Seen, bridge: str, names: Sequence[str]) -> list[Step]:
    """Return the steps that remove tenants, by name."""
    return batch(removal_lines(seen, names)) + _removal(
        seen["ovs"]["root"], port_removals(seen["ovs"], bridge, names)
    )


def present_names(seen: Seen, bridge: str) -> list[str]:
    """Return the names of all tenants that are ours, whole or in part."""
    ports = ovs_ports.ours(seen["ovs"], bridge, OWNER)
    return sorted(
        set(marked(seen["links"]))
        | owned_namespaces(seen)
        | {name[: -len(PORT)] for name in ports}
        | {
            name[: -len(LINUX_BRIDGE)]
            for name, link in seen["links"].items()
            if name.endswith(LINUX_BRIDGE) and link["alias"] == mark(name[: -len(LINUX_BRIDGE)])
        }
    )
