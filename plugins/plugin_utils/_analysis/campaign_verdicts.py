# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of each factor of a campaign, on each device and path, from the evidence that its
trials carry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Optional

from ...module_utils._base.errors import LabError
from ...module_utils._base.network import HOST
from ...module_utils._ethtool.features import Features, resolve
from ...module_utils._kinds.kind import FEATURE, NODE, group_of
from .._campaign.nouns import Factor, Levels, Plan
from .._store.manifest import Manifest, before_of
from .result import Analysis, DeviceVerdict
from .verdicts import Observation, share_of, verdict

ENDS = ("client", "server", "forwarder")


Record = Mapping[str, Any]  # the place of a trial, and its evidence
DeviceOnPath = tuple[str, str, str, str]  # path, end, node, device
Seen = tuple[
    list[Record], list[DeviceOnPath], Optional[bool]
]  # visits, their devices, outer checksum


def features_of(manifest: Manifest | None, node: str, device: str) -> Features:
    """Return the features of a node's device as the manifest lists them, before the campaign."""
    devices = before_of(manifest, node).get("devices") or {}
    return devices.get(device, {}).get("features") or {}


def bits_of(names: Iterable[str], features: Features, device: str) -> list[str]:
    """Return the kernel bits behind a factor's names on a device; a name that the device does not
    list gives none.
    """
    bits: list[str] = []
    for name in names:
        try:
            bits += resolve(name, features, device)
        except LabError:
            continue
    return bits


def class_of(device: str, manifest: Manifest | None, node: str) -> str:
    """Return the device's class as a plan has it, from its key; before it is the name of the node
    of a guest.
    """
    if device.rpartition(":")[2] == HOST:
        return NODE
    if "/" in device:
        return "tenant"
    node, device = device.split(":", 1) if ":" in device else (node, device)
    before = before_of(manifest, node)
    if before.get("tenant_of") is not None:
        return "tenant"
    return "underlay" if device in (before.get("links") or {}) else "other"


def matched(plan: Plan, factor: str) -> tuple[set[str], set[str], bool]:
    """Return (profiles at on, profiles at off, whether other factors differ too).

    Profiles that differ in this factor alone are taken where the design has them.
    """
    at: dict[str, dict[str, Levels]] = {"on": {}, "off": {}}
    for name, profile in plan["profiles"].items():
        others = dict(profile["levels"])
        level = others.pop(factor, None)
        if level in at:
            at[level][name] = others
    alone = [
        (on, off) for on, off in product(at["on"], at["off"]) if at["on"][on] == at["off"][off]
    ]
    if alone:
        return {on for on, _other in alone}, {off for _one, off in alone}, False
    return set(at["on"]), set(at["off"]), True


def _visits(trials: Sequence[Record], part: str) -> Iterator[Record]:
    """Yield one trial of each visit, pair and path with a part of the evidence: all of them carry
    the same.
    """
    yielded = set()
    for trial in trials:
        visit = (
            trial.get("mtu"),
            trial.get("block"),
            trial.get("visit"),
            trial.get("pair"),
            trial.get("path"),
        )
        if (trial.get("evidence") or {}).get(part) and visit not in yielded:
            yielded.add(visit)
            yield trial


def _observation(trial: Record, end: str, device: str, bits: Collection[str]) -> Observation:
    all_shares = (share_of(ends.get(end, {}).get(device), bits) for ends in _samples(trial))
    shares = [share for share in all_shares if share is not None]
    return dict(
        trial["evidence"].get("settings", {}).get(end, {}).get(device, {}),
        share=max(shares) if shares else None,
    )


def _samples(trial: Record) -> list[dict[str, Any]]:
    packets = trial["evidence"]["packets"]
    return [packets] if any(end in packets for end in ENDS) else list(packets.values())


def _tunnel_csum(trials: Iterable[Record]) -> bool | None:
    """Return the outer checksum that all tunnels had, or None."""
    values: set[bool] = set()
    for trial in trials:
        for end in (trial["evidence"].get("underlay") or {}).values():
            values.update(end.get("outer_csum", ()))
    return values.pop() if len(values) == 1 else None


def _names(factor: Factor) -> set[str]:
    """Return a factor's settings as evidence has them, such as ``rings rx-mini``, with hyphens."""
    names: set[str] = set()
    for value in factor["values"].values():
        names.update(value if isinstance(value, dict) else factor["settings"])
    return {_with_hyphens(f"{factor['kind']} {name}") for name in names}


def _with_hyphens(name: str) -> str:
    """Return a name in the one form that all kinds of settings can be compared in."""
    return name.replace("_", "-")


def _judge_taken(names: set[str], refused: Mapping[str, Any], missed: set[str]) -> tuple[str, str]:
    """Return (verdict, reason) from what the device cannot set, and what reads back differently
    from what was asked.
    """
    reasons = {
        refused[name].get("reason") or "fixed by the driver" for name in names & set(refused)
    }
    if names <= set(refused):
        return "unsupported", "; ".join(sorted(reasons))
    if names & missed:
        reasons.add("asked for, but it reads back differently")
    return "no_op" if names <= set(refused) | missed else "applied", "; ".join(sorted(reasons))


def _taken(
    factor: Factor, visits: Iterable[Record], manifest: Manifest | None
) -> Iterator[DeviceVerdict]:
    """Yield the rows of a factor of another kind: whether each device has taken its settings."""
    names = _names(factor)
    reports: dict[DeviceOnPath, tuple[dict[str, Any], set[str]]] = {}
    for trial, end in product(visits, factor["sides"]):
        for device, report in trial["evidence"]["settings"].get(end, {}).items():
            if class_of(device, manifest, trial[end]) in factor["devices"]:
                refused, missed = reports.setdefault(
                    (trial["path"], end, trial[end], device), ({}, set())
                )
                fixed = report.get("fixed") or {}
                refused.update({_with_hyphens(name): fixed[name] for name in fixed})
                missed.update(map(_with_hyphens, report.get("not_honoured") or ()))
    for position in sorted(reports):
        path, end, node, device = position
        verdict_of, reason = _judge_taken(names, *reports[position])
        yield DeviceVerdict(
            verdict=verdict_of,
            reason=reason,
            proof="read_back",
            share_on=None,
            share_off=None,
            others=[],
            factor=factor["name"],
            path=path,
            end=end,
            node=node,
            device=device,
            confounded=False,
        )


def of_all(verdicts: Iterable[DeviceVerdict], kinds: Collection[str]) -> dict[str, DeviceVerdict]:
    """Return ``{factor: its first row}`` of the factors whose rows all have one of these verdicts."""
    rows: dict[str, list[DeviceVerdict]] = {}
    for row in verdicts:
        rows.setdefault(row.factor, []).append(row)
    return {
        factor: rows_of_factor[0]
        for factor, rows_of_factor in rows.items()
        if all(row.verdict in kinds for row in rows_of_factor)
    }


def unsupported_profiles(analysis: Analysis) -> dict[str, str]:
    """Return ``{profile: reason}`` of the profiles whose own settings no device takes.

    They are the control once more or, in the design one_at_a_time, what their factor needs.
    """
    refused = of_all(analysis.verdicts, ["unsupported"])
    control = analysis.profiles[analysis.control]
    reasons: dict[str, str] = {}
    for name, levels in analysis.profiles.items():
        differs = [factor for factor, level in levels.items() if level != control.get(factor)]
        if differs and all(factor in refused for factor in differs):
            reasons[name] = "; ".join(dict.fromkeys(refused[factor].reason for factor in differs))
    return reasons


def _devices_on_paths(visits: Iterable[Record]) -> list[DeviceOnPath]:
    """Return where settings and packets were seen."""
    devices: set[DeviceOnPath] = set()
    for trial, end in product(visits, ENDS):
        samples = [sample.get(end, {}) for sample in _samples(trial)]
        for device in trial["evidence"].get("settings", {}).get(end, {}):
            if any(device in sample for sample in samples):
                devices.add((trial["path"], end, trial[end], device))
    return sorted(devices)


def _observed(
    visits: Iterable[Record],
    position: DeviceOnPath,
    bits: Collection[str],
    profiles: Collection[str],
) -> list[Observation]:
    """Return what was observed of a device's bits in the visits of these profiles."""
    path, end, node, device = position
    return [
        _observation(trial, end, device, bits)
        for trial in visits
        if trial["path"] == path and trial[end] == node and trial["profile"] in profiles
    ]


def _proven(
    factor: Factor, plan: Plan, evidence: Seen, manifest: Manifest | None
) -> Iterator[DeviceVerdict]:
    """Yield the rows of a feature: what its packets show on each device."""
    visits, places, csum = evidence
    held_on, held_off, confounded = matched(plan, factor["name"])
    for position in places:
        path, end, node, device = position
        if end not in factor["sides"] or class_of(device, manifest, node) not in factor["devices"]:
            continue
        bits = bits_of(factor["settings"], features_of(manifest, node, device), device)
        on = _observed(visits, position, bits, held_on)
        off = _observed(visits, position, bits, held_off)
        if confounded:
            on = [{**observation, "side_effects": {}} for observation in on]
            off = [{**observation, "side_effects": {}} for observation in off]
        if bits and on and off:
            yield DeviceVerdict(
                **vars(verdict(bits, on, off, csum)),
                factor=factor["name"],
                path=path,
                end=end,
                node=node,
                device=device,
                confounded=confounded,
            )


def verdicts_of(
    plan: Plan, trials: Sequence[Record], manifest: Manifest | None
) -> list[DeviceVerdict]:
    """Return what each factor of a campaign did on each device and path.

    Packets prove features; what else ethtool sets is refused by a device or read back.
    ``confounded`` says that the two levels were compared between profiles that differ in other
    factors too, as in the design on_off; side effects then belong to no factor.
    """
    visits = list(_visits(trials, "packets"))
    evidence = visits, _devices_on_paths(visits), _tunnel_csum(visits)
    read_back: list[DeviceVerdict] = []
    proven: list[DeviceVerdict] = []
    for factor in plan["factors"]:
        if factor["kind"] == FEATURE:
            proven += _proven(factor, plan, evidence, manifest)
        elif group_of(factor["kind"]):
            read_back += _taken(factor, _visits(trials, "settings"), manifest)
    return read_back + proven
