# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the figures of the machines show, from the analysis and the digest: CPU by kind, softirq by
CPU.
"""

from __future__ import annotations

from typing import Any

from .._campaign.nouns import Plan
from .._trials.digest import ENDS, KINDS, Digest
from . import numbers as text

MOST_ROWS = 41  # profiles in one figure
MOST_HEAT = 8  # heat maps; those with the most streams come first
CPU_TEXT = [
    "CPU time of a whole host while the streams ran, medians over the trials, by what it was spent on. Guest "
    "time and nice count as user."
]
HEAT_TEXT = [
    "Share of each CPU's time spent in softirq, mean over the trials: where one CPU carries the receive side, "
    "its column stands out."
]


def table_key(table: dict[str, Any]) -> tuple[Any, ...]:
    """Return a table as the digest names it."""
    return table["path"], table["mtu"], table["workload"]


def _profiles(table: dict[str, Any], plan: Plan) -> dict[str, str]:
    """Return the first profiles of a table, and how the report calls each."""
    rows = table["quantities"][0]["rows"][: MOST_ROWS - 1]
    return {plan["control"]: plan["control"], **{row["profile"]: row["label"] for row in rows}}


def cpu(tables: list[dict[str, Any]], plan: Plan) -> list[dict[str, Any]]:
    """Return a panel a table: ``rows`` of profiles with the share of each kind at each end, in per
    cent.
    """
    found = []
    for table in tables:
        ends = [end for end in ENDS if end in table["cpu"]]
        kinds = {
            label: {end: _kinds(table["cpu"][end], profile) for end in ends}
            for profile, label in _profiles(table, plan).items()
        }
        rows = [{"label": label, "kinds": own} for label, own in kinds.items() if any(own.values())]
        if rows:
            found.append(_cpu_panel(table, rows, ends))
    return found


def _kinds(kinds: dict[str, dict[str, float]], profile: str) -> dict[str, float]:
    """Return the shares by kind of a profile, or ``busy`` alone where nothing finer was measured.

    Medians of kinds need not add up to what a host has: a sum above 100 is brought back to it.
    """
    wanted = [kind for kind in KINDS if kind in kinds] or ["busy"]
    shares = {
        kind: kinds[kind][profile]
        for kind in wanted
        if kind in kinds and kinds[kind].get(profile) is not None
    }
    total = max(sum(shares.values()), 100.0)
    return {kind: share * 100.0 / total for kind, share in shares.items()}


def _cpu_panel(
    table: dict[str, Any], rows: list[dict[str, Any]], ends: list[str]
) -> dict[str, Any]:
    kinds = [
        kind
        for kind in KINDS + ("busy",)
        if any(use.get(kind, 0) >= 0.05 for row in rows for use in row["kinds"].values())
    ] or ["busy"]
    head = ["Profile"] + [f"{end} {kind}, %" for end in ends for kind in kinds]
    busiest = max(rows, key=lambda row: max(sum(use.values()) for use in row["kinds"].values()))
    return {
        "title": table["title"],
        "rows": rows,
        "ends": ends,
        "kinds": kinds,
        "summary": f"CPU time by kind for {text.count(len(rows), 'profile')}. Busiest: {busiest['label']}.",
        "numbers": {
            "head": head,
            "text": ["Profile"],
            "rows": [
                {
                    "cells": [row["label"]]
                    + [text.number(row["kinds"][end].get(kind)) for end in ends for kind in kinds]
                }
                for row in rows
            ],
        },
    }


def heat(tables: list[dict[str, Any]], plan: Plan, digest: Digest) -> list[dict[str, Any]]:
    """Return a panel a table: softirq per cent of each CPU at each end, a row a profile."""
    streams = dict(
        (work["name"], (work.get("streams") or 1) * (work.get("tenants") or 1))
        for work in plan["workloads"]
    )
    found = []
    for table in sorted(tables, key=lambda table: -streams.get(table["workload"], 1))[:MOST_HEAT]:
        shares = dict(
            ((profile, end), digest.softirq.get((table_key(table), profile, end)))
            for profile in _profiles(table, plan)
            for end in ENDS
        )
        ends = [
            end
            for end in ENDS
            if any(value for (_profile, which), value in shares.items() if which == end)
        ]
        if ends:
            found.append(_heat_panel(table, plan, shares, ends))
    return found


def _heat_panel(
    table: dict[str, Any], plan: Plan, shares: dict[tuple[str, str], Any], ends: list[str]
) -> dict[str, Any]:
    labels = _profiles(table, plan)
    profiles = [profile for profile in labels if all(shares[profile, end] for end in ends)]
    cpus = dict(
        (end, sorted(set(cpu for profile in profiles for cpu in shares[profile, end])))
        for end in ends
    )
    by_cpu = {
        (profile, end): [shares[profile, end].get(cpu, 0.0) for cpu in cpus[end]]
        for profile in profiles
        for end in ends
    }
    rows = [
        {"label": labels[profile], "shares": {end: by_cpu[profile, end] for end in ends}}
        for profile in profiles
    ]
    cells = []
    for (profile, end), values in by_cpu.items():
        top = max(range(len(values)), key=values.__getitem__)
        cells.append(
            [
                labels[profile],
                end,
                str(cpus[end][top]),
                text.number(values[top]),
                text.number(sum(values) / len(values)),
            ]
        )
    numbers = {
        "head": ["Profile", "End", "Busiest CPU", "its softirq, %", "Mean of all, %"],
        "text": ["Profile", "End"],
        "rows": [{"cells": own} for own in cells],
    }
    most = max(share for values in by_cpu.values() for share in values)
    return {
        "title": table["title"],
        "rows": rows,
        "ends": ends,
        "cpus": cpus,
        "numbers": numbers,
        "most": next(top for top in (9, 18, 27, 45, 63, 90, 100) if top >= most or top == 100),
        "summary": "Heat map of softirq time, {} by {}.".format(
            text.count(len(rows), "profile"), text.count(max(map(len, cpus.values())), "CPU")
        ),
    }
