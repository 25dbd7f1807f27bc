# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A visit's evidence, cut to what one trial needs, and what the lab should give on its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from ...module_utils._observe.reading import Sample
from .._paths.path import Path
from .nouns import Evidence, Expected

# Of the underlay's bytes; a stray ARP through the tunnel is no encapsulated path.
ENCAPSULATED_SHARE = 0.5
# Half of the window, and of the buffer the half that the kernel keeps for its own.
WINDOW_OF_SEGMENTS = 4
REPORTED = ("not_honoured", "side_effects", "fixed")
Reported = Mapping[str, Any]  # of a device, as module ethtool returns it


class Lab(TypedDict, total=False):
    """What is known of the lab; ``steal_limit`` is the campaign's, in %, where it has one."""

    vni: int
    underlay_ip: int  # 4 or 6
    ipv6_paths: list[str]  # whose ends have IPv6 addresses
    tag: int  # bytes of a VLAN tag on the frames in the tunnel
    timestamps: bool  # TCP's
    speed_mbps: int  # 0 for a device that has no line, such as veth
    steal_limit: float | None


class Beside(TypedDict):
    """What was set at the node of a tenant that is a host of its own."""

    devices: dict[str, Reported]
    cpu: NotRequired[dict[str, Any]]  # of the whole node, so far


class Learned(TypedDict, total=False):
    """What was learned at a visit."""

    settings: dict[str, dict[str, Reported]]  # {end: {device}}
    packets: dict[str, dict[str, Any]]  # {path: {test: as module evidence returns it}}
    underlay: dict[str, str]  # {end: key of the underlay device}
    uplink: dict[str, str]  # {end: key of the device that carries the paths by uplink}
    tunnel_by_uplink: bool  # whether that device carries the tunnel's packets, too
    homes: dict[str, str]  # {end: the node of the tenant there that is a host of its own}
    home_settings: dict[str, Beside]  # {the same end: what was set at that node}


def expected(path: Path, test: str, mtu: int, lab: Lab, window: int | None = None) -> Expected:
    """Return what the guards compare a trial with.

    ``window`` is the size in bytes that was asked for the receiver's socket. Linux sends no segment
    longer than half the largest window that the peer offered (``tcp_bound_to_half_wnd``): below
    that the MTU does not determine the MSS.
    """
    limits: Expected = {
        "vnis": path.vnis(lab["vni"]),
        "speed_mbps": lab.get("speed_mbps") or None,
        "steal_limit": lab.get("steal_limit"),
    }
    if test.startswith("TCP_"):
        own_mtu = path.mtu(mtu, lab.get("underlay_ip", 4), lab.get("tag", 0))
        path_ip = 6 if path.name in lab.get("ipv6_paths", ()) else 4
        mss = path.mss(own_mtu, path_ip, lab.get("timestamps", True))
        if not window or window >= WINDOW_OF_SEGMENTS * mss:
            limits["mss"] = mss
    return limits


def _named(kinds: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    named = {}
    for kind, settings in kinds.items():
        prefix = "" if kind == "features" else f"{kind} "
        for setting, value in settings.items():
            named[prefix + setting] = value
    return named


def flat(report: Reported) -> dict[str, dict[str, object]]:
    """Return what module ethtool reports of a device in one mapping each: features by name, others
    as ``kind name``.
    """
    return {name: _named(report.get(name) or {}) for name in REPORTED}


def _flat_devices(
    devices: Mapping[str, Reported], prefix: str = ""
) -> dict[str, dict[str, dict[str, object]]]:
    return {prefix + device: flat(report) for device, report in devices.items()}


def _underlay(sample: Sample) -> dict[str, object]:
    encapsulated = (sample.get("vxlan_share") or 0) >= ENCAPSULATED_SHARE
    if sample.get("vxlan_share") is None:
        return {
            "vnis": None,
            "outer_csum": [],
        }  # nothing went by this device: no way to say what the path is
    return {
        "vnis": sample["vnis"] if encapsulated else [],
        "outer_csum": sample["outer_csum"] if encapsulated else [],
    }


def _underlays(
    visit: Learned, path: Path, packets: Mapping[str, Mapping[str, Sample]]
) -> dict[str, dict[str, object]]:
    """Return what went by the underlay device of each end, where it was sampled."""
    by_uplink = path.by_uplink or (path.tunnelled and visit.get("tunnel_by_uplink"))
    keys = (visit.get("uplink") if by_uplink else None) or visit.get("underlay") or {}
    return {
        end: _underlay(devices[keys[end]])
        for end, devices in packets.items()
        if keys.get(end) in devices
    }


def trial_evidence(visit: Learned, path: Path, test: str) -> Evidence:
    """Return the ``evidence`` field of a trial."""
    direction = "TCP_MAERTS" if test.endswith("MAERTS") else "TCP_STREAM"
    packets = (visit.get("packets") or {}).get(path.name, {}).get(direction, {})
    settings = visit.get("settings") or {}
    field: Evidence = {
        "settings": {end: _flat_devices(devices) for end, devices in settings.items()}
    }
    for end, node in (visit.get("homes") or {}).items():
        home = visit["home_settings"][end]
        field["settings"][end].update(_flat_devices(home["devices"], f"{node}:"))
        if home.get("cpu"):
            field.setdefault("nodes", {})[end] = {"node": node, "cpu": home["cpu"]}
    if "error" in packets:
        return {**field, "error": packets["error"]}
    field["packets"] = packets
    field["underlay"] = _underlays(visit, path, packets)
    return field
