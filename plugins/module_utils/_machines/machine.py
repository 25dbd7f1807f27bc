# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a virtual machine of a lab is: its names, its places on this machine, and what it may be."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Mapping, Sequence, Tuple, TypedDict

from .._base import checks, network
from .._base.errors import InputError

BRIDGE = "br0"
MANAGEMENT = "management0"
MARKER = ".offload-lab-machines"  # a folder with this file is a lab's, and is removed with it
LAB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
MACHINE_NAME = re.compile(r"[a-z][a-z0-9-]{0,11}")  # a host name, and with -0 to -9 a device's
MODELS = ("virtio-net-pci", "e1000e", "igb", "vmxnet3")
# A path in options of QEMU, where "," begins the next one, and in commands of debugfs
FOLDER = re.compile(r"/[A-Za-z0-9._@=+/-]+")
PROPERTY = re.compile(r"[A-Za-z0-9_.-]+=[A-Za-z0-9_.:-]+")
KERNELS_NAME = re.compile(r"eth\d+")
MOST_NICS = 9
# QEMU's emulation of the others reads one queue of the network, whatever the guest sees.
MULTI_QUEUE = "virtio-net-pci"
Tap = Tuple[str, str]  # the namespace of a device's other end, and its name there


class GivenNic(TypedDict):
    """A network device of a machine."""

    name: str
    model: str
    queues: int
    properties: dict[str, str]
    address: str | None
    mtu: int


class Nic(GivenNic, total=False):
    """A network device of a machine, and what only some have: the namespace of its other end, and
    the kernel of this machine to move its packets.
    """

    netns: str
    vhost: bool


# The device by which the controller reaches a machine; nothing else does
MANAGEMENT_NIC: Nic = {
    "name": MANAGEMENT,
    "model": MULTI_QUEUE,
    "queues": 1,
    "properties": {},
    "address": None,
    "mtu": 1500,
}


class GivenMachine(TypedDict):
    """A machine that is wanted."""

    name: str
    image: str
    port: int  # on this machine, for SSH
    cpus: int
    memory: int  # MiB
    nics: list[Nic]


class Machine(GivenMachine, total=False):
    """A machine that is wanted, and the folder of its kernel where that is not the image's."""

    kernel: str


def kernel_folder(machine: Machine) -> str:
    """Return the folder that has a machine's vmlinuz and initrd.img."""
    return machine.get("kernel") or machine["image"]


def fabric(lab: str) -> str:
    """Return the name of the namespace whose bridge joins the machines of a lab."""
    return lab + "-fabric"


def home(folder: str, machine: str) -> str:
    """Return the directory of a machine's files."""
    return os.path.join(folder, machine)


def tap_of(machine: str, index: int) -> str:
    """Return the name that the device with this number of a machine has in the fabric."""
    return f"{machine}-{index}"


def netns_of(lab: str, nic: Nic) -> str:
    """Return the namespace in which a device's other end is: the fabric, or the one that is given."""
    return nic.get("netns") or fabric(lab)


def wanted_taps(machine: Machine) -> list[Tap]:
    """Return the taps of a machine whose other ends are in namespaces that are given."""
    return [
        (nic["netns"], tap_of(machine["name"], index))
        for index, nic in enumerate(machine.get("nics", ()))
        if nic.get("netns")
    ]


def mac_of(lab: str, machine: str, device: str) -> str:
    """Return the MAC address of a device, locally administered. A recreated machine has the same
    one.
    """
    digest = hashlib.sha256(f"{lab} {machine} {device}".encode()).digest()
    return ":".join(["02"] + [f"{byte:02x}" for byte in digest[:5]])


def validate(lab: str, folder: str, machines: Sequence[Machine]) -> list[Machine]:
    """Return the wanted machines, checked; raise :class:`InputError` for what cannot be."""
    if not LAB_NAME.fullmatch(lab):
        raise InputError(
            f"{lab!r} is not a name for a lab",
            "name",
            "Use 1 to 40 letters, digits, hyphens and underscores, a letter or digit first.",
        )
    if not FOLDER.fullmatch(folder):
        raise InputError(
            "not an absolute path of letters, digits and the signs . _ @ = + - only",
            f"folder {checks.shown(folder)}",
            "Give the lab a folder of its own.",
        )
    checks.unique([machine["name"] for machine in machines], "name")
    checks.unique([machine["port"] for machine in machines], "port")
    addresses: list[str | None] = []
    for machine in machines:
        addresses += [nic["address"] for nic in machine["nics"]]
    checks.unique(filter(None, addresses), "address")
    return [_machine(machine) for machine in machines]


def _machine(machine: Machine) -> Machine:
    name = machine["name"]
    if not MACHINE_NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a name for a machine",
            "machines",
            "Use 1 to 12 lowercase letters, digits and hyphens, a letter first.",
        )
    checks.number(machine["cpus"], f"{name}: cpus", 1, 64)
    checks.number(machine["memory"], f"{name}: memory", 256, 1 << 20)
    network.port(machine["port"], f"{name}: port")
    if not 1 <= len(machine["nics"]) <= MOST_NICS:
        raise InputError(
            f"{len(machine['nics'])} NICs are not 1 to {MOST_NICS}", name, "Give a list of NICs."
        )
    checks.unique([nic["name"] for nic in machine["nics"]] + [MANAGEMENT], f"{name}: name of a NIC")
    for nic in machine["nics"]:
        _check_nic(name, nic)
    result: Machine = {**machine, "nics": [_without_empty(nic) for nic in machine["nics"]]}
    if not result.get("kernel"):
        result.pop("kernel", None)
    return result


def _without_empty(nic: Nic) -> Nic:
    """Return a device without what it does not have, as those were kept that were made before."""
    result = nic.copy()
    if not result.get("netns"):
        result.pop("netns", None)
    if not result.get("vhost"):
        result.pop("vhost", None)
    return result


def _check_nic(machine: str, nic: Nic) -> None:
    network.device_name(nic["name"], f"NIC of {machine}")
    if KERNELS_NAME.fullmatch(nic["name"]):
        raise InputError(
            f"{nic['name']} is a name that the kernel gives, by chance to another device",
            machine,
            "Use one of your own, such as underlay0.",
        )
    checks.number(nic["mtu"], f"{machine}: MTU", network.MIN_MTU, network.MAX_MTU)
    checks.number(nic["queues"], f"{machine}: queues", 1, 64)
    if nic["queues"] > 1 and nic["model"] != MULTI_QUEUE:
        raise InputError(
            f"QEMU gives {nic['queues']} queues to {MULTI_QUEUE} only",
            f"{machine}, {nic['name']}",
            f"Use 1, or model {MULTI_QUEUE}.",
        )
    if nic.get("vhost") and nic["model"] != MULTI_QUEUE:
        raise InputError(
            f"the kernel moves packets for {MULTI_QUEUE} only",
            f"{machine}, {nic['name']}",
            f"Leave out vhost, or use model {MULTI_QUEUE}.",
        )
    _check_properties(f"{machine}, {nic['name']}", nic["properties"])
    if nic["address"]:
        network.interface(nic["address"], f"address of {machine}")
    if nic.get("netns"):
        network.namespace_name(nic["netns"])


def _check_properties(where: str, properties: Mapping[str, str]) -> None:
    for key, value in properties.items():
        if not PROPERTY.fullmatch(f"{key}={value}"):
            raise InputError(
                f"{key}={value} is not a property",
                where,
                "Use letters, digits and the signs _.:- for both.",
            )
