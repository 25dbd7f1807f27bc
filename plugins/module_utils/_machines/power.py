# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting and ending the QEMU of virtual machines."""

from __future__ import annotations

import os
from itertools import chain
from typing import Iterable

from .._base.errors import CommandError, InputError
from .._host import daemons, files
from .._host.runner import run
from . import qemu, taps
from .machine import Machine, home
from .machine_steps import MachinesState
from .read_machines import state_file

KVM = "/dev/kvm"
PROBE_SECONDS = 30  # a kernel with KVM gives up after two


def kvm_boots(image: str) -> bool:
    """Return whether a kernel boots with KVM: on some nested machines the device is there, and a
    guest hangs.
    """
    if not os.path.exists(KVM):
        return False
    try:
        argv = [*qemu.probe(image), *_confined()]
        return "Kernel panic" in run(argv, timeout=PROBE_SECONDS, check=False).out
    except CommandError:
        return False


def _confined() -> list[str]:
    return qemu.confined(run(qemu.HELP).out)


def accelerator(asked: str, image: str) -> str:
    """Return kvm or tcg: what is asked for, as far as it works here."""
    if asked == "tcg":
        return "tcg"
    if kvm_boots(image):
        return "kvm"
    if asked == "kvm":
        raise InputError("a probe guest does not boot with KVM here", KVM, "Use accel auto or tcg.")
    return "tcg"


def start(lab: str, folder: str, machine: Machine, accel: str) -> None:
    """Start a machine, and write its state file."""
    with taps.opened(lab, machine) as descriptors:
        argv = [*qemu.command(lab, folder, machine, accel, descriptors), *_confined()]
        run(argv, pass_fds=list(chain.from_iterable(descriptors.values())))
    with open(os.path.join(home(folder, machine["name"]), "pid")) as stream:
        daemons.write(
            state_file(folder, machine["name"]),
            int(stream.read()),
            {"spec": dict(machine), "accel": accel},
        )


def write_known_hosts(folder: str) -> None:
    """Write what SSH needs to know the machines, which have one host key: no other host that answers
    at their ports is taken for one of them.
    """
    with open(os.path.join(folder, "host_key.pub")) as stream:
        kind, key = stream.read().split()[:2]
    files.write(os.path.join(folder, "known_hosts"), f"[127.0.0.1]:* {kind} {key}\n", 0o644)


def stop(names: Iterable[str], state: MachinesState) -> None:
    """End the QEMU of machines, like a power cut."""
    processes = [state["machines"][name]["process"] for name in names]
    daemons.stop([process for process in processes if process])
