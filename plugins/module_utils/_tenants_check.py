# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure checks of the tenants that a user wants: names, addresses, MTUs."""
from __future__ import annotations

import re

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._names import (
    MAX_DEVICE,
    MIN_MTU,
    check_address,
    check_interface,
    check_name,
    check_unique,
)

DEVICE, PORT = "-veth0", "-veth1"  # the tenant's end of its veth, and the switch's
# A Linux bridge between tenant and switch, and the veth that joins the two: the bridge's end, and the switch's.
LINUX_BRIDGE, INNER, OUTER = "-br", "-veth2", "-veth3"
MIN_MTU_IPV6 = 1280  # RFC 8200, section 5; the kernel ends IPv6 on a device below
MAC = re.compile(r"[0-9a-f][02468ace](:[0-9a-f]{2}){5}\Z")  # the lowest bit of the first byte means multicast


def longest_name():
    """Return the number of characters that a tenant's name may have."""
    return MAX_DEVICE - len(DEVICE)


def _checked_mac(mac, name):
    """Return a MAC address in small letters."""
    if not MAC.match(mac.lower()):
        raise InputError("not a unicast MAC address: {0!r}".format(mac), name, "Write it as 02:00:c0:a8:0a:01.")
    return mac.lower()


def _reserved(network):
    """Return the addresses of a network that are not those of a host."""
    ends = (network.network_address, network.broadcast_address)[:2 if network.version == 4 else 1]
    return ends if network.num_addresses > 2 else ()


def _neighbor(text, name, interfaces):
    """Return the checked address of a neighbour: one of a host, in a network of the tenant's own addresses."""
    address = check_address(text, "neighbor of {0}".format(name))
    if address in [interface.ip for interface in interfaces]:
        raise InputError("its neighbor {0} is itself".format(address), name, "Leave it out of the neighbors.")
    networks = [interface.network for interface in interfaces if address in interface.network]
    if not networks:
        raise InputError("its neighbor {0} is in no network of its own addresses".format(address), name,
                         "Give the tenant an address of the neighbor's network, or leave the neighbor out.")
    if address.is_multicast or any(address in _reserved(network) for network in networks):
        raise InputError("its neighbor {0} is not an address of a host".format(address), name,
                         "Use another address of {0}.".format(networks[0]))
    return str(address)


def _neighbors(neighbors, name, interfaces):
    """Return ``{address: MAC address}`` of a tenant's neighbours, which are kept for good."""
    addresses = [_neighbor(neighbor["address"], name, interfaces) for neighbor in neighbors]
    check_unique(addresses, "neighbor of {0}".format(name))
    return dict(zip(addresses, [_checked_mac(neighbor["mac"], name) for neighbor in neighbors]))


def wanted_tenant(tenant, mtu):
    """Return a checked tenant of the user, with what is derived from its name; ``mtu`` is for one that gives none."""
    name = check_name(tenant["name"], "tenant", longest_name())
    interfaces = [check_interface(text, "address of {0}".format(name)) for text in tenant.get("addresses") or []]
    return {
        "name": name,
        "netns": name if tenant.get("namespace", True) else None,
        "device": name + DEVICE,
        "port": name + PORT,
        "addresses": [str(interface) for interface in interfaces],
        "mtu": mtu if tenant.get("mtu") is None else tenant["mtu"],
        "mac": None if tenant.get("mac") is None else _checked_mac(tenant["mac"], name),
        "neighbors": _neighbors(tenant.get("neighbors") or [], name, interfaces),
        "linux_bridge": name + LINUX_BRIDGE if tenant.get("linux_bridge") else None,
        "switch_port": name + (OUTER if tenant.get("linux_bridge") else PORT),
        "tag": tenant.get("tag"),
        "flat": bool(tenant.get("flat")),
    }


def wanted_tenants(tenants, mtu, limit=None):
    """Return ``{name: tenant}``, all checked.

    ``mtu`` in bytes is for tenants that give none; ``limit`` is ``(bytes, why)``, what the underlay leaves for them.
    """
    check_unique([tenant["name"] for tenant in tenants], "tenant")
    wanted = [wanted_tenant(tenant, mtu) for tenant in tenants]
    _check_addresses(wanted)
    check_unique([tenant["mac"] for tenant in wanted if tenant["mac"]], "MAC address")
    for tenant in wanted:
        _check_mtu(tenant, None if tenant["flat"] else limit)
    return dict((tenant["name"], tenant) for tenant in wanted)


def _check_mtu(tenant, limit):
    lowest = MIN_MTU_IPV6 if any(":" in address for address in tenant["addresses"]) else MIN_MTU
    highest, why = limit or (65535, "A veth has no more.")
    if not lowest <= tenant["mtu"] <= highest:
        raise InputError("an MTU of {0} does not fit".format(tenant["mtu"]), tenant["name"],
                         "Use {0} to {1} bytes. {2}".format(lowest, highest, why))


def _interfaces(tenants):
    """Return ``[(tenant's name, interface)]`` of all addresses."""
    return [(tenant["name"], check_interface(text, tenant["name"]))
            for tenant in tenants for text in tenant["addresses"]]


def _check_addresses(tenants):
    """Raise InputError when an address is not one of a host, is given twice, or when two networks overlap."""
    networks, owners = {}, {}
    for name, interface in _interfaces(tenants):
        network = interface.network
        if interface.ip in _reserved(network):
            raise InputError("not an address of a host: {0}".format(interface), name,
                             "Use another address of {0}.".format(network))
        if interface.ip in owners:
            raise InputError("its address {0} is also that of {1}".format(interface.ip, owners[interface.ip]), name,
                             "Give every tenant an address of its own.")
        owners[interface.ip] = name
        networks.setdefault(network, name)
    check_disjoint(networks)


def check_disjoint(networks):
    """Raise InputError when two of ``{network: name}`` overlap; all of them share one VNI, so they must not."""
    ordered = sorted(networks, key=lambda network: (network.version, network.network_address, network.prefixlen))
    for one, other in zip(ordered, ordered[1:]):
        if one.version == other.version and one.overlaps(other):
            raise InputError("its network {0} overlaps {1} of {2}".format(other, one, networks[one]), networks[other],
                             "Use the same network, or networks apart from each other.")


def check_host(tenants, links):
    """Raise InputError when a tenant that is in the host's own namespace would take another device's network away."""
    ours = set(tenant["device"] for tenant in tenants.values())
    here = [(link["name"], check_interface(text, link["name"])) for link in links.values() if link["name"] not in ours
            for text in link["global"]]
    for name, interface in _interfaces([tenant for tenant in tenants.values() if tenant["netns"] is None]):
        for device, other in here:
            if interface.version == other.version and interface.network.overlaps(other.network):
                raise InputError("its address {0} overlaps {1} of the device {2}".format(interface, other, device),
                                 name, "Choose another network: offload_lab_host_network.")
