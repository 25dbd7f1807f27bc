# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reproduce.sh tries of a broken path, from the plan, the finding and the trials: as little as
shows the fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ....module_utils._engines.payload.result import CHECKS
from ..._analysis.blame import holds
from ..._analysis.cure import at, varied
from ..._analysis.result import Blame, PathFinding
from ..._campaign.nouns import AS_FOUND, Plan
from ..._campaign.plan_file import paths_of
from ..._store.manifest import Manifest
from ..._trials.nouns import Trial
from ..._trials.payload import CHECKSUMS, RECEIVERS, Checks, Tally, missing
from .ends import ends_of
from .features import EndSettings, settings_of_ends
from .namespaces import layers_of

FEWEST_SIGNS = 1.0  # of trouble in a trial, for a protocol and direction to be the one
LARGEST = 65000  # bytes of the smallest message
HEADS = 12 - 8  # bytes by which a datagram of the campaign begins with a longer head


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
    kinds, least = _shrunk(plan, row, blames[0], checks)
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


# How much


def _shrunk(plan: Plan, row: PathFinding, blame: Blame, checks: Checks) -> tuple[list[str], int]:
    """Return the protocol and direction that break most, or all, and the smallest message."""
    profiles = varied(at(checks.whole(), (row.path, row.mtu)))
    under = [
        tally
        for name, tally in profiles.items()
        if holds(plan, blame.settings, plan["profiles"][name]["levels"])
    ]
    without = [tally for tally in profiles.values() if tally not in under]
    signs = {name: _signs(under, name) - _signs(without, name) for name in CHECKS}
    name = max(signs, key=lambda check: signs[check])
    if signs[name] < FEWEST_SIGNS:
        return list(CHECKS), 1
    return [name], _least(under, name)


def _signs(tallies: Iterable[Tally], name: str) -> float:
    """Return how many signs of trouble a protocol and direction has in a trial, on average."""
    total = 0.0
    trials = 0
    for tally in tallies:
        trials += tally["trials"]
        check = tally["whole"]["checks"].get(name)
        if check:
            total += check["wrong"] + check["short"] + check["stalled"] + check["segments_lost"]
            total += missing(tally["whole"], name) + _refused(tally, name)
    return total / trials if trials else 0.0


def _refused(tally: Tally, name: str) -> int:
    """Return how many packets of a protocol the receiving end refused for their checksums."""
    protocol, _sign, direction = name.partition("_")
    gained = tally["whole"]["counters"].get(RECEIVERS[direction], {})
    return sum(gained.get(sign, 0) for sign in CHECKSUMS if sign.lower().startswith(protocol))


def _least(tallies: Iterable[Tally], name: str) -> int:
    """Return the size of the smallest message that arrived wrong, 1 where none did."""
    examples = [tally["whole"]["checks"][name]["first"] for tally in tallies if _has(tally, name)]
    sizes = [example["size"] for example in examples if example]
    least = min(sizes, default=1) + (HEADS if sizes and name.startswith("udp") else 0)
    return max(1, min(least, LARGEST))


def _has(tally: Tally, name: str) -> bool:
    return name in tally["whole"]["checks"]
