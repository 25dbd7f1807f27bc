# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of kinds: what a kind of setting is, and what each group of them shares. Pure.

A kind is one object in one file of this room. What reads a node is an argument.
"""

from __future__ import annotations

import re
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Mapping,
    NamedTuple,
    Optional,
    Protocol,
    Tuple,
    TypedDict,
)

from .._base.errors import InputError

Values = Mapping[str, Any]  # {name of a setting: its value}, in the form of its kind
Described = Dict[str, Any]  # what module ethtool_info reports of a device, by group
Item = Dict[str, Any]  # a device, by name and netns, and its settings by kind
KindState = Dict[str, Any]  # what a device has: supported, current, maximum; or its features
Asked = Mapping[str, Values]  # what is asked of a device: {key of a kind: {name: value}}
Expressed = Optional[Tuple[str, str]]  # a key of a host's configuration, and its value
NODE = "node"  # the class of devices that every host has: itself
FEATURE = "feature"  # the kind that packets prove; other kinds are read back
# The key under which a device's settings have a kind, where it is not the kind's name; "" for no key.
GROUPS = {FEATURE: "features", "tunnel_csum": ""}


def group_of(kind: str) -> str:
    """Return the key under which a device's settings have a kind, by its name; "" for no key."""
    return GROUPS.get(kind, kind)


class NotAsAsked(TypedDict, total=False):
    """A setting that is not as asked, or cannot be."""

    asked: Any
    active: Any
    requested: bool | None  # the wanted bit of a feature
    reason: str
    queues: list[str]  # those that are not as asked


class SideEffect(TypedDict):
    """A setting that changed and was not asked to."""

    before: Any
    after: Any


Judged = Tuple[Dict[str, NotAsAsked], Dict[str, SideEffect]]  # not honoured, side effects


class KernelCall(NamedTuple):
    """A call of the kernel for what no program sets: in words, and a function of :mod:`.change` with its
    arguments.
    """

    words: list[str]
    function: str
    arguments: tuple[Any, ...]


class SettingPlan(TypedDict):
    """What becomes of one kind of settings of a device, by name."""

    requested: dict[str, Any]
    change: dict[str, Any]  # the settings that still differ
    fixed: dict[str, NotAsAsked]  # what was requested and cannot be


class Reader(Protocol):
    """What reads the devices of a node: :class:`_kinds.change.NodeReader`."""

    def read_features(self, names: list[str], netns: str | None) -> dict[str, Any]:
        """Return the features of devices."""

    def read_listing(
        self, option: str, parse: Callable[[str], Any], names: list[str], netns: str | None
    ) -> dict[str, tuple[Any, str | None]]:
        """Return what ethtool lists of devices for an option, or why it lists nothing."""

    def read_flow_hash(self, name: str, flow_types: list[str], netns: str | None) -> dict[str, Any]:
        """Return the hash fields of flow types."""

    def read_files(self, names: list[str], netns: str | None) -> dict[str, dict[str, str]]:
        """Return ``{device: {path below its folder in sysfs: text}}`` of the files that kinds are."""

    def read_text(self, path: str) -> str | None:
        """Return the text of a file of the host, None where it cannot be read."""

    def read_napis(self, netns: str | None) -> dict[str, list[dict[int, int]]]:
        """Return the NAPI instances of each device, each as numbers by attribute."""

    def read_program_name(self, number: Any) -> str | None:
        """Return the name of a BPF program by its number, None where it is not known."""

    def read_output(self, argv: list[str], netns: str | None) -> tuple[str, str | None]:
        """Return what a command prints, and why it failed, None where it did not."""

    def find_program(self, program: str) -> str:
        """Return the path of a program that only root can change; raise LabError where there is none."""


class Kind:
    """A kind of setting: what a campaign may say of it, and what the reference page says."""

    name: str
    about: str  # what it changes, for the reference page
    availability: str  # where a reader finds it
    takes: str  # which levels a campaign may give, for the reference page
    also: tuple[str, ...] = ()  # settings that a campaign may name in addition
    settings: list[str] | None = None  # that take a level, None for the factor's own name
    levels: list[str] | None = None  # by default
    devices: list[str] | None = None  # classes by default, None for those that the paths pass

    @property
    def group(self) -> str:
        """Return the key under which a device's settings have it; "" for no key."""
        return group_of(self.name)

    def value(self, level: str) -> Any:
        """Return what a level becomes; raises ``ValueError`` with what is allowed."""
        raise NotImplementedError

    def setting_name(self, name: str) -> str:
        """Return a name as the listing of a device has it."""
        return name.replace("_", "-")

    def link_file_key(self, setting: str, value: Any) -> Expressed:
        """Return the key of systemd.link(5) that expresses a setting, or None."""

    def connection_property(self, setting: str, value: Any) -> Expressed:
        """Return the property of a NetworkManager connection that expresses a setting, or None."""


class DeviceKind(Kind):
    """A kind of a device: it is read, planned, set, read back, kept and restored."""

    program = "ethtool"  # that sets it, or sysfs
    lasts = True  # whether a host's configuration can set it at each boot

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of a device under which this kind may be asked for."""
        return (self.group,)

    @property
    def kept_as(self) -> str:
        """Return the key under which a snapshot has this kind."""
        return self.keys[-1]

    def asked_of(self, requested: Asked) -> Values:
        """Return what is asked in this kind, empty for nothing."""
        return next((requested[key] for key in reversed(self.keys) if requested.get(key)), {})

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        """Return ``{device: state}``; ``devices`` has the names of settings that matter, by device."""
        raise NotImplementedError

    def described(self, state: KindState) -> Described:
        """Return what module ethtool_info reports of a state."""
        return {self.group: state}

    def kept(self, described: Described) -> Values:
        """Return what a snapshot keeps of a described device."""
        current = described.get(self.group, {}).get("current", {})
        return {name: value for name, value in current.items() if value is not None}

    def values(self, state: KindState) -> Values:
        """Return ``{name: value}`` of a state."""
        return dict(state.get("current", {}))

    def plan(
        self, requested: Asked, state: KindState, device: str, report_fixed: bool
    ) -> SettingPlan:
        """Return the plan; raises :class:`InputError` for what the device cannot do."""
        raise NotImplementedError

    def steps(self, change: Values, name: str) -> list[list[str]]:
        """Return the argument lists that change the device ``name``."""
        return []

    def writes(self, change: Values, name: str) -> list[tuple[str, str]]:
        """Return the files of sysfs to write, each with its text."""
        return []

    def calls(self, change: Mapping[str, Any], name: str) -> list[KernelCall]:
        """Return the calls of the kernel that change the device."""
        return []

    def shell(self, settings: Values, name: str) -> list[str]:
        """Return the lines of a shell that write the files at boot."""
        return []

    def predict(self, state: KindState, change: Values) -> KindState:
        """Return the state that is expected after the change."""
        raise NotImplementedError

    def judge(self, plan: SettingPlan, before: KindState, after: KindState, exact: bool) -> Judged:
        """Return ``(not_honoured, side_effects)``; ``exact`` is for wanted bits of features."""
        raise NotImplementedError

    def refused(self, plan: SettingPlan, after: KindState) -> dict[str, NotAsAsked]:
        """Return the asked settings that the device does not take, each with a ``reason``."""
        return {}


# What a level may be.
SWITCH = {"off": False, "on": True}


def switch(level: str) -> bool:
    """Return the bool of ``off`` or ``on``."""
    if level in SWITCH:
        return SWITCH[level]
    raise ValueError("off or on")


def number(level: str) -> int:
    """Return a number from 0 to 2^32 - 1."""
    if re.fullmatch(r"[0-9]{1,10}", str(level), re.ASCII) and int(level) < 2**32:
        return int(level)
    raise ValueError("a number from 0 to 4294967295")


def power_of_two(level: str) -> int:
    """Return 0 or a power of two; the kernel rounds other numbers up."""
    value = number(level)
    if value & (value - 1):
        raise ValueError("0 or a power of two; the kernel rounds other numbers up")
    return value


def require_power_of_two(value: int, where: str) -> int:
    """Return 0 or a power of two; raises :class:`InputError` for another number."""
    if value & (value - 1):
        raise InputError(
            "is not a power of two, to which the kernel would round it up",
            f"{where} {value}",
            "Give 0 or a power of two, such as 4096.",
        )
    return value
