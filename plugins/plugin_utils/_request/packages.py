# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that a node needs, and the packages that bring them on each operating system. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils._engines import engines

_PROGRAMS = ("ip", "ss", "ethtool", "ovs-vsctl", "ovs-ctl", "ping", "modprobe")
# By family of the operating system, one package for each of these programs.
_COMMON = {
    "debian": "iproute2 iproute2 ethtool openvswitch-switch openvswitch-switch iputils-ping kmod",
    "rhel": "iproute iproute ethtool openvswitch3.5 openvswitch3.5 iputils kmod",
    "fedora": "iproute iproute ethtool openvswitch openvswitch iputils kmod",
    "suse": "iproute2 iproute2 ethtool openvswitch openvswitch iputils kmod",
    "alpine": "iproute2 iproute2-ss ethtool openvswitch openvswitch iputils-ping kmod",
    "arch": "iproute2 iproute2 ethtool openvswitch openvswitch iputils kmod",
}
# Names that one release has instead, by family and major version.
_RENAMED = {("rhel", "8"): {"openvswitch3.5": "openvswitch3.1"}}
FAMILIES = tuple(_COMMON)


def family_of(distribution: Mapping[str, Any]) -> str:
    """Return the family of an operating system, "" for an unknown one.

    ``distribution`` is what module preflight_info returns: ``id``, ``like`` and ``version``.
    """
    names = [distribution.get("id", ""), *distribution.get("like", [])]
    for name in names:
        family = name.partition("-")[0].replace("opensuse", "suse").replace("sles", "suse")
        if family in FAMILIES:
            return family
    return ""


def node_packages(
    names: Iterable[object], distribution: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Return ``{program: package}`` for a node that runs these engines; "" where no package exists.

    Raises InputError for an unknown engine.
    """
    system = distribution or {}
    family = family_of(system)
    packages = dict.fromkeys(_PROGRAMS, "")
    if family:
        packages = dict(zip(_PROGRAMS, _COMMON[family].split(), strict=True))
    chosen = itertools.chain.from_iterable(engines.candidates(str(name)) for name in names)
    for engine in map(engines.engine_named, chosen):
        packages.update(dict.fromkeys(engine.programs(), engine.packages.get(family, "")))
    major = str(system.get("version", "")).partition(".")[0]
    renamed = _RENAMED.get((family, major), {})
    return {program: renamed.get(package, package) for program, package in packages.items()}
