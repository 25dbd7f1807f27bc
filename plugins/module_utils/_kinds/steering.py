# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that steer packets to CPUs: masks of CPUs, of a device's queues or of its interrupts, and flows. Pure.

Format of masks: Documentation/networking/scaling.rst of the kernel; hexadecimal, groups of 32 bits with
commas between.

A device's interrupts are those that its bus has for it (``msi_irqs``); a virtual device has none.
Their numbers may be others after a reboot, so all of them get one mask at boot. Where irqbalance
runs, the masks are its own: they are neither varied nor kept nor restored.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping

from .._base.errors import InputError, ParseError
from .._base.quoting import shell_line
from .kind import KindState, Reader, Values, power_of_two, require_power_of_two
from .listed import unsupported
from .sysfs import Number, Sysfs

ONLINE = "/sys/devices/system/cpu/online"

MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{1,8}){0,31}\Z")
RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?\Z", re.ASCII)


def parse_cpus(text: str) -> set[int]:
    """Return the numbers in a list of CPUs such as ``0-3,8``, the form of
    /sys/devices/system/cpu/online.
    """
    cpus: set[int] = set()
    for part in text.strip().split(","):
        match = RANGE.match(part)
        if not match:
            raise ParseError(f"not a list of CPUs: {text[:60]!r}", 1)
        first = int(match.group(1))
        last = int(match.group(2) or match.group(1))
        cpus.update(range(first, last + 1))
    return cpus


def parse_mask(text: str) -> int:
    """Return a mask as a number."""
    if not MASK.match(text):
        raise ParseError(f"not a mask of CPUs: {text[:60]!r}", 1)
    value = 0
    for group in text.split(","):
        value = (value << 32) + int(group, 16)
    return value


def format_mask(value: int) -> str:
    """Return a number in the form that the kernel reads."""
    groups: list[int] = []
    while value or not groups:
        groups.append(value & 0xFFFFFFFF)
        value >>= 32
    return ",".join([f"{groups[-1]:x}"] + [f"{group:08x}" for group in reversed(groups[:-1])])


def wanted_mask(cpus: str, online: str) -> int:
    """Return the mask of ``off``, ``all`` or a mask; ``online`` is the text of the CPUs that run."""
    if cpus in ("off", "False", "all"):  # YAML reads a bare off as a boolean
        return sum(1 << cpu for cpu in parse_cpus(online)) if cpus == "all" else 0
    try:
        value = parse_mask(cpus)
    except ParseError:
        raise InputError(
            "not a mask of CPUs", f"cpus {cpus[:60]!r}", "Give off, all, or a mask such as f."
        )
    if value >> (max(parse_cpus(online)) + 1):
        raise InputError(
            "has CPUs that this node lacks", f"cpus {cpus!r}", f"Use CPUs of {online.strip()}."
        )
    return value


class Steering(Sysfs):
    """A kind that is a mask of CPUs for each queue of a device."""

    settings = ["cpus"]
    levels: list[str] | None = ["off", "all"]

    def value(self, level: str) -> str:
        text = str(level)
        if text in ("off", "all") or re.fullmatch(r"[0-9a-f]{1,8}(,[0-9a-f]{8}){0,31}", text):
            return text
        raise ValueError("off, all, or a hexadecimal mask of CPUs such as f")

    def from_text(self, text: str) -> str:
        try:
            return format_mask(parse_mask(text))
        except ParseError:
            raise ValueError(text)

    def for_all(self, value: Any, where: str) -> str:
        with open(ONLINE) as stream:
            return format_mask(wanted_mask(str(value), stream.read()))

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        try:
            return self.from_text(str(value))
        except ValueError:
            raise InputError("not a mask of CPUs", f"{where} {name}", "Give a mask such as f.")


class Rps(Steering):
    """Receive packet steering: the CPUs that process the packets of a receive queue."""

    name = "rps"
    about = "spreads received packets over CPUs in software"
    availability = "`rps_cpus` in sysfs; every kernel and driver"
    takes = "`off`, `all`, or a hexadecimal mask of CPUs"
    file = "queues/rx-*/rps_cpus"
    lacks = "it has no queues that rps can steer"


RPS = Rps()


class Xps(Steering):
    """Transmit packet steering: the CPUs whose packets a transmit queue takes."""

    name = "xps"
    about = "chooses the transmit queue by the CPU that sends"
    availability = "`xps_cpus` in sysfs; devices with several transmit queues"
    takes = "`off`, `all`, or a hexadecimal mask of CPUs"
    file = "queues/tx-*/xps_cpus"
    lacks = "it has no queues that xps can steer"


XPS = Xps()


class Rfs(Number):
    """Receive flow steering: how many flows each receive queue remembers, to find their programs' CPUs.

    It acts only where ``net.core.rps_sock_flow_entries`` is above 0, which is a kind of the host.
    """

    name = "rfs"
    about = (
        "steers a flow to the CPU of the program that reads it; acts where `rps_sock_flow_entries` "
        "is above 0"
    )
    availability = "`rps_flow_cnt` in sysfs; every kernel and driver"
    takes = "0 or powers of two, of each receive queue"
    settings = ["flows"]
    file = "queues/rx-*/rps_flow_cnt"
    lacks = "it has no receive queues that rfs can steer"

    value = staticmethod(power_of_two)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        return require_power_of_two(super().checked(name, value, state, where), f"{where} {name}")


RFS = Rfs()
# A device of virtio has its interrupts at the device of the bus above it.
FOLDERS = ("device/msi_irqs", "device/../msi_irqs")
INTERRUPT = re.compile(r"/sys/class/net/([^/]+)/device/(?:\.\./)?msi_irqs/([0-9]{1,7})\Z", re.ASCII)
MASK_OF = re.compile(r"/proc/irq/([0-9]{1,7})/smp_affinity:(.*)", re.ASCII)
BALANCER = ["pgrep", "-x", "irqbalance"]
READ_MASKS = ["grep", "-rsH", "--include=smp_affinity", "", "/proc/irq"]


def parse_interrupts(text: str) -> dict[str, set[str]]:
    """Return ``{device: its interrupts}`` from the paths of files in their folders."""
    devices: dict[str, set[str]] = {}
    for line in text.splitlines():
        match = INTERRUPT.match(line)
        if match:
            devices.setdefault(match.group(1), set()).add(match.group(2))
    return devices


def parse_masks(text: str) -> dict[str, str]:
    """Return ``{interrupt: mask}`` of what ``grep`` lists below ``/proc/irq``."""
    matches = (MASK_OF.match(line) for line in text.splitlines())
    return {match.group(1): match.group(2).strip() for match in matches if match}


class IrqAffinity(Steering):
    """The CPUs of a device's interrupts."""

    name = "irq_affinity"
    about = "chooses the CPUs that a device may interrupt"
    availability = "`/proc/irq/*/smp_affinity`; cards with MSI; not where irqbalance runs"
    takes = "`all`, or a hexadecimal mask of CPUs"
    levels = None
    program = "procfs"
    file = ""  # not below the device's folder
    each = "irq"
    lacks = "it has no interrupts of its own"

    @property
    def of_queues(self) -> bool:
        return True

    def value(self, level: str) -> str:
        if str(level).replace("off", "0").strip("0,") == "":
            raise ValueError("all, or a hexadecimal mask of CPUs such as f that is not 0")
        return super().value(level)

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        paths: list[str] = []
        for name in devices:
            paths += [f"/sys/class/net/{name}/{folder}" for folder in FOLDERS]
        # Other namespaces have devices without a bus.
        text = "" if netns else reader.read_output(["find", *paths, "-type", "f"], None)[0]
        interrupts = parse_interrupts(text)
        balanced = interrupts and reader.read_output(BALANCER, None)[0].strip()
        if balanced:
            reason = "irqbalance runs, which would change it again"
            return {name: unsupported(reason) for name in devices}
        masks = parse_masks(reader.read_output(READ_MASKS, None)[0]) if interrupts else {}
        states: dict[str, KindState] = {}
        for name in devices:
            of_device = sorted(interrupts.get(name, set()) & set(masks), key=int)
            states[name] = self.state({irq: masks[irq] for irq in of_device}, None)
        return states

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        mask = super().checked(name, value, state, where)
        if not parse_mask(mask):
            raise InputError("leaves an interrupt without a CPU", f"{where} {name}", "Give all.")
        return mask

    def _item(self, path: str) -> str:
        return f"irq-{path}"

    def path_of(self, name: str, item: str) -> str:
        return f"/proc/irq/{item.partition('-')[2]}/smp_affinity"

    def shell(self, settings: Values, name: str) -> list[str]:
        texts = set(settings.values())
        if len(texts) != 1:
            return super().shell(settings, name)
        device = shell_line([name])
        files = " ".join(f"/sys/class/net/{device}/{folder}/*" for folder in FOLDERS)
        write = f"{shell_line(['echo', texts.pop()])} >/proc/irq/${{irq##*/}}/smp_affinity"
        return [f"for irq in {files}; do [ -e $irq ] && {write}; done; true"]


IRQ_AFFINITY = IrqAffinity()
