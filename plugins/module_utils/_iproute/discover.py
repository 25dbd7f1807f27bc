# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a path begins on this host, what lies on its way, what other traffic goes over its devices, and
the address of its other end, where the user did not give it.

``wg show DEVICE allowed-ips`` and ``wg show DEVICE endpoints`` have a line for each peer: its public key, a
tab, and networks or the endpoint. The keys are compared and never shown.
"""

from __future__ import annotations

import ipaddress
import itertools
import json
import re
from typing import Any, Dict, Iterable, Iterator, Mapping, TypedDict

from .._base import network
from .._base.checks import shown
from .._base.errors import InputError, LabError
from .._host import netns as host_netns
from .._host.runner import run
from . import runtimes
from .parse import Link, parse_links, usable_links
from .read import namespaces, read
from .walk import (
    OVS,
    WIREGUARD,
    FoundPath,
    Shared,
    Spaces,
    TunnelDevice,
    WalkedDevice,
    path_of,
    tunnels,
)

CONTAINERD = "containerd"
ENGINES = ("podman", "docker", CONTAINERD)
Route = Dict[str, Any]  # as ip prints it
LINK_LOCAL = ("fe80::/64", "multicast", "ff00::/8")  # each device has these
NOTHING: Shared = {"ports": 0, "routes": 0, "tunnels": 0}


class PathEnd(TypedDict, total=False):
    """An end of a path: where on the host, and the address of the other end."""

    name: str
    address: str
    netns: str | None
    pid: int | None
    container: str | None  # ENGINE:NAME
    pod: str | None  # NAMESPACE/NAME
    runtime: runtimes.GivenPaths  # how crictl and ctr are called


def _no_runtime(end: str) -> LabError:
    return LabError(
        "cannot be found, since this host has neither crictl nor ctr where distributions of Kubernetes keep them",
        end,
        "Give offload_lab_crictl or offload_lab_ctr, the path of the program. Or name the end by netns (ip netns "
        "lists cni-...) or by pid, the process ID of a container in the pod.",
    )


def _pid_of_pod(pod: str, chosen: runtimes.GivenPaths) -> int:
    namespace, name = runtimes.pod_name(pod)
    program = runtimes.crictl(chosen)
    if program:
        # The name is a regular expression there.
        options = ["--namespace", namespace, "--name", f"^{re.escape(name)}$", "--output", "json"]
        sandbox = runtimes.sandbox_of(run([*program, "pods", *options]).out, namespace, name)
        inspected = run([*program, "inspectp", "--output", "json", sandbox])
        return runtimes.process_by_crictl(inspected.out, f"pod {pod}")
    program = runtimes.ctr(chosen)
    if not program:
        raise _no_runtime(f"pod {pod}")
    listed = run(
        [*program, "containers", "list", "--quiet", runtimes.filter_of(namespace, name)]
    ).out
    tasks = run([*program, "tasks", "list"]).out
    return runtimes.process_of(listed.split(), tasks, f"pod {pod}")


def _pid_of_containerd(name: str, chosen: runtimes.GivenPaths) -> int:
    program = runtimes.crictl(chosen)
    if program:
        inspected = run([*program, "inspect", "--output", "json", name])
        return runtimes.process_by_crictl(inspected.out, f"container {name}")
    program = runtimes.ctr(chosen)
    if not program:
        raise _no_runtime(f"container {name}")
    return runtimes.process_of([name], run([*program, "tasks", "list"]).out, f"container {name}")


def _pid_of(container: str, chosen: runtimes.GivenPaths) -> int:
    engine, colon, name = container.partition(":")
    if engine not in ENGINES or not colon:
        raise InputError(
            "not a container", repr(container), f"Give ENGINE:NAME, with {' or '.join(ENGINES)}."
        )
    network.container_name(name)
    if engine == CONTAINERD:
        return _pid_of_containerd(name, chosen)
    done = run([engine, "inspect", "--format", "{{.State.Pid}}", name])
    if not done.out.strip().isdigit() or done.out.strip() == "0":
        raise InputError("does not run", f"container {name}", "Start it, or name another end.")
    return int(done.out)


def _process(end: PathEnd) -> int | None:
    """Return a process in the namespace of an end, None for the host's own."""
    container = end.get("container")
    pod = end.get("pod")
    chosen = end.get("runtime") or runtimes.ANY
    if pod:
        return _pid_of_pod(pod, chosen)
    return _pid_of(container, chosen) if container else end.get("pid")


def _inside(end: PathEnd) -> tuple[str, list[str]]:
    """Return what the namespace of an end is called, "" for the host's own, and the command line
    that enters it.
    """
    if end.get("netns"):
        name = network.namespace_name(end["netns"])
        if host_netns.inode(host_netns.path_of(name)) is None:
            raise InputError(
                "there is no such network namespace", name, "Choose one that 'ip netns' lists."
            )
        return name, ["ip", "-netns", name]
    pid = _process(end)
    if not pid:
        return "", ["ip"]
    file = f"/proc/{pid}/ns/net"
    if host_netns.inode(file) is None:
        raise InputError(
            "there is no such process", f"pid {pid}", "Give the process ID of a program that runs."
        )
    if host_netns.inode(file) == host_netns.inode(host_netns.path_of(None)):
        return "", ["ip"]
    return _named(file) or file, ["nsenter", f"--net={file}", "ip"]


def _named(file: str) -> str | None:
    """Return the name of the namespace behind a file, None where it has none."""
    inode = host_netns.inode(file)
    for name in sorted(namespaces()):
        if host_netns.inode(host_netns.path_of(name)) == inode:
            return name
    return None


def _route(argv: list[str], address: str) -> dict[str, Any]:
    """Return the route to an address as ip prints it, empty where there is none."""
    done = run([*argv, "-json", "route", "get", address], check=False)
    try:
        rows = json.loads(done.out) if done.rc == 0 else []
    except ValueError:
        rows = []
    return rows[0] if rows and isinstance(rows[0], dict) else {}


def _spaces(name: str, argv: list[str]) -> dict[str, dict[str, Link]]:
    """Return the links of the host and of one namespace, without links of strange names."""
    spaces = {"": usable_links(read())[0]}
    if name:
        text = run([*argv, "-json", "-details", "address", "show"]).out
        spaces[name] = usable_links(parse_links(text))[0]
    return spaces


def _add_endpoints(links: Mapping[str, Link], address: str) -> None:
    """Add to each WireGuard device of the host where it sends the packets for an address."""
    for link in links.values():
        if link["kind"] != WIREGUARD:
            continue
        printed = {what: _wg(link["name"], what) for what in ("allowed-ips", "endpoints")}
        peer = peer_for(printed["allowed-ips"], address)
        if peer:
            link["data"]["remote"] = endpoint_of(printed["endpoints"], peer)


def _wg(device: str, what: str) -> str:
    """Return what wg shows of a device; nothing where the program is not there."""
    try:
        return run(["wg", "show", device, what], check=False).out
    except LabError:
        return ""


def begin(end: PathEnd) -> Begin:
    """Return where a path begins on this host, and which addresses are there."""
    name, argv = _inside(end)
    links = parse_links(run([*argv, "-json", "-details", "address", "show"]).out)
    return {
        "name": end.get("name") or str(end.get("address")),
        "netns": name or None,
        "addresses": addresses_of(links),
    }


def find(end: PathEnd) -> FoundPath:
    """Return what lies on the way from an end to an address."""
    address = str(network.address(end.get("address"), "address"))
    name, argv = _inside(end)
    route = _route(argv, address)
    if not route.get("dev"):
        raise InputError(
            f"there is no route to {address}",
            end.get("name", ""),
            "Correct the address, or the namespace in which the path begins.",
        )
    network.device_name(route["dev"], f"device on path {end.get('name') or address}")
    spaces = _spaces(name, argv)
    _add_endpoints(spaces[""], address)

    def leads(netns: str, to: str) -> str | None:
        return _route(argv if netns else ["ip"], to).get("dev")

    steps = path_of(spaces, leads, (name, route["dev"]), address)
    for step, used in zip(steps, shared_of(steps, spaces, _routes())):
        step["shared"] = used
    return {
        "name": end.get("name") or address,
        "address": address,
        "local": route.get("prefsrc"),
        "netns": name or None,
        "devices": steps,
    }


def _routes() -> list[Route]:
    """Return the routes of the host's main table, of both families."""
    routes: list[Route] = []
    for family in ("-4", "-6"):
        routes += parse_routes(run(["ip", family, "-json", "route", "show"], check=False).out)
    return routes


def all_tunnels() -> tuple[list[TunnelDevice], list[str]]:
    """Return the tunnels of the host and of its named namespaces, and a note for each device that is
    left out because of its name.
    """
    spaces: dict[str, dict[str, Link]] = {}
    notes: list[str] = []
    for name in ("", *namespaces()):
        try:
            spaces[name], strange = usable_links(read(name or None))
        except LabError:  # it was removed meanwhile, or may not be entered
            if not name:
                raise
            continue
        notes += [left_out(device, name) for device in strange]
    return tunnels(spaces), notes


def left_out(device: str, netns: str) -> str:
    """Return the note on a device whose name the lab does not use."""
    where = f" of namespace {netns}" if netns else ""
    return (
        f"device {shown(device)}{where} is left out: its name has signs that the lab does not use"
    )


def _rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each peer's key and the words after it."""
    for line in text.splitlines():
        key, tab, rest = line.partition("\t")
        if tab:
            yield key, rest.split()


def peer_for(allowed_ips: str, address: str) -> str | None:
    """Return the key of the peer that gets the packets for an address: the longest prefix wins."""
    target = ipaddress.ip_address(address)
    best: tuple[int, str] | None = None
    for key, prefixes in _rows(allowed_ips):
        for word in prefixes:
            try:
                network = ipaddress.ip_network(word, strict=False)
            except ValueError:  # "(none)"
                continue
            inside = network.version == target.version and target in network
            if inside and (best is None or network.prefixlen > best[0]):
                best = (network.prefixlen, key)
    return best[1] if best else None


def endpoint_of(endpoints: str, peer: str) -> str | None:
    """Return the address of a peer's endpoint; None where it has none yet."""
    for key, columns in _rows(endpoints):
        if key == peer and columns:
            host = columns[0].rpartition(":")[0].strip("[]")
            try:
                return str(ipaddress.ip_address(host))
            except ValueError:
                return None
    return None


def parse_routes(text: str) -> list[Route]:
    """Return the routes that ``ip -json route show`` prints; none where it prints something else."""
    try:
        rows = json.loads(text or "[]")
    except ValueError:
        return []
    return [row for row in rows if isinstance(row, dict) and row.get("dst") not in LINK_LOCAL]


def shared_of(steps: list[WalkedDevice], spaces: Spaces, routes: Iterable[Route]) -> list[Shared]:
    """Return for each device of a path what else uses it. ``routes`` are the host's; what is
    in the namespace of the path's end is the end's own.
    """
    host = spaces.get("", {})
    on_path = {step["device"] for step in steps if not step["netns"]}
    leaving = [row["under"] for row in tunnels({"": host}) if row["device"] not in on_path]
    by_device = list(itertools.chain.from_iterable(map(_devices, routes)))
    ports: set[str] = set()
    uses: list[Shared] = []
    for step in steps:
        if step["netns"]:
            uses.append(NOTHING)
            continue
        name = step["device"]
        ports |= _ports(name, host) - on_path
        routed = by_device.count(name)
        uses.append({"ports": len(ports), "routes": routed, "tunnels": leaving.count(name)})
    return uses


def _ports(name: str, host: Mapping[str, Link]) -> set[str]:
    """Return the ports of a bridge, or of the switch that a device belongs to."""
    on_switch = name in host and host[name]["master"] == OVS
    master = OVS if on_switch else name
    return {port for port, link in host.items() if link["master"] == master}


def _devices(route: Route) -> list[str]:
    hops = route.get("nexthops") or [route]
    return [hop["dev"] for hop in hops if isinstance(hop, dict) and "dev" in hop]


ADVICE = "Give this end the address of the other one."


class Begin(TypedDict):
    """Where a path begins on a host."""

    name: str  # of the path
    netns: str | None  # the name or the file of the namespace
    addresses: list[str]  # that other hosts may reach, without prefix lengths


def addresses_of(links: Mapping[str, Link]) -> list[str]:
    """Return the addresses of a namespace that other hosts may reach, without prefix lengths."""
    addresses = []
    for link in links.values():
        for text in link["global"]:
            address = ipaddress.ip_interface(text).ip
            if not address.is_loopback:
                addresses.append(str(address))
    return addresses


def _end_of(name: str, others: Iterable[Begin]) -> Begin:
    """Return the one end of a path that the other hosts have."""
    ends = [end for end in others if end["name"] == name]
    if not ends:
        raise InputError(
            "no other host of the play has an end of it",
            f"path {name}",
            "Give another host an end of the same name, or this one the address of its other end.",
        )
    if len(ends) > 1:
        raise InputError(f"{len(ends)} other hosts have an end of it", f"path {name}", ADVICE)
    return ends[0]


def other_address(name: str, others: Iterable[Begin]) -> str:
    """Return the address to which a path of this name goes, from what the other hosts have.

    Where the other end has IPv4 and IPv6, IPv4 is taken. Raises InputError where it is not clear.
    """
    addresses = [ipaddress.ip_address(text) for text in _end_of(name, others)["addresses"]]
    candidates = [address for address in addresses if address.version == 4] or addresses
    if not candidates:
        raise InputError("the other end has no address", f"path {name}", ADVICE)
    if len(candidates) > 1:
        listed = ", ".join(str(address) for address in candidates)
        raise InputError(f"the other end has the addresses {listed}", f"path {name}", ADVICE)
    return str(candidates[0])
