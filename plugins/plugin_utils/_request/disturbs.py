# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a campaign does to a network that is there already, said before the first change. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from ...module_utils._base.network import device_key
from ...module_utils._iproute.walk import WalkedDevice
from .._campaign.design import confirmation_cost
from .._campaign.dry_run import length
from .._campaign.nouns import Plan
from .._paths.own_paths import Walked, class_of, left_out
from .discovered import others

SHARED = (
    "What other traffic uses one of these devices has each setting, too: where a setting breaks it, that traffic "
    "breaks while the setting is on."
)
FEWER = "For fewer devices: -e '{offload_lab_varied_devices: [NAME]}'"


def lines(plan: Plan, seen: Mapping[str, Walked]) -> list[str]:
    """Return the paragraph; nothing where no path of the plan was there already.

    ``seen`` is what each node found on its paths.
    """
    varied = {node: _varied(plan, walked) for node, walked in seen.items()}
    if not any(varied.values()):
        return []
    _blocks, confirmed, _seconds = confirmation_cost(plan, len(plan["profiles"]))
    visits = len(plan["visits"]) + confirmed
    names = ", ".join(factor["name"] for factor in plan["factors"])
    found = [
        f"This sets {names} of the devices below, at most {visits} times within about "
        f"{length(plan['estimated_s'])}, and then restores them:"
    ]
    found += [f"  {node}: {', '.join(map(_named, steps))}" for node, steps in varied.items()]
    shared = any(map(_used, itertools.chain.from_iterable(varied.values())))
    return [*found, *([SHARED] if shared else []), FEWER]


def _varied(plan: Plan, walked: Walked) -> list[WalkedDevice]:
    """Return the devices of a node that the plan varies, each once."""
    classes = set(itertools.chain.from_iterable(factor["devices"] for factor in plan["factors"]))
    found: dict[tuple[str, str], WalkedDevice] = {}
    for path in walked["paths"]:
        inside = path["netns"] or ""
        for step in path["devices"] if path["name"] in plan["paths"] else ():
            if class_of(step, inside) in classes and not left_out(step, inside, walked):
                found.setdefault((step["netns"], step["device"]), step)
    return list(found.values())


def _used(step: WalkedDevice) -> str:
    return others(step.get("shared"))


def _named(step: WalkedDevice) -> str:
    key = device_key(step["device"], step["netns"] or None)
    used = _used(step)
    return f"{key} (other traffic: {used})" if used else key
