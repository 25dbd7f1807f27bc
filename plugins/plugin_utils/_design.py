# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a campaign to its plan: profiles by design, and a split plot in random order. Pure.

MTU is the outer loop; in it blocks, in each block every profile once and the control twice, in each visit all cells.
Order is random at each level. Each level draws from a generator of its own, named by its place, so that more blocks
or other workloads do not change the order of the rest.
"""
from __future__ import annotations

import itertools
import random

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._factors import level_name, settings_of
from ansible_collections.offload.lab.plugins.plugin_utils._rounds import check, rounds_of
from ansible_collections.offload.lab.plugins.plugin_utils._workloads import seconds_of

SCHEMA = 1
MOST_PROFILES = 256
MOST_BLOCKS = 100  # that a time budget picks: more adds little to any answer
FEWEST_BLOCKS = 6  # for an interval
ALPHA = 0.05
# What a run costs beside netperf's own seconds; rough, for estimates only.
CELL_SECONDS, VISIT_SECONDS, MTU_SECONDS = 0.15, 2.0, 3.0


def _named(levels, base):
    """Name a profile by the levels in which it differs from the base."""
    return ",".join(f"{factor}={level}" for factor, level in levels.items() if level != base[factor])


def _one_by_one(factors, base):
    """Yield ``(name, levels)`` of all profiles that differ from the base in one factor."""
    for factor in factors:
        for level in factor["levels"]:
            if level != base[factor["name"]]:
                yield f"{factor['name']}={level}", {**base, factor["name"]: level}


def _all_combinations(factors, base):
    for combination in itertools.product(*(factor["levels"] for factor in factors)):
        levels = dict(zip((factor["name"] for factor in factors), combination))
        yield _named(levels, base) or "all_off", levels


def _named_by_user(campaign, base):
    known = {factor["name"]: factor["levels"] for factor in campaign["factors"]}
    for name, asked in campaign["profiles"].items():
        levels = {factor: level_name(level) for factor, level in asked.items()}
        for factor, level in levels.items():
            if level not in known.get(factor, ()):
                raise InputError(f"{factor}={level} is no level of a factor of the campaign", f"profile {name}",
                                 f"Add it to 'factors', or use one of {', '.join(known)}.")
        yield name, {**base, **levels}


def profiles_of(campaign):
    """Return ``({profile: {factor: level}}, control)`` of a campaign that :func:`_campaign.read_campaign` returned."""
    factors, design = campaign["factors"], campaign["design"]
    off = {factor["name"]: factor["levels"][0] for factor in factors}
    on = {factor["name"]: factor["levels"][-1] for factor in factors}
    if design == "leave_one_out":
        return {"all_on": on, **dict(_one_by_one(factors, on))}, "all_on"
    if design == "one_at_a_time":
        return {"all_off": off, **dict(_one_by_one(factors, off))}, "all_off"
    if design == "full_factorial":
        return dict(itertools.islice(_all_combinations(factors, off), MOST_PROFILES + 1)), "all_off"
    if design == "profiles":
        profiles = dict(_named_by_user(campaign, off))
        return profiles, campaign["control"] or next(iter(profiles))
    return {"all_off": off, "all_on": on}, "all_off"


def comparisons(design, profiles, factors):
    """Return how many effects share one Holm correction in a table."""
    return factors if design == "full_factorial" else max(1, profiles - 1)


def blocks_needed(effects):
    """Return the fewest blocks in which an exact sign-flip test can find one of ``effects`` under Holm.

    Its p value over n blocks is never under 2/2^n, so that 2/2^n must not exceed 0.05/effects.
    """
    blocks = FEWEST_BLOCKS
    while 2.0 / 2 ** blocks > ALPHA / effects:
        blocks += 1
    return blocks


def block_seconds(campaign, profiles):
    """Return how long one block takes at one MTU, in seconds."""
    cells = len(campaign["paths"]) * max(1, len(rounds_of(campaign["pairs"], campaign["concurrent"])))
    visit = VISIT_SECONDS + cells * sum(seconds_of(workload) + CELL_SECONDS for workload in campaign["workloads"])
    return visit * (profiles + 1)


def pick_blocks(campaign, profiles):
    """Return the number of blocks: the campaign's, what its time budget allows, or what its design needs."""
    needed = blocks_needed(comparisons(campaign["design"], profiles, len(campaign["factors"])))
    if campaign["time_budget"] is None:
        return campaign["blocks"] or needed
    mtus = len(campaign["mtus"])
    one = block_seconds(campaign, profiles) * mtus
    fitting = int((campaign["time_budget"] - MTU_SECONDS * mtus) / one)
    if fitting < 1:
        raise InputError(f"a time budget of {campaign['time_budget']:.0f} s is less than one block of {one:.0f} s",
                         f"campaign {campaign['name']}", "Give more time, shorter workloads, or fewer factors.")
    return min(fitting, campaign["blocks"] or MOST_BLOCKS)


def _shuffled(items, *place):
    items = list(items)
    random.Random("/".join(str(part) for part in place)).shuffle(items)  # a str seed is hashed by SHA-512
    return items


def _cells(campaign, prefix, *place):
    pairs = [{"pair": f"{pair['client']}-{pair['server']}"} for pair in campaign["pairs"]] or [{}]
    cells = [dict(pair, path=path, workload=workload["name"])
             for pair in pairs for path in campaign["paths"] for workload in campaign["workloads"]]
    return [{"id": f"{prefix}-c{number:03d}", "cell": number, **cell}
            for number, cell in enumerate(_shuffled(cells, *place, "cells"), 1)]


def visits_of(campaign, profiles, control, blocks):
    """Return all visits in the order in which they are made."""
    seed, visits = campaign["seed"], []
    stays = [(profile, False) for profile in profiles] + [(control, True)]
    for mtu in _shuffled(campaign["mtus"], seed, "mtus"):
        for block in range(1, blocks + 1):
            first = True
            for visit, (profile, _second) in enumerate(_shuffled(stays, seed, mtu, block), 1):
                prefix = f"m{mtu}-b{block:02d}-v{visit:02d}"
                repeat = profile == control and not first
                first = first and profile != control
                visits.append({"block": block, "visit": visit, "mtu": mtu, "profile": profile, "repeat": repeat,
                               "cells": _cells(campaign, prefix, seed, mtu, block, visit)})
    return visits


def make_plan(campaign, created):
    """Return the plan (the content of plan.json) of a complete campaign; ``created`` is the time as text."""
    profiles, control = profiles_of(campaign)
    where = f"campaign {campaign['name']}"
    if len(profiles) > MOST_PROFILES:
        raise InputError(f"the design has more than {MOST_PROFILES} profiles", where, "Leave out factors or levels.")
    if control not in profiles:
        raise InputError(f"control {control!r} is no profile", where, f"Use one of {', '.join(profiles)}.")
    blocks = pick_blocks(campaign, len(profiles))
    seconds = len(campaign["mtus"]) * (MTU_SECONDS + blocks * block_seconds(campaign, len(profiles)))
    # From all off, a feature that rests on another would show nothing: it is tried together with what it needs.
    needs = campaign["design"] == "one_at_a_time"
    settings = {name: settings_of(campaign["factors"], levels, needs) for name, levels in profiles.items()}
    rounds = rounds_of(campaign["pairs"], campaign["concurrent"])
    check(campaign["pairs"], rounds, settings, where)
    return {
        "schema": SCHEMA, "name": campaign["name"], "seed": campaign["seed"], "created": created,
        "design": campaign["design"], "blocks": blocks, "control": control, "factors": campaign["factors"],
        "profiles": {name: {"levels": levels, "settings": settings[name]} for name, levels in profiles.items()},
        "paths": campaign["paths"], "mtus": campaign["mtus"], "workloads": campaign["workloads"],
        "pairs": campaign["pairs"], "rounds": rounds, "untestable": campaign["untestable"],
        "estimated_s": round(seconds, 1),
        "visits": visits_of(campaign, profiles, control, blocks),
        **{key: campaign[key] for key in ("study", "steal_limit") if campaign.get(key) is not None},
    }


def differences(old, new):
    """Return what differs between two plans, as one text a difference; when they were made does not count."""
    keys = [key for key in dict.fromkeys([*old, *new]) if key != "created" and old.get(key) != new.get(key)]
    return [f"{key} differs" if isinstance(old.get(key), (list, dict)) else
            f"{key}: {old.get(key)!r} is {new.get(key)!r} now" for key in keys]


def too_few_blocks(blocks, fewest):
    """Return what is said of a campaign whose blocks give no interval."""
    return f"{blocks} block{'s give' if blocks != 1 else ' gives'} no interval and no test: {fewest} are needed"
