# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reproduce.sh sets at both ends: the kernel bits of the devices that the verdict blames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ....module_utils._ethtool.features import argument_name
from ..._analysis.campaign_verdicts import bits_of, features_of
from ..._analysis.result import Blame, PathFinding
from ..._campaign.nouns import Factor, Plan
from ..._campaign.plan_file import paths_of
from ..._paths.path import FORWARDER
from ..._store.manifest import Manifest
from .ends import OWN, Ends, classes_of, is_key, server_netns

ENDS = ("client", "server")
FEATURE = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z", re.ASCII)


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
        before: Mapping[str, Any] = self.manifest["nodes"].get(self.node, {}).get("before") or {}
        device = (before.get("devices") or {}).get(key) or {}
        return str((device.get("driver") or {}).get("driver") or "")
