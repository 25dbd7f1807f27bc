# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node of a single-host lab is: its names, its places on the machine, its addresses, its variables."""
from __future__ import annotations

import hashlib
import ipaddress
import re

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError

ROOT = "/run/offload-lab"
NETNS = "/run/netns"
DEVICE = "underlay0"
UPLINK = "uplink0"
MORE = re.compile(r"underlay[1-9]|uplink0")  # devices beside the first
BRIDGE = "br0"
RESERVED = ("fabric", "lo", BRIDGE)  # what is beside the nodes' namespaces, and beside their ports in the fabric
# All of /run is private (OVS sockets, tenants' namespaces, pid files, no systemd of the machine), and these too.
PRIVATE = ("/etc/openvswitch", "/var/lib/openvswitch", "/var/log/openvswitch", "/var/lib/offload-lab")
LAB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
NODE_SUFFIX = re.compile(r"[A-Za-z0-9_]{1,15}")
MTU_RANGE = (68, 65535)


def home(node):
    """Return the directory of a node's files on the machine."""
    return "{0}/{1}".format(ROOT, node)


def fabric(lab):
    """Return the name of the namespace whose bridge joins the underlays of a lab."""
    return lab + "-fabric"


def lab_of(node):
    """Return the lab that a node's name belongs to: all before the last hyphen, so that ``a`` never matches ``a-b``."""
    return node.rpartition("-")[0]


def port_of(node):
    """Return the name of a node's port on the bridge of the fabric."""
    return node.rpartition("-")[2]


def mac_of(node):
    """Return the MAC address of a node's underlay device, locally administered.

    It comes from the name, so that a node that is made anew is not unknown to its neighbours' ARP caches.
    """
    return ":".join(["02"] + ["{0:02x}".format(byte) for byte in hashlib.sha256(node.encode()).digest()[:5]])


def natural(name):
    """Sort ``node2`` before ``node10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]


def enter(node, argv):
    """Return ``argv`` as it runs inside the namespaces of a node."""
    return ["nsenter", "--net={0}/{1}".format(NETNS, node), "--mount={0}/mnt".format(home(node)),
            "--uts={0}/uts".format(home(node)), "--"] + argv


def validate(lab, nodes):
    """Return the wanted nodes with normalised addresses; raise :class:`InputError` for what cannot be."""
    if not LAB_NAME.fullmatch(lab):
        raise InputError("{0!r} is not a name for a lab".format(lab), "name",
                         "Use 1 to 40 letters, digits, hyphens and underscores, a letter or digit first.")
    names, owners, wanted = set(), {}, []
    for node in nodes:
        name, mtu = node["name"], node["mtu"]
        check_name(lab, name)
        if name in names:
            raise InputError("the node {0!r} is listed twice".format(name), "nodes", "Give every node its own name.")
        names.add(name)
        addresses = [address_of(text, name) for text in node["addresses"]]
        check_mtu(name, mtu, addresses)
        for address in addresses:
            if address.ip in owners:
                raise InputError("the address {0} is already given to {1}".format(address.ip, owners[address.ip]), name,
                                 "Give every node its own addresses.")
            owners[address.ip] = name
        wanted.append({"name": name, "addresses": [str(address) for address in addresses], "mtu": mtu,
                       "more": more_devices(name, node.get("more") or [], owners)})
    return wanted


def more_devices(node, devices, owners):
    """Return the checked devices of a node beside its first; ``owners`` has the nodes of the addresses so far."""
    found = {}
    for device in devices:
        name = device["name"]
        if not MORE.fullmatch(name) or name in found:
            raise InputError("{0!r} is not a name for one more device, or is listed twice".format(name), node,
                             "Use underlay1 to underlay9, or {0}.".format(UPLINK))
        addresses = [address_of(text, node) for text in device.get("addresses") or []]
        for address in addresses:
            if address.ip in owners:
                raise InputError("the address {0} is already given to {1}".format(address.ip, owners[address.ip]), node,
                                 "Give every device its own addresses.")
            owners[address.ip] = node
        found[name] = {"name": name, "addresses": [str(address) for address in addresses]}
    if found and len(port_of(node)) > 13:
        raise InputError("the name is too long for a node with several devices", node, "Use at most 13 characters.")
    return [found[name] for name in sorted(found)]


def check_name(lab, name):
    """Raise :class:`InputError` if a node of the lab cannot have this name."""
    if lab_of(name) != lab or not NODE_SUFFIX.fullmatch(port_of(name)) or port_of(name) in RESERVED:
        raise InputError("{0!r} is not a name for a node of the lab {1!r}".format(name, lab), "nodes",
                         "Use {0}-NODE, NODE being 1 to 15 letters, digits or underscores, but none of {1}.".format(
                             lab, ", ".join(RESERVED)))


def check_mtu(name, mtu, addresses):
    """Raise :class:`InputError` if the underlay device cannot have this MTU with these addresses."""
    if not MTU_RANGE[0] <= mtu <= MTU_RANGE[1]:
        raise InputError("the MTU {0} is not in the range {1} to {2}".format(mtu, *MTU_RANGE), name,
                         "Use one that is, such as 9000 or 1500.")
    if mtu < 1280 and any(address.version == 6 for address in addresses):
        raise InputError("the MTU {0} is too small for IPv6".format(mtu), name, "IPv6 needs 1280 or more.")


def address_of(text, node):
    """Return the interface address written as ``ADDRESS/PREFIX``."""
    try:
        if "/" not in text or "%" in text:  # an IPv6 zone may be any text
            raise ValueError(text)
        return ipaddress.ip_interface(text)
    except ValueError:
        raise InputError("{0!r} is not an address with a prefix length".format(text), node,
                         "Write it like 198.18.0.1/24 or 2001:db8::1/64.")


def lab_hosts(name, nodes, mtu, underlay, *, ports=1, uplink=False):
    """Return the hosts of a lab with their variables, by inventory name; raise :class:`InputError`.

    Each of the ``ports`` is a device with a network of its own: ``underlay`` and those that follow it.
    """
    try:
        network = ipaddress.ip_network(underlay)
    except ValueError as error:
        raise InputError("{0!r} is not a network ({1})".format(underlay, error), "underlay",
                         "Write it like 198.18.0.0/24.")
    most = min(254, network.num_addresses - 2)
    if not 1 <= nodes <= most:
        raise InputError("{0} nodes are not in the range 1 to {1}, the addresses of {2}".format(nodes, most, network),
                         "nodes", "A larger network has room for more, up to 254.")
    if not 1 <= ports <= 9:
        raise InputError("{0} ports are not in the range 1 to 9".format(ports), "ports", "Give a number of devices.")
    hosts = {}
    for index in range(1, nodes + 1):
        address = str(network[index])
        more = [str(network[0] + number * network.num_addresses + index) for number in range(1, ports)]
        node = {"name": "{0}-node{1}".format(name, index), "mtu": mtu,
                "addresses": ["{0}/{1}".format(address, network.prefixlen)],
                "more": [{"name": "underlay{0}".format(number),
                          "addresses": ["{0}/{1}".format(text, network.prefixlen)]}
                         for number, text in enumerate(more, 1)]
                + ([{"name": UPLINK, "addresses": []}] if uplink else [])}
        validate(name, [node])
        hosts["node{0}".format(index)] = {
            "ansible_connection": "offload.lab.namespace",
            "ansible_host": node["name"],
            "ansible_python_interpreter": "/usr/bin/python3",
            "offload_lab_index": index,
            "offload_lab_underlay_device": DEVICE,
            "offload_lab_underlay_address": address,
            "offload_lab_underlay_prefix": network.prefixlen,
            "offload_lab_underlay_mtu": mtu,
        }
        if node["more"]:
            hosts["node{0}".format(index)].update({
                "offload_lab_more_ports": [{"device": "underlay{0}".format(number), "address": text}
                                           for number, text in enumerate(more, 1)],
                "offload_lab_uplink_device": UPLINK if uplink else "",
                "offload_lab_more_devices": node["more"],
            })
    return hosts
