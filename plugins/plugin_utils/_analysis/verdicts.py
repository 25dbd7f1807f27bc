# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: what the evidence says that a factor's setting did.

``unsupported``: the device cannot change it. ``masked``: another setting keeps it from acting.
``no_op``: set, but the packets are the same. ``changed_others``: it acted and took other features
with it. ``applied``: it acted.

``verify_rows`` says the same of an unchanged device, without a campaign.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from statistics import mean
from typing import Any, TypedDict

from ...module_utils._observe.reading import MAIN_SHARE
from .result import Verdict

DIFFERENCE = 0.25  # of the share of bytes: less is not called an action of the device
# Features whose state matters to a throughput question, by how their names begin.
OFFLOADS = (
    "tx-",
    "rx-",
    "generic-",
    "large-",
    "scatter-",
    "tcp-",
    "udp-",
    "receive-hashing",
    "ntuple-filters",
)
TUNNEL_FEATURES = {
    "tx-udp_tnl-segmentation": False,
    "tx-udp_tnl-csum-segmentation": True,
}  # outer checksum needed

# What proves a feature: pattern of its name, as `ethtool -k` lists it or as the kernel has it,
# direction on the device, share of bytes (see packets.summarise). Only what plain TCP shows: of
# IPv6, ECN or SCTP it says nothing. Software GSO segments before the tap, so "out" shows the device
# alone.
PROOFS = (
    ("tx-udp_tnl-*segmentation", "out", "tunnel_super_share"),
    ("tx-tcp-segmentation", "out", "super_share"),
    ("tx-checksum-ip*", "out", "csum_not_ready_share"),
    ("rx-gro", "in", "super_share"),
    ("generic-receive-offload", "in", "super_share"),
    ("rx-gro-hw", "in", "super_share"),
    ("rx-lro", "in", "super_share"),
    ("large-receive-offload", "in", "super_share"),
    ("rx-checksum*", "in", "csum_valid_share"),
    # Of a stream of datagrams, sampled in addition to the TCP stream; on a host that forwards
    ("rx-udp-gro-forwarding", "udp_in", "super_share"),
    ("rx-gro-list", "udp_in", "super_share"),
)


Observation = Mapping[str, Any]  # "share", "fixed", "not_honoured", "side_effects" of one visit
Document = Mapping[str, Any]


def proof_of(bits: Collection[str]) -> tuple[str, str] | None:
    """Return (direction, share) that proves a factor's kernel bits, or None where only the
    read-back shows it.
    """
    for pattern, direction, name in PROOFS:
        if any(fnmatchcase(bit, pattern) for bit in bits):
            return direction, name
    return None


def share_of(sample: Document | None, bits: Collection[str]) -> float | None:
    """Return the share of bytes in one device's sample that concerns these bits; None without
    packets or proof.
    """
    proof = proof_of(bits)
    if not proof or not sample:
        return None
    counted = sample.get(proof[0], {})
    ways = ("udp_out", "udp_in") if proof[0].startswith("udp_") else ("out", "in")
    both_ways = sum(sample.get(way, {}).get("bytes", 0) for way in ways)
    if counted.get("bytes", 0) < MAIN_SHARE * both_ways:
        return None  # the way of the acknowledgements, not of the data
    if proof[1] == "tunnel_super_share" and counted.get("bytes") and not _own_tunnel(sample, bits):
        return 0.0  # no packet was encapsulated as the feature needs it
    return counted.get(proof[1])


def _own_tunnel(sample: Document, bits: Collection[str]) -> bool:
    """Return whether encapsulated packets had the outer checksum mode that one of the features is
    for.
    """
    return any(TUNNEL_FEATURES.get(bit) in sample.get("outer_csum", []) for bit in bits)


def _judge(
    bits: Collection[str],
    on: Sequence[Observation],
    off: Sequence[Observation],
    tunnel_csum: bool | None,
) -> tuple[str | None, str]:
    """Return (verdict, reason) from the observations at the two levels."""
    # A fixed bit is reported only at the level that it does not have already.
    if _always_fixed(bits, on) or _always_fixed(bits, off):
        return "unsupported", "fixed by the driver"
    if tunnel_csum is not None:
        for bit in bits:
            if TUNNEL_FEATURES.get(bit, tunnel_csum) != tunnel_csum:
                opposite = "off" if tunnel_csum else "on"
                return "masked", f"{bit} acts only with the tunnel's outer checksum {opposite}"
    missed = _missed(bits, on)
    if missed and missed == set(bits):
        names = ", ".join(sorted(missed))
        return (
            "masked",
            f"{names} was asked for but stays inactive: it depends on another feature",
        )
    if _missed(bits, off):
        return "no_op", "asked off, but it stays active"
    return None, _refused(bits, on)


def _refused(bits: Collection[str], on: Sequence[Observation]) -> str:
    """Return in words which bits the device does not take; empty for none."""
    names: set[str] = set()
    for row in on:
        fixed = row.get("fixed") or {}
        names.update(bit for bit in fixed if bit in bits and fixed[bit].get("reason"))
    return f"without {', '.join(sorted(names))}: the device does not take it" if names else ""


def _always_fixed(bits: Collection[str], level: Sequence[Observation]) -> bool:
    return all(set(bits) <= set(row.get("fixed") or ()) for row in level)


def _missed(bits: Collection[str], level: Sequence[Observation]) -> set[str]:
    """Return the bits that read back differently from what was asked in some visit of a level."""
    missed: set[str] = set()
    for row in level:
        missed.update(row.get("not_honoured") or ())
    return missed & set(bits)


def _mean(rows: Sequence[Observation]) -> float | None:
    shares = [row["share"] for row in rows if row.get("share") is not None]
    return mean(shares) if shares else None


def _ends(level: Sequence[Observation]) -> dict[str, set[str]]:
    """Return ``{bit: the values it changed to}`` of one level's side effects."""
    values: dict[str, set[str]] = {}
    for row in level:
        for bit, change in dict(row.get("side_effects") or {}).items():
            values.setdefault(bit, set()).add(str(dict(change).get("after")))
    return values


def _others(on: Sequence[Observation], off: Sequence[Observation]) -> list[str]:
    """Return the other bits that changed with this factor.

    A side effect is known as a change since the visit before, which may have had another profile:
    what that one changed comes back in this visit. So a bit counts that ended differently at the
    two levels, or that changed in every visit of one level and in none of the other.
    """
    ended_on = _ends(on)
    ended_off = _ends(off)
    both = set(ended_on) & set(ended_off)
    changed = {bit for bit in both if not ended_on[bit] & ended_off[bit]}
    changed |= _always_changed(on) - set(ended_off)
    changed |= _always_changed(off) - set(ended_on)
    return sorted(changed)


def _always_changed(level: Sequence[Observation]) -> set[str]:
    """Return the bits that changed in every visit of a level."""
    changed = [set(row.get("side_effects") or ()) for row in level]
    return set.intersection(*changed) if changed else set()


def verdict(
    bits: Collection[str],
    on: Sequence[Observation],
    off: Sequence[Observation],
    tunnel_csum: bool | None = None,
) -> Verdict:
    """Judge one factor on one device from what was observed at its levels.

    ``on`` and ``off`` are lists of ``{"share", "fixed", "not_honoured", "side_effects"}``, one a
    visit. Returns ``{"verdict", "reason", "proof", "share_on", "share_off", "others"}``.
    """
    share_on = _mean(on)
    share_off = _mean(off)
    others = _others(on, off)
    proof = None
    kind, reason = _judge(bits, on, off, tunnel_csum)
    if share_on is not None and share_off is not None:
        proof = proof_of(bits)
        if kind is None and share_on - share_off < DIFFERENCE:
            kind = "no_op"
            reason = f"the packets are the same: {share_on:.0%} of bytes on, {share_off:.0%} off"
    if kind is None and others:
        kind = "changed_others"
        reason = f"it also changed {', '.join(others)}"
    return Verdict(
        verdict=kind or "applied",
        reason=reason,
        proof=" ".join(proof) if proof else "read_back",
        share_on=share_on,
        share_off=share_off,
        others=others,
    )


def _samples(packets: Document, device: str) -> list[Document]:
    """Return the samples of the node's own device: the node was the client of the warm-up traffic."""
    samples = []
    for path in packets.values():
        for test in path.values():
            end = test.get("client")
            if isinstance(end, dict) and isinstance(end.get(device), dict):
                samples.append(end[device])
    return samples


class FeatureRow(TypedDict):
    """What is known of a feature of a device, and the line that shows it."""

    device: str
    feature: str
    state: str
    fixed: bool
    proof: str
    line: str


def _proof(feature: str, active: bool, shares: Sequence[float]) -> str:
    """Return what the packets say of a feature that is ``active`` or not."""
    if proof_of([feature]) is None:
        return "read back only"
    if not shares:
        return "no packets seen"
    share = max(shares)
    acts = share >= DIFFERENCE
    if acts == active:
        return f"proven ({share:.0%} of bytes)"
    return (
        f"not seen ({share:.0%} of bytes)"
        if active
        else f"seen although off ({share:.0%} of bytes)"
    )


def _line(row: FeatureRow) -> str:
    fixed = "fixed" if row["fixed"] else ""
    return f"{row['device']:<24} {row['feature']:<34} {row['state']:<4} {fixed:<6} {row['proof']}"


def _row(device: str, feature: str, state: Document, samples: list[Document]) -> FeatureRow:
    """Return the row of one feature."""
    shares = [share_of(sample, [feature]) for sample in samples]
    measured = [share for share in shares if share is not None]
    row: FeatureRow = {
        "device": device,
        "feature": feature,
        "state": "on" if state["active"] else "off",
        "fixed": state["fixed"],
        "proof": _proof(feature, state["active"], measured),
        "line": "",
    }
    return {**row, "line": _line(row)}


def _fixed_off_row(device: str, features: list[str]) -> FeatureRow:
    names = ", ".join(features)
    return {
        "device": device,
        "feature": names,
        "state": "off",
        "fixed": True,
        "proof": "read back only",
        "line": f"{device:<24} fixed off: {names}",
    }


def verify_rows(devices: Document, packets: Document) -> list[FeatureRow]:
    """Return rows of all offloads that are on or may be changed, each with the ``line`` that shows
    it.

    Those that are fixed off share one row a device, the last. ``devices`` as module ethtool_info
    returns them, ``packets`` as module evidence does on the same node.
    """
    rows: list[FeatureRow] = []
    for device, reading in sorted(devices.items()):
        samples = _samples(packets, device)
        fixed_off = []
        groups = reading.get("groups") or {}
        for feature, state in reading.get("features", {}).items():
            if feature in groups or not feature.startswith(OFFLOADS):
                continue
            if state["fixed"] and not state["active"]:
                fixed_off.append(feature)
            else:
                rows.append(_row(device, feature, state, samples))
        if fixed_off:
            rows.append(_fixed_off_row(device, fixed_off))
    return rows
