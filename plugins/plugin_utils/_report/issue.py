# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""issue.md: at most 40 lines on what is broken, to paste into somebody's issue tracker.

It names the ends client and server, and no host and no address.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ...module_utils._base.quoting import shell_line
from ...module_utils._ethtool.features import Features
from .._analysis.campaign_verdicts import features_of
from .._analysis.integrity import is_broken
from .._analysis.result import Hop, NamedCure, PathFinding, PayloadFindings
from .._campaign.nouns import Plan
from .._campaign.plan_file import paths_of
from .._figures.nouns import PlainTable, plain_table
from .._statistics import text
from .._store.manifest import Manifest, NodeState, before_of, driver_of
from .._untrusted.texts import printable

ENDS = ("client", "server")
MOST_LINES = 40
MOST_PATHS = 3  # sentences
MOST_DEVICES = 2  # whose features are listed
MOST_COMMANDS = 4
UNKNOWN = "not recorded"
IN_TITLE = {
    "broken": "broken",
    "broken without": "broken without these offloads too",
    "broken everywhere": "broken with every setting",
}
# How the devices of a CNI begin.
CNIS = {
    "flannel": "flannel",
    "vxlan.calico": "Calico",
    "cali": "Calico",
    "tunl": "Calico",
    "cilium_": "Cilium",
    "antrea": "Antrea",
    "ovn-k8s": "OVN-Kubernetes",
    "weave": "Weave Net",
    "kube-ipvs": "kube-proxy",
}
PLAIN_NAME = re.compile(r"[A-Za-z0-9._@:+/-]+\Z", re.ASCII)
NAMED_CNI = "CNI: {name}, by its device {device}. Its version: (please add)"
TUNNEL = "Tunnel: {name}"


class Suspect(NamedTuple):
    """A device at which the settings to blame are on, as it was found."""

    end: str
    netns: str
    name: str
    settings: Collection[str]  # features to switch off
    features: Features


class Issue(NamedTuple):
    """What issue.md says."""

    title: str
    verdicts: list[str]
    cure: str
    facts: PlainTable
    around: list[str]  # the network that carries the path
    features: list[str]  # of the suspects, as found
    commands: list[str]
    campaign: str
    message: str  # the smallest that arrived wrong
    script: bool  # whether there is a reproduce.sh


def issue(
    plan: Plan,
    payload: PayloadFindings,
    manifest: Manifest | None,
    nodes: Mapping[str, Collection[str]],
    script: bool = False,
) -> Issue | None:
    """Return the issue to report; None if nothing is broken. ``nodes`` are the nodes of each end,
    ``script`` says whether there is a reproduce.sh.
    """
    broken = [row for row in payload.paths if is_broken(row.verdict)]
    if not broken:
        return None
    names = {end: min(nodes[end]) for end in ENDS if nodes.get(end)}
    before = {end: before_of(manifest, name) for end, name in names.items()}
    suspects = _suspects(plan, broken[0], manifest, names)
    return Issue(
        title=_title(broken[0]),
        verdicts=_sentences(broken),
        cure=_cure(payload.cure),
        facts=_facts(before, suspects),
        around=_around(plan, broken[0], before),
        features=_features_listed(suspects[:MOST_DEVICES]),
        commands=_commands(suspects),
        campaign=plan["name"],
        message=_message(broken[0]),
        script=script,
    )


def _title(row: PathFinding) -> str:
    blamed = [_hop_text(hop) for hop, *_near in row.hops] or [f"{name} on" for name in row.off]
    settings = f" with {text.listed(blamed)}" if blamed else ""
    where = f"over {row.path} at MTU {row.mtu}"
    return f"Payload is {IN_TITLE[row.verdict]}{settings}, {where}: {row.kind}"


def _hop_text(hop: Hop) -> str:
    return f"{text.listed(hop.settings)} on at the {hop.devices} of the {hop.side}"


def _sentences(rows: list[PathFinding]) -> list[str]:
    shown = [row.text for row in rows[:MOST_PATHS]]
    more = len(rows) - len(shown)
    return shown + ([f"{text.count(more, 'more path')}: see report.md."] if more else [])


def _cure(cure: NamedCure | None) -> str:
    if cure is None:
        return ""
    settings = text.listed([f"{name} {level}" for name, level in cure.off.items()])
    if not cure.trials:
        return f"Cure: {settings}. No trial had just these settings."
    clean = cure.trials - cure.troubled
    fresh = "confirmed by these trials" if cure.confirmed else "not confirmed in fresh trials yet"
    return f"Cure: {settings}. {clean} of {cure.trials} trials with it were clean ({fresh})."


def _places(plan: Plan, row: PathFinding) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return (end, device class, features) at which the fault can be: the hops, or all that was
    varied.
    """
    hops = [(hop.side, hop.devices, tuple(hop.settings)) for hop, *_near in row.hops]
    if hops:
        return hops
    for factor in plan["factors"]:
        if factor["name"] in row.off and factor["kind"] == "feature":
            for end in factor["sides"]:
                hops += [(end, name, tuple(factor["settings"])) for name in factor["devices"]]
    return hops


def _suspects(
    plan: Plan, row: PathFinding, manifest: Manifest | None, names: Mapping[str, str]
) -> list[Suspect]:
    """Return the devices at these places that the manifest has, the tunnel's first."""
    suspects: dict[tuple[str, str], Suspect] = {}
    places = sorted(_places(plan, row), key=lambda candidate: candidate[1] != "tunnel")
    for end, device_class, settings in places:
        node = names.get(end, "")
        for key in _classes(before_of(manifest, node)).get(device_class, ()):
            netns, _slash, name = key.rpartition("/")
            listed = features_of(manifest, node, key)
            suspects.setdefault((end, key), Suspect(end, netns, name, settings, listed))
    return list(suspects.values())


def _classes(before: NodeState) -> dict[str, list[str]]:
    """Return the devices of each class; for results of earlier versions, the underlay's devices."""
    links: Iterable[str] = before.get("links") or ()
    return before.get("classes") or {"underlay": list(links)}


def _facts(before: Mapping[str, NodeState], suspects: list[Suspect]) -> PlainTable:
    """Return kernel, devices, drivers and firmware of both ends."""
    rows = {
        "kernel": [_kernel(before.get(end, {})) for end in ENDS],
        "Open vSwitch": [
            _told((before.get(end, {}).get("ovs") or {}).get("version")) for end in ENDS
        ],
        "device, driver, firmware": [_drivers(before.get(end, {}), end, suspects) for end in ENDS],
        "ethtool": [
            _told((before.get(end, {}).get("host") or {}).get("tools", {}).get("ethtool"))
            for end in ENDS
        ],
    }
    recorded = {name: cells for name, cells in rows.items() if set(cells) != {UNKNOWN}}
    return plain_table(["", *ENDS], [[name, *cells] for name, cells in recorded.items()])


def _told(value: object) -> str:
    return str(value) if value else UNKNOWN


def _kernel(before: NodeState) -> str:
    host = before.get("host") or {}
    parts = [host.get(name) for name in ("kernel", "architecture")]
    return _told(" ".join(map(str, filter(None, parts))))


def _drivers(before: NodeState, end: str, suspects: Iterable[Suspect]) -> str:
    """Return the underlay's devices of an end and its suspects, each with driver and firmware."""
    keys = list(_classes(before).get("underlay", ()))[:MOST_DEVICES]
    named = [_key(suspect) for suspect in suspects if suspect.end == end]
    drivers = [_driver(before, key) for key in dict.fromkeys([*named[:MOST_DEVICES], *keys])]
    return _told("; ".join(drivers))


def _key(suspect: Suspect) -> str:
    return f"{suspect.netns}/{suspect.name}" if suspect.netns else suspect.name


def _driver(before: NodeState, key: str) -> str:
    driver = driver_of(before, key)
    parts = [driver.get(name) for name in ("driver", "version", "firmware-version")]
    name = key.rpartition("/")[2]
    return f"{name}: {' '.join(map(str, filter(None, parts))) or UNKNOWN}"


def _around(plan: Plan, row: PathFinding, before: Mapping[str, NodeState]) -> list[str]:
    """Return the tunnel of a path, and the CNI whose devices the ends have."""
    tunnel = paths_of(plan).named(row.path).encapsulation.name
    lines = [TUNNEL.format(name=tunnel)]
    classes = itertools.chain.from_iterable(_classes(parts).values() for parts in before.values())
    for key in itertools.chain.from_iterable(classes):
        device = key.rpartition("/")[2]
        name = _cni_of(device)
        if name:
            return [*lines, NAMED_CNI.format(name=name, device=device)]
    return lines


def _cni_of(device: str) -> str | None:
    return next((name for begin, name in CNIS.items() if device.startswith(begin)), None)


def _features_listed(suspects: Iterable[Suspect]) -> list[str]:
    """Return what ``ethtool -k`` lists of the devices as found, as far as it can be changed."""
    lines: list[str] = []
    for suspect in suspects:
        for state, names in _features(suspect.features).items():
            lines.append(
                printable(f"{suspect.name} ({suspect.end}) {state}: {' '.join(sorted(names))}")
            )
    return lines


def _features(features: Features) -> dict[str, list[str]]:
    """Return the features of a device that can be changed, by how they were found."""
    by_state: dict[str, list[str]] = {}
    for name, state in features.items():
        if state["fixed"]:
            continue
        by_state.setdefault("on" if state["active"] else "off", []).append(name)
        if state.get("requested") not in (None, state["active"]):
            by_state.setdefault("requested otherwise", []).append(name)
    return by_state


def _commands(suspects: Iterable[Suspect]) -> list[str]:
    """Return the commands that break the path, and that cure it. A name that would need quotes is no
    name of a device.
    """
    lines: list[str] = []
    for suspect in suspects:
        if not PLAIN_NAME.match(f"{suspect.netns}/{suspect.name}"):
            continue
        inside = ["ip", "netns", "exec", suspect.netns] if suspect.netns else []
        commands = [[*inside, "ethtool", "-K", suspect.name, name] for name in suspect.settings]
        lines += [f"{shell_line([*line, 'on'])}  # {suspect.end}; off cures" for line in commands]
    return lines[:MOST_COMMANDS]


def _message(row: PathFinding) -> str:
    if not row.first:
        return ""
    return f"The smallest message that arrived wrong has {row.first['size']:,} bytes."
