# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of the whole host: a number or a name in a file of /proc/sys. Pure.

The device ``lo`` stands for its host, since each has one that keeps its name. So snapshot, restore,
check mode, apply and persist treat a setting of the host as one of a device.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping

from .._base.checks import number as checked_number
from .._base.checks import shown
from .._base.errors import InputError
from .._base.network import HOST
from .._base.quoting import shell_line
from .kind import (
    NODE,
    Asked,
    Described,
    KindState,
    Reader,
    SettingPlan,
    Values,
    number,
    power_of_two,
    require_power_of_two,
)
from .listed import Listed, unsupported

NOT_A_HOST = "it is a setting of the whole host"
FOLDER = "/proc/sys"


class HostKind(Listed):
    """A kind of the whole host."""

    settings: list[str]  # its one setting
    file: str  # below /proc/sys
    devices = [NODE]
    program = "sysctl"
    least = 0
    most = 2**31 - 1
    of_namespace = False  # each network namespace has its own; this is the one of the node itself

    def value(self, level: str) -> Any:
        return number(level)

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
        state: KindState = {"supported": True}
        try:
            state["current"] = self.from_text(listing)
            for name, value in state["current"].items():
                self.checked(name, value, state, self.path)
        except (ValueError, InputError):  # what could not be restored is left alone
            return unsupported(f"{self.path} has {shown(listing)}, which is no value of this kind")
        return state

    def from_text(self, text: str) -> dict[str, Any]:
        """Return the settings in a file's text; raises ``ValueError`` for what is none."""
        return {self.settings[0]: number(text)}

    def assigned(self, settings: Values) -> list[str]:
        """Return what a reader sets by sysctl, a text for each setting."""
        return [f"{self.sysctl}={value}" for value in settings.values()]

    def described(self, state: KindState) -> Described:
        return {} if state.get("reason") == NOT_A_HOST else super().described(state)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> Any:
        return int(checked_number(value, f"{where} {name}", self.least, self.most))

    def steps(self, change: Values, name: str) -> list[list[str]]:
        return []

    def writes(self, change: Values, name: str) -> list[tuple[str, str]]:
        return [(self.path, str(value)) for value in change.values()]

    def shell(self, settings: Values, name: str) -> list[str]:
        return [f"{shell_line(['echo', str(value)])} >{self.path}" for value in settings.values()]


class HostName(HostKind):
    """A kind of the whole host whose file has a name, such as a kernel module."""

    MATCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,14}\Z")
    WORDS = "a name of at most 15 letters, digits, '_' and '-'"

    def value(self, level: str) -> str:
        if self.MATCH.match(level):
            return level
        raise ValueError(self.WORDS)

    def from_text(self, text: str) -> dict[str, Any]:
        return {self.settings[0]: self.value(text)}

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        if isinstance(value, str) and self.MATCH.match(value):
            return value
        raise InputError(f"{shown(value)} is no name", f"{where} {name}", f"Give {self.WORDS}.")


class BusyPoll(HostKind):
    """How long select and poll ask the devices themselves for packets."""

    name = "busy_poll"
    about = "lets select and poll ask devices for packets themselves, for this number of microseconds; 0 never"
    availability = "sysctl `net.core.busy_poll`; kernels with CONFIG_NET_RX_BUSY_POLL"
    takes = "numbers, microseconds"
    settings = ["us"]
    file = "net/core/busy_poll"


BUSY_POLL = BusyPoll()


class RpsSockFlowEntries(HostKind):
    """How many flows the host remembers for receive flow steering."""

    name = "rps_sock_flow_entries"
    about = "is how many flows the host remembers for `rfs`, which acts only where it is above 0"
    availability = "sysctl `net.core.rps_sock_flow_entries`; kernels with CONFIG_RPS"
    takes = "0 or powers of two"
    settings = ["flows"]
    file = "net/core/rps_sock_flow_entries"
    most = 1 << 29

    value = staticmethod(power_of_two)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        return require_power_of_two(super().checked(name, value, state, where), f"{where} {name}")


RPS_SOCK_FLOW_ENTRIES = RpsSockFlowEntries()


class BusyRead(HostKind):
    """How long a read of a socket asks the devices themselves for packets."""

    name = "busy_read"
    about = "lets a read of a new socket ask its device for packets itself, for this number of microseconds"
    availability = "sysctl `net.core.busy_read`; kernels with CONFIG_NET_RX_BUSY_POLL"
    takes = "numbers, microseconds"
    settings = ["us"]
    file = "net/core/busy_read"


BUSY_READ = BusyRead()


class NetdevBudget(HostKind):
    """How many packets one round of polling takes from all devices."""

    name = "netdev_budget"
    about = "is how many packets one round of polling takes from all devices of a CPU"
    availability = "sysctl `net.core.netdev_budget`; every kernel"
    takes = "numbers from 1"
    settings = ["packets"]
    file = "net/core/netdev_budget"
    least = 1


NETDEV_BUDGET = NetdevBudget()


class NetdevMaxBacklog(HostKind):
    """How many packets wait on a CPU where a device has no polling of its own."""

    name = "netdev_max_backlog"
    about = "is how many packets wait for a CPU after `rps` or a veth; more are dropped"
    availability = "sysctl `net.core.netdev_max_backlog`; every kernel"
    takes = "numbers from 1"
    settings = ["packets"]
    file = "net/core/netdev_max_backlog"
    least = 1


NETDEV_MAX_BACKLOG = NetdevMaxBacklog()


class DefaultQdisc(HostName):
    """The queueing discipline of devices that come later."""

    name = "default_qdisc"
    about = "is the queueing discipline of devices that come later; `qdisc` changes a device"
    availability = "sysctl `net.core.default_qdisc`; every kernel with this discipline"
    takes = "names, such as `fq`"
    settings = ["root"]
    file = "net/core/default_qdisc"


DEFAULT_QDISC = DefaultQdisc()
# Of TCP each network namespace has its own: these kinds set the node's, not its tenants'.
PARTS = ("min", "default", "max")  # in the order of the file, bytes
NUMBERS = re.compile(r"([0-9]{1,10})\s+([0-9]{1,10})\s+([0-9]{1,10})\Z", re.ASCII)


class TcpMemory(HostKind):
    """A file with the smallest, the first and the largest buffer of a connection.

    The kernel takes the three numbers together, so a change of one writes them all.
    """

    settings = ["max"]
    least = 1
    of_namespace = True

    def from_text(self, text: str) -> dict[str, Any]:
        match = NUMBERS.match(text)
        if not match:
            raise ValueError(text)
        return dict(zip(PARTS, map(int, match.groups())))

    def assigned(self, settings: Values) -> list[str]:
        return [f"{self.sysctl} ({name})={value}" for name, value in settings.items()]

    def plan(
        self, requested: Asked, state: KindState, device: str, report_fixed: bool
    ) -> SettingPlan:
        plan = super().plan(requested, state, device, report_fixed)
        if plan["change"]:
            plan["change"] = {**state["current"], **plan["change"]}
        return plan

    def writes(self, change: Values, name: str) -> list[tuple[str, str]]:
        return [(self.path, " ".join(str(change[part]) for part in PARTS))] if change else []

    def shell(self, settings: Values, name: str) -> list[str]:
        numbers = " ".join(str(settings.get(part, f"${part}")) for part in PARTS)
        return [f'read -r {" ".join(PARTS)} <{self.path} && echo "{numbers}" >{self.path}']


class TcpRmem(TcpMemory):
    """How large the receive buffer of a connection may grow."""

    name = "tcp_rmem"
    about = "bounds the receive buffer of a TCP connection whose program sets none, in bytes"
    availability = "sysctl `net.ipv4.tcp_rmem`, its last number; every kernel"
    takes = "numbers from 1, bytes"
    also = (
        "min",
        "default",
    )
    file = "net/ipv4/tcp_rmem"


TCP_RMEM = TcpRmem()


class TcpWmem(TcpMemory):
    """How large the send buffer of a connection may grow."""

    name = "tcp_wmem"
    about = "bounds the send buffer of a TCP connection whose program sets none, in bytes"
    availability = "sysctl `net.ipv4.tcp_wmem`, its last number; every kernel"
    takes = "numbers from 1, bytes"
    also = (
        "min",
        "default",
    )
    file = "net/ipv4/tcp_wmem"


TCP_WMEM = TcpWmem()


class TcpCongestionControl(HostName):
    """The congestion control of new connections."""

    name = "tcp_congestion_control"
    about = "chooses the congestion control of new TCP connections"
    availability = "sysctl `net.ipv4.tcp_congestion_control`; what the kernel has or can load"
    takes = "names, such as `cubic`"
    settings = ["algorithm"]
    file = "net/ipv4/tcp_congestion_control"
    of_namespace = True


TCP_CONGESTION_CONTROL = TcpCongestionControl()
