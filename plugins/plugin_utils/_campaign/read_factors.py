# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the factors of a campaign file, and check them: their kind, their levels, and what they need. Pure.

The kinds are in module_utils/_kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._ethtool.features import LEGACY
from ...module_utils._kinds.host import HostKind
from ...module_utils._kinds.kinds import KINDS
from .._paths.lab_paths import LAB, TENANT, Paths
from .._paths.path import FORWARDER, UNDERLAY
from .factors import ENDS, FactorEntry, level_name
from .nouns import Factor

# The kernel's names of features begin with one of the first words, or are a single word
# (netdev_features_strings in net/ethtool/common.c). The nodes report which ones they have.
FIRST_WORDS = "tx|rx|tls|esp|hw|hsr|l2|macsec|fcoe|vlan|netns|busy"
SINGLE_WORDS = "highdma|loopback"
KERNEL_NAME = re.compile(rf"(?:(?:{FIRST_WORDS})-[a-z0-9_-]+|{SINGLE_WORDS})\Z")
LEGACY_NAMES = {row[0] for row in LEGACY} | {row[1] for row in LEGACY}


def _value(kind: str, value: Any, where: str) -> Any:
    """Return the value that a level sets; a mapping has a value per setting."""
    if isinstance(value, dict):
        return {name: _value(kind, level, where) for name, level in value.items()}
    try:
        return KINDS[kind].value(level_name(value))
    except ValueError as allowed:
        raise InputError(f"{value!r} is not a level of kind {kind}", where, f"Give {allowed}.")


def _levels(levels: Any, kind: str, where: str) -> dict[str, object]:
    """Return the value of each level, in the order of the campaign; ``levels`` None means all of the
    kind.
    """
    levels = KINDS[kind].levels if levels is None else levels
    if levels is None:
        raise InputError(
            f"kind {kind} needs levels", where, "Give two or more, such as levels: [1, 4]."
        )
    pairs = levels.items() if isinstance(levels, dict) else [(level, level) for level in levels]
    values = {level_name(name): _value(kind, value, where) for name, value in pairs}
    if len(values) < 2:
        raise InputError("the levels are all the same", where, "Give two different levels or more.")
    return values


class Varied(TypedDict):
    """The keys of a campaign that hold for all its factors."""

    sides: str | list[str]
    paths: list[str]


def _kind_of(entry: FactorEntry, where: str) -> str:
    """Return the kind of a factor: its key ``kind``, or the kind of its name, or ``feature``."""
    kind = entry.get("kind", entry["name"] if entry["name"] in KINDS else "feature")
    if kind not in KINDS:
        raise InputError(f"{kind!r} is not a kind of setting", where, f"Use {', '.join(KINDS)}.")
    if entry.get("needs") and kind != "feature":
        raise InputError(
            "only a factor of kind feature can need features", where, "Leave 'needs' out."
        )
    return kind


def _check_reaches(kind: str, classes: Iterable[str], where: str) -> None:
    """Raise InputError where a tenant's network namespace has a setting of its own."""
    varied = KINDS[kind]
    if isinstance(varied, HostKind) and varied.of_namespace and TENANT in classes:
        raise InputError(
            "does not reach tenants: each network namespace has its own",
            where,
            "Leave the paths with tenants out.",
        )


def _devices_at(side: str, devices: list[str]) -> list[str]:
    """Return the device classes of a factor at a side: a forwarder has only underlay devices."""
    if side == FORWARDER and UNDERLAY in devices:
        return [UNDERLAY]
    return devices


def read_factor(entry: str | FactorEntry, campaign: Varied, paths: Paths = LAB) -> list[Factor]:
    """Return the factors of an entry of a campaign's ``factors``: one, or one for each side."""
    entry = {"name": entry} if isinstance(entry, str) else entry
    where = f"factor {entry['name']}"
    kind = _kind_of(entry, where)
    values = _levels(entry.get("levels"), kind, where)
    _check_reaches(kind, paths.classes(campaign["paths"]), where)
    devices = entry.get("devices") or KINDS[kind].devices or paths.classes(campaign["paths"])
    sides = entry.get("sides", campaign["sides"])
    sides = sides if isinstance(sides, list) else [sides]
    return [
        {
            "name": f"{entry['name']}@{side}" if len(sides) > 1 else entry["name"],
            "kind": kind,
            "levels": list(values),
            "values": values,
            "settings": entry.get("settings") or KINDS[kind].settings or [entry["name"]],
            "devices": _devices_at(side, devices),
            "sides": ENDS[side],
            "needs": entry.get("needs", []),
        }
        for side in sides
    ]


def check_needs(factors: Iterable[Factor], where: str) -> None:
    """Raise :class:`InputError` where a need names no feature, or where needs form a circle."""
    needs: dict[str, set[str]] = {}
    for factor in factors:
        for need in factor["needs"]:
            _check_name(need, factor, where)
        for setting in factor["settings"]:
            needs.setdefault(setting, set()).update(factor["needs"])
    for setting in needs:
        _refuse_circle(setting, needs, where)


def _check_name(need: str, factor: Factor, where: str) -> None:
    if need not in LEGACY_NAMES and not KERNEL_NAME.match(need):
        raise InputError(
            f"{need!r} is no feature",
            f"{where}: factor {factor['name']}: needs",
            "Give a name that 'ethtool -k' lists, such as tx-checksum-ip-generic, or a short one such as tx.",
        )


def _refuse_circle(start: str, needs: dict[str, set[str]], where: str) -> None:
    """Follow the needs of a setting; raise InputError where they lead back to it."""
    path = [start]
    to_follow = [(need, path) for need in sorted(needs[start])]
    followed = set()
    while to_follow:
        setting, before = to_follow.pop()
        way = [*before, setting]
        if setting == start:
            raise InputError(
                f"the needs go in a circle: {' needs '.join(way)}",
                f"{where}: factors",
                "Leave one of these needs out.",
            )
        if setting not in followed:
            followed.add(setting)
            to_follow += [(need, way) for need in sorted(needs.get(setting, ()))]
