# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the trials: failures by profile, what the settings were seen to do, and what was
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from .._analysis.result import Analysis, DeviceVerdict, Failures
from .._figures.nouns import PlainRow, PlainTable
from .._statistics import text
from .._trials.digest import Digest
from .nouns import DeviceEvidence, MarkedTrials, SettingEvidence

PROOFS = {
    "read_back": "read back",
    "out super_share": "longer than the MTU on the way out",
    "in super_share": "longer than the MTU on the way in",
    "out tunnel_super_share": "tunnelled and longer than the MTU on the way out",
    "out csum_not_ready_share": "on the way out without a checksum yet",
    "in csum_valid_share": "on the way in with the checksum checked",
    "udp_in super_share": "datagrams longer than the MTU on the way in",
}
FOLD = 24  # rows of a table; a longer one is folded
MOST_ERRORS = 20  # rows


def failures(analysis: Analysis) -> PlainTable | None:
    """Return the failures by profile as a table; None where nothing failed."""
    rows = analysis.failures
    if not any(row.failed for row in rows):
        return None
    kinds = _kinds(analysis)
    head = ["Profile", "Trials", "Failed", "Share", "p, report", "How", ""]
    return {
        "head": head,
        "text": [head[0], head[5], head[6]],
        "rows": [_failed(row, kinds.get(row.profile, {})) for row in rows],
    }


def _kinds(analysis: Analysis) -> dict[str, dict[str, int]]:
    """Return how often the trials of each profile failed, by kind."""
    kinds: dict[str, dict[str, int]] = {}
    for failures in chain.from_iterable(table.failures for table in analysis.tables):
        for kind, times in failures.kinds.items():
            held = kinds.setdefault(failures.profile, {})
            held[kind] = held.get(kind, 0) + times
    return kinds


def _failed(row: Failures, kinds: dict[str, int]) -> PlainRow:
    how = [f"{kind.replace('_', ' ')} {times}" for kind, times in kinds.items()]
    return {
        "cells": [
            row.profile,
            f"{row.trials:,}",
            f"{row.failed:,}",
            _share(row.share),
            text.p_value(row.p_report),
            ", ".join(how),
            _judged(row),
        ]
    }


def _judged(row: Failures) -> str:
    """Return in words what the failures of a profile mean."""
    if row.shown:
        return "shown to fail more"
    return "not recommended" if row.forbids else ""


def _share(value: float | None) -> str:
    return text.NONE if value is None else f"{value:.0%}"


def _proof(row: DeviceVerdict) -> str:
    """Return what a verdict rests on, in words."""
    proof = PROOFS.get(row.proof, row.proof.replace("_", " "))
    if row.proof != "read_back":
        proof += f": {_share(row.share_on)} of bytes at on, {_share(row.share_off)} at off"
    return f"{proof}; {row.reason}" if row.reason else proof


def _merged(rows: Iterable[DeviceVerdict]) -> list[DeviceEvidence]:
    """Return a row a device; paths with the same verdict are one row."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        key = row.factor, row.node, row.end, row.device, row.verdict, _proof(row)
        merged.setdefault(key, []).append(row.path)
    devices = []
    for (factor, node, end, device, verdict, proof), paths in merged.items():
        where = f"{node} ({end}) {device}, {text.listed(paths)}"
        devices.append(DeviceEvidence(factor, where, verdict, proof))
    return devices


def evidence(rows: Sequence[DeviceVerdict]) -> SettingEvidence:
    """Return what each factor was seen to do."""
    if not rows:
        note = "No evidence of what the settings did was recorded with the trials."
        return SettingEvidence([note], [], folded=False)
    notes = [
        "What each setting was seen to do, in packets sampled on the device and in what the kernel reads back."
    ]
    if any(row.confounded for row in rows):
        notes.append(
            "The settings were changed together, so another setting may have caused a verdict."
        )
    devices = _merged(rows)
    return SettingEvidence(notes, devices, folded=len(devices) > FOLD)


def marked(digest: Digest) -> MarkedTrials:
    """Return the trials that were left out, marked or failed."""
    if not digest.guards and not digest.failed:
        none = "None: every trial gave a result and no guard marked one."
        return MarkedTrials(none, [], None)
    tables = [table for table in (_guards(digest), _errors(digest)) if table["rows"]]
    return MarkedTrials(_summary(digest), tables, _listed(digest))


def _summary(digest: Digest) -> str:
    reasons = [
        f"{name} {marks['left_out']:,}"
        for name, marks in sorted(digest.guards.items())
        if marks["left_out"]
    ]
    listed = f" ({', '.join(reasons)})" if reasons else ""
    return (
        f"{text.count(digest.trials, 'trial')}: {digest.failed:,} failed, {digest.left_out:,} left out "
        f"because a guard marked them{listed}. Other marks are warnings."
    )


def _guards(digest: Digest) -> PlainTable:
    rows: list[PlainRow] = []
    for name, marks in sorted(digest.guards.items()):
        rows.append(
            {"cells": [name, str(marks["trials"]), str(marks["left_out"]), marks["reason"]]}
        )
    head = ["Guard", "Trials", "Left out", "First reason"]
    return {"head": head, "text": [head[0], head[3]], "rows": rows}


def _errors(digest: Digest) -> PlainTable:
    errors = sorted(digest.errors.items(), key=lambda item: (-item[1], item[0]))
    rows: list[PlainRow] = [{"cells": [error, str(times)]} for error, times in errors[:MOST_ERRORS]]
    return {"head": ["Error", "Trials"], "text": ["Error"], "rows": rows}


def _listed(digest: Digest) -> PlainTable | None:
    """Return the first trials that failed or were left out, one by one; None without any."""
    if not digest.listed:
        return None
    rows: list[PlainRow] = []
    for trial in digest.listed:
        where = f"{trial['path']} · {trial['mtu']} · {(trial['workload'] or {}).get('name')}"
        why = trial["error"] or "; ".join(mark["reason"] for mark in trial["marks"])
        rows.append({"cells": [trial["id"], where, trial["profile"], why]})
    total = digest.failed + digest.left_out
    caption = ""
    if total > len(rows):
        caption = f"The first {len(rows)} of {total:,}; trials.csv has all."
    head = ["Trial", "Where", "Profile", "Why"]
    return {"head": head, "text": head, "rows": rows, "caption": caption}
