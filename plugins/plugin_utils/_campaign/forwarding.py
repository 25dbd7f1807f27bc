# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Warn of what a host cannot have in a campaign: settings that must not be on where it forwards, and
device classes of a path that it lacks and the other host has. Pure.

Packets leave the two hosts of an existing path in different ways, or a campaign may not change the device
of one host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from .._paths.lab_paths import Paths
from .._paths.path import FORWARDER, Path
from .nouns import Between, Factor, Levels, Outline, Plan


class Caution(NamedTuple):
    """Settings that are a risk at a host that forwards, and the sentence about them."""

    settings: tuple[str, ...]
    says: str
    forbids: bool  # the report does not recommend a profile that has them on
    behind_nat: bool = False  # only behind NAT


LRO = ("lro", "rx-lro", "large-receive-offload")
CAUTIONS = (
    Caution(
        LRO,
        "must not be on while packets are forwarded: the host cannot split what LRO merged into the original "
        "packets, so it drops or changes them (case moby-32023). The kernel switches LRO off when "
        "forwarding begins, but a user can switch it on again",
        forbids=True,
    ),
    Caution(
        ("rx-gro-list",),
        "must not be on behind NAT until playbook integrity has shown that datagrams arrive unchanged. A "
        "report says that it merges datagrams of one flow that arrive together, and that DNS fails (case "
        "openwrt-18387)",
        forbids=False,
        behind_nat=True,
    ),
)


def between(
    forwarders: Sequence[str], hostvars: Mapping[str, Mapping[str, object]]
) -> Between | None:
    """Return the host between the nodes as in plan.json, or None. A campaign has one at most."""
    if not forwarders:
        return None
    does = hostvars[forwarders[0]].get("offload_lab_forwarding")
    return {"host": forwarders[0], "does": str(does or "")}


def host_of(plan: Plan) -> str:
    """Return the name of the host between the nodes; empty where there is none."""
    host = plan.get("forwarder")
    return host["host"] if host else ""


def _set_there(plan: Plan) -> Iterator[tuple[Factor, Caution]]:
    """Yield each factor that is set at the forwarder, with its caution."""
    host = plan.get("forwarder")
    behind_nat = host is not None and host["does"] == "nat"
    for factor in plan["factors"]:
        if FORWARDER not in factor["sides"]:
            continue
        for caution in CAUTIONS:
            concerned = not set(factor["settings"]).isdisjoint(caution.settings)
            if concerned and (behind_nat or not caution.behind_nat):
                yield factor, caution


def cautions(plan: Plan) -> list[str]:
    """Return a sentence for each factor that must not be on at the forwarder of a campaign."""
    return [
        f"at the forwarder {factor['name']} {caution.says}" for factor, caution in _set_there(plan)
    ]


def forbidden(plan: Plan, levels: Levels) -> str | None:
    """Return why a profile with these levels is not recommended, or None."""
    for factor, caution in _set_there(plan):
        on = levels.get(factor["name"]) not in (None, factor["levels"][0])
        if on and caution.forbids:
            return f"{factor['name']} must not be on while packets are forwarded"
    return None


def lacking(campaign: Outline, known: Paths) -> dict[str, list[str]]:
    """Return, by host, the varied device classes of existing paths without a device at the host."""
    paths = [known.named(name) for name in campaign["paths"]]
    varied = set(chain.from_iterable(factor["devices"] for factor in campaign["factors"]))
    classes: list[str] = []
    hosts: list[str] = []
    for path in paths:
        if path.nodes:
            classes += path.devices
            hosts += path.nodes
    varied_classes = [name for name in dict.fromkeys(classes) if name in varied]
    absent = {host: _absent(host, varied_classes, paths) for host in dict.fromkeys(hosts)}
    return {host: names for host, names in absent.items() if names}


def _absent(host: str, classes: Iterable[str], paths: Iterable[Path]) -> list[str]:
    """Return the classes without a device of a host on any of these paths."""
    present: set[str] = set()
    for path in paths:
        present.update(_classes_at(host, path))
    return [name for name in classes if name not in present]


def _classes_at(host: str, path: Path) -> Iterable[str]:
    """Return the classes of the devices that a host has on a path; each host of a lab has all."""
    if not path.nodes:
        return path.devices
    return path.nodes[host]["devices"] if host in path.nodes else ()


def left_out(campaign: Outline, known: Paths) -> dict[str, str]:
    """Return, by host that lacks device classes, a sentence on the factors that leave them out there."""
    return {
        host: _sentence(campaign, host, absent) for host, absent in lacking(campaign, known).items()
    }


def _sentence(campaign: Outline, host: str, absent: Sequence[str]) -> str:
    names = [
        factor["name"]
        for factor in campaign["factors"]
        if not set(absent).isdisjoint(factor["devices"])
    ]
    return (
        f"not varied at class {' and '.join(absent)} of {host}: {', '.join(names)}. "
        "Its path has no such device that a campaign may change"
    )
