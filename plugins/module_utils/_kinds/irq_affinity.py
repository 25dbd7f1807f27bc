# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPUs of a device's interrupts, as masks in ``/proc/irq``. Pure.

A device's interrupts are those that its bus has for it (``msi_irqs``); a virtual device has none.
Their numbers may be others after a reboot, so all of them get one mask at boot. Where irqbalance
runs, the masks are its own: they are neither varied nor kept nor restored.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping

from .._base.errors import InputError
from .._base.quoting import shell_line
from .kind import KindState, Reader
from .listed import unsupported
from .steering import Steering, parse_mask

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

    name = group = "irq_affinity"
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

    def shell(self, settings: Mapping[str, Any], name: str) -> list[str]:
        texts = set(settings.values())
        if len(texts) != 1:
            return super().shell(settings, name)
        device = shell_line([name])
        files = " ".join(f"/sys/class/net/{device}/{folder}/*" for folder in FOLDERS)
        write = f"{shell_line(['echo', texts.pop()])} >/proc/irq/${{irq##*/}}/smp_affinity"
        return [f"for irq in {files}; do [ -e $irq ] && {write}; done; true"]


IRQ_AFFINITY = IrqAffinity()
