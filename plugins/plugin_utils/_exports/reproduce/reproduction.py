# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reproduce.sh tries of a broken path, from the plan, the finding and the trials."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..._analysis.result import PathFinding
from ..._campaign.nouns import AS_FOUND, Plan
from ..._campaign.plan_file import paths_of
from ..._store.manifest import Manifest
from ..._trials.nouns import Trial
from ..._trials.payload import Checks
from .ends import ends_of
from .features import EndSettings, settings_of_ends
from .namespaces import layers_of
from .shrink import shrunk


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
    nodes: tuple[EndSettings, EndSettings]
    layers: str  # of the script's own namespaces: "none", "vxlan", "bridge", or "card"
    why_not: str  # why the script has no own namespaces


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
    ends = ends_of(row, trials)
    if not blames or not row.off or ends is None or manifest is None:
        return None
    settings = settings_of_ends(plan, row, blames[0], ends, manifest)
    if settings is None:
        return None
    kinds, least = shrunk(plan, row, blames[0], checks)
    layers, why_not = layers_of(paths_of(plan).named(row.path), settings)
    return Reproduction(
        campaign=plan["name"],
        path=row.path,
        kind=row.kind,
        kinds=kinds,
        least=least,
        rate=ends.rate,
        port=ends.port,
        mtu=row.mtu,
        nodes=settings,
        layers=layers,
        why_not=why_not,
    )
