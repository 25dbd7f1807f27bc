# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a device's offloads are and what its packets prove: the rows that the playbook verify prints."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.analysis.verdicts import DIFFERENCE, proof_of, share_of

# Features whose state matters to a throughput question, by how their names begin.
OFFLOADS = ("tx-", "rx-", "generic-", "large-", "scatter-", "tcp-", "udp-", "receive-hashing", "ntuple-filters")


def _samples(packets, device):
    """Return the samples of the node's own device: the node was the client of the warm-up traffic."""
    ends = [test.get("client") for path in packets.values() for test in path.values()]
    return [end[device] for end in ends if isinstance(end, dict) and isinstance(end.get(device), dict)]


def _proof(feature, active, shares):
    """Return what the packets say of a feature that is ``active`` or not."""
    if proof_of([feature]) is None:
        return "read back only"
    if not shares:
        return "no packets seen"
    share = max(shares)
    acts = share >= DIFFERENCE
    if acts == active:
        return f"proven ({share:.0%} of bytes)"
    return f"not seen ({share:.0%} of bytes)" if active else f"seen although off ({share:.0%} of bytes)"


def _line(row):
    fixed = "fixed" if row["fixed"] else ""
    return f"{row['device']:<24} {row['feature']:<34} {row['state']:<4} {fixed:<6} {row['proof']}"


def verify_rows(devices, packets):
    """Return rows of all offloads that are on or may be changed, each with the ``line`` that shows it.

    Those that are fixed off share one row a device, the last. ``devices`` as module ethtool_info returns them,
    ``packets`` as module evidence does on the same node.
    """
    rows = []
    for device, found in sorted(devices.items()):
        samples, fixed_off = _samples(packets, device), []
        for feature, state in found.get("features", {}).items():
            if feature in (found.get("groups") or {}) or not feature.startswith(OFFLOADS):
                continue
            if state["fixed"] and not state["active"]:
                fixed_off.append(feature)
                continue
            shares = [share for share in (share_of(sample, [feature]) for sample in samples) if share is not None]
            row = {"device": device, "feature": feature, "state": "on" if state["active"] else "off",
                   "fixed": state["fixed"], "proof": _proof(feature, state["active"], shares)}
            rows.append(dict(row, line=_line(row)))
        if fixed_off:
            names = ", ".join(fixed_off)
            rows.append({"device": device, "feature": names, "state": "off", "fixed": True, "proof": "read back only",
                         "line": f"{device:<24} fixed off: {names}"})
    return rows
