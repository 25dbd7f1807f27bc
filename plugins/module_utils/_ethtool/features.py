# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The listing of ``ethtool -k``, of every version: what a device's features are, which rows are
groups, and which bits a name means as people write it.

Pure: text in, values out. The layout is what ``dump_features`` of ethtool's ethtool.c and
netlink/features.c print.
"""

from __future__ import annotations

import difflib
import re
from fnmatch import fnmatchcase
from typing import Dict, TypedDict

from .._base.errors import InputError

# Device names may hold dots, colons and @, so a header's name goes up to its last colon.
HEADER = re.compile(r"^(?:Features|Offload parameters) for (\S+):$")
# Any other report, such as "Pause parameters for eth0:", whose "RX: off" is no feature, and the
# report of ethtool -K.
OTHER_HEADER = re.compile(r"^(?:.* for \S+|Actual changes|NIC statistics):$")
# ethtool before 2.6.35 wrote "tcp segmentation offload", later versions write it with hyphens.
ROW = re.compile(r"^([A-Za-z][\w.-]*(?: [\w.-]+)*)\s*:\s*(on|off)(?=[\s\[]|$)(.*)$", re.ASCII)
# A listing may stand in a mail or a forum as a quotation.
QUOTE = "> \t"
MARKER = re.compile(r"\[(fixed|requested on|requested off|not requested)\]")

# Rows that ethtool prints from the legacy flags of one or many kernel features: short name, long
# name and pattern of the kernel's names, as in off_flag_def of ethtool's common.c.
LEGACY = (
    ("rx", "rx-checksumming", "rx-checksum"),
    ("tx", "tx-checksumming", "tx-checksum-*"),
    ("sg", "scatter-gather", "tx-scatter-gather*"),
    ("tso", "tcp-segmentation-offload", "tx-tcp*-segmentation"),
    ("ufo", "udp-fragmentation-offload", "tx-udp-fragmentation"),
    ("gso", "generic-segmentation-offload", "tx-generic-segmentation"),
    ("gro", "generic-receive-offload", "rx-gro"),
    ("lro", "large-receive-offload", "rx-lro"),
    ("rxvlan", "rx-vlan-offload", "rx-vlan-hw-parse"),
    ("txvlan", "tx-vlan-offload", "tx-vlan-hw-insert"),
    ("ntuple", "ntuple-filters", "rx-ntuple-filter"),
    ("rxhash", "receive-hashing", "rx-hashing"),
)
LONG_NAMES = {long: pattern for _short, long, pattern in LEGACY}


class Feature(TypedDict):
    """The state of a feature of a device."""

    active: bool
    fixed: bool  # cannot be changed
    requested: bool | None  # what the kernel was asked for, where a marker says so


Features = Dict[str, Feature]


def parse_features(text: str) -> dict[str, Features]:
    """Return the features of each device.

    Where no marker says what was requested (``[requested on]``), that is the active state. A text
    may list several devices; a device whose listing failed has no features. Lines that are no rows
    (errors, prompts, comments) are left out. Rows of a text without any header belong to the device
    ``""``.
    """
    lines = [line.lstrip(QUOTE).rstrip() for line in text.split("\n")]
    device = None if any(HEADER.match(line) for line in lines) else ""
    devices: dict[str, Features] = {}
    for line in lines:
        header = HEADER.match(line)
        if header:
            device = header.group(1)
            devices.setdefault(device, {})
        elif OTHER_HEADER.match(line):
            device = None
        elif device is not None:
            row = ROW.match(line)
            if row:
                devices.setdefault(device, {})[row.group(1).replace(" ", "-")] = state(row)
    return devices


def state(row: re.Match[str]) -> Feature:
    """Return the state that a matched row shows."""
    markers = MARKER.findall(row.group(3))
    requested = {"requested on": True, "requested off": False}
    return {
        "active": row.group(2) == "on",
        "fixed": "fixed" in markers,
        "requested": next((requested[marker] for marker in markers if marker in requested), None),
    }


def wanted(feature: Feature) -> bool:
    """Return the wanted bit of a feature: what the kernel was asked for, whether or not it can have
    it now.
    """
    return feature["active"] if feature["requested"] is None else feature["requested"]


def group_members(features: Features) -> dict[str, list[str]]:
    """Return ``{group row: [its bits]}`` for the summary rows of a device's ``features``.

    A row such as ``tcp-segmentation-offload`` is a summary where the device lists the kernel's own
    bits below it; where it lists none (a single bit, or an old ethtool), the row stands for itself.
    """
    groups = {}
    for long_name, pattern in LONG_NAMES.items():
        bits = [name for name in features if fnmatchcase(name, pattern)]
        if long_name in features and bits:
            groups[long_name] = bits
    return groups


def single_bits(features: Features) -> Features:
    """Return the features that are single kernel bits: all rows that are no summaries of others."""
    groups = group_members(features)
    return {name: value for name, value in features.items() if name not in groups}


SHORT_NAMES = {long: short for short, long, _pattern in LEGACY}
LONG_OF_SHORT = {short: long for short, long, _pattern in LEGACY}
# A kernel name that ethtool hides behind its long name, such as rx-gro behind
# generic-receive-offload.
HIDDEN_NAMES = {pattern: long for _short, long, pattern in LEGACY if "*" not in pattern}


def resolve(name: str, features: Features, device: str) -> list[str]:
    """Return the listed rows, all of them single bits, that ``name`` means on a device that lists
    ``features``.

    ``name`` is a row of the listing, a kernel name (``rx-gro``), or a legacy name, short (``tso``)
    or long (``tcp-segmentation-offload``); a legacy name that stands for a group gives the group's
    bits. Raises :class:`InputError` where the device lists no such feature.
    """
    groups = group_members(features)
    for candidate in (name, LONG_OF_SHORT.get(name), HIDDEN_NAMES.get(name)):
        if candidate in groups:
            return list(groups[candidate])
        if candidate in features:
            return [candidate]
    raise InputError(
        f"this device and kernel have no feature {name!r}", device, advice(name, features, device)
    )


def advice(name: str, features: Features, device: str) -> str:
    """Return the sentence that helps after an unknown feature name."""
    names = sorted(
        set(features) | {short for short, long in LONG_OF_SHORT.items() if long in features}
    )
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return f"'ethtool -k {device}' lists the names that can be used."


def argument_name(row: str) -> str:
    """Return the name under which every version of ``ethtool -K`` takes the listed ``row``."""
    return SHORT_NAMES.get(row, row)


def resolve_all(
    features_asked: dict[str, bool], features: Features, device: str
) -> dict[str, bool]:
    """Return ``{bit: bool}`` for ``{name or alias: bool}``: bits named singly win over the groups
    that hold them.

    Raises :class:`InputError` for an unknown name, and for two names of one bit that contradict
    each other.
    """
    groups: dict[str, bool] = {}
    singles: dict[str, bool] = {}
    origin: dict[str, str] = {}
    for name, value in features_asked.items():
        bits = resolve(name, features, device)
        level = singles if is_single(name, features) else groups
        for bit in bits:
            if level.get(bit, value) != value:
                raise InputError(
                    f"{origin[bit]!r} and {name!r} ask {bit} to be both on and off",
                    device,
                    "Give each feature one value.",
                )
            level[bit] = value
            origin[bit] = name
    return dict(groups, **singles)


def is_single(name: str, features: Features) -> bool:
    """Return whether ``name`` means one bit and not a group of this device."""
    groups = group_members(features)
    return name not in groups and LONG_OF_SHORT.get(name) not in groups
