# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the nodes of a single-host lab: from what is there and what is wanted to the commands between them.

A node is three persistent namespaces (net, mount, uts). Its files are in ``/run/offload-lab/NODE``, a tmpfs of
its own; a directory of that name is also the mark of ownership: it is made first and removed last. ``ready`` in
it is written when the namespaces are complete, so that a node that a crash left half-made is known and rebuilt.
"""
from __future__ import annotations

import ipaddress
import re

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._nodes_links import DEVICE, underlay_lines

ROOT = "/run/offload-lab"
NETNS = "/run/netns"
# All of /run is private (OVS sockets, tenants' namespaces, pid files, no systemd of the machine), and these too.
PRIVATE = ("/etc/openvswitch", "/var/lib/openvswitch", "/var/log/openvswitch", "/var/lib/offload-lab")
RUN_DIRECTORIES = ("lock", "netns", "openvswitch", "offload-lab")
# Where the machine lacks a directory to mount on, we make it and leave this file in it: only then is it removed.
MARKER = ".offload-lab-mountpoint"
LAB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
NODE_SUFFIX = re.compile(r"[A-Za-z0-9_]{1,15}")
MTU_RANGE = (68, 65535)


def step(argv, stdin=None):
    """Return one command of a plan: its argument list, and the text for its standard input or None."""
    return {"argv": argv, "stdin": stdin}


def ip_batch(lines, netns=None):
    """Return the steps (none or one) that give ``lines`` to ``ip -batch``."""
    where = ["-netns", netns] if netns else []
    return [step(["ip"] + where + ["-batch", "-"], "\n".join(lines) + "\n")] if lines else []


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


def enter(node, argv):
    """Return ``argv`` as it runs inside the namespaces of a node."""
    return ["nsenter", "--net={0}/{1}".format(NETNS, node), "--mount={0}/mnt".format(home(node)),
            "--uts={0}/uts".format(home(node)), "--"] + argv


def validate(lab, nodes):
    """Return the wanted nodes with normalised addresses; raise :class:`InputError` for what cannot be."""
    if not LAB_NAME.fullmatch(lab):
        raise InputError("{0!r} is not a name for a lab".format(lab), "name",
                         "Use 1 to 40 letters, digits, hyphens and underscores, a letter or digit first.")
    seen_names, seen_addresses, wanted = set(), {}, []
    for node in nodes:
        name, mtu = node["name"], node["mtu"]
        if lab_of(name) != lab or not NODE_SUFFIX.fullmatch(port_of(name)) or name == fabric(lab):
            raise InputError("{0!r} is not a name for a node of the lab {1!r}".format(name, lab), "nodes",
                             "Use {0}-NODE, NODE being 1 to 15 letters, digits or underscores, "
                             "but not 'fabric'.".format(lab))
        if name in seen_names:
            raise InputError("the node {0!r} is listed twice".format(name), "nodes", "Give every node its own name.")
        if not MTU_RANGE[0] <= mtu <= MTU_RANGE[1]:
            raise InputError("the MTU {0} is not in the range {1} to {2}".format(mtu, *MTU_RANGE), name)
        seen_names.add(name)
        addresses = [address_of(text, name) for text in node["addresses"]]
        for address in addresses:
            owner = seen_addresses.setdefault(address.ip, name)
            if owner != name or addresses.count(address) > 1:
                raise InputError("the address {0} is already given to {1}".format(address.ip, owner), name,
                                 "Give every node its own addresses.")
        wanted.append({"name": name, "addresses": [str(address) for address in addresses], "mtu": mtu})
    return wanted


def address_of(text, node):
    """Return the interface address written as ``ADDRESS/PREFIX``."""
    try:
        if "/" not in text:
            raise ValueError("no prefix length")
        return ipaddress.ip_interface(text)
    except ValueError:
        raise InputError("{0!r} is not an address with a prefix length".format(text), node,
                         "Write it like 198.18.0.1/24 or 2001:db8::1/64.")


def lab_hosts(name, nodes, mtu, underlay):
    """Return the hosts of a lab with their variables, by inventory name; raise :class:`InputError`."""
    try:
        network = ipaddress.ip_network(underlay)
    except ValueError as error:
        raise InputError("{0!r} is not a network ({1})".format(underlay, error), "underlay",
                         "Write it like 198.18.0.0/24.")
    most = min(254, network.num_addresses - 2)
    if not 1 <= nodes <= most:
        raise InputError("{0} nodes are not in the range 1 to {1}, the addresses of {2}".format(nodes, most, network),
                         "nodes")
    hosts = {}
    for index in range(1, nodes + 1):
        address = str(network[index])
        node = {"name": "{0}-node{1}".format(name, index), "mtu": mtu,
                "addresses": ["{0}/{1}".format(address, network.prefixlen)]}
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
    return hosts


def whole(seen):
    """Tell whether a node that was read has all its namespaces."""
    return bool(seen and seen["ready"] and seen["netns"] and seen["mounted"] and seen["mnt"] and seen["uts"])


def refuse_foreign(lab, names, state):
    """Raise :class:`InputError` if a namespace of a wanted name was not made by us."""
    for name in list(names) + [fabric(lab)]:
        if name in state["netns"] and name not in state["claims"]:
            raise InputError("a network namespace of this name exists that is not of the lab", name,
                             "Choose another lab name, or remove it: ip netns delete {0}".format(name))


def plan_present(lab, wanted, state):
    """Return ``(stop, steps)``: the nodes whose processes end first, and the commands that make what is wanted."""
    names = [node["name"] for node in wanted]
    refuse_foreign(lab, names, state)
    broken = [name for name in names if name in state["claims"] and not whole(state["nodes"].get(name))]
    new = [name for name in names if not whole(state["nodes"].get(name))]
    steps = remove_nodes(lab, broken, state) if broken else []
    fabric_is_new = fabric(lab) not in state["netns"]
    steps += claim(lab, new, state) + make_netns(new + ([fabric(lab)] if fabric_is_new else []))
    steps += make_namespaces(new, state)
    steps += plan_links(lab, wanted, state, {} if fabric_is_new else state["ports"], new)
    if new:
        steps.append(step(["touch"] + [home(name) + "/ready" for name in new]))
    return broken, steps


def claim(lab, new, state):
    """Make the directories: of ownership, to mount on, and the private ones."""
    claims = [home(name) for name in new]
    if fabric(lab) not in state["claims"]:
        claims.append(home(fabric(lab)))
    steps = [step(["mkdir", "-p"] + claims)] if claims else []
    missing = [path for path, how in state["mountpoints"].items() if how == "missing"] if new else []
    if missing:
        steps += [step(["mkdir", "-p"] + missing), step(["touch"] + [path + "/" + MARKER for path in missing])]
    steps += [step(["mount", "--make-private", "-t", "tmpfs", "-o", "mode=0755", "offload-lab", home(name)])
              for name in new]
    if new:
        inside = ["/run"] + ["/run/" + name for name in RUN_DIRECTORIES] + list(PRIVATE)
        steps.append(step(["mkdir", "-p"] + [home(name) + path for name in new for path in inside]))
        steps.append(step(["touch"] + [home(name) + "/" + kind for name in new for kind in ("mnt", "uts")]))
    return steps


def make_netns(names):
    """Make network namespaces, all in one call."""
    return ip_batch(["netns add {0}".format(name) for name in names])


def fstab(node):
    """Return what is mounted inside a node; ``/run`` comes last because it hides the sources of the others."""
    lines = ["sysfs /sys sysfs nosuid,nodev,noexec 0 0"]
    lines += ["{0}{1} {1} none bind 0 0".format(home(node), path) for path in PRIVATE + ("/run",)]
    return "\n".join(lines) + "\n"


def make_namespaces(new, state):
    """Make the mount and uts namespaces of nodes.

    A new mount namespace is a copy: it also holds the network namespaces and files of the other nodes, which would
    live on in it after their removal. So these are let go first (a lazy umount takes what is mounted below along).
    """
    homes = sorted(set(state["homes"]) | set(new))
    steps = []
    for node in new:
        place = home(node)
        copies = [home(other) for other in homes if other != node]
        steps += [
            step(["tee", place + "/fstab"], fstab(node)),
            step(["unshare", "--mount={0}/mnt".format(place), "--uts={0}/uts".format(place), "--propagation", "slave",
                  "tee", "/proc/sys/kernel/hostname"], node),
            step(enter(node, ["umount", "--lazy", "/sys", NETNS] + copies)),
            step(enter(node, ["mount", "--all", "--fstab", place + "/fstab"])),
        ]
    return steps


def plan_links(lab, wanted, state, ports, new):
    """Return the commands that join the nodes to the fabric and set their devices."""
    rebuilt = [port_of(name) for name in new]  # their old ports go with them
    ports = {name: port for name, port in ports.items() if name not in rebuilt}
    links = {name: seen["links"] for name, seen in state["nodes"].items() if name not in new}
    cuts, lines, last = underlay_lines(wanted, ports, links, port_of)
    steps = [one for name in sorted(cuts) for one in ip_batch(cuts[name], name)]
    steps += ip_batch(lines, fabric(lab))
    return steps + [one for node in wanted for one in ip_batch(last[node["name"]], node["name"])]


def plan_absent(lab, names, state):
    """Return ``(stop, steps)`` that remove nodes, the fabric with the last; without names: all."""
    owned = [name for name in state["claims"] if lab_of(name) == lab]
    gone = [name for name in names if name in owned] if names else owned
    nodes_left = [name for name in owned if name not in gone and name != fabric(lab)]
    if not nodes_left:
        gone = owned
    return gone, remove_nodes(lab, gone, state) + sweep(gone, state)


def remove_nodes(lab, names, state):
    """Remove what there is of nodes whose processes have ended."""
    if not names:
        return []
    ports = [] if fabric(lab) in names else [port_of(name) for name in names if port_of(name) in state["ports"]]
    steps = ip_batch(["link del {0}".format(port) for port in ports], fabric(lab))
    steps += ip_batch(["netns del {0}".format(name) for name in names if name in state["netns"]])
    mounted = [home(name) for name in names if name in state["homes"]]
    if mounted:
        steps.append(step(["umount", "--lazy"] + mounted))
    return steps + [step(["rmdir"] + [home(name) for name in names])]


def sweep(gone, state):
    """With the last node of all labs, remove the directories that we made on the machine."""
    if not gone or set(state["claims"]) - set(gone):
        return []
    ours = [path for path, how in state["mountpoints"].items() if how == "ours"]
    steps = [step(["rm", "-f"] + [path + "/" + MARKER for path in ours])] if ours else []
    return steps + [step(["rmdir", "--ignore-fail-on-non-empty"] + ours + [ROOT])]


def inodes_of(names, state):
    """Return the inodes of the namespaces of nodes, as far as they are there."""
    found = [state["nodes"][name][kind] for name in names if name in state["nodes"] for kind in ("netns", "mnt", "uts")]
    return {inode for inode in found if inode}


def summary(lab, state, names):
    """Return what a user sees of the nodes ``names``, or of all nodes of the lab."""
    seen = []
    for name, node in sorted(state["nodes"].items(), key=lambda item: natural(item[0])):
        if name == fabric(lab) or (names and name not in names) or name not in state["claims"]:
            continue
        device = node["links"].get(DEVICE) or {"addresses": [], "mtu": None}
        seen.append({"name": name, "addresses": sorted(device["addresses"]), "mtu": device["mtu"]})
    return seen


def predict(was, wanted, stopped):
    """Return the summary as it will be: what stays, and what is wanted."""
    names = [node["name"] for node in wanted]
    nodes = [node for node in was if node["name"] not in names and node["name"] not in stopped]
    nodes += [dict(node, addresses=sorted(node["addresses"])) for node in wanted]
    return sorted(nodes, key=lambda node: natural(node["name"]))


def natural(name):
    """Sort ``node2`` before ``node10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]
