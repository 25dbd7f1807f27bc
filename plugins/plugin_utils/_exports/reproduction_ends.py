# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where reproduce.sh runs: the two ends of the first trial that was in trouble.

Names and addresses come from nodes and files. Each is checked here.

What reproduce.sh sets at both ends: the kernel bits of the devices that the verdict blames.

The own namespaces of reproduce.sh: which path they can have, and what stands in for each device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ...module_utils._base import network
from ...module_utils._base.errors import InputError
from ...module_utils._engines.payload.result import TEST
from ...module_utils._ethtool.features import argument_name
from .._analysis.campaign_verdicts import bits_of, features_of
from .._analysis.result import Blame, PathFinding
from .._campaign.nouns import Factor, Plan
from .._campaign.plan_file import paths_of
from .._paths.lab_paths import LAB_PATHS
from .._paths.path import FORWARDER, UNDERLAY, Path
from .._store.manifest import Manifest, before_of, driver_of
from .._trials.nouns import Trial
from .._untrusted.texts import comment

OWN = "-"  # the namespace of the host itself
ENDS = ("client", "server")
FEATURE = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z", re.ASCII)
SOFTWARE = ("veth", "vxlan")  # drivers whose faults need no card
FIRST = ("192.0.2.1", "192.0.2.2")  # addresses in the script's own namespaces
INNER = ("198.51.100.1", "198.51.100.2")
THROUGH_SWITCH = {path.name for path in LAB_PATHS if path.kind or path.like}


class Ends(NamedTuple):
    """The two ends of a path whose payload was checked."""

    client: str  # the node
    server: str
    netns: str
    address: str  # of the server
    port: int
    local: str
    rate: float


def ends_of(row: PathFinding, trials: Iterable[Trial]) -> Ends | None:
    """Return the ends of the first trial of a path that was in trouble."""
    for trial in trials:
        is_of_row = (trial.get("path"), trial.get("mtu")) == (row.path, row.mtu)
        is_check = (trial.get("workload") or {}).get("test") == TEST
        if is_of_row and is_check and trial.get("error"):
            ends = _checked(trial)
            if ends:
                return ends
    return None


def _checked(trial: Trial) -> Ends | None:
    """Return what the command line of a check says; None for any other text."""
    try:
        stream = trial["streams"][0]
        argv = stream["argv"][stream["argv"].index("check") + 1 :]
        return Ends(
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


def classes_of(manifest: Manifest, node: str) -> Mapping[str, Sequence[str]]:
    """Return the devices of each class that a node had before the campaign."""
    return before_of(manifest, node).get("classes") or {}


def server_netns(path: Path, ends: Ends, manifest: Manifest) -> str:
    """Return the network namespace in which the server's end of a path is."""
    existing = path.nodes.get(ends.server)
    if existing:
        netns = existing["end"]["netns"]
        return netns if netns and network.is_namespace_name(netns) else OWN
    if ends.netns == OWN:
        return OWN
    keys = chain.from_iterable(classes_of(manifest, ends.server).values())
    names = [key.rpartition("/")[0] for key in keys if is_key(key) and "/" in key]
    return ends.netns if ends.netns in names or not names else names[0]


def is_key(key: object) -> bool:
    """Return whether a key ``netns/device`` has names that the lab can use."""
    netns, slash, device = str(key).rpartition("/")
    return network.is_device_name(device) and (not slash or network.is_namespace_name(netns))


class DeviceFeature(NamedTuple):
    """A feature of a device, and its value."""

    netns: str
    device: str
    name: str
    value: str
    device_class: str
    driver: str


class EndSettings(NamedTuple):
    """An end of the path."""

    netns: str
    address: str
    broken: list[DeviceFeature]
    cured: list[DeviceFeature]


def settings_of_ends(
    plan: Plan, row: PathFinding, blame: Blame, ends: Ends, manifest: Manifest
) -> tuple[EndSettings, EndSettings] | None:
    """Return both ends with their features; None where the script could set nothing."""
    path = paths_of(plan).named(row.path)
    netns = {"client": ends.netns, "server": server_netns(path, ends, manifest)}
    names = {"client": ends.client, "server": ends.server}
    addresses = {"client": ends.local, "server": ends.address}
    factors = {factor["name"]: factor for factor in plan["factors"]}
    arms = _arms(row, blame, factors)
    if arms is None or any(FORWARDER in factors[name]["sides"] for name in arms["cured"]):
        return None
    settings: list[EndSettings] = []
    for end in ENDS:
        reader = _Reader(manifest, names[end], netns[end], end)
        broken = reader.features(factors, arms["broken"])
        cured = reader.features(factors, arms["cured"])
        settings.append(EndSettings(netns[end], addresses[end], broken, cured))
    first, second = settings
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

    def features(
        self, factors: Mapping[str, Factor], values: Mapping[str, bool]
    ) -> list[DeviceFeature]:
        """Return what to set on the devices of this end; what a factor needs comes first."""
        by_bit: dict[tuple[str, str, str], DeviceFeature] = {}
        for name, on in values.items():
            factor = factors[name]
            if self.end not in factor["sides"]:
                continue
            for device_class in factor["devices"]:
                needed = factor["needs"] if on else []
                for setting, value in [*((need, True) for need in needed), (None, on)]:
                    settings = [setting] if setting else factor["settings"]
                    for feature in self._of_class(device_class, settings, value):
                        by_bit[feature[:3]] = feature
        return list(by_bit.values())

    def _of_class(
        self, device_class: str, settings: Iterable[str], on: bool
    ) -> list[DeviceFeature]:
        """Return the bits that can be set behind some names, at the devices of a class."""
        settable: list[DeviceFeature] = []
        for key in self._keys(device_class):
            netns, _slash, device = key.rpartition("/")
            features = features_of(self.manifest, self.node, key)
            for bit in bits_of(settings, features, key):
                name = argument_name(bit)
                if not features[bit]["fixed"] and FEATURE.match(name):
                    value = "on" if on else "off"
                    driver = self._driver(key)
                    settable.append(
                        DeviceFeature(netns or OWN, device, name, value, device_class, driver)
                    )
        return settable

    def _keys(self, device_class: str) -> list[str]:
        """Return the devices of a class, those in the path's namespace alone where there are some."""
        keys = list(filter(is_key, classes_of(self.manifest, self.node).get(device_class, ())))
        inside = [key for key in keys if key.rpartition("/")[0] == self.netns]
        return inside[:1] or keys

    def _driver(self, key: str) -> str:
        return driver_of(before_of(self.manifest, self.node), key).get("driver") or ""


def layers_of(path: Path, nodes: Iterable[EndSettings]) -> tuple[str, str]:
    """Return what a path in own namespaces has, and why there is none."""
    features = list(chain.from_iterable(node.broken + node.cured for node in nodes))
    others = sorted({feature.driver for feature in features} - set(SOFTWARE))
    if others:
        return "card", f"the fault is one of driver {comment(others[0]) or 'unknown'}"
    if path.name in THROUGH_SWITCH:
        return "card", "the path leads through Open vSwitch"
    if path.encapsulation.name not in ("none", "vxlan"):
        return "card", f"the path has a tunnel of type {comment(path.encapsulation.name)}"
    if not path.tunnelled:
        return "none", ""
    inner = {feature.device_class for feature in features} - {UNDERLAY, "tunnel"}
    return ("bridge" if inner else "vxlan"), ""


def _stand_in(feature: DeviceFeature, layers: str) -> str:
    """Return the device of the script's own namespaces that stands for a device."""
    if layers == "none" or feature.device_class == UNDERLAY:
        return "eth0"
    return {"tunnel": "vxlan0", "tenant": "tenant0"}.get(feature.device_class, "port0")


def stand_ins(layers: str, ends: Iterable[EndSettings]) -> list[EndSettings]:
    """Return the ends in the script's own namespaces."""
    addresses = FIRST if layers == "none" else INNER
    ours: list[EndSettings] = []
    for end, address in zip(ends, addresses):
        broken = [_moved(feature, layers) for feature in end.broken]
        cured = [_moved(feature, layers) for feature in end.cured]
        ours.append(EndSettings(OWN, address, broken, cured))
    return ours


def _moved(feature: DeviceFeature, layers: str) -> DeviceFeature:
    return feature._replace(netns=OWN, device=_stand_in(feature, layers))
