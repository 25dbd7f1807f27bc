# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan will do, how long it takes, and what it cannot find, as lines of text. Pure."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._design import (
    ALPHA,
    FEWEST_BLOCKS,
    blocks_needed,
    comparisons,
)


def length(seconds):
    """Return a length of time in words: ``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def warnings_of(plan):
    """Return what this plan cannot find, one sentence each."""
    blocks = plan["blocks"]
    effects = comparisons(plan["design"], len(plan["profiles"]), len(plan["factors"]))
    if blocks < FEWEST_BLOCKS:
        yield f"{blocks} blocks give no interval and no test: {FEWEST_BLOCKS} are needed."
    elif 2.0 / 2 ** blocks > ALPHA / effects:
        yield (f"{blocks} blocks cannot show any of {effects} effects: a sign-flip test does not go below "
               f"2/2^{blocks} = {2.0 / 2 ** blocks:.4f}, Holm asks for {ALPHA / effects:.4f}. "
               f"{blocks_needed(effects)} blocks can.")
    for name, reason in plan["untestable"].items():
        yield f"{name} is not varied: {reason}"


def describe(plan, noise=None):
    """Return the dry run of a plan as a list of lines.

    ``noise`` is the standard deviation of the logarithm of one trial, such as 0.05: with it the smallest effect
    that the plan can be expected to find is told.
    """
    visits, cells = len(plan["visits"]), sum(len(visit["cells"]) for visit in plan["visits"])
    lines = [
        f"campaign {plan['name']}: {plan['design']}, seed {plan['seed']}",
        f"{len(plan['profiles'])} profiles, control {plan['control']} twice a block, {plan['blocks']} blocks, "
        f"MTU {', '.join(str(mtu) for mtu in plan['mtus'])}",
        f"{visits} visits, {cells} cells, about {length(plan['estimated_s'])}",
    ]
    lines += [f"  {factor['name']}: {' or '.join(factor['levels'])}, on {' and '.join(factor['devices'])} of "
              f"{' and '.join(factor['sides'])}" + (f", with {', '.join(factor['needs'])}" if factor["needs"] else "")
              for factor in plan["factors"]]
    if noise is not None and plan["blocks"] >= FEWEST_BLOCKS:
        lines.append(_detectable(plan, noise))
    return lines + [f"warning: {text}" for text in warnings_of(plan)]


def _detectable(plan, noise):
    from ansible_collections.offload.lab.plugins.plugin_utils._power import expected_detectable  # noqa: PLC0415

    effects = comparisons(plan["design"], len(plan["profiles"]), len(plan["factors"]))
    ratio = expected_detectable(plan["blocks"], effects, noise)
    if ratio is None:
        return "no effect of any size can be shown"
    return (f"with noise of {100 * noise:.0f} % a trial, effects from {100 * (ratio - 1):.1f} % "
            "are found in 4 of 5 campaigns")
