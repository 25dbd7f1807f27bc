# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: plan the virtual machines of a lab, from what is there and what is wanted to the commands
between them.
"""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from .._base.errors import InputError
from .._base.steps import Step, batch
from .guest import files_of, written
from .names import (
    BRIDGE,
    MARKER,
    fabric,
    home,
    wanted_taps,
)

# What is read of a machine that is not there.
NOTHING: dict[str, Any] = {"spec": None, "accel": None, "process": None, "disk": False, "taps": []}


class Plan(NamedTuple):
    """The machines whose QEMU ends first, the commands that follow, and the machines that are
    started then.
    """

    stop: list[str]
    steps: list[Step]
    start: list[dict[str, Any]]


def plan_present(
    lab: str, folder: str, wanted: Sequence[dict[str, Any]], state: Mapping[str, Any]
) -> Plan:
    """Return what makes the wanted machines.

    One with other options is recreated; one that was killed is started.
    """
    if state["foreign"]:
        raise InputError(
            "this folder has files that are not the lab's",
            folder,
            "Give the lab a folder of its own.",
        )
    network = any(not nic.get("netns") for machine in wanted for nic in machine["nics"])
    if network and state["fabric"] and not state["ours"]:
        raise InputError(
            "a network namespace of this name exists, and it is not the lab's",
            fabric(lab),
            "Choose another lab name, or remove it: ip netns delete " + fabric(lab),
        )
    seen = {machine["name"]: state["machines"].get(machine["name"], NOTHING) for machine in wanted}
    new = [
        machine
        for machine in wanted
        if seen[machine["name"]]["spec"] != machine or not seen[machine["name"]]["disk"]
    ]
    # Without the namespace of their network machines that live are of no use.
    start = [
        machine
        for machine in wanted
        if machine in new
        or not seen[machine["name"]]["process"]
        or set(wanted_taps(machine)) - set(seen[machine["name"]]["taps"])
        or (network and not state["fabric"])
    ]
    stop = [machine["name"] for machine in start if seen[machine["name"]]["process"]]
    steps = _common(lab, folder, state, network)
    for machine in new:
        steps += _without(set(seen[machine["name"]]["taps"]) - set(wanted_taps(machine)))
        steps += _make(lab, folder, machine)
    return Plan(stop, steps, start)


def _without(taps: Iterable[tuple[str, str]]) -> list[Step]:
    """Return the commands that remove taps from namespaces that are not the lab's: most outlive
    their machine.
    """
    return [
        Step(["ip", "link", "delete", "dev", tap], netns=netns, check=False)
        for netns, tap in sorted(taps)
    ]


def _common(lab: str, folder: str, state: Mapping[str, Any], network: bool) -> list[Step]:
    """Return the commands that make what all machines share: the folder, the network, and the keys
    of user and host.

    Machines whose devices are all in namespaces that are given have no network of their own.
    """
    steps = []
    if not state["ours"]:
        steps += [
            Step(["mkdir", "-p", "-m", "0700", folder]),
            Step(["touch", f"{folder}/{MARKER}"]),
        ]
    if network and not state["fabric"]:
        steps += batch([f"netns add {fabric(lab)}"])
        steps += batch(
            [
                f"link add name {BRIDGE} type bridge stp_state 0 mcast_snooping 0",
                f"link set dev {BRIDGE} up",
            ],
            fabric(lab),
        )
    if not state["keys"]:
        steps += [
            Step(
                [
                    "ssh-keygen",
                    "-q",
                    "-t",
                    "ed25519",
                    "-N",
                    "",
                    "-C",
                    "offload.lab",
                    "-f",
                    f"{folder}/{key}",
                ]
            )
            for key in ("key", "host_key")
        ]
    return steps


def _make(lab: str, folder: str, machine: Mapping[str, Any]) -> list[Step]:
    """Return the commands that make a machine's disk: the image's, and files of its own in it."""
    place, files = home(folder, machine["name"]), files_of(lab, machine)
    sources = {path: f"{place}/files/{os.path.basename(path)}" for path in files}
    steps = [
        Step(["rm", "-rf", place]),
        Step(["mkdir", "-p", f"{place}/files"]),
        Step(["cp", "--sparse=always", f"{machine['image']}/root.ext4", f"{place}/disk"]),
    ]
    steps += [Step(["tee", sources[path]], text) for path, text in files.items()]
    sources["/etc/ssh/ssh_host_ed25519_key"] = f"{folder}/host_key"
    sources["/root/.ssh/authorized_keys"] = f"{folder}/key.pub"
    steps.append(Step(["debugfs", "-w", "-f", "-", f"{place}/disk"], written(sources)))
    return [*steps, Step(["rm", "-r", f"{place}/files"])]


def plan_absent(lab: str, folder: str, names: Sequence[str], state: Mapping[str, Any]) -> Plan:
    """Return what removes machines, and with the last of them the lab; without names: all."""
    if not state["ours"]:
        return Plan([], [], [])
    there = state["machines"]
    gone = [name for name in there if not names or name in names]
    stop = [name for name in gone if there[name]["process"]]
    taps = _without(tap for name in gone for tap in there[name]["taps"])
    if set(gone) == set(there):
        fabric_gone = batch([f"netns del {fabric(lab)}"]) if state["fabric"] else []
        return Plan(stop, [*taps, *fabric_gone, Step(["rm", "-rf", folder])], [])
    return Plan(stop, [*taps, *(Step(["rm", "-rf", home(folder, name)]) for name in gone)], [])


def summary(state: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what a user sees of machines."""
    return [
        {
            "name": name,
            "running": bool(seen["process"]),
            "accel": seen["accel"],
            "port": (seen["spec"] or {}).get("port"),
        }
        for name, seen in state["machines"].items()
        if not names or name in names
    ]


def predict(
    was: Sequence[dict[str, Any]], wanted: Sequence[Mapping[str, Any]], accel: str, plan: Plan
) -> list[dict[str, Any]]:
    """Return the summary as it will be when the wanted machines are there."""
    accels = {one["name"]: one["accel"] for one in was}
    accels.update({machine["name"]: accel for machine in plan.start})
    return [
        {
            "name": machine["name"],
            "running": True,
            "accel": accels[machine["name"]],
            "port": machine["port"],
        }
        for machine in wanted
    ]
