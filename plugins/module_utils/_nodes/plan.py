# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the nodes of a single-host lab: from what is there and what is wanted to the commands
between them.

A node is three persistent namespaces (net, mount, uts). Its files are in ``/run/offload-lab/NODE``,
a tmpfs of its own; a directory of that name is also the mark of ownership: it is made first and
removed last. ``ready`` in it is written when the namespaces are complete, so a node that a crash
left incomplete is recognised and rebuilt.
"""

from __future__ import annotations

from typing import Iterable, Sequence, TypedDict

from .._base.errors import InputError
from .._base.steps import Step, batch
from .links import Links, underlay_lines
from .names import (
    DEVICE,
    PRIVATE,
    ROOT,
    Node,
    enter,
    fabric,
    home,
    lab_of,
    natural,
    port_of,
)

RUN_DIRECTORIES = ("lock", "netns", "openvswitch", "offload-lab")
# Where the machine lacks a directory to mount on, we make it and leave this file in it: only then
# is it removed.
MARKER = ".offload-lab-mountpoint"


class _Mounted(TypedDict):
    netns: int | None  # inode, as the next two
    mnt: int | None
    uts: int | None
    mounted: bool


class SeenNode(_Mounted, total=False):
    """What there is of a node."""

    ready: bool
    links: Links


class State(TypedDict):
    """What there is of a lab; the lists are of names, of all labs."""

    claims: list[str]  # directories of ours
    homes: list[str]  # where they are mounted
    netns: list[str]
    nodes: dict[str, SeenNode]
    ports: Links  # of the fabric
    mountpoints: dict[str, str]


class Summary(TypedDict):
    """What a user sees of a node."""

    name: str
    addresses: list[str]
    mtu: int | None


def delete_links(lines: Iterable[str], netns: str) -> list[Step]:
    """Return the steps that delete devices. The kernel may do so too: it empties a removed
    namespace a moment later.

    So "no such device" is no error; a device that is still there is one of the command that
    recreates it.
    """
    return [
        Step(["ip", "-force", "-batch", "-"], step.stdin, netns, check=False)
        for step in batch(lines)
    ]


def whole(seen: SeenNode | None) -> bool:
    """Return whether a node that was read has all its namespaces."""
    return bool(
        seen and seen["ready"] and seen["netns"] and seen["mounted"] and seen["mnt"] and seen["uts"]
    )


def refuse_foreign(lab: str, names: Iterable[str], state: State) -> None:
    """Raise :class:`InputError` if a namespace of a wanted name was not made by us."""
    for name in list(names) + [fabric(lab)]:
        if name in state["netns"] and name not in state["claims"]:
            raise InputError(
                "a network namespace of this name exists, and it is not the lab's",
                name,
                f"Choose another lab name, or remove it: ip netns delete {name}",
            )


def plan_present(lab: str, wanted: Sequence[Node], state: State) -> tuple[list[str], list[Step]]:
    """Return ``(stop, steps)``: the nodes whose processes end first, and the commands that make
    what is wanted.
    """
    names = [node["name"] for node in wanted]
    refuse_foreign(lab, names, state)
    new = [name for name in names if not whole(state["nodes"].get(name))]
    broken = [name for name in new if name in state["claims"]]
    fabric_seen = state["nodes"].get(fabric(lab))
    fabric_is_new = not (fabric_seen and fabric_seen["netns"])
    half_made = broken + ([fabric(lab)] if fabric_is_new and fabric(lab) in state["claims"] else [])
    made = new + ([fabric(lab)] if fabric_is_new else [])
    steps = remove_nodes(lab, half_made, state) + claim(made, new, state)
    steps += batch([f"netns add {name}" for name in made]) + make_namespaces(new)
    steps += plan_links(lab, wanted, state, {} if fabric_is_new else state["ports"], new)
    if new:
        steps.append(Step(["touch"] + [home(name) + "/ready" for name in new]))
    return broken, steps


def claim(made: list[str], new: list[str], state: State) -> list[Step]:
    """Make the directories: of ownership, to mount on, and the private ones of new nodes."""
    steps = [Step(["mkdir", "-p"] + [home(name) for name in made])] if made else []
    missing = (
        [path for path, how in state["mountpoints"].items() if how == "missing"] if new else []
    )
    if missing:
        steps += [
            Step(["mkdir", "-p"] + missing),
            Step(["touch"] + [path + "/" + MARKER for path in missing]),
        ]
    steps += [
        Step(
            ["mount", "--make-private", "-t", "tmpfs", "-o", "mode=0755", "offload-lab", home(name)]
        )
        for name in new
    ]
    if new:
        inside = ["/run"] + ["/run/" + name for name in RUN_DIRECTORIES] + list(PRIVATE)
        steps.append(Step(["mkdir", "-p"] + [home(name) + path for name in new for path in inside]))
        steps.append(
            Step(["touch"] + [home(name) + "/" + kind for name in new for kind in ("mnt", "uts")])
        )
    return steps


def fstab(node: str) -> str:
    """Return what is mounted inside a node; ``/run`` comes last because it hides the sources of the
    others.
    """
    lines = ["offload-lab /sys sysfs nosuid,nodev,noexec 0 0"]
    lines += [f"{home(node)}{path} {path} none bind 0 0" for path in PRIVATE + ("/run",)]
    return "\n".join(lines) + "\n"


def make_namespaces(new: Iterable[str]) -> list[Step]:
    """Make the mount and uts namespaces of nodes.

    A new mount namespace is a copy, in which those of the other nodes are mounted too. They do not
    live on in it: removing a file or directory releases what is mounted on it, in every namespace.
    """
    steps = []
    for node in new:
        place = home(node)
        steps += [
            Step(["tee", place + "/fstab"], fstab(node)),
            Step(
                [
                    "unshare",
                    f"--mount={place}/mnt",
                    f"--uts={place}/uts",
                    "--propagation",
                    "slave",
                    "tee",
                    "/proc/sys/kernel/hostname",
                ],
                node,
            ),
            Step(enter(node, ["mount", "--all", "--fstab", place + "/fstab"])),
        ]
    return steps


def plan_links(
    lab: str, wanted: Sequence[Node], state: State, ports: Links, new: list[str]
) -> list[Step]:
    """Return the commands that join the nodes to the fabric and set their devices."""
    # The old ports of new nodes go with them. A node's further ports are named after its first,
    # with a hyphen.
    rebuilt = [port_of(name) for name in new]
    ports = {name: port for name, port in ports.items() if name.partition("-")[0] not in rebuilt}
    links = {name: seen["links"] for name, seen in state["nodes"].items() if name not in new}
    cuts, ports_cut, lines, last = underlay_lines(wanted, ports, links, port_of)
    steps = [one for name in sorted(cuts) for one in delete_links(cuts[name], name)]
    steps += delete_links(ports_cut, fabric(lab))
    steps += batch(lines, fabric(lab))
    return steps + [one for node in wanted for one in batch(last[node["name"]], node["name"])]


def plan_absent(lab: str, names: Sequence[str], state: State) -> tuple[list[str], list[Step]]:
    """Return ``(stop, steps)`` that remove nodes, the fabric with the last; without names: all."""
    owned = [name for name in state["claims"] if lab_of(name) == lab]
    gone = [name for name in names if name in owned] if names else owned
    nodes_left = [name for name in owned if name not in gone and name != fabric(lab)]
    if not nodes_left:
        gone = owned
    return gone, remove_nodes(lab, gone, state) + sweep(gone, state)


def remove_nodes(lab: str, names: list[str], state: State) -> list[Step]:
    """Remove what there is of nodes whose processes have ended."""
    if not names:
        return []
    gone = [] if fabric(lab) in names else [port_of(name) for name in names]
    ports = [port for port in state["ports"] if port.partition("-")[0] in gone]
    steps = delete_links([f"link del dev {port}" for port in ports], fabric(lab))
    steps += batch([f"netns del {name}" for name in names if name in state["netns"]])
    mounted = [home(name) for name in names if name in state["homes"]]
    if mounted:
        steps.append(Step(["umount", "--lazy"] + mounted))
    return steps + [Step(["rmdir"] + [home(name) for name in names])]


def sweep(gone: list[str], state: State) -> list[Step]:
    """With the last node of all labs, remove the directories that we made on the machine."""
    if not gone or set(state["claims"]) - set(gone):
        return []
    ours = [path for path, how in state["mountpoints"].items() if how == "ours"]
    steps = [Step(["rm", "-f"] + [path + "/" + MARKER for path in ours])] if ours else []
    return steps + [Step(["rmdir", "--ignore-fail-on-non-empty"] + ours + [ROOT])]


def inodes_of(names: Iterable[str], state: State) -> set[int]:
    """Return the inodes of the namespaces of nodes, as far as they are there."""
    nodes = [state["nodes"][name] for name in names if name in state["nodes"]]
    return {inode for node in nodes for inode in (node["netns"], node["mnt"], node["uts"]) if inode}


def summary(lab: str, state: State, names: Sequence[str]) -> list[Summary]:
    """Return what a user sees of the nodes ``names``, or of all nodes of the lab."""
    seen: list[Summary] = []
    for name, node in sorted(state["nodes"].items(), key=lambda item: natural(item[0])):
        if name == fabric(lab) or (names and name not in names) or name not in state["claims"]:
            continue
        device = node["links"].get(DEVICE)
        seen.append(
            {
                "name": name,
                "addresses": sorted(device["addresses"]) if device else [],
                "mtu": device["mtu"] if device else None,
            }
        )
    return seen


def predict(
    was: Iterable[Summary], wanted: Sequence[Node], stopped: Sequence[str]
) -> list[Summary]:
    """Return the summary as it will be: what stays, and what is wanted."""
    names = [node["name"] for node in wanted]
    nodes = [node for node in was if node["name"] not in names and node["name"] not in stopped]
    nodes += [
        {"name": node["name"], "addresses": sorted(node["addresses"]), "mtu": node["mtu"]}
        for node in wanted
    ]
    return sorted(nodes, key=lambda node: natural(node["name"]))
