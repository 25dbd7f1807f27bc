# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of a kernel VXLAN device with head-end replication: every remote gets frames with
an unknown receiver.

Attributes and forwarding database: ip-link(8) and bridge(8); the format on the wire: RFC 7348.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence, Tuple, TypedDict, cast, overload

from .._base import checks, network
from .._base.errors import InputError
from .._base.marks import ALIAS
from .._base.steps import Step, batch
from .._iproute.parse import Link
from .._ovs import state

EVERY = "00:00:00:00:00:00"  # the default entry of the forwarding database
OURS = ALIAS + "tunnel"
MAX_VNI = (1 << 24) - 1


Links = Mapping[str, Link]
Fdb = Sequence[Tuple[str, str]]  # MAC and remote address of each entry


class Summary(TypedDict):
    """What a user sets of a device that is there."""

    id: int | None
    dstport: int | None
    local: str | None
    csum: bool
    mtu: int
    remotes: list[str]
    up: bool


class Wanted(TypedDict):
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


def wanted_device(options: Mapping[str, Any], links: Links) -> Wanted:
    """Return the user's options, checked, with the MTU that the underlay carries where none is
    given.
    """
    wanted = dict(options, name=network.device_name(options["name"]))
    checks.number(wanted["id"], f"VNI of {wanted['name']}", 0, MAX_VNI)
    network.port(wanted["dstport"], f"UDP port of {wanted['name']}")
    local = network.address(wanted["local"], "local address")
    remotes = [network.address(remote, "remote address") for remote in wanted["remotes"]]
    for remote in remotes:
        if remote == local:
            raise InputError(
                "a remote is this host itself", str(remote), "List the other hosts only."
            )
        if remote.version != local.version:
            raise InputError(
                f"the remote is IPv{remote.version}, the local address IPv{local.version}",
                str(remote),
                "Use addresses of one family.",
            )
    wanted.update(local=str(local), remotes=sorted(str(remote) for remote in remotes))
    checks.unique(wanted["remotes"], "remote")
    underlay = carrier(links, wanted["local"])
    carried = underlay["mtu"] - network.VXLAN_OVERHEAD[local.version]
    if wanted["mtu"] is None:
        wanted["mtu"] = carried
    if not network.MIN_MTU <= wanted["mtu"] <= carried:
        raise InputError(
            f"an MTU of {wanted['mtu']} does not fit",
            wanted["name"],
            f"{underlay['name']} carries {underlay['mtu']} bytes, which leaves {network.MIN_MTU} to "
            f"{carried} inside VXLAN.",
        )
    return cast(Wanted, wanted)


@overload
def summary(link: Link, fdb: Fdb) -> Summary: ...


@overload
def summary(link: None, fdb: Fdb) -> None: ...


def summary(link: Link | None, fdb: Fdb) -> Summary | None:
    """Return what a user sets of a device, for results and diffs; None for no device.

    ``fdb``: see parse_fdb.
    """
    if link is None:
        return None
    data = link["data"]
    local = data.get("local", data.get("local6"))
    return {
        "id": data.get("id"),
        "dstport": data.get("port"),
        "local": local,
        "csum": not data.get("udp_zero_csum6_tx", False)
        if local and ":" in local
        else bool(data.get("udp_csum")),
        "mtu": link["mtu"],
        "remotes": sorted(remote for mac, remote in fdb if mac == EVERY),
        "up": link["up"],
    }


def _check_free(links: Links, wanted: Wanted) -> None:
    """Raise InputError when the name or the VNI is taken by a device that is not ours."""
    link = links.get(wanted["name"])
    if link is not None and (link["kind"] != "vxlan" or link["alias"] != OURS):
        raise InputError(
            f"the device exists and is not ours (its alias is not {OURS})",
            link["name"],
            f"Choose another name, or remove it: ip link del {link['name']}",
        )
    for other in links.values():
        taken = (other["data"].get("id"), other["data"].get("port")) == (
            wanted["id"],
            wanted["dstport"],
        )
        if other["kind"] == "vxlan" and other["name"] != wanted["name"] and taken:
            raise InputError(
                f"the device {other['name']} has this VNI and UDP port already",
                wanted["name"],
                "Choose another VNI, or remove that device.",
            )


def _create_line(wanted: Wanted) -> str:
    """Return the line that makes the device.

    Packets without an outer checksum are always accepted.
    """
    csum = "udpcsum" if wanted["csum"] else "noudpcsum"
    if ":" in wanted["local"]:
        csum = f"{'noudp6zerocsumtx' if wanted['csum'] else 'udp6zerocsumtx'} udp6zerocsumrx"
    return (
        f"link add name {wanted['name']} mtu {wanted['mtu']} type vxlan id {wanted['id']} "
        f"dstport {wanted['dstport']} local {wanted['local']} {csum}"
    )


def _link_lines(before: Summary | None, wanted: Wanted) -> list[str]:
    """Return the lines for ip from ``before`` (None: no device) to ``wanted``."""
    name = wanted["name"]
    if before is None:
        return [_create_line(wanted), f"link set dev {name} alias {OURS} up"]
    lines = []
    if before["local"] != wanted["local"]:
        lines.append(f"link set dev {name} type vxlan local {wanted['local']}")
    if before["mtu"] != wanted["mtu"]:
        lines.append(f"link set dev {name} mtu {wanted['mtu']}")
    return lines + ([] if before["up"] else [f"link set dev {name} up"])


def _fdb_lines(fdb: Fdb, wanted: Wanted) -> list[str]:
    """Return the lines for bridge: remotes that are gone go with every address learned from them."""
    known = [remote for mac, remote in fdb if mac == EVERY]
    gone = set(known) - set(wanted["remotes"])
    device = f"dev {wanted['name']}"
    return [f"fdb del {mac} {device} dst {remote}" for mac, remote in fdb if remote in gone] + [
        f"fdb append {EVERY} {device} dst {remote}"
        for remote in wanted["remotes"]
        if remote not in known
    ]


def _release(ovs: state.State, name: str) -> list[Step]:
    """Return the step that takes the device out of its bridge: Open vSwitch holds on to a device
    that is gone.
    """
    port = ovs["ports"].get(name)
    if port is None or port["interface"].get("type"):
        return []
    if state.owner_of(port) is None:
        raise InputError(
            f"its port on bridge {port['bridge']} is not ours, and the device would have to be replaced",
            name,
            "Choose another name for the lab's tunnel.",
        )
    return [state.transaction([["del-port", port["bridge"], name]], wait=ovs["vswitchd"])]


def must_recreate(before: Summary | None, wanted: Mapping[str, Any]) -> bool:
    """Return whether the kernel cannot change ``before`` into what is wanted."""
    if (
        before is None
        or not before["local"]
        or (":" in before["local"]) != (":" in wanted["local"])
    ):
        return True
    return (before["id"], before["dstport"], before["csum"]) != (
        wanted["id"],
        wanted["dstport"],
        wanted["csum"],
    )


def plan_present(links: Links, fdb: Fdb, ovs: state.State, wanted: Wanted) -> list[Step]:
    """Return the steps to the wanted device; ``ovs`` is the state of Open vSwitch
    (:mod:`_ovs_state`).
    """
    _check_free(links, wanted)
    name = wanted["name"]
    before = summary(links.get(name), fdb)
    if not must_recreate(before, wanted):
        return batch(_link_lines(before, wanted)) + batch(_fdb_lines(fdb, wanted), program="bridge")
    removal = [f"link del dev {name}"] if before else []
    return (
        _release(ovs, name)
        + batch(removal + _link_lines(None, wanted))
        + batch(_fdb_lines([], wanted), program="bridge")
    )


def plan_absent(links: Links, ovs: state.State, name: str) -> list[Step]:
    """Return the steps that remove our device; one that is not ours stays."""
    link = links.get(name)
    if link is None or link["alias"] != OURS:
        return []
    return _release(ovs, name) + batch([f"link del dev {name}"])


def plan_purge(links: Links, ovs: state.State, keep: Iterable[str]) -> tuple[list[str], list[Step]]:
    """Return the names of our devices that are not among ``keep``, and the steps that remove them."""
    names = sorted(
        name
        for name, link in links.items()
        if link["kind"] == "vxlan" and link["alias"] == OURS and name not in keep
    )
    return names, [step for name in names for step in plan_absent(links, ovs, name)]
