# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU of the nodes of tenants that are hosts: a window a visit, from its profile's setting to that
of the next visit's.

It stands beside the CPU of the ends, which are the tenants, and is never added to it. It holds what
a node did between two trials, too, so it compares profiles and is no service demand.
"""

from __future__ import annotations

from statistics import median
from typing import TypedDict, cast

from .._untrusted.texts import clean
from .nouns import NOTHING, Trial

IDLE = ("idle", "iowait")
LONGEST = 3600  # seconds of a window: beyond it the campaign was interrupted


class NodeReading(TypedDict):
    """What a node's CPUs had done when a visit began, and whose the visit is."""

    profile: str
    time: float
    boot_id: str
    seconds: dict[str, float]


def _busy_percent(before: NodeReading, now: NodeReading) -> float | None:
    """Return how busy a node was between two readings; None where they make no window."""
    if now["boot_id"] != before["boot_id"] or not 0 < now["time"] - before["time"] < LONGEST:
        return None
    spent = {
        kind: max(0.0, seconds - before["seconds"][kind])
        for kind, seconds in now["seconds"].items()
    }
    whole = sum(seconds for kind, seconds in spent.items() if kind != "steal")
    busy = whole - sum(spent[kind] for kind in IDLE)
    return 100 * busy / whole if whole else None


class NodeCpu:
    """Readings by node, and the windows between them."""

    def __init__(self) -> None:
        self.last: dict[tuple[str, str], NodeReading] = {}  # (end, node)
        self.windows: dict[
            tuple[str, str], dict[str, list[float]]
        ] = {}  # {(end, node): {profile: [busy %]}}

    def see(self, trial: Trial) -> None:
        """Take in one trial, in the order of the record: each trial of a visit has the visit's
        reading.
        """
        for end, own in ((trial.get("evidence") or NOTHING).get("nodes") or NOTHING).items():
            key = (end, own["node"])
            before = self.last.get(key)
            now = cast(NodeReading, {"profile": trial["profile"], **own["cpu"]})
            if before and now["time"] == before["time"]:
                continue
            self.last[key] = now
            percent = _busy_percent(before, now) if before else None
            if before and percent is not None:
                profiles = self.windows.setdefault(key, {})
                profiles.setdefault(before["profile"], []).append(percent)

    def rows(self) -> list[tuple[str, str, str, int, float]]:
        """Return ``(profile, node, end, windows, median busy %)``."""
        rows = []
        for (end, node), profiles in sorted(self.windows.items()):
            for profile, seen in profiles.items():
                rows.append((profile, clean(node), clean(end), len(seen), median(seen)))
        return rows
