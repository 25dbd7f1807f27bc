# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of NAPI, the kernel's polling of a device: threads, timers and deferred interrupts. Pure.

Files of sysfs set all instances of a device, netlink each one. A device has an instance for each of its
queues while it is up: ``napi-0`` is for the first queue. The one setting of such a kind, such as
``{"ns": 20000}``, means all instances.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._base.checks import boolean, shown
from .._base.checks import number as checked_number
from .._base.errors import InputError
from .kind import KernelCall, KindState, NotAsAsked, Reader, SettingPlan, Values, number, switch
from .sysfs import Number, Sysfs


class Threaded(Sysfs):
    """Whether the kernel polls in threads that the scheduler places.

    A device without NAPI, such as a veth without GRO, refuses to change it.
    """

    name = "threaded"
    about = "polls the device in kernel threads instead of soft interrupts"
    availability = (
        "`threaded` in sysfs; Linux 5.12 and later, devices with NAPI (veth: with GRO on)"
    )
    takes = "`off`, `on`"
    settings = ["napi"]
    levels = ["off", "on"]
    file = "threaded"
    lacks = "this kernel has no threaded NAPI, or the file cannot be read"

    value = staticmethod(switch)

    def from_text(self, text: str) -> bool:
        if text not in ("0", "1"):
            raise ValueError(text)
        return text == "1"

    def to_text(self, value: Any) -> str:
        return "1" if value else "0"

    def checked(self, name: str, value: Any, state: KindState, where: str) -> bool:
        return boolean(value, f"{where} {name}")


THREADED = Threaded()


class GroFlushTimeout(Number):
    """How long GRO keeps packets that it may merge with later ones, in nanoseconds."""

    name = "gro_flush_timeout"
    about = (
        "keeps packets that GRO may merge with later ones, in nanoseconds; 0 until the poll ends"
    )
    availability = "`gro_flush_timeout` in sysfs; every kernel, devices with NAPI"
    takes = "numbers, nanoseconds"
    settings = ["ns"]
    file = "gro_flush_timeout"
    lacks = "the file gro_flush_timeout is not there or cannot be read"


GRO_FLUSH_TIMEOUT = GroFlushTimeout()


class NapiDeferHardIrqs(Number):
    """How many empty polls go by before a device's interrupts are on again.

    It acts with a ``gro_flush_timeout`` above 0, whose timer polls meanwhile.
    """

    name = "napi_defer_hard_irqs"
    about = "leaves interrupts off for this many empty polls; acts with a `gro_flush_timeout`"
    availability = "`napi_defer_hard_irqs` in sysfs; Linux 5.8 and later, devices with NAPI"
    takes = "numbers"
    settings = ["polls"]
    file = "napi_defer_hard_irqs"
    lacks = "this kernel has no napi_defer_hard_irqs, or the file cannot be read"
    most = 2**31 - 1


NAPI_DEFER_HARD_IRQS = NapiDeferHardIrqs()

# Numbers of attributes: include/uapi/linux/netdev.h
GRO_FLUSH_TIMEOUT_OF_NAPI = 6
IRQ_SUSPEND_TIMEOUT_OF_NAPI = 7
THREADED_OF_NAPI = 8
MOST = 2**63 - 1


class OfNapi(Sysfs):
    """A kind of each NAPI instance of a device."""

    attribute: int  # of netlink
    netlink_name: str  # what netlink calls it
    program = "netlink"
    file = ""  # not below the device's folder
    each = "NAPI instance"
    lacks = "netlink lists no NAPI instance of it: it is down, or has none"
    lasts = False  # no program of a host sets it

    @property
    def of_queues(self) -> bool:
        return True

    def value(self, level: str) -> Any:
        return number(level)

    def from_text(self, text: str) -> Any:
        return int(text)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> Any:
        return checked_number(value, f"{where} {name}", 0, MOST)

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        napis = reader.read_napis(netns)
        return {name: self.of_instances(napis.get(name, [])) for name in devices}

    def of_instances(self, napis: list[dict[int, int]]) -> KindState:
        """Return the state of a device with these instances."""
        texts = {
            str(position): str(napi[self.attribute])
            for position, napi in enumerate(napis)
            if self.attribute in napi
        }
        unknown = f"this kernel's netlink has no {self.netlink_name} of NAPI" if napis else None
        return self.state(texts, unknown)

    def _item(self, path: str) -> str:
        return f"napi-{path}"

    def number_of(self, value: Any) -> int:
        """Return a value as netlink has it."""
        return int(value)

    def writes(self, change: Values, name: str) -> list[tuple[str, str]]:
        return []

    def calls(self, change: Values, name: str) -> list[KernelCall]:
        return [self._call(name, item, value) for item, value in change.items()]

    def _call(self, name: str, item: str, value: Any) -> KernelCall:
        position = int(item.partition("-")[2])
        call_words = ["netlink", "netdev", "napi-set", name, item, self.netlink_name, str(value)]
        return KernelCall(
            call_words, "napi_set", (name, position, self.attribute, self.number_of(value))
        )

    def shell(self, settings: Values, name: str) -> list[str]:
        return []


class IrqSuspendTimeout(OfNapi):
    """How long interrupts stay off after a program that polls has found packets."""

    name = "irq_suspend_timeout"
    about = "leaves interrupts off for this number of nanoseconds while a program polls and finds packets"
    availability = "netlink family netdev; Linux 6.13 and later, devices with NAPI that are up"
    takes = "numbers, nanoseconds, of each NAPI instance"
    settings = ["ns"]
    attribute = IRQ_SUSPEND_TIMEOUT_OF_NAPI
    netlink_name = "irq-suspend-timeout"


IRQ_SUSPEND_TIMEOUT = IrqSuspendTimeout()


class NapiGroFlushTimeout(OfNapi):
    """The timer of GRO of each NAPI instance; ``gro_flush_timeout`` sets all of a device."""

    name = "napi_gro_flush_timeout"
    about = "is `gro_flush_timeout` of each NAPI instance, in nanoseconds"
    availability = "netlink family netdev; Linux 6.13 and later, devices with NAPI that are up"
    takes = "numbers, nanoseconds, of each NAPI instance"
    settings = ["ns"]
    attribute = GRO_FLUSH_TIMEOUT_OF_NAPI
    netlink_name = "gro-flush-timeout"


NAPI_GRO_FLUSH_TIMEOUT = NapiGroFlushTimeout()
THREADS = ["off", "on", "busy-poll"]  # in the order of the kernel's numbers


class NapiThreaded(OfNapi):
    """Whether a thread polls each NAPI instance, and whether this thread ever sleeps."""

    name = "napi_threaded"
    about = "polls each NAPI instance in a thread; with `busy-poll` the thread never sleeps"
    availability = "netlink family netdev; Linux 6.17 and later, `busy-poll` with Linux 6.19"
    takes = "`off`, `on`, `busy-poll`"
    settings = ["napi"]
    levels = ["off", "on"]
    attribute = THREADED_OF_NAPI
    netlink_name = "threaded"

    def value(self, level: str) -> str:
        if level in THREADS:
            return level
        raise ValueError(f"one of {', '.join(THREADS)}")

    def from_text(self, text: str) -> str:
        if text not in ("0", "1", "2"):
            raise ValueError(text)
        return THREADS[int(text)]

    def number_of(self, value: Any) -> int:
        return THREADS.index(value)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        level = {False: "off", True: "on"}[value] if isinstance(value, bool) else value
        if level in THREADS:
            return str(level)
        raise InputError(
            f"{shown(value)} is not a way to poll",
            f"{where} {name}",
            f"Use one of {', '.join(THREADS)}.",
        )

    def refused(self, plan: SettingPlan, after: KindState) -> dict[str, NotAsAsked]:
        """A kernel before 6.19 takes no busy polling."""
        now = self.values(after)
        asked = [name for name, value in plan["requested"].items() if value == "busy-poll"]
        if all(now.get(name) == "busy-poll" for name in asked):
            return {}
        reason = "this kernel has no threads that busy-poll (Linux 6.19)"
        return {self.settings[0]: {"asked": "busy-poll", "reason": reason}}


NAPI_THREADED = NapiThreaded()
