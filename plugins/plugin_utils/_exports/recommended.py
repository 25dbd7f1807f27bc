# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""recommended.yml: variables for playbooks/apply.yml: the set, by how much it is better, whether it
is confirmed.
"""

from __future__ import annotations

from typing import Any

import yaml

from .._campaign.nouns import Plan

HEAD = """\
# What campaign {name} recommends. Apply it: ansible-playbook offload.lab.apply -e @recommended.yml
# confirmed: false is applied only with -e offload_lab_allow_unconfirmed=true
"""
EFFECT = ("table", "metric", "end", "ratio", "low", "high", "state")


def drivers(manifest: dict[str, Any] | None) -> dict[str, dict[str, str | None]]:
    """Return ``{node: {underlay device: driver}}``: where the settings may be applied."""
    by_node = {}
    for node, parts in ((manifest or {}).get("nodes") or {}).items():
        before = parts.get("before") or {}
        by_node[node] = {
            name: ((before.get("devices") or {}).get(name, {}).get("driver") or {}).get("driver")
            for name in before.get("links") or {}
        }
    return by_node


def _effects(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: row[key] for key in EFFECT if row[key] is not None} for row in rows]


def recommended(findings: dict[str, Any], plan: Plan, manifest: dict[str, Any] | None) -> str:
    """Return the content of recommended.yml; without a recommendation client and server have no
    settings.
    """
    advice = findings["recommendation"]
    data = {
        "campaign": plan["name"],
        "profile": advice["name"],
        "confirmed": advice["confirmed"],
        "confirmed_by": advice["confirmed_by"],
        "why_not": advice["why"] or None,
        "compared_with": plan["control"],
        "changes": advice["changes"],
        "by": _effects(advice["by"]),
        "unknown_in": _effects(advice["costs_unknown_in"]),
        "not_told_apart": advice["not_told_apart"],
        "drivers": drivers(manifest),
        **{end: advice["settings"].get(end) or {} for end in ("client", "server")},
    }
    return f"---\n{HEAD.format(name=plan['name'])}" + yaml.safe_dump(
        {"offload_lab_recommended": data}, sort_keys=False, allow_unicode=True, width=120
    )
