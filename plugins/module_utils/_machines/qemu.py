# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QEMU for a virtual machine: its taps, its arguments, its start and its end; and what there is of a
lab's machines now.

A tap is an open file that QEMU inherits. Taps in the fabric disappear with QEMU, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import struct
from itertools import chain
from typing import Iterable, Iterator, Mapping, Sequence

from .._base.errors import CommandError, InputError, LabError
from .._base.steps import batch
from .._host import daemons, files
from .._host.netns import inside, path_of
from .._host.runner import apply, run
from .machine import (
    BRIDGE,
    MANAGEMENT,
    MANAGEMENT_NIC,
    MARKER,
    Machine,
    Nic,
    Tap,
    fabric,
    home,
    kernel_folder,
    mac_of,
    netns_of,
    tap_of,
    wanted_taps,
)
from .machine_steps import MachinesState, SeenMachine

# linux/if_tun.h
DEVICE = "/dev/net/tun"
TUNSETIFF = 0x400454CA
TUNSETPERSIST = 0x400454CB
IFF_TAP = 0x0002
IFF_MULTI_QUEUE = 0x0100
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000


def _open(name: str, flags: int) -> int:
    descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    except OSError as error:
        os.close(descriptor)
        raise LabError(
            f"cannot be turned into a tap ({error.strerror})",
            name,
            "Check whether another QEMU has it.",
        )
    return descriptor


def found(machine: Machine) -> list[Tap]:
    """Return ``(namespace, tap)`` of the taps of a machine that are in namespaces which are not the
    lab's own.
    """
    names = wanted_taps(machine)
    return [
        (netns, tap)
        for netns, tap in names
        if run(["ip", "-netns", netns, "link", "show", "dev", tap], check=False).rc == 0
    ]


@contextlib.contextmanager
def opened(lab: str, machine: Machine) -> Iterator[dict[str, list[int]]]:
    """Open the taps of a machine's NICs and bring them up: ``{device: [descriptor, ...]}``.

    Those in the fabric are on its bridge. In a namespace that is given, its owner connects them.
    There they outlive QEMU: Open vSwitch holds on to a device that is gone, and gets nothing from a
    new one of the same name. Each packet has the header of virtio, so one machine's
    super-packets reach the other's device whole.
    """
    with contextlib.ExitStack() as stack:
        queues: dict[str, list[int]] = {}
        for index, nic in enumerate(machine["nics"]):
            tap = tap_of(machine["name"], index)
            netns = netns_of(lab, nic)
            with inside(netns):
                queues[nic["name"]] = [_queue(stack, tap, nic) for _number in range(nic["queues"])]
            master = "" if nic.get("netns") else f"master {BRIDGE} "
            apply(batch([f"link set dev {tap} mtu {nic['mtu']} {master}up"], netns))
        yield queues


def _queue(stack: contextlib.ExitStack, tap: str, nic: Nic) -> int:
    """Open a queue of a tap until the end of the ``stack``; return its descriptor."""
    flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR
    if nic["queues"] > 1:
        flags |= IFF_MULTI_QUEUE
    descriptor = _open(tap, flags)
    stack.callback(os.close, descriptor)
    if nic.get("netns"):
        fcntl.ioctl(descriptor, TUNSETPERSIST, 1)
    return descriptor


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
        "taps": found(state["spec"]) if state.get("spec") else [],
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
    with opened(lab, machine) as descriptors:
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
