# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QEMU for a virtual machine: its arguments, its start and its end."""

from __future__ import annotations

import os
import re
from itertools import chain
from typing import Iterable, Mapping, Sequence

from .._base.errors import CommandError, InputError
from .._host import daemons, files
from .._host.runner import run
from . import taps
from .machine import MANAGEMENT, MANAGEMENT_NIC, Machine, Nic, home, kernel_folder, mac_of
from .machine_steps import MachinesState
from .read_machines import state_file

PROGRAM = "qemu-system-x86_64"
ACCELERATORS = {
    "kvm": ["-accel", "kvm", "-cpu", "host"],
    "tcg": ["-accel", "tcg,thread=multi", "-cpu", "max"],
}
# Once its files are open, QEMU needs no privilege. The filter of system calls also denies new ones, by
# PR_SET_NO_NEW_PRIVS. spawn=deny would deny the fork of -daemonize, and elevateprivileges=deny the
# change of the user.
SANDBOX = ["-sandbox", "on,obsolete=deny,resourcecontrol=deny"]
USER = "nobody"
RUN_WITH_USER = re.compile(r"^-run-with (?:(?!^-).)*\buser=", re.MULTILINE | re.DOTALL)
RUNAS = re.compile(r"^-runas ", re.MULTILINE)
HELP = [PROGRAM, "--help"]
PLAIN = [PROGRAM, "-machine", "q35", "-nodefaults", "-no-user-config", "-display", "none"]
KVM = "/dev/kvm"
PROBE_SECONDS = 30  # a kernel with KVM gives up after two


def _kernel(folder: str, command_line: str) -> list[str]:
    return [
        "-kernel",
        f"{folder}/vmlinuz",
        "-initrd",
        f"{folder}/initrd.img",
        "-append",
        f"console=ttyS0 {command_line}",
    ]


def confined(usage: str) -> list[str]:
    """Return the options that take QEMU's privileges away, as far as this QEMU has them: ``usage`` is
    what HELP prints.
    """
    argv = SANDBOX if "\n-sandbox on" in usage else []
    if RUN_WITH_USER.search(usage):
        return [*argv, "-run-with", f"user={USER}"]
    return [*argv, "-runas", USER] if RUNAS.search(usage) else [*argv]


def probe(image: str) -> list[str]:
    """Return the command that boots the kernel of an image with KVM: without a disk it gives up,
    and QEMU ends.
    """
    return [
        *PLAIN,
        *ACCELERATORS["kvm"],
        "-m",
        "512",
        "-no-reboot",
        "-serial",
        "stdio",
        *_kernel(image, "root=none rootdelay=1 panic=-1"),
    ]


def command(
    lab: str,
    folder: str,
    machine: Machine,
    accel: str,
    descriptors: Mapping[str, Sequence[int]],
) -> list[str]:
    """Return the command that starts a machine and leaves it; ``descriptors`` has the open taps by
    device.
    """
    folder_of_machine = home(folder, machine["name"])
    argv = [
        *PLAIN,
        "-name",
        f"{lab}-{machine['name']}",
        *ACCELERATORS[accel],
        "-smp",
        str(machine["cpus"]),
        "-m",
        str(machine["memory"]),
        *_kernel(kernel_folder(machine), "root=/dev/vda rw mitigations=off"),
        "-drive",
        f"file={folder_of_machine}/disk,format=raw,if=none,id=disk,cache=unsafe",
        "-device",
        "virtio-blk-pci,drive=disk",
        "-netdev",
        f"user,id={MANAGEMENT},restrict=on,hostfwd=tcp:127.0.0.1:{machine['port']}-:22",
        "-device",
        _device(lab, machine["name"], MANAGEMENT_NIC),
    ]
    for nic in machine["nics"]:
        taps = ":".join(map(str, descriptors[nic["name"]]))
        vhost = ",vhost=on" if nic.get("vhost") else ""
        argv += [
            "-netdev",
            f"tap,id={nic['name']},{'fds' if nic['queues'] > 1 else 'fd'}={taps}{vhost}",
            "-device",
            _device(lab, machine["name"], nic),
        ]
    return [
        *argv,
        "-serial",
        f"file:{folder_of_machine}/console",
        "-daemonize",
        "-pidfile",
        f"{folder_of_machine}/pid",
    ]


def _device(lab: str, machine: str, nic: Nic) -> str:
    queues = f",mq=on,vectors={2 * nic['queues'] + 2}" if nic["queues"] > 1 else ""
    more = "".join(f",{key}={value}" for key, value in sorted(nic["properties"].items()))
    return f"{nic['model']},netdev={nic['name']},mac={mac_of(lab, machine, nic['name'])},romfile={queues}{more}"


def kvm_boots(image: str) -> bool:
    """Return whether a kernel boots with KVM: on some nested machines the device is there, and a
    guest hangs.
    """
    if not os.path.exists(KVM):
        return False
    try:
        argv = [*probe(image), *_confined()]
        return "Kernel panic" in run(argv, timeout=PROBE_SECONDS, check=False).out
    except CommandError:
        return False


def _confined() -> list[str]:
    return confined(run(HELP).out)


def accelerator(choice: str, image: str) -> str:
    """Return kvm or tcg: what is asked for, as far as it works here."""
    if choice == "tcg":
        return "tcg"
    if kvm_boots(image):
        return "kvm"
    if choice == "kvm":
        raise InputError("a probe guest does not boot with KVM here", KVM, "Use accel auto or tcg.")
    return "tcg"


def start(lab: str, folder: str, machine: Machine, accel: str) -> None:
    """Start a machine, and write its state file."""
    with taps.opened(lab, machine) as descriptors:
        argv = [*command(lab, folder, machine, accel, descriptors), *_confined()]
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
