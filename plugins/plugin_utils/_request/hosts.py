# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What module preflight_info read of the nodes becomes a table: what is right, what is noted, what is
wrong, what the datapath of the lab's switch cannot do among it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from ...module_utils._base.errors import InputError, LabError
from ...module_utils._engines.engine import Workload
from ...module_utils._engines.engines import ENGINES, programs_of
from ...module_utils._engines.iperf3.iperf3 import Iperf3, newer, optional
from ...module_utils._engines.sockets.sockets import Sockets
from ...module_utils._ethtool.features import Feature, resolve
from ...module_utils._iproute.parse import Link
from .._campaign.forwarding import LRO
from .._campaign.nouns import Campaign, Factor
from .._known_cases.known_cases import KnownHost, of_host
from .._lab.guests import Variables, around
from .._lab.lab_node import tunnel_of
from .._lab.tunnels import InTunnel, check_tunnel
from .._paths.lab_paths import LAB
from .._paths.path import FORWARDER, UNDERLAY
from .campaign import wrong_mtus
from .packages import node_packages
from .variables import PREFIX, Problem

OK = "ok"
NOTE = "note"
WRONG = "WRONG"
MOST_SECONDS_APART = 60  # clocks; a slow host takes ten seconds to answer
PORT_VARIABLES = {"netperf": "offload_lab_netperf_port", "probe": "offload_lab_probe_port"}
SENDS_TOGETHER = "UDP_STREAM"  # the test of engine sockets that does


class User(TypedDict):
    """As whom tasks run on a node."""

    name: str
    missing: list[str]  # capabilities


class LabSwitch(TypedDict):
    """The bridge of the lab."""

    datapath: str
    refused: str | None  # why it cannot be the lab's


class Taken(TypedDict):
    """A port that another program holds."""

    port: int
    program: str
    pids: list[int]


class PeerPort(TypedDict):
    """Whether a port of a peer answers."""

    address: str
    port: int
    reached: bool
    answer: str


class Reading(TypedDict):
    """The judged part of what module preflight_info read of a node."""

    user: User
    distribution: NotRequired[dict[str, Any]]  # id, like, version and name
    programs: dict[str, str | None]  # {name: path}
    iperf3_options: NotRequired[list[str] | None]  # None without iperf3
    links: dict[str, Link]
    features: dict[str, Feature] | None  # None without ethtool
    forwarded: dict[str, dict[str, Feature]]  # of each device of a host that forwards
    bpf: NotRequired[dict[str, dict[str, Any]]]  # programs of the underlay's device, by hook
    driver: str | None  # of the underlay's device
    kernel: str  # its release
    management: list[str]  # devices that carry the controller's connection
    switch: LabSwitch
    taken: list[Taken]
    peers: list[PeerPort]
    silent: list[str]  # addresses
    vxlan_port: int
    measuring: bool  # it holds the snapshot of a campaign
    clock: float  # s since the epoch


class CheckRow(NamedTuple):
    """One line of the table: a node, the check, its state, and the value or what to do."""

    node: str
    check: str
    state: str
    text: str


class WantedOfNode(NamedTuple):
    """The requests to a node: values of its variables, with defaults."""

    device: str
    mtu: int | None
    uplink: str
    more_devices: Sequence[str]
    allowed: Sequence[str]
    install: bool
    built: Sequence[str]  # programs that are built from their source where they are missing
    engines: Sequence[str]  # that the lab and the campaign need
    address: str
    campaign: Campaign | None
    factors: Sequence[str]
    guest: bool  # a tenant that is a host
    existing: bool  # its network exists without the lab, and keeps its MTUs
    varies_underlay: bool  # the campaign does
    forwards: bool  # it is between the nodes
    tunnel: InTunnel  # that the lab has
    tests_path: bool  # the campaign tests the payload alone, so a dead path is its answer


def wanted_of(
    variables: Variables,
    campaign: Campaign | None,
    guest: bool = False,
    engines: Sequence[str] = (ENGINES[0].name,),
    forwards: bool = False,
    *,
    tests_path: bool = False,
) -> WantedOfNode:
    """Return what the variables of a node, and the campaign if it is to be measured, ask of it."""

    def value(name: str, default: Any) -> Any:
        return variables.get(PREFIX + name, default)

    mtu = value("underlay_mtu", None)
    install = value("install_packages", True)
    features: list[str] = []
    factors = campaign["factors"] if campaign else []
    for factor in factors:
        if factor["kind"] == "feature":
            features += factor["settings"] + factor["needs"]
    return WantedOfNode(
        device=value("underlay_device", ""),
        forwards=forwards,
        tests_path=tests_path,
        tunnel=tunnel_asked(variables),
        guest=guest,
        engines=engines,
        existing=bool(value("ends", [])),
        varies_underlay=any(_varies_underlay(factor, forwards) for factor in factors),
        built=("netperf", "netserver") if value("netperf_source", "") else (),
        mtu=int(mtu) - around(variables) * guest if mtu else None,
        more_devices=[port["device"] for port in value("more_ports", [])]
        + [name for name in value("forwarder_devices", []) if name != value("underlay_device", "")],
        factors=list(dict.fromkeys(features)),
        allowed=value("allow_management_device", []),
        campaign=campaign,
        address=value("underlay_address", ""),
        uplink=value("uplink_device", ""),
        install=str(install).lower() not in ("false", "no", "0", "off"),
    )


def _varies_underlay(factor: Factor, forwards: bool) -> bool:
    """Return whether a factor is for underlay devices of a host: one that forwards, or an end."""
    sides = [side for side in factor["sides"] if (side == FORWARDER) == forwards]
    return UNDERLAY in factor["devices"] and bool(sides)


def _user(reading: Reading) -> Iterator[tuple[str, str]]:
    user = reading["user"]
    if user["missing"]:
        yield (
            WRONG,
            f"{user['name']} lacks {' and '.join(user['missing'])}. Set ansible_become: true.",
        )
    else:
        yield OK, user["name"]


def _programs(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    unused = set(programs_of(engine.name for engine in ENGINES)) - set(programs_of(request.engines))
    missing = [
        name for name, path in reading["programs"].items() if path is None and name not in unused
    ]
    if not missing:
        yield OK, "all there"
    elif request.existing:
        yield (
            WRONG,
            f"missing: {', '.join(missing)}. Install them: on an existing network nothing "
            "is installed for you.",
        )
    elif request.install and not (unpackaged := _unpackaged(reading, request, missing)):
        yield NOTE, f"to be installed: {', '.join(missing)}"
    elif request.install:
        yield (
            WRONG,
            f"missing: {', '.join(unpackaged)}, and no package is known. Install them. Netperf is not "
            "needed with offload_lab_engine: iperf3 or sockets.",
        )
    else:
        yield (
            WRONG,
            f"missing: {', '.join(missing)}. Install them, or set offload_lab_install_packages: true.",
        )


def _unpackaged(reading: Reading, request: WantedOfNode, missing: Sequence[str]) -> list[str]:
    """Return the missing programs that no known package of the node's system brings."""
    if "distribution" not in reading:
        return []
    packages = node_packages(request.engines, reading["distribution"])
    return [name for name in missing if not packages.get(name) and name not in request.built]


def _addresses(links: Mapping[str, Link], name: str) -> list[str]:
    """Return the addresses of a device, without link-local ones; none where ``ip`` is missing."""
    return (links[name]["global"] or []) if name in links else []


def _device(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    links = reading["links"]
    uplinks = [request.uplink] if request.uplink else []
    for name in [request.device, *request.more_devices, *uplinks]:
        if name not in links:
            yield (
                WRONG,
                f"there is no device {name}. It has {', '.join(sorted(set(links) - {'lo'}))}.",
            )
        elif not links[name]["up"] and name != request.uplink:
            yield WRONG, f"{name} is down. Bring it up: ip link set {name} up."
    if request.address:
        yield from _own_address(links, request)
    if request.uplink:
        yield from _uplink(links, request)
    yield OK, request.device


def _own_address(links: Mapping[str, Link], request: WantedOfNode) -> Iterator[tuple[str, str]]:
    addresses = [text.partition("/")[0] for text in _addresses(links, request.device)]
    if addresses and request.address not in addresses:
        yield (
            WRONG,
            f"{request.device} does not have the address {request.address}. It has {', '.join(addresses)}.",
        )


def _uplink(links: Mapping[str, Link], request: WantedOfNode) -> Iterator[tuple[str, str]]:
    addresses = _addresses(links, request.uplink)
    if request.uplink in [request.device, *request.more_devices]:
        yield (
            WRONG,
            f"the uplink {request.uplink} is a device of the underlay. Give another device, or a VLAN on it.",
        )
    elif addresses:
        yield (
            WRONG,
            f"the uplink {request.uplink} has the address {addresses[0]}, which the "
            "switch would take from the host. Give a device without one.",
        )


def _mtu(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    link = reading["links"].get(request.device)
    if link is None:
        return
    if request.mtu and request.mtu != link["mtu"]:
        state = (
            NOTE if reading["measuring"] else WRONG
        )  # a campaign that was left in the middle has set its own
        yield (
            state,
            (
                f"{request.device} has MTU {link['mtu']}, offload_lab_underlay_mtu "
                f"{'leaves' if request.guest else 'is'} {request.mtu}. Change one."
            ),
        )
    if request.campaign and not request.guest:
        yield from _campaign_mtus(request, request.campaign, link)
    yield OK, str(link["mtu"])


def _campaign_mtus(
    request: WantedOfNode, campaign: Campaign, link: Link
) -> Iterator[tuple[str, str]]:
    if not request.existing:
        for problem in wrong_mtus(campaign, "", request.address, link):
            yield WRONG, problem.what
    elif campaign["mtus"] != [link["mtu"]]:
        mtus = ", ".join(map(str, campaign["mtus"]))
        yield (
            WRONG,
            f"the campaign's MTU is {mtus}, and {request.device}, which keeps its own, has "
            f"{link['mtu']}. Give the campaign 'mtus: [{link['mtu']}]'.",
        )


def _sets_devices(request: WantedOfNode) -> bool:
    """Return whether a campaign sets something of a host's underlay devices."""
    keeps_mtu = request.existing or request.forwards
    return request.campaign is not None and (request.varies_underlay or not keeps_mtu)


def _management(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    carriers = reading["management"]
    changed = _sets_devices(request)
    for name in [request.device, *request.more_devices]:
        if name in carriers and name not in request.allowed:
            yield (
                (WRONG if changed else NOTE),
                (
                    f"{name} carries the controller's connection, and a campaign would change it. "
                    "Log in through another "
                    "device, or name it in offload_lab_allow_management_device."
                ),
            )
    if request.uplink and request.uplink in carriers:
        yield (
            WRONG,
            f"the uplink {request.uplink} carries the controller's connection, which would be cut.",
        )
    yield OK, ", ".join(carriers) or "none of this host's devices"


def _switch(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    if reading["switch"]["refused"]:
        yield WRONG, reading["switch"]["refused"]
    if not request.existing:
        datapath = reading["switch"]["datapath"]
        for why in refused(datapath, request.tunnel, request.campaign):
            yield WRONG, why
    yield OK, reading["switch"]["datapath"]


def _ports(reading: Reading) -> Iterator[tuple[str, str]]:
    for row in reading["taken"]:
        by = f"{row['program']}, process {min(row['pids'])}" if row["pids"] else "another process"
        stop = (
            " (on Debian: systemctl disable --now netperf)" if row["program"] == "netserver" else ""
        )
        yield (
            WRONG,
            (
                f"{row['port']} is taken by {by}. Stop it{stop}, or set {' or '.join(PORT_VARIABLES.values())}."
            ),
        )
    yield OK, "free, or the lab's"


def _unreached(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    unreached: dict[str, list[PeerPort]] = {}
    for row in reading["peers"]:
        if not row["reached"]:
            unreached.setdefault(row["address"], []).append(row)
    source = request.address or "this node"
    # Only the lab's own role opens a firewall.
    to_do = "add it" if request.existing else "set offload_lab_firewall, or add it"
    for address, rows in unreached.items():
        ports = " and ".join(str(row["port"]) for row in rows)
        yield (
            NOTE if request.tests_path else WRONG,
            f"{address} cannot be reached on TCP port {ports}: "
            f"{rows[0]['answer']}. Check cable and addresses. If ping gets through, its firewall lacks a "
            f"rule that accepts these ports from {source}: {to_do}.",
        )


def _peers(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    yield from _unreached(reading, request)
    if reading.get("silent"):
        yield (
            NOTE,
            (
                f"{' and '.join(reading['silent'])} does not answer on UDP port {reading['vxlan_port']}; see that "
                f"its firewall accepts it from {request.address or 'this node'}."
            ),
        )
    yield (
        OK,
        ", ".join(dict.fromkeys(row["address"] for row in reading["peers"]))
        or "not known before they are read",
    )


def _factors(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    features = reading["features"] or {}
    for name in request.factors if features else ():
        try:
            resolve(name, features, request.device)
        except LabError as error:
            yield WRONG, str(error)
    yield OK, ", ".join(request.factors) if features else "not known without ethtool"


def _forwarding(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    """See that no device merges packets that are forwarded into others than were sent."""
    for device, features in (reading.get("forwarded") or {}).items():
        if any(features[name]["active"] for name in LRO if name in features):
            yield (
                WRONG,
                f"{device} has LRO on, and this host forwards: LRO merges packets that cannot be cut into "
                f"the same again. Switch it off: ethtool -K {device} lro off.",
            )
    if request.campaign and any(_varies_lro(factor) for factor in request.campaign["factors"]):
        yield (
            NOTE,
            "the campaign sets LRO at this host, which must not stay on while it forwards; it is "
            "measured, and not recommended.",
        )
    yield OK, "LRO is off"


def _varies_lro(factor: Factor) -> bool:
    return FORWARDER in factor["sides"] and bool(set(factor["settings"]) & set(LRO))


def _known(reading: Reading) -> Iterator[tuple[str, str]]:
    """Note the cases in which an offload of this driver or kernel was reported to be broken."""
    driver = reading.get("driver")
    cases = of_host(KnownHost([driver] if driver else [], reading.get("kernel", "")))
    if cases:
        names = ", ".join(case.name for case in cases)
        yield (
            NOTE,
            f"offloads of {driver or 'this kernel'} were reported to be broken: {names}. See "
            "docs/known-cases.md; playbook integrity shows whether they are broken here.",
        )
    yield OK, f"none of {driver or 'this kernel'}"


def _iperf3(reading: Reading, request: WantedOfNode) -> Iterator[tuple[str, str]]:
    """Compare the options of the installed iperf3 with the campaign's workloads."""
    options = reading.get("iperf3_options")
    workloads = request.campaign["workloads"] if request.campaign else []
    for workload in workloads:
        if workload.get("engine") == Iperf3.name:
            yield from _lacked(workload, options)
    added = newer(options) if options is not None else []
    if added:
        listed = ", ".join(f"{since.option} ({since.version})" for since in added)
        yield NOTE, f"a newer iperf3 would add {listed}"
    yield OK, "has all options that a workload can use"


def _lacked(workload: Workload, options: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Yield the options that a workload needs and an iperf3 with these ones lacks."""
    for since in optional(workload):
        need = f"workload {workload['name']} needs {since.option}"
        if options is None:
            yield (
                WRONG,
                f"{need}, and iperf3 is not installed. Run playbook lab first, which installs it.",
            )
        elif since.option not in options:
            yield (
                WRONG,
                f"{need}, which iperf3 has from {since.version} on. Install a newer iperf3, or "
                "leave it out.",
            )


def _bpf(reading: Reading) -> Iterator[tuple[str, str]]:
    """Note the BPF programs that packets meet at the underlay's device."""
    hooks = reading.get("bpf") or {}
    named = [
        f"{program.get('name') or program.get('id')} ({hook})" for hook, program in hooks.items()
    ]
    yield (
        NOTE,
        f"packets meet BPF programs of the host: {', '.join(named)}. They may take GRO, TSO or checksums away.",
    )


def judge(node: str, reading: Reading, request: WantedOfNode) -> Iterator[CheckRow]:
    """Yield the rows of a node: of each check what is wrong or noted, or that it is right."""
    checks = {
        "user": _user(reading),
        "programs": _programs(reading, request),
        "device": _device(reading, request),
        "MTU": _mtu(reading, request),
        "management": _management(reading, request),
        "datapath": _switch(reading, request),
        "ports": _ports(reading),
        "peers": _peers(reading, request),
        "factors": _factors(reading, request),
        "forwarding": _forwarding(reading, request),
        "known cases": _known(reading),
        "BPF": _bpf(reading),
        "iperf3": _iperf3(reading, request),
    }
    without = _not_asked(request) + ([] if reading.get("bpf") else ["BPF"])
    for name in [name for name in checks if name not in without]:
        rows = [CheckRow(node, name, state, text) for state, text in checks[name]]
        yield from [row for row in rows if row.state != OK] or rows[:1]


def _not_asked(request: WantedOfNode) -> list[str]:
    """Return the checks that a host is not concerned by."""
    left_out = [] if request.factors else ["factors"]
    left_out += [] if Iperf3.name in request.engines else ["iperf3"]
    left_out += ["datapath", "peers"] if request.guest or request.forwards else []
    return left_out + ([] if request.forwards else ["forwarding"])


def _underlay_mtu(reading: Reading, request: WantedOfNode) -> int | None:
    link = reading["links"].get(request.device)
    return link["mtu"] if link else None


def apart(
    readings: Mapping[str, Reading], requests: Mapping[str, WantedOfNode], now: float
) -> Iterator[CheckRow]:
    """Yield what is wrong between the nodes: MTUs that differ, clocks that do."""
    mtus = {
        node: _underlay_mtu(reading, requests[node])
        for node, reading in readings.items()
        if not (requests[node].guest or requests[node].forwards)
    }
    measuring = any(reading["measuring"] for reading in readings.values())
    if len(set(filter(None, mtus.values()))) > 1 and not measuring:
        by_node = ", ".join(f"{node} {mtu}" for node, mtu in mtus.items())
        yield CheckRow(
            "all", "MTU", WRONG, f"the underlays differ: {by_node}. Give all of them the same."
        )
    for node, reading in readings.items():
        if abs(now - reading["clock"]) > MOST_SECONDS_APART:
            yield CheckRow(
                node,
                "clock",
                NOTE,
                f"{abs(now - reading['clock']):.0f} s apart from the controller's; times of "
                "trials are the controller's",
            )


def table(rows: Iterable[CheckRow]) -> list[str]:
    """Return the rows as lines of a table."""
    lines = [("node", "check", "", ""), *rows]
    widths = [_width(column) for column in zip(*lines)]
    widths[-1] = 0  # nothing follows it
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in lines]


def _width(column: Iterable[str]) -> int:
    return max(map(len, column))


def problems(rows: Iterable[CheckRow]) -> list[Problem]:
    """Return what is wrong, for the message of the task."""
    return [Problem(f"{row.node}: {row.check}", row.text) for row in rows if row.state == WRONG]


def tunnel_asked(variables: Variables) -> InTunnel:
    """Return the tunnel that the variables of a node ask for, whose names begin with offload_lab_."""

    def value(name: str, default: Any) -> Any:
        return variables.get(f"offload_lab_{name}", default)

    per_port = str(value("tunnel_per_port", False)).lower() in ("true", "yes", "1", "on")
    return tunnel_of(
        {
            "tunnel_type": value("tunnel_type", None),
            "tenant_vlan": int(value("tenant_vlan", 0)),
            "tunnel_per_port": per_port,
            "uplink_device": value("uplink_device", ""),
        }
    )


def refused(datapath: str, tunnel: InTunnel, campaign: Campaign | None) -> Iterator[str]:
    """Yield why a lab with this datapath cannot have this tunnel, or measure this campaign."""
    try:
        check_tunnel(tunnel, datapath)
    except InputError as error:
        yield str(error)
    if datapath == "netdev" and campaign:
        yield from _lost(campaign)


def _lost(campaign: Campaign) -> Iterator[str]:
    """Yield the workloads whose datagrams do not get through a tunnel of the userspace datapath as
    they were sent.
    """
    paths = [LAB.by_name[name] for name in campaign["paths"] if name in LAB.by_name]
    through = " and ".join(path.name for path in paths if path.tunnelled)
    for workload in campaign["workloads"] if through else ():
        if _sends_together(workload):
            yield (
                f"workload {workload['name']} sends several datagrams with one call, which the "
                f"userspace datapath loses or joins on {through}. Give it udp_segment: false."
            )


def _sends_together(workload: Workload) -> bool:
    """Return whether one call sends several datagrams."""
    if workload["test"] != SENDS_TOGETHER or workload.get("engine") != Sockets.name:
        return False
    return workload.get("udp_segment", True)
