# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of devices with as few processes as possible: one listing of all devices of a namespace
where ethtool can.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable

from .._base.errors import CommandError, InputError
from .._base.network import device_key
from .._host.netns import path_of
from .._host.runner import CommandResult, run
from .features import Features, parse_features
from .settings import (
    failure_reason,
    offload_log_lines,
    parse_driver,
    parse_flow_hash,
    parse_rss,
    parse_statistics,
    parse_tunnels,
)

LINK = re.compile(r"^\d+: ([^@\s]+?)(?:@\S+)?:\s", re.MULTILINE)
# Listings of one device, without its name in them.
SINGLE = {"driver": ("-i", parse_driver), "statistics": ("-S", parse_statistics)}


def ethtool(arguments: list[str], netns: str | None) -> CommandResult:
    """Run ethtool and return its result; its exit status says little and is judged by the caller."""
    return run(["ethtool"] + arguments, netns=netns, check=False)


def check_netns(netns: str | None) -> None:
    """Raise :class:`InputError` if there is no network namespace of that name."""
    if netns and not os.path.exists(path_of(netns)):
        raise InputError(
            "there is no such network namespace", netns, "Choose one that 'ip netns' lists."
        )


def list_devices(netns: str | None) -> list[str]:
    """Return the names of all devices of a network namespace."""
    return LINK.findall(run(["ip", "-o", "link", "show"], netns=netns).out)


def read_listing(
    option: str, parse: Callable[[str], dict[str, Any]], names: list[str], netns: str | None
) -> dict[str, tuple[Any, str | None]]:
    """Return ``{name: (parsed listing, None) or (None, reason)}`` for the devices ``names``.

    Netlink builds of ethtool print the listings of all devices together for the device "*".
    """
    dumped: dict[str, Any] = {}
    if len(names) > 1:
        dump = ethtool([option, "*"], netns)
        dumped = parse(dump.out)
        if dump.rc == 0 and option != "-k":
            # A dump leaves out the devices whose drivers do not support the request, and only
            # these.
            dumped = dict(dict.fromkeys(names), **dumped)
    listings = {}
    for name in names:
        if name in dumped:
            listings[name] = (dumped[name], None if dumped[name] else "Operation not supported")
        else:
            listings[name] = read_one(option, parse, name, netns)
    return listings


def read_one(
    option: str, parse: Callable[[str], dict[str, Any]], name: str, netns: str | None
) -> tuple[Any, str | None]:
    """Return ``(parsed listing, None)`` of one device, or ``(None, reason)``."""
    result = ethtool([option, name], netns)
    values = parse(result.out).get(name)
    return (values, None) if values else (None, failure_reason(result.err, result.out))


def read_features(
    names: list[str], netns: str | None, skip_missing: bool = False
) -> dict[str, Features]:
    """Return ``{name: features}``; a device that is not there is an :class:`InputError` unless
    ``skip_missing``.
    """
    listings = read_listing("-k", parse_features, names, netns)
    for name, (features, reason) in list(listings.items()):
        if not features and "No such device" in (reason or ""):
            if skip_missing:
                del listings[name]
                continue
            raise InputError(
                "there is no such network device",
                device_key(name, netns),
                "Choose one that 'ip link' lists.",
            )
        if not features:
            raise CommandError(
                f"could not list the features ({reason})",
                ["ethtool", "-k", name],
                to_do="Check that ethtool is installed and may be run.",
            )
    return {name: features for name, (features, _reason) in listings.items()}


def read_tunnels(names: list[str], netns: str | None) -> dict[str, dict[str, Any]]:
    """Return ``{name: state}`` of the ports for tunnels; "not supported" is a state like others."""
    states: dict[str, dict[str, Any]] = {}
    for name, (tables, reason) in read_listing(
        "--show-tunnels", parse_tunnels, names, netns
    ).items():
        states[name] = (
            {"supported": True, "tables": tables}
            if tables
            else {"supported": False, "reason": reason or "Operation not supported"}
        )
    return states


def read_flow_hash(name: str, flow_types: list[str], netns: str | None) -> dict[str, Any]:
    """Return the state of a device's hash fields; a flow type that cannot be read is None, with its
    reason.
    """
    current = {}
    reasons = {}
    for flow_type in flow_types:
        result = ethtool(["-n", name, "rx-flow-hash", flow_type], netns)
        current[flow_type] = parse_flow_hash(result.out)
        if current[flow_type] is None:
            reasons[flow_type] = failure_reason(result.err, result.out)
    if reasons and len(reasons) == len(current):
        return {"supported": False, "reason": reasons[flow_types[0]]}
    return {"supported": True, "current": current, "reasons": reasons}


def read_rss(name: str, netns: str | None) -> dict[str, Any]:
    """Return the RSS table of a device; ethtool may print another device's name in it."""
    result = ethtool(["-x", name], netns)
    tables = list(parse_rss(result.out).values())
    if not tables or not (tables[0]["indirection"] or tables[0]["key"]):
        return {"supported": False, "reason": failure_reason(result.err, result.out)}
    return dict({"supported": True}, **tables[0])


def read_single(kind: str, name: str, netns: str | None) -> dict[str, Any]:
    """Return the driver information or the statistics of a device."""
    option, parse = SINGLE[kind]
    result = ethtool([option, name], netns)
    values = parse(result.out)
    if result.rc != 0 or not values:
        return {"supported": False, "reason": failure_reason(result.err, result.out)}
    return dict({"supported": True}, **({"counters": values} if kind == "statistics" else values))


def read_kernel_log() -> dict[str, Any]:
    """Return the lines of the kernel log about tunnel offloads, or why it cannot be read."""
    try:
        result = run(["dmesg"], check=False)
    except CommandError as error:
        return {"supported": False, "reason": error.what}
    if result.rc != 0:
        return {"supported": False, "reason": failure_reason(result.err)}
    return {"supported": True, "lines": offload_log_lines(result.out)}
