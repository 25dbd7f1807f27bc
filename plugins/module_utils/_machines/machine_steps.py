# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the virtual machines of a lab, from the present and the wanted state to the commands
between them; and what each machine finds on its disk: its name, its devices, and who may log in.
"""

from __future__ import annotations

import os
from itertools import chain
from typing import Iterable, Mapping, NamedTuple, Sequence, TypedDict

from .._base.errors import InputError
from .._base.quoting import unit_value
from .._base.steps import Step, batch
from .._host.daemons import ProcessState
from .machine import (
    BRIDGE,
    MANAGEMENT_NIC,
    MARKER,
    Machine,
    Nic,
    Tap,
    fabric,
    home,
    mac_of,
    wanted_taps,
)

# What QEMU's user networking gives to the first guest; it reaches nothing, and only SSH gets in.
ADDRESS = "10.0.2.15/24"
NETWORKS = "/etc/systemd/network"


class SeenMachine(TypedDict):
    """What there is of a machine."""

    spec: Machine | None  # as which it was started; None: never
    accel: str | None
    process: ProcessState | None  # of QEMU, if it lives
    disk: bool
    taps: list[Tap]  # in namespaces that are not the lab's own


class MachinesState(TypedDict):
    """What there is of a lab of machines."""

    ours: bool  # the folder
    foreign: bool  # the folder is something else's
    fabric: bool
    keys: bool
    machines: dict[str, SeenMachine]


class MachineSummary(TypedDict):
    """What a user sees of a machine."""

    name: str
    running: bool
    accel: str | None
    port: int | None


NOTHING: SeenMachine = {"spec": None, "accel": None, "process": None, "disk": False, "taps": []}


class MachinePlan(NamedTuple):
    """What is to happen to machines."""

    stop: list[str]  # the machines whose QEMU ends first
    steps: list[Step]
    start: list[Machine]  # then


def plan_present(
    lab: str, folder: str, machines: Sequence[Machine], state: MachinesState
) -> MachinePlan:
    """Return what makes the wanted machines.

    One with other options is recreated; one that was killed is started.
    """
    network = any(map(_needs_network, machines))
    _refuse_foreign(lab, folder, network, state)
    # Machines that live without the namespace of their network are of no use.
    cut_off = network and not state["fabric"]
    plan = MachinePlan([], _common(lab, folder, state, network), [])
    for machine in machines:
        now = state["machines"].get(machine["name"], NOTHING)
        intact = _is_whole(machine, now)
        if not intact:
            plan.steps.extend(_without(set(now["taps"]) - set(wanted_taps(machine))))
            plan.steps.extend(_make(lab, folder, machine))
        if not intact or cut_off or not _is_running(machine, now):
            plan.start.append(machine)
            if now["process"]:
                plan.stop.append(machine["name"])
    return plan


def _needs_network(machine: Machine) -> bool:
    """Return whether the other end of one of its devices is in the lab's own network."""
    return any(not nic.get("netns") for nic in machine["nics"])


def _refuse_foreign(lab: str, folder: str, network: bool, state: MachinesState) -> None:
    """Raise InputError where the folder or the namespace is something else's."""
    if state["foreign"]:
        raise InputError(
            "this folder has files that are not the lab's",
            folder,
            "Give the lab a folder of its own.",
        )
    if network and state["fabric"] and not state["ours"]:
        raise InputError(
            "a network namespace of this name exists, and it is not the lab's",
            fabric(lab),
            "Choose another lab name, or remove it: ip netns delete " + fabric(lab),
        )


def _is_whole(machine: Machine, now: SeenMachine) -> bool:
    """Return whether a machine has its disk, and was made with the options that are wanted."""
    return now["spec"] == machine and now["disk"]


def _is_running(machine: Machine, now: SeenMachine) -> bool:
    return bool(now["process"]) and set(wanted_taps(machine)) <= set(now["taps"])


def _without(taps: Iterable[Tap]) -> list[Step]:
    """Return the commands that remove taps from namespaces that are not the lab's: most outlive
    their machine.
    """
    return [
        Step(["ip", "link", "delete", "dev", tap], netns=netns, check=False)
        for netns, tap in sorted(taps)
    ]


def _common(lab: str, folder: str, state: MachinesState, network: bool) -> list[Step]:
    """Return the commands that make what all machines share: the folder, the network, and the keys
    of user and host.

    Machines whose devices are all in namespaces that are given have no network of their own.
    """
    steps = []
    if not state["ours"]:
        steps.append(Step(["mkdir", "-p", "-m", "0700", folder]))
        steps.append(Step(["touch", f"{folder}/{MARKER}"]))
    if network and not state["fabric"]:
        bridge = f"link add name {BRIDGE} type bridge stp_state 0 mcast_snooping 0"
        steps += batch([f"netns add {fabric(lab)}"])
        steps += batch([bridge, f"link set dev {BRIDGE} up"], fabric(lab))
    if not state["keys"]:
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "offload.lab", "-f"]
        steps += [Step([*keygen, f"{folder}/{key}"]) for key in ("key", "host_key")]
    return steps


def _make(lab: str, folder: str, machine: Machine) -> list[Step]:
    """Return the commands that make a machine's disk: a copy of the image's, with files of its own."""
    folder_of_machine = home(folder, machine["name"])
    files = files_of(lab, machine)
    sources = {path: f"{folder_of_machine}/files/{os.path.basename(path)}" for path in files}
    steps = [
        Step(["rm", "-rf", folder_of_machine]),
        Step(["mkdir", "-p", f"{folder_of_machine}/files"]),
        Step(
            ["cp", "--sparse=always", f"{machine['image']}/root.ext4", f"{folder_of_machine}/disk"]
        ),
    ]
    steps += [Step(["tee", sources[path]], text) for path, text in files.items()]
    sources["/etc/ssh/ssh_host_ed25519_key"] = f"{folder}/host_key"
    sources["/root/.ssh/authorized_keys"] = f"{folder}/key.pub"
    steps.append(Step(["debugfs", "-w", "-f", "-", f"{folder_of_machine}/disk"], written(sources)))
    return [*steps, Step(["rm", "-r", f"{folder_of_machine}/files"])]


def _chosen(state: MachinesState, names: Sequence[str]) -> list[str]:
    """Return the names of the machines that are there and among ``names``; without names: of all."""
    return [name for name in state["machines"] if not names or name in names]


def plan_absent(lab: str, folder: str, names: Sequence[str], state: MachinesState) -> MachinePlan:
    """Return what removes machines, and with the last of them the lab; without names: all."""
    if not state["ours"]:
        return MachinePlan([], [], [])
    there = state["machines"]
    gone = _chosen(state, names)
    stop = [name for name in gone if there[name]["process"]]
    steps = _without(chain.from_iterable(there[name]["taps"] for name in gone))
    if set(gone) < set(there):
        return MachinePlan(stop, steps + [_removed(home(folder, name)) for name in gone], [])
    if state["fabric"]:
        steps += batch([f"netns del {fabric(lab)}"])
    return MachinePlan(stop, [*steps, _removed(folder)], [])


def _removed(folder: str) -> Step:
    return Step(["rm", "-rf", folder])


def summary(state: MachinesState, names: Sequence[str]) -> list[MachineSummary]:
    """Return what a user sees of machines."""
    return [_summary(name, state["machines"][name]) for name in _chosen(state, names)]


def _summary(name: str, now: SeenMachine) -> MachineSummary:
    return {
        "name": name,
        "running": bool(now["process"]),
        "accel": now["accel"],
        "port": now["spec"].get("port") if now["spec"] else None,
    }


def predict(
    was: Sequence[MachineSummary], machines: Sequence[Machine], accel: str, plan: MachinePlan
) -> list[MachineSummary]:
    """Return the summary as it will be when the wanted machines are there."""
    accels = {summary["name"]: summary["accel"] for summary in was}
    accels.update({machine["name"]: accel for machine in plan.start})
    return [
        {
            "name": machine["name"],
            "running": True,
            "accel": accels[machine["name"]],
            "port": machine["port"],
        }
        for machine in machines
    ]


def files_of(lab: str, machine: Machine) -> dict[str, str]:
    """Return ``{path in the machine: text}``: devices are known by their MAC addresses, since their
    order is random.
    """
    files = {
        "/etc/hostname": machine["name"] + "\n",
        "/etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {machine['name']}\n",
    }
    management: Nic = {**MANAGEMENT_NIC, "address": ADDRESS}
    nics = [management, *machine["nics"]]
    for nic in nics:
        name = unit_value(nic["name"])
        link = f"[Match]\nMACAddress={mac_of(lab, machine['name'], nic['name'])}\n\n[Link]\nName={name}\n"
        files[f"{NETWORKS}/10-{nic['name']}.link"] = f"{link}MTUBytes={nic['mtu']}\n"
        address = f"Address={unit_value(nic['address'])}\n" if nic["address"] else ""
        files[f"{NETWORKS}/10-{nic['name']}.network"] = (
            f"[Match]\nName={name}\n\n[Network]\n{address}LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
        )
    return files


def written(sources: Mapping[str, str]) -> str:
    """Return what debugfs does to write files, ``{path in the machine: file here}``, each for root
    alone.
    """
    lines = ["mkdir /root/.ssh", "set_inode_field /root/.ssh mode 040700"]
    for path, source in sources.items():
        lines += [f"rm {path}", f"write {source} {path}"]
        lines += [f"set_inode_field {path} {field}" for field in ("uid 0", "gid 0")]
        private = path.startswith("/root/") or path.endswith("_key")
        lines.append(f"set_inode_field {path} mode {'0100600' if private else '0100644'}")
    return "\n".join(lines) + "\n"
