# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""reproduce.sh: the fault of a broken path in one file of shell and Python, without Ansible. Pure.

It has one protocol, direction and smallest size where the trials show them, and the kernel bits of the
devices that the verdict blames. Names and addresses come from nodes and files: each is checked here, and
becomes a word of the script through the one quoting function.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ...module_utils._base import network
from ...module_utils._base.errors import InputError
from ...module_utils._base.quoting import shell_line
from ...module_utils._engines.payload.result import CHECKS, TEST
from ...module_utils._ethtool.alias import argument_name
from .._analysis.blame import holds
from .._analysis.campaign_verdicts import bits_of, features_of
from .._analysis.cure import at, varied
from .._analysis.result import Blame, PathFinding
from .._campaign.nouns import Factor, Plan
from .._campaign.plan_file import paths_of
from .._campaign.profiles import AS_FOUND
from .._paths.lab_paths import LAB_PATHS
from .._paths.path import FORWARDER, UNDERLAY, Path
from .._store.manifest import Manifest
from .._trials.nouns import Trial
from .._trials.payload import CHECKSUMS, RECEIVERS, Checks, Tally, missing
from .._untrusted.variables import comment

FILE = "reproduce.sh"
ENDS = ("client", "server")
FEATURE = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z", re.ASCII)
FEWEST_SIGNS = 1.0  # of trouble in a trial, for a protocol and direction to be the one
PROTOCOLS = ("tcp", "udp")
LARGEST = 65000  # bytes of the smallest message
HEADS = 12 - 8  # bytes by which a datagram of the campaign begins with a longer head
PAIRS = 6
SECONDS_ONE = 1.5  # of a trial of one protocol and direction
SECONDS_EACH = 0.6  # where the script tries all of them
OWN = "-"  # the namespace of the host itself
SOFTWARE = ("veth", "vxlan")  # drivers whose faults need no card
FIRST = ("192.0.2.1", "192.0.2.2")  # addresses in the script's own namespaces
INNER = ("198.51.100.1", "198.51.100.2")
THROUGH_SWITCH = {path.name for path in LAB_PATHS if path.kind or path.like}
HERE = pathlib.Path(__file__)


class Switch(NamedTuple):
    """A feature of a device, and its value."""

    netns: str
    device: str
    feature: str
    value: str
    device_class: str
    driver: str


class Node(NamedTuple):
    """An end of the path."""

    netns: str
    address: str
    broken: list[Switch]
    cured: list[Switch]


class Reproduction(NamedTuple):
    """What the script tries."""

    campaign: str
    path: str
    kind: str  # what was wrong
    kinds: list[str]  # protocols and directions
    least: int  # bytes of the smallest message
    rate: float  # Mbit/s, 0 for no limit
    port: int
    mtu: int
    nodes: tuple[Node, Node]
    layers: str  # of the script's own namespaces: "none", "vxlan", "bridge", or "card"
    why_not: str  # why the script has no own namespaces


class Place(NamedTuple):
    """Where the payload of a path was checked."""

    client: str  # the node
    server: str
    netns: str
    address: str  # of the server
    port: int
    local: str
    rate: float


def reproduction(
    plan: Plan,
    row: PathFinding,
    checks: Checks,
    manifest: Manifest | None,
    trials: Iterable[Trial],
) -> Reproduction | None:
    """Return what a script can try; None where no feature is to blame, or where the two nodes have no
    device, address or name that a script may hold.
    """
    blames = [blame for blame in row.blames if AS_FOUND not in blame.settings]
    ends = _place(row, trials)
    if not blames or not row.off or ends is None or manifest is None:
        return None
    nodes = _nodes(plan, row, blames[0], ends, manifest)
    if nodes is None:
        return None
    kinds, least = _shrunk(plan, row, blames[0], checks)
    layers, why_not = _layers(paths_of(plan).named(row.path), nodes)
    return Reproduction(
        campaign=plan["name"],
        path=row.path,
        kind=row.kind,
        kinds=kinds,
        least=least,
        rate=ends.rate,
        port=ends.port,
        mtu=row.mtu,
        nodes=nodes,
        layers=layers,
        why_not=why_not,
    )


# Where


def _place(row: PathFinding, trials: Iterable[Trial]) -> Place | None:
    """Return the ends of the first trial of a path that was in trouble."""
    for trial in trials:
        here = (trial.get("path"), trial.get("mtu")) == (row.path, row.mtu)
        if here and trial.get("error") and (trial.get("workload") or {}).get("test") == TEST:
            ends = _place_of(trial)
            if ends:
                return ends
    return None


def _place_of(trial: Trial) -> Place | None:
    """Return what the command line of a check says; None for any other text."""
    try:
        stream = trial["streams"][0]
        argv = stream["argv"][stream["argv"].index("check") + 1 :]
        return Place(
            client=trial["client"],
            server=trial["server"],
            netns=network.namespace_name(stream["netns"]) if stream["netns"] else OWN,
            address=str(network.address(argv[0], "server")),
            port=network.port(int(argv[1]), "port"),
            local=str(network.address(argv[4], "client")),
            rate=max(0.0, min(float(argv[3]), 1e6)),
        )
    except (InputError, LookupError, TypeError, ValueError):
        return None


def _classes(manifest: Manifest, node: str) -> Mapping[str, Sequence[str]]:
    before = manifest["nodes"].get(node, {}).get("before")
    return (before.get("classes") if before else None) or {}


def _server_netns(path: Path, ends: Place, manifest: Manifest) -> str:
    """Return the network namespace in which the server's end of a path is."""
    existing = path.nodes.get(ends.server)
    if existing:
        netns = existing["end"]["netns"]
        return netns if netns and network.is_namespace_name(netns) else OWN
    if ends.netns == OWN:
        return OWN
    keys = chain.from_iterable(_classes(manifest, ends.server).values())
    names = [key.rpartition("/")[0] for key in keys if _is_key(key) and "/" in key]
    return ends.netns if ends.netns in names or not names else names[0]


# What


def _nodes(
    plan: Plan, row: PathFinding, blame: Blame, ends: Place, manifest: Manifest
) -> tuple[Node, Node] | None:
    """Return both ends with their features; None where the script could switch nothing."""
    path = paths_of(plan).named(row.path)
    netns = {"client": ends.netns, "server": _server_netns(path, ends, manifest)}
    names = {"client": ends.client, "server": ends.server}
    addresses = {"client": ends.local, "server": ends.address}
    factors = {factor["name"]: factor for factor in plan["factors"]}
    arms = _arms(row, blame, factors)
    if arms is None or any(FORWARDER in factors[name]["sides"] for name in arms["cured"]):
        return None
    nodes: list[Node] = []
    for end in ENDS:
        reader = _Reader(manifest, names[end], netns[end], end)
        switches = {arm: reader.switches(factors, values) for arm, values in arms.items()}
        nodes.append(Node(netns[end], addresses[end], switches["broken"], switches["cured"]))
    first, second = nodes
    return (first, second) if first.cured or second.cured else None


def _arms(
    row: PathFinding, blame: Blame, factors: Mapping[str, Factor]
) -> dict[str, dict[str, bool]] | None:
    """Return the factors of both settings. Other faults of the path are off in both."""
    if any(factors[name]["kind"] != "feature" for name in [*row.off, *blame.settings]):
        return None
    cured = dict.fromkeys(row.off, False)
    return {"broken": {**cured, **blame.settings}, "cured": cured}


class _Reader:
    """Reads the features of one end from the manifest."""

    def __init__(self, manifest: Manifest, node: str, netns: str, end: str) -> None:
        self.manifest = manifest
        self.node = node
        self.netns = netns
        self.end = end

    def switches(self, factors: Mapping[str, Factor], values: Mapping[str, bool]) -> list[Switch]:
        """Return what to set on the devices of this end; what a factor needs comes first."""
        by_bit: dict[tuple[str, str, str], Switch] = {}
        for name, on in values.items():
            factor = factors[name]
            if self.end not in factor["sides"]:
                continue
            for device_class in factor["devices"]:
                needed = factor["needs"] if on else []
                for setting, value in [*((need, True) for need in needed), (None, on)]:
                    settings = [setting] if setting else factor["settings"]
                    for switch in self._of_class(device_class, settings, value):
                        by_bit[switch[:3]] = switch
        return list(by_bit.values())

    def _of_class(self, device_class: str, settings: Iterable[str], on: bool) -> list[Switch]:
        """Return the bits behind some names at the devices of a class."""
        switches: list[Switch] = []
        for key in self._keys(device_class):
            netns, _slash, device = key.rpartition("/")
            features = features_of(self.manifest, self.node, key)
            for bit in bits_of(settings, features, key):
                feature = argument_name(bit)
                if not features[bit]["fixed"] and FEATURE.match(feature):
                    value = "on" if on else "off"
                    driver = self._driver(key)
                    switches.append(
                        Switch(netns or OWN, device, feature, value, device_class, driver)
                    )
        return switches

    def _keys(self, device_class: str) -> list[str]:
        """Return the devices of a class, those in the path's namespace alone where there are some."""
        keys = list(filter(_is_key, _classes(self.manifest, self.node).get(device_class, ())))
        inside = [key for key in keys if key.rpartition("/")[0] == self.netns]
        return inside[:1] or keys

    def _driver(self, key: str) -> str:
        before: Mapping[str, Any] = self.manifest["nodes"].get(self.node, {}).get("before") or {}
        device = (before.get("devices") or {}).get(key) or {}
        return str((device.get("driver") or {}).get("driver") or "")


def _is_key(key: object) -> bool:
    """Return whether a key ``netns/device`` has names that the lab can use."""
    netns, slash, device = str(key).rpartition("/")
    return network.is_device_name(device) and (not slash or network.is_namespace_name(netns))


# How much


def _shrunk(plan: Plan, row: PathFinding, blame: Blame, checks: Checks) -> tuple[list[str], int]:
    """Return the protocol and direction that break most, or all, and the smallest message."""
    profiles = varied(at(checks.whole(), (row.path, row.mtu)))
    under = [
        tally
        for name, tally in profiles.items()
        if holds(plan, blame.settings, plan["profiles"][name]["levels"])
    ]
    without = [tally for tally in profiles.values() if tally not in under]
    signs = {name: _signs(under, name) - _signs(without, name) for name in CHECKS}
    name = max(signs, key=lambda check: signs[check])
    if signs[name] < FEWEST_SIGNS:
        return list(CHECKS), 1
    return [name], _least(under, name)


def _signs(tallies: Iterable[Tally], name: str) -> float:
    """Return how many signs of trouble a protocol and direction has in a trial, on average."""
    total = 0.0
    trials = 0
    for tally in tallies:
        trials += tally["trials"]
        check = tally["whole"]["checks"].get(name)
        if check:
            total += check["wrong"] + check["short"] + check["stalled"] + check["segments_lost"]
            total += missing(tally["whole"], name) + _refused(tally, name)
    return total / trials if trials else 0.0


def _refused(tally: Tally, name: str) -> int:
    """Return how many packets of a protocol the receiving end refused for their checksums."""
    protocol, _sign, direction = name.partition("_")
    gained = tally["whole"]["counters"].get(RECEIVERS[direction], {})
    return sum(gained.get(sign, 0) for sign in CHECKSUMS if sign.lower().startswith(protocol))


def _least(tallies: Iterable[Tally], name: str) -> int:
    """Return the size of the smallest message that arrived wrong, 1 where none did."""
    examples = [tally["whole"]["checks"][name]["first"] for tally in tallies if _has(tally, name)]
    found = [example["size"] for example in examples if example]
    least = min(found, default=1) + (HEADS if found and name.startswith("udp") else 0)
    return max(1, min(least, LARGEST))


def _has(tally: Tally, name: str) -> bool:
    return name in tally["whole"]["checks"]


# The script's own namespaces


def _layers(path: Path, nodes: Iterable[Node]) -> tuple[str, str]:
    """Return what a path in own namespaces has, and why there is none."""
    switches = list(chain.from_iterable(node.broken + node.cured for node in nodes))
    others = sorted({switch.driver for switch in switches} - set(SOFTWARE))
    if others:
        return "card", f"the fault is one of driver {comment(others[0]) or 'unknown'}"
    if path.name in THROUGH_SWITCH:
        return "card", "the path leads through Open vSwitch"
    if path.encapsulation.name not in ("none", "vxlan"):
        return "card", f"the path has a tunnel of type {comment(path.encapsulation.name)}"
    if not path.tunnelled:
        return "none", ""
    inner = {switch.device_class for switch in switches} - {UNDERLAY, "tunnel"}
    return ("bridge" if inner else "vxlan"), ""


def _stand_in(switch: Switch, layers: str) -> str:
    """Return the device of the script's own namespaces that stands for a device."""
    if layers == "none" or switch.device_class == UNDERLAY:
        return "eth0"
    return {"tunnel": "vxlan0", "tenant": "tenant0"}.get(switch.device_class, "port0")


# The script


def script(tried: Reproduction) -> str:
    """Return the text of reproduce.sh."""
    parts = {
        "ABOUT": "\n".join(f"# {line}" for line in _about(tried)),
        "VALUES": "\n".join(_values(tried)),
        "PROGRAM": program(tried.kinds),
    }
    text = HERE.with_suffix(".sh.in").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@@{name}@@", part, 1)
    return text


def program(kinds: Iterable[str] = CHECKS) -> str:
    """Return the program of a node for some protocols, without the head of its file."""
    text = HERE.with_name("reproduce_node.py").read_text(encoding="utf-8")
    text = text[text.index('"""') :].rstrip()
    for protocol in PROTOCOLS:
        if not any(kind.startswith(protocol) for kind in kinds):
            text = _without(text, protocol)
    return text


def _without(text: str, protocol: str) -> str:
    """Return the program without the part of a protocol."""
    begin = text.index(f"# {protocol}: ")
    last = f'PARTS["{protocol}", "receive"] = receive_{protocol}\n'
    return text[:begin] + text[text.index(last) + len(last) :].lstrip("\n")


def _about(tried: Reproduction) -> list[str]:
    """Return what the script shows, as comments."""
    lines = [
        f"Reproduce a fault of an offload without Ansible: {comment(tried.kind)},",
        f"over path {comment(tried.path)} at MTU {tried.mtu}. It breaks with",
    ]
    for number, node in enumerate(tried.nodes, 1):
        for switch in node.cured:
            where = "" if switch.netns == OWN else f" in namespace {switch.netns}"
            lines.append(f"    HOST{number}: {switch.feature} of {switch.device}{where} on")
    lines.append(f"Written by offload.lab from campaign {comment(tried.campaign)}.")
    return lines


def _values(tried: Reproduction) -> list[str]:
    """Return the lines that give the script its values."""
    each = SECONDS_ONE if len(tried.kinds) == 1 else SECONDS_EACH
    lines = [
        _assigned("KINDS", tried.kinds) + "  # forward is from HOST1 to HOST2",
        _assigned("LEAST", [tried.least]) + "  # bytes of the smallest message",
        _assigned("RATE", [f"{tried.rate:g}"]) + "  # Mbit/s, 0 for no limit",
        _assigned("PAIRS", [PAIRS]) + "  # of trials, at most",
        _assigned("SECONDS_EACH", [each]) + "  # of a trial",
        _assigned("PORT", [tried.port]) + "  # of TCP and UDP, at both ends",
        _assigned("LAYERS", [tried.layers]) + "  # of --namespaces",
        _assigned("WHY_NOT", [tried.why_not] if tried.why_not else []),
        _assigned("MTU", [tried.mtu]),
        "# Features: NETNS DEVICE FEATURE VALUE, several times. The namespace - is the one of the host.",
    ]
    lines += _of_nodes(tried.nodes)
    if tried.layers != "card":
        ours = [f"    {line}" for line in _of_nodes(_stand_ins(tried))]
        lines += ['if [ "${1-}" = --namespaces ]; then', *ours, "fi"]
    switches = sum(len(node.cured) for node in tried.nodes)
    return [*lines, _assigned("SEVERAL", ["yes" if switches > 1 else "no"])]


def _assigned(name: str, words: Iterable[object]) -> str:
    """Return an assignment of words to a variable, quoted."""
    return f"{name}={shell_line([' '.join(map(str, words))])}"


def _of_nodes(nodes: Iterable[Node]) -> list[str]:
    lines: list[str] = []
    for number, node in enumerate(nodes, 1):
        devices = dict.fromkeys(switch[:2] for switch in [*node.broken, *node.cured])
        lines += [
            _assigned(f"NETNS{number}", [node.netns]),
            _assigned(f"ADDRESS{number}", [node.address]),
            _assigned(f"DEVICES{number}", chain.from_iterable(devices)),
            _assigned(f"BROKEN{number}", _words(node.broken)),
            _assigned(f"CURED{number}", _words(node.cured)),
        ]
    return lines


def _words(switches: Iterable[Switch]) -> list[str]:
    return list(chain.from_iterable(switch[:4] for switch in switches))


def _stand_ins(tried: Reproduction) -> list[Node]:
    """Return the ends in the script's own namespaces."""
    addresses = FIRST if tried.layers == "none" else INNER
    nodes: list[Node] = []
    for node, address in zip(tried.nodes, addresses):
        broken = [_moved(switch, tried.layers) for switch in node.broken]
        cured = [_moved(switch, tried.layers) for switch in node.cured]
        nodes.append(Node(OWN, address, broken, cured))
    return nodes


def _moved(switch: Switch, layers: str) -> Switch:
    return switch._replace(netns=OWN, device=_stand_in(switch, layers))
