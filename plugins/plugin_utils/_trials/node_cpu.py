# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU of the nodes of tenants that are hosts: a window a visit, from its profile's setting to that
of the next visit's.

It stands beside the CPU of the ends, which are the tenants, and is never added to it. It holds what
a node did between two trials, too, so it compares profiles and is no service demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any, TypedDict, cast

IDLE = ("idle", "iowait")
LONGEST = 3600  # seconds of a window: beyond it the campaign was interrupted


class Reading(TypedDict):
    """What a node's CPUs had done when a visit began, and whose the visit is."""

    profile: str
    time: float
    boot_id: str
    seconds: dict[str, float]


class NodeCpu:
    """Readings by node, and the windows between them."""

    def __init__(self) -> None:
        self.last: dict[tuple[str, str], Reading] = {}  # (end, node)
        self.windows: dict[
            tuple[str, str], dict[str, list[float]]
        ] = {}  # {(end, node): {profile: [busy %]}}

    def see(self, trial: Mapping[str, Any]) -> None:
        """Take in one trial, in the order of the record: each trial of a visit has the visit's
        reading.
        """
        for end, own in ((trial.get("evidence") or {}).get("nodes") or {}).items():
            key, before = (end, own["node"]), self.last.get((end, own["node"]))
            now = cast(Reading, {"profile": trial["profile"], **own["cpu"]})
            if before and now["time"] == before["time"]:
                continue
            self.last[key] = now
            if (
                before
                and now["boot_id"] == before["boot_id"]
                and 0 < now["time"] - before["time"] < LONGEST
            ):
                spent = {
                    kind: max(0.0, now["seconds"][kind] - before["seconds"][kind])
                    for kind in now["seconds"]
                }
                whole = sum(seconds for kind, seconds in spent.items() if kind != "steal")
                if whole:
                    busy = whole - sum(spent[kind] for kind in IDLE)
                    own_profile = self.windows.setdefault(key, {}).setdefault(before["profile"], [])
                    own_profile.append(100 * busy / whole)

    def rows(self) -> list[tuple[str, str, str, int, float]]:
        """Return ``(profile, node, end, windows, median busy %)``."""
        return [
            (profile, node, end, len(seen), median(seen))
            for (end, node), profiles in sorted(self.windows.items())
            for profile, seen in profiles.items()
        ]
