# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the devices that packets meet on their way out of a host: from where they are sent, through
veths, bridges and tunnels, to the device that leaves the host.

What a bridge of Open vSwitch does inside is not known here: there the walk goes on at its tunnel.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Tuple, TypedDict

from .._base import network
from .._base.errors import InputError
from .parse import Link

Place = Tuple[str, str]  # the namespace, "" for the host's own, and the device
Spaces = Mapping[str, Mapping[str, Link]]  # the links by namespace
# Of a namespace and an address the device that the route leads to, None where there is none.
Leads = Callable[[str, str], "str | None"]
WIREGUARD = "wireguard"
TUNNELS = (
    "vxlan", "geneve", "gre", "gretap", "ip6gre", "ip6gretap", "ipip", "sit", "bareudp", WIREGUARD,
)  # fmt: skip
STACKED = ("vlan", "macvlan", "macvtap", "ipvlan", "macsec")
OVS = "ovs-system"
MOST = 32  # devices of a path; a longer one goes in a circle


class Shared(TypedDict):
    """What else uses a device of the host."""

    ports: int  # of the bridges that the path has crossed before, other than its own
    routes: int  # by this device
    tunnels: int  # that leave by it, other than the path's own


class WalkStep(TypedDict):
    """A device of a path, as the walk meets it."""

    device: str
    netns: str  # "" for the host's own
    kind: str  # as ip shows it; "physical" for a device of a driver
    mtu: int  # bytes
    how: str  # how the packets come to it


class WalkedDevice(WalkStep, total=False):
    """A device of a path, and what else uses it."""

    shared: Shared


class TunnelDevice(TypedDict):
    """A tunnel's device."""

    device: str
    netns: str
    kind: str
    id: int | None  # the VNI
    port: int | None  # UDP
    remote: str | None  # None if the tunnel learns its remotes, or an agent sets them
    under: str | None  # the device that its packets leave by


class FoundPath(TypedDict):
    """What is known of a path from this end."""

    name: str
    address: str
    local: str | None  # the address that packets are sent from
    netns: str | None  # the name or the file of the namespace
    devices: list[WalkedDevice]


def kind_of(link: Link) -> str:
    """Return the kind of a link."""
    return link["kind"] or ("loopback" if link["name"] == "lo" else "physical")


def peer_of(spaces: Spaces, device: Place) -> Place | None:
    """Return the other end of a veth, wherever it is."""
    netns, name = device
    link = spaces[netns][name]
    if link["peer"] in spaces[netns]:
        return netns, str(link["peer"])
    # ip names a peer that is in the same namespace: this one is in another.
    others = {other: links for other, links in spaces.items() if other != netns}
    for other, links in others.items():
        for candidate in links.values():
            indices = candidate["index"], candidate["peer_index"]
            if candidate["kind"] == "veth" and indices == (link["peer_index"], link["index"]):
                return other, candidate["name"]
    return None


def tunnel_of(netns: str, link: Link) -> TunnelDevice:
    """Return what is known of a tunnel's device."""
    data = link["data"]
    vni = data.get("id")
    port = data.get("port")
    under = data.get("link")
    return {
        "device": link["name"],
        "netns": netns,
        "kind": kind_of(link),
        "id": vni if isinstance(vni, int) else None,
        "port": port if isinstance(port, int) else None,
        "remote": _address(data.get("remote") or data.get("remote6")),
        "under": under if network.is_device_name(under) else None,
    }


def _address(value: Any) -> str | None:
    """Return the address of a tunnel's other end; None where it has none."""
    try:
        return str(network.address(value, "remote"))
    except InputError:
        return None


def tunnels(spaces: Spaces) -> list[TunnelDevice]:
    """Return all tunnels of a host."""
    leaving = []
    for netns, links in spaces.items():
        for link in links.values():
            if link["kind"] in TUNNELS:
                leaving.append(tunnel_of(netns, link))
    return leaving


class Walk:
    """A walk towards an address; ``steps`` are the devices that were met."""

    def __init__(self, spaces: Spaces, leads: Leads, to: str) -> None:
        self.spaces = spaces
        self.leads = leads
        self.to = to
        self.steps: list[WalkedDevice] = []
        self.seen: dict[Place, WalkedDevice] = {}

    def go(self, device: Place, how: str) -> None:
        """Take the step to a device, and all that follow from it."""
        netns, name = device
        link = self.spaces.get(netns, {}).get(name)
        if link is None or device in self.seen or len(self.seen) >= MOST:
            return
        step: WalkedDevice = {
            "device": name,
            "netns": netns,
            "kind": kind_of(link),
            "mtu": link["mtu"],
            "how": how,
        }
        self.seen[device] = step
        self.steps.append(step)
        for following, why in self._next(device, link):
            self.go(following, why)

    def _next(self, device: Place, link: Link) -> Iterator[tuple[Place, str]]:
        netns = device[0]
        kind = kind_of(link)
        if kind == "veth":
            yield from self._across(device)
        elif kind == "bridge":
            yield from self._out_of_bridge(netns, link["name"])
        elif kind in TUNNELS:
            yield from self._under(netns, link)
        elif kind in STACKED and link["peer"]:
            yield (netns, link["peer"]), "the device below"
        elif kind in ("bond", "team"):
            for member in self._members(netns, link["name"]):
                yield (netns, member), f"a member of {link['name']}"

    def _across(self, device: Place) -> Iterator[tuple[Place, str]]:
        peer = peer_of(self.spaces, device)
        if peer is None or peer in self.seen:
            return
        yield peer, f"the other end of {device[1]}"
        netns, name = peer
        master = self.spaces[netns][name]["master"]
        if master == OVS:
            for tunnel in self._ovs_tunnels(netns):
                yield (netns, tunnel), "a tunnel of Open vSwitch"
        elif master:
            yield (netns, master), f"{name} is its port"
        else:
            yield from self._routed(netns)

    def _routed(self, netns: str) -> Iterator[tuple[Place, str]]:
        device = self.leads(netns, self.to)
        if device:
            yield (netns, device), f"the route to {self.to}"

    def _out_of_bridge(self, netns: str, bridge: str) -> Iterator[tuple[Place, str]]:
        """A bridge leads on by the host's route, or by the ports that leave the host."""
        device = self.leads(netns, self.to)
        if device and device != bridge:
            yield (netns, device), f"the route to {self.to}"
            return
        for member in self._members(netns, bridge):
            if kind_of(self.spaces[netns][member]) != "veth":
                yield (netns, member), f"a port of {bridge}"

    def _under(self, netns: str, link: Link) -> Iterator[tuple[Place, str]]:
        tunnel = tunnel_of(netns, link)
        if tunnel["under"]:
            yield (netns, tunnel["under"]), f"below the tunnel {link['name']}"
        elif tunnel["remote"]:
            device = self.leads(netns, tunnel["remote"])
            if device:
                yield (netns, device), f"the route to the tunnel's end {tunnel['remote']}"

    def _members(self, netns: str, master: str) -> list[str]:
        return [name for name, link in self.spaces[netns].items() if link["master"] == master]

    def _ovs_tunnels(self, netns: str) -> list[str]:
        return [
            name
            for name, link in self.spaces[netns].items()
            if link["kind"] in TUNNELS and link["master"] == OVS
        ]


def path_of(spaces: Spaces, leads: Leads, start: Place, to: str) -> list[WalkedDevice]:
    """Return the devices of a path, from the one that it begins at."""
    walk = Walk(spaces, leads, to)
    walk.go(start, f"the route to {to}")
    return walk.steps
