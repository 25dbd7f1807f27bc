# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's kernel VXLAN devices: planned, and in a snapshot.

They replicate at the head end: every remote gets frames with an unknown receiver. Attributes and
forwarding database: ip-link(8) and bridge(8); the format on the wire: RFC 7348. What the kernel
cannot change of a device is restored by recreating it.
"""

from __future__ import annotations

from typing import Iterable, Mapping, Sequence, Tuple, TypedDict, cast, overload

from .._base import checks, network
from .._base.errors import InputError
from .._base.network import ALIAS
from .._base.steps import Step, batch
from .._iproute import read as iproute_read
from .._iproute.parse import Link
from .._ovs import database, ovs_state, ports

EVERY = "00:00:00:00:00:00"  # the default entry of the forwarding database
OURS = ALIAS + "tunnel"
MAX_VNI = (1 << 24) - 1


Links = Mapping[str, Link]
Fdb = Sequence[Tuple[str, str]]  # MAC and remote address of each entry


class VxlanSummary(TypedDict):
    """What a user sets of an existing device."""

    id: int | None
    dstport: int | None
    local: str | None
    csum: bool
    mtu: int
    remotes: list[str]
    up: bool


class WantedVxlan(TypedDict):
    """A device that is wanted."""

    name: str
    id: int
    dstport: int
    local: str
    csum: bool
    mtu: int
    remotes: list[str]


def carrier(links: Links, local: str) -> Link:
    """Return the device that has the address ``local``, or raise InputError."""
    for link in links.values():
        if local in [address.split("/")[0] for address in link["addresses"]]:
            return link
    raise InputError(
        "no device has this address",
        local,
        "Give the underlay's address of this host: offload_lab_underlay_address.",
    )


class VxlanOptions(TypedDict):
    """A device as a user asks for it."""

    name: str
    id: int
    dstport: int
    local: str
    csum: bool
    mtu: int | None  # None: what the underlay leaves
    remotes: list[str]


def wanted_device(options: VxlanOptions, links: Links) -> WantedVxlan:
    """Return the user's options, checked, with the MTU that the underlay carries where none is
    given.
    """
    name = network.device_name(options["name"])
    checks.number(options["id"], f"VNI of {name}", 0, MAX_VNI)
    network.port(options["dstport"], f"UDP port of {name}")
    local = network.address(options["local"], "local address")
    remotes = sorted(str(_remote(text, local)) for text in options["remotes"])
    checks.unique(remotes, "remote")
    return {
        "name": name,
        "id": options["id"],
        "dstport": options["dstport"],
        "local": str(local),
        "csum": options["csum"],
        "mtu": _fitting_mtu(name, options["mtu"], carrier(links, str(local)), local.version),
        "remotes": remotes,
    }


def _remote(text: str, local: network.Address) -> network.Address:
    """Return the checked address of a remote."""
    remote = network.address(text, "remote address")
    if remote == local:
        raise InputError("a remote is this host itself", str(remote), "List the other hosts only.")
    if remote.version != local.version:
        raise InputError(
            f"the remote is IPv{remote.version}, the local address IPv{local.version}",
            str(remote),
            "Use addresses of one family.",
        )
    return remote


def _fitting_mtu(name: str, requested: int | None, underlay: Link, version: int) -> int:
    """Return the MTU that is asked for, if the underlay carries it; without one, all that the
    underlay leaves.
    """
    carried = underlay["mtu"] - network.VXLAN_OVERHEAD[version]
    mtu = carried if requested is None else requested
    if not network.MIN_MTU <= mtu <= carried:
        raise InputError(
            f"an MTU of {mtu} does not fit",
            name,
            f"{underlay['name']} carries {underlay['mtu']} bytes. Use an MTU of {network.MIN_MTU} to "
            f"{carried} inside VXLAN.",
        )
    return mtu


@overload
def summary(link: Link, fdb: Fdb) -> VxlanSummary:
    """An existing device has a summary."""


@overload
def summary(link: None, fdb: Fdb) -> None:
    """One that is not there has none."""


def summary(link: Link | None, fdb: Fdb) -> VxlanSummary | None:
    """Return what a user sets of a device, for results and diffs; None for no device.

    ``fdb``: see parse_fdb.
    """
    if link is None:
        return None
    data = link["data"]
    local = data.get("local", data.get("local6"))
    csum = bool(data.get("udp_csum"))
    if local and ":" in local:
        csum = not data.get("udp_zero_csum6_tx", False)
    return {
        "id": data.get("id"),
        "dstport": data.get("port"),
        "local": local,
        "csum": csum,
        "mtu": link["mtu"],
        "remotes": sorted(remote for mac, remote in fdb if mac == EVERY),
        "up": link["up"],
    }


def _check_free(links: Links, device: WantedVxlan) -> None:
    """Raise InputError when the name or the VNI is taken by a device that is not ours."""
    link = links.get(device["name"])
    if link is not None and (link["kind"] != "vxlan" or link["alias"] != OURS):
        raise InputError(
            f"the device exists and is not ours (its alias is not {OURS})",
            link["name"],
            f"Choose another name, or remove it: ip link del {link['name']}",
        )
    for other in links.values():
        taken = (other["data"].get("id"), other["data"].get("port")) == (
            device["id"],
            device["dstport"],
        )
        if other["kind"] == "vxlan" and other["name"] != device["name"] and taken:
            raise InputError(
                f"the device {other['name']} has this VNI and UDP port already",
                device["name"],
                "Choose another VNI, or remove that device.",
            )


def _create_line(device: WantedVxlan) -> str:
    """Return the line that makes the device.

    Packets without an outer checksum are always accepted.
    """
    csum = "udpcsum" if device["csum"] else "noudpcsum"
    if ":" in device["local"]:
        csum = f"{'noudp6zerocsumtx' if device['csum'] else 'udp6zerocsumtx'} udp6zerocsumrx"
    return (
        f"link add name {device['name']} mtu {device['mtu']} type vxlan id {device['id']} "
        f"dstport {device['dstport']} local {device['local']} {csum}"
    )


def _link_lines(before: VxlanSummary | None, device: WantedVxlan) -> list[str]:
    """Return the lines for ip from ``before`` (None: no device) to ``device``."""
    name = device["name"]
    if before is None:
        return [_create_line(device), f"link set dev {name} alias {OURS} up"]
    lines = []
    if before["local"] != device["local"]:
        lines.append(f"link set dev {name} type vxlan local {device['local']}")
    if before["mtu"] != device["mtu"]:
        lines.append(f"link set dev {name} mtu {device['mtu']}")
    return lines + ([] if before["up"] else [f"link set dev {name} up"])


def _fdb_lines(fdb: Fdb, vxlan: WantedVxlan) -> list[str]:
    """Return the lines for bridge: remotes that are gone go with every address learned from them."""
    present = [remote for mac, remote in fdb if mac == EVERY]
    gone = set(present) - set(vxlan["remotes"])
    device = f"dev {vxlan['name']}"
    new = [remote for remote in vxlan["remotes"] if remote not in present]
    lines = [f"fdb del {mac} {device} dst {remote}" for mac, remote in fdb if remote in gone]
    return lines + [f"fdb append {EVERY} {device} dst {remote}" for remote in new]


def _release(ovs: ovs_state.OvsState, name: str) -> list[Step]:
    """Return the step that takes the device out of its bridge: Open vSwitch holds on to a device
    that is gone.
    """
    port = ovs["ports"].get(name)
    if port is None or port["interface"].get("type"):
        return []
    if ovs_state.owner_of(port) is None:
        raise InputError(
            f"its port on bridge {port['bridge']} is not ours, and the device would have to be replaced",
            name,
            "Choose another name for the lab's tunnel.",
        )
    return [ovs_state.transaction([["del-port", port["bridge"], name]], wait=ovs["vswitchd"])]


def must_recreate(before: VxlanSummary | None, device: VxlanSummary | WantedVxlan) -> bool:
    """Return whether the kernel cannot change ``before`` into what is wanted."""
    if before is None or not before["local"]:
        return True
    if (":" in before["local"]) != (":" in (device["local"] or "")):
        return True
    return (before["id"], before["dstport"], before["csum"]) != (
        device["id"],
        device["dstport"],
        device["csum"],
    )


def plan_present(
    links: Links, fdb: Fdb, ovs: ovs_state.OvsState, device: WantedVxlan
) -> list[Step]:
    """Return the steps to the wanted device; ``ovs`` is the state of Open vSwitch."""
    _check_free(links, device)
    name = device["name"]
    before = summary(links.get(name), fdb)
    if not must_recreate(before, device):
        return batch(_link_lines(before, device)) + batch(_fdb_lines(fdb, device), program="bridge")
    removal = [f"link del dev {name}"] if before else []
    return (
        _release(ovs, name)
        + batch(removal + _link_lines(None, device))
        + batch(_fdb_lines([], device), program="bridge")
    )


def plan_absent(links: Links, ovs: ovs_state.OvsState, name: str) -> list[Step]:
    """Return the steps that remove our device; one that is not ours stays."""
    link = links.get(name)
    if link is None or link["alias"] != OURS:
        return []
    return _release(ovs, name) + batch([f"link del dev {name}"])


def plan_purge(
    links: Links, ovs: ovs_state.OvsState, keep: Iterable[str]
) -> tuple[list[str], list[Step]]:
    """Return the names of our devices that are not among ``keep``, and the steps that remove them."""
    names = sorted(
        name
        for name, link in links.items()
        if link["kind"] == "vxlan" and link["alias"] == OURS and name not in keep
    )
    steps: list[Step] = []
    for name in names:
        steps += plan_absent(links, ovs, name)
    return names, steps


class KeptVxlan(TypedDict):
    """What a snapshot has of a device."""

    device: VxlanSummary
    bridge: str | None
    port: ovs_state.Port | None


def read() -> tuple[Links, dict[str, Fdb], ovs_state.OvsState]:
    """Return ``(links, {name: forwarding database}, Open vSwitch)``: what :func:`saved` and
    :func:`steps` take.
    """
    links = iproute_read.read()
    names = [
        name for name, link in links.items() if link["kind"] == "vxlan" and link["alias"] == OURS
    ]
    return (
        links,
        {name: iproute_read.read_fdb(name) for name in names},
        database.read(missing_ok=True),
    )


def saved(links: Links, fdbs: Mapping[str, Fdb], ovs: ovs_state.OvsState) -> dict[str, KeptVxlan]:
    """Return ``{name: {"device", "bridge", "port"}}`` of the lab's devices; without a port, the
    last two are None.
    """
    devices: dict[str, KeptVxlan] = {}
    for name, fdb in fdbs.items():
        port = ovs["ports"].get(name)
        devices[name] = {
            "device": summary(links[name], fdb),
            "bridge": port["bridge"] if port else None,
            "port": ovs_state.summary(port) if port else None,
        }
    return devices


def steps(
    kept: Mapping[str, KeptVxlan], links: Links, fdbs: Mapping[str, Fdb], ovs: ovs_state.OvsState
) -> list[Step]:
    """Return the steps that recreate the devices which the kernel cannot change back, each in its
    bridge again.

    A device that is gone stays gone.
    """
    steps = []
    for name in sorted(set(kept) & set(fdbs)):
        old = kept[name]
        recreate = must_recreate(summary(links[name], fdbs[name]), old["device"])
        if recreate:
            steps += plan_present(
                links, fdbs[name], ovs, cast(WantedVxlan, dict(old["device"], name=name))
            )
        # It may be without its port because an earlier restore was stopped in between.
        if (
            old["port"]
            and old["bridge"] in ovs["bridges"]
            and (recreate or name not in ovs["ports"])
        ):
            commands = ports.port_commands(old["bridge"], name, None, old["port"])
            steps.append(ovs_state.transaction(commands, wait=ovs["vswitchd"]))
    return steps
