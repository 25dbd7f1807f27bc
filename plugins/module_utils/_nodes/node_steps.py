# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the nodes of a single-host lab: from the present and the wanted state to the commands
between them.

A node is three persistent namespaces (net, mount, uts). Its files are in ``/run/offload-lab/NODE``,
a tmpfs of its own; a directory of that name is also the mark of ownership: it is made first and
removed last. ``ready`` in it is written when the namespaces are complete, so a node that a crash
left incomplete is recognised and rebuilt.
"""

from __future__ import annotations

from typing import Iterable, NamedTuple, Sequence, TypedDict

from .._base.errors import InputError
from .._base.steps import Step, batch
from .._host.script import ISOLATED, PYTHON
from .node import (
    DEVICE,
    INNER_BRIDGE,
    PRIVATE,
    ROOT,
    Node,
    enter,
    fabric,
    home,
    lab_of,
    layout_of,
    natural,
    port_of,
)
from .underlay import Links, NodeLink, both_taps, cut_steps, underlay_lines

RUN_DIRECTORIES = ("lock", "netns", "openvswitch", "offload-lab")
# Where the machine lacks a directory to mount on, we make it and leave this file in it: only then
# is it removed.
MARKER = ".offload-lab-mountpoint"
# In a user namespace /proc/sys/kernel/hostname belongs to a user without a number.
NAME_HOST = (PYTHON, ISOLATED, "-c", "import socket, sys; socket.sethostname(sys.argv[1])")
# The first device is inside; packets that leave by another have the address of that one.
MASQUERADE = f"""table ip offload_lab {{
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    oifname != "{DEVICE}" masquerade
  }}
}}
"""


class _Mounted(TypedDict):
    netns: int | None  # inode, as the next two
    mnt: int | None
    uts: int | None
    mounted: bool


class SeenNode(_Mounted, total=False):
    """What there is of a node."""

    ready: bool
    links: Links
    layout: str  # what node.layout_of returned when it was made
    nic: str  # the fault of the network card in user space that runs, or honest; empty: none runs


class LabState(TypedDict):
    """What there is of a lab; the lists are of names, of all labs."""

    claims: list[str]  # directories of ours
    homes: list[str]  # where they are mounted
    netns: list[str]
    nodes: dict[str, SeenNode]
    ports: Links  # of the fabric
    mountpoints: dict[str, str]


class NodeSummary(TypedDict):
    """What a user sees of a node."""

    name: str
    addresses: list[str]
    mtu: int | None


def delete_links(lines: Iterable[str], netns: str) -> list[Step]:
    """Return the steps that delete devices.

    The kernel may delete them, too: it empties a removed namespace a moment later. So "no such
    device" is no error here. Where a device is still there, the command that recreates it fails.
    """
    return [
        Step(["ip", "-force", "-batch", "-"], step.stdin, netns, check=False)
        for step in batch(lines)
    ]


def whole(node: SeenNode | None) -> bool:
    """Return whether a node that was read has all its namespaces."""
    return bool(
        node and node["ready"] and node["netns"] and node["mounted"] and node["mnt"] and node["uts"]
    )


def refuse_foreign(lab: str, names: Iterable[str], state: LabState) -> None:
    """Raise :class:`InputError` if a namespace of a wanted name was not made by us."""
    for name in list(names) + [fabric(lab)]:
        if name in state["netns"] and name not in state["claims"]:
            raise InputError(
                "a network namespace of this name exists, and it is not the lab's",
                name,
                f"Choose another lab name, or remove it: ip netns delete {name}",
            )


class NodePlan(NamedTuple):
    """What is to happen to nodes."""

    stop: list[str]  # the nodes whose processes end first
    steps: list[Step]


def plan_present(lab: str, nodes: Sequence[Node], state: LabState) -> NodePlan:
    """Return what makes the wanted nodes; one that is not whole is removed first."""
    names = [node["name"] for node in nodes]
    refuse_foreign(lab, names, state)
    new = _not_whole(nodes, state)
    new_fabric = _missing_fabric(lab, state)
    created = new + new_fabric
    half_made = [name for name in created if name in state["claims"]]
    steps = remove_nodes(lab, half_made, state) + claim(created)
    if new:
        steps += make_mountpoints(state) + make_homes(new)
    steps += batch([f"netns add {name}" for name in created]) + make_namespaces(new)
    steps += plan_links(lab, nodes, state, {} if new_fabric else state["ports"], new)
    steps += _mark_ready(nodes, new)
    return NodePlan([name for name in half_made if name in new], steps)


def plan_nics(lab: str, nodes: Sequence[Node], state: LabState) -> dict[str, str]:
    """Return the network cards in user space that are to be started, by node, each with its fault;
    one without a fault only ends.
    """
    new = _not_whole(nodes, state)
    ports = {} if _missing_fabric(lab, state) else state["ports"]
    changed = {}
    for node in nodes:
        name = node["name"]
        now = None if name in new else state["nodes"].get(name)
        if not _has_nic(node, now, ports.get(port_of(name))):
            changed[name] = node["nic"]
    return changed


def _has_nic(node: Node, now: SeenNode | None, port: NodeLink | None) -> bool:
    """Return whether a node has the wanted network card; without a fault it has none."""
    if now is None or now["nic"] != node["nic"]:
        return now is None and not node["nic"]
    return not node["nic"] or both_taps(now["links"].get(DEVICE), port)


def _not_whole(nodes: Iterable[Node], state: LabState) -> list[str]:
    """Return the nodes that are not there, not complete, or at another place of the lab."""
    names = []
    for node in nodes:
        now = state["nodes"].get(node["name"])
        if not now or not whole(now) or now.get("layout", "") != layout_of(node):
            names.append(node["name"])
    return names


def _missing_fabric(lab: str, state: LabState) -> list[str]:
    """Return the name of the fabric's namespace in a list if it is not there, or none."""
    now = state["nodes"].get(fabric(lab))
    return [] if now and now["netns"] else [fabric(lab)]


def _mark_ready(nodes: Iterable[Node], new: Sequence[str]) -> list[Step]:
    """Return the steps that say of new nodes what they were made with, and that they are complete."""
    steps = []
    files = []
    for node in [node for node in nodes if node["name"] in new]:
        folder = home(node["name"])
        layout = layout_of(node)
        files.append(folder + "/ready")
        if layout:
            steps.append(Step(["tee", folder + "/layout"], layout))
    return [*steps, Step(["touch"] + files)] if files else []


def claim(names: Iterable[str]) -> list[Step]:
    """Make the directories that show what is ours."""
    homes = [home(name) for name in names]
    return [Step(["mkdir", "-p"] + homes)] if homes else []


def make_mountpoints(state: LabState) -> list[Step]:
    """Make the directories that nodes mount on, where the machine lacks them."""
    missing = [path for path, how in state["mountpoints"].items() if how == "missing"]
    if not missing:
        return []
    markers = [path + "/" + MARKER for path in missing]
    return [Step(["mkdir", "-p"] + missing), Step(["touch"] + markers)]


def make_homes(new: Iterable[str]) -> list[Step]:
    """Make the private directories of new nodes, and the files that hold their namespaces."""
    mount = ["mount", "--make-private", "-t", "tmpfs", "-o", "mode=0755", "offload-lab"]
    inside = ["/run"] + ["/run/" + name for name in RUN_DIRECTORIES] + list(PRIVATE)
    steps = []
    directories = []
    files = []
    for name in new:
        steps.append(Step(mount + [home(name)]))
        directories += [home(name) + path for path in inside]
        files += [home(name) + "/mnt", home(name) + "/uts"]
    return steps + [Step(["mkdir", "-p"] + directories), Step(["touch"] + files)]


def fstab(node: str) -> str:
    """Return the fstab of a node; ``/run`` comes last because it hides the sources of the other
    mounts.
    """
    lines = ["offload-lab /sys sysfs nosuid,nodev,noexec 0 0"]
    lines += [f"{home(node)}{path} {path} none bind 0 0" for path in PRIVATE + ("/run",)]
    return "\n".join(lines) + "\n"


def make_namespaces(new: Iterable[str]) -> list[Step]:
    """Make the mount and uts namespaces of nodes.

    A new mount namespace is a copy, in which the files of other nodes are mounted too. They do not
    live on in it: removing a file or directory releases what is mounted on it, in every namespace.

    The kernel keeps a mount namespace in a file only if it has a higher number than the namespace
    with the file (mnt_ns_loop() in fs/namespace.c). Newer kernels give each CPU numbers of its own,
    so in a container it may work on some CPUs only (seen on 6.18).
    """
    steps = []
    for node in new:
        folder = home(node)
        steps += [
            Step(["tee", folder + "/fstab"], fstab(node)),
            Step(
                [
                    "unshare",
                    f"--mount={folder}/mnt",
                    f"--uts={folder}/uts",
                    "--propagation",
                    "slave",
                    *NAME_HOST,
                    node,
                ],
                each_cpu=True,
            ),
            Step(enter(node, ["mount", "--all", "--fstab", folder + "/fstab"])),
        ]
    return steps


def plan_links(
    lab: str, nodes: Sequence[Node], state: LabState, ports: Links, new: list[str]
) -> list[Step]:
    """Return the commands that join the nodes to the fabric and set their devices."""
    # The old ports of new nodes go with them. A node's further ports are named after its first,
    # with a hyphen.
    rebuilt = [port_of(name) for name in new]
    ports = {name: port for name, port in ports.items() if name.partition("-")[0] not in rebuilt}
    links = {name: now["links"] for name, now in state["nodes"].items() if name not in new}
    cuts, ports_cut, lines, last, wires = underlay_lines(nodes, ports, links, port_of)
    steps: list[Step] = []
    for name in sorted(cuts):
        steps += delete_links(cuts[name], name)
    steps += delete_links(ports_cut, fabric(lab))
    steps += batch(lines, fabric(lab)) + cut_steps(wires, fabric(lab))
    for node in nodes:
        name = node["name"]
        bridge = bridge_lines(node) if name in new else []
        steps += batch(bridge + last[name], name)
        steps += forward_steps(node) if name in new else []
    return steps


def plan_absent(lab: str, names: Sequence[str], state: LabState) -> NodePlan:
    """Return what removes nodes, and the fabric with the last of them; without names: all."""
    owned = [name for name in state["claims"] if lab_of(name) == lab]
    gone = [name for name in names if name in owned] if names else owned
    nodes_left = [name for name in owned if name not in gone and name != fabric(lab)]
    if not nodes_left:
        gone = owned
    return NodePlan(gone, remove_nodes(lab, gone, state) + sweep(gone, state))


def remove_nodes(lab: str, names: list[str], state: LabState) -> list[Step]:
    """Remove what there is of nodes whose processes have ended."""
    if not names:
        return []
    steps = [] if fabric(lab) in names else _remove_ports(lab, names, state)
    steps += batch([f"netns del {name}" for name in names if name in state["netns"]])
    mounted = [home(name) for name in names if name in state["homes"]]
    if mounted:
        steps.append(Step(["umount", "--lazy"] + mounted))
    return steps + [Step(["rmdir"] + [home(name) for name in names])]


def _remove_ports(lab: str, names: Iterable[str], state: LabState) -> list[Step]:
    """Remove the ports of nodes from the fabric, which stays."""
    gone = {port_of(name) for name in names}
    ports = [port for port in state["ports"] if port.partition("-")[0] in gone]
    return delete_links([f"link del dev {port}" for port in ports], fabric(lab))


def sweep(gone: list[str], state: LabState) -> list[Step]:
    """With the last node of all labs, remove the directories that we made on the machine."""
    if not gone or set(state["claims"]) - set(gone):
        return []
    ours = [path for path, how in state["mountpoints"].items() if how == "ours"]
    steps = [Step(["rm", "-f"] + [path + "/" + MARKER for path in ours])] if ours else []
    return steps + [Step(["rmdir", "--ignore-fail-on-non-empty"] + ours + [ROOT])]


def inodes_of(names: Iterable[str], state: LabState) -> set[int]:
    """Return the inodes of the namespaces of nodes, as far as they are there."""
    inodes: set[int | None] = set()
    for name in names:
        node = state["nodes"].get(name)
        if node:
            inodes.update((node["netns"], node["mnt"], node["uts"]))
    return {inode for inode in inodes if inode}


def summary(lab: str, state: LabState, names: Sequence[str]) -> list[NodeSummary]:
    """Return what a user sees of the nodes ``names``, or of all nodes of the lab."""
    summaries: list[NodeSummary] = []
    for name, node in sorted(state["nodes"].items(), key=lambda item: natural(item[0])):
        if name == fabric(lab) or (names and name not in names) or name not in state["claims"]:
            continue
        device = node["links"].get(DEVICE)
        summaries.append(
            {
                "name": name,
                "addresses": sorted(device["addresses"]) if device else [],
                "mtu": device["mtu"] if device else None,
            }
        )
    return summaries


def predict(
    was: Iterable[NodeSummary], after: Sequence[Node], stopped: Sequence[str]
) -> list[NodeSummary]:
    """Return the summary as it will be: what stays, and what is wanted."""
    names = [node["name"] for node in after]
    nodes = [node for node in was if node["name"] not in names and node["name"] not in stopped]
    nodes += [
        {"name": node["name"], "addresses": sorted(node["addresses"]), "mtu": node["mtu"]}
        for node in after
    ]
    return sorted(nodes, key=lambda node: natural(node["name"]))


def bridge_lines(node: Node) -> list[str]:
    """Return the ``ip -batch`` lines that make the bridge of a node that bridges; it has the node's
    addresses.
    """
    if node.get("forwards") != "bridged":
        return []
    lines = [f"link add name {INNER_BRIDGE} type bridge stp_state 0 mcast_snooping 0"]
    lines += [f"address add {address} dev {INNER_BRIDGE}" for address in node["addresses"]]
    return [*lines, f"link set dev {INNER_BRIDGE} up"]


def forward_steps(node: Node) -> list[Step]:
    """Return the steps that let a node route, and masquerade where that is asked for."""
    name = node["name"]
    forwards = node.get("forwards")
    if forwards not in ("routed", "nat"):
        return []
    steps = [Step(["tee", "/proc/sys/net/ipv4/ip_forward"], "1", name)]
    if forwards == "nat":
        steps.append(Step(["nft", "-f", "-"], MASQUERADE, name))
    return steps
