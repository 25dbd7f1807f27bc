# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what there is of the virtual machines of a lab."""

from __future__ import annotations

import json
import os
from typing import Iterable

from .._base.errors import InputError
from .._host import daemons
from .._host.netns import path_of
from . import taps
from .machine import MARKER, Machine, fabric, home
from .machine_steps import MachinesState, SeenMachine

VHOST = "/dev/vhost-net"


def state_file(folder: str, machine: str) -> str:
    """Return the file that has a machine's process, and with which options it was started."""
    return os.path.join(home(folder, machine), "state.json")


def read_machine(folder: str, machine: str) -> SeenMachine:
    """Return how a machine was started (None: never), its accelerator, and its process if it is
    alive.
    """
    try:
        with open(state_file(folder, machine)) as stream:
            state = json.load(stream)
    except (OSError, ValueError):
        state = {}
    process = daemons.read(state_file(folder, machine))
    return {
        "spec": state.get("spec"),
        "accel": state.get("accel"),
        "process": process,
        "taps": taps.found(state["spec"]) if state.get("spec") else [],
        "disk": os.path.exists(os.path.join(home(folder, machine), "disk")),
    }


def read_state(lab: str, folder: str) -> MachinesState:
    """Return what there is of a lab: whether its folder is ours, taken by something else or free,
    and its machines.
    """
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    ours = MARKER in names
    machines = [name for name in names if os.path.isdir(home(folder, name))] if ours else []
    return {
        "ours": ours,
        "foreign": bool(names) and not ours,
        "fabric": os.path.exists(path_of(fabric(lab))),
        "keys": os.path.exists(os.path.join(folder, "host_key.pub")),
        "machines": {name: read_machine(folder, name) for name in machines},
    }


def require_files(machines: Iterable[Machine]) -> None:
    """Raise InputError where this machine lacks what a wanted machine is given: a kernel's files, or
    vhost.
    """
    for machine in machines:
        if machine.get("kernel"):
            for name in ("vmlinuz", "initrd.img"):
                path = os.path.join(machine["kernel"], name)
                if not os.path.isfile(path):
                    raise InputError(
                        "there is no such file", path, f"Give {machine['name']} another kernel."
                    )
        if any(nic.get("vhost") for nic in machine["nics"]) and not os.path.exists(VHOST):
            raise InputError(
                "this machine has no such device",
                VHOST,
                f"Leave out vhost of {machine['name']}, or load the module vhost_net.",
            )
