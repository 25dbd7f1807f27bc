# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of the whole host: a number in a file of /proc/sys. Pure.

The device ``lo`` stands for its host, since each has one that keeps its name. So snapshot, restore,
check mode, apply and persist treat a setting of the host as one of a device.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._base.checks import number as checked_number
from .._base.quoting import shell_line
from .kind import KindState, Reader, number, power_of_two, require_power_of_two
from .listed import Listed, unsupported

HOST = "lo"
NODE = "node"  # the class of devices that every host has: itself
NOT_A_HOST = "it is a setting of the whole host"
FOLDER = "/proc/sys"


class HostKind(Listed):
    """A kind of the whole host."""

    settings: list[str]  # its one setting
    file: str  # below /proc/sys
    devices = [NODE]
    program = "sysctl"
    most = 2**31 - 1

    value = staticmethod(number)

    @property
    def path(self) -> str:
        """Return the path of the file."""
        return f"{FOLDER}/{self.file}"

    @property
    def sysctl(self) -> str:
        """Return its name as sysctl has it."""
        return self.file.replace("/", ".")

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        states = dict.fromkeys(devices, unsupported(NOT_A_HOST))
        if HOST in devices and not netns:
            states[HOST] = self.state(reader.read_text(self.path), None)
        return states

    def state(self, listing: str | None, reason: str | None) -> KindState:
        if listing is None:
            missing = f"{self.path} is not there: the kernel lacks it, or the node is a container"
            return unsupported(missing)
        return {"supported": True, "current": {self.settings[0]: int(listing)}}

    def described(self, state: KindState) -> dict[str, Any]:
        return {} if state.get("reason") == NOT_A_HOST else super().described(state)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        return int(checked_number(value, f"{where} {name}", 0, self.most))

    def steps(self, change: Mapping[str, Any], name: str) -> list[list[str]]:
        return []

    def writes(self, change: Mapping[str, Any], name: str) -> list[tuple[str, str]]:
        return [(self.path, str(value)) for value in change.values()]

    def shell(self, settings: Mapping[str, Any], name: str) -> list[str]:
        return [f"{shell_line(['echo', str(value)])} >{self.path}" for value in settings.values()]


class BusyPoll(HostKind):
    """How long select and poll ask the devices themselves for packets."""

    name = group = "busy_poll"
    about = "lets select and poll ask devices for packets themselves, for this number of microseconds; 0 never"
    availability = "sysctl `net.core.busy_poll`; kernels with CONFIG_NET_RX_BUSY_POLL"
    settings = ["us"]
    file = "net/core/busy_poll"


BUSY_POLL = BusyPoll()


class RpsSockFlowEntries(HostKind):
    """How many flows the host remembers for receive flow steering."""

    name = group = "rps_sock_flow_entries"
    about = "is how many flows the host remembers for `rfs`, which acts only where it is above 0"
    availability = "sysctl `net.core.rps_sock_flow_entries`; kernels with CONFIG_RPS"
    settings = ["flows"]
    file = "net/core/rps_sock_flow_entries"
    most = 1 << 29

    value = staticmethod(power_of_two)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        return require_power_of_two(super().checked(name, value, state, where), f"{where} {name}")


RPS_SOCK_FLOW_ENTRIES = RpsSockFlowEntries()
