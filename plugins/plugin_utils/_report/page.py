# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of the page, as text and rows, the same for HTML and Markdown; report/html.py adds
the figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._campaign.design import control_visits
from .._campaign.nouns import Plan
from .._figures import numbers as text
from .._figures import trial_panels
from .._search import section as search_section
from .._trials.digest import Digest
from . import advice, by_table, conditions, phrases
from . import answer as answers
from . import tables as effect_tables

FILES = (
    ("plan.json", "factors, design, seed and order; enough to run it again"),
    ("manifest.json", "what was measured on: both ends, before and after"),
    ("trials.jsonl", "one record a trial, with netperf's raw text"),
    ("analysis.json", "effects, intervals, leaders and recommendations as data"),
    ("trials.csv", "one row a trial, for a spreadsheet"),
    ("recommended.yml", "the settings that the evidence supports, for playbooks/apply.yml"),
    ("report.md", "this report for a merge request"),
    ("report.txt", "the comparison for a console"),
    ("junit.xml", "each comparison as a case, for a pipeline"),
    ("metrics.prom", "values and effects for Prometheus"),
)
PROOFS = {
    "read_back": "read back",
    "out super_share": "longer than the MTU on the way out",
    "in super_share": "longer than the MTU on the way in",
    "out tunnel_super_share": "tunnelled and longer than the MTU on the way out",
    "out csum_not_ready_share": "on the way out without a checksum yet",
    "in csum_valid_share": "on the way in with the checksum checked",
}
Standing = Callable[
    [dict[str, Any], list[dict[str, Any]], Plan, Digest], dict[str, Any]
]  # live/standing.section
FOLD = 24  # rows of a table; a longer one is folded
FOOTER = "Made by offload.lab from the results folder alone: the same folder gives the same report, byte for byte."
READING = (
    "A ratio of 1.20 means a fifth more than the control in the same block. A filled mark is a difference that was "
    "shown. A hollow circle, printed as ~, is no difference that matters: its interval lies within ±{matters:g} %. All "
    "else is not known yet, a hollow diamond, printed with ?. Lines are 95 % intervals, the dots under a line are its "
    "blocks, and a cross at the edge is a block farther out."
)
# Where a block has two
NOISE_FLOOR = " The grey band is the noise floor: what two visits to the control differ by."


def facts(plan: Plan, digest: Digest) -> list[tuple[str, str]]:
    """Return the campaign in figures, as (label, value)."""
    length = text.seconds(digest.last - digest.first) if digest.first and digest.last else text.NONE
    state = [f"{digest.trials:,}"]
    state += [f"{digest.failed:,} failed"] if digest.failed else []
    state += [f"{digest.left_out:,} left out"] if digest.left_out else []
    pairs = [f"{pair['client']}-{pair['server']}" for pair in plan.get("pairs") or ()]
    found = [
        ("trials", ", ".join(state)),
        ("blocks", plan["blocks"]),
        ("profiles", len(plan["profiles"])),
        ("paths", ", ".join(plan["paths"])),
        ("MTU", ", ".join(str(mtu) for mtu in plan["mtus"] if mtu)),
        ("pairs", ", ".join(pairs)),
        ("seed", plan["seed"]),
        ("took", length),
    ]
    return [(label, str(value)) for label, value in found if value not in ("", None, text.NONE)]


def caveats(
    findings: dict[str, Any],
    tables: list[dict[str, Any]],
    digest: Digest,
    manifest: Mapping[str, Any] | None,
) -> list[str]:
    """Return what a reader must know before relying on the answer."""
    found = list(findings["warnings"])
    saturated = [
        phrases.place(table) for table in tables if table["saturated"] and table["quantities"]
    ]
    if saturated:
        places = text.listed(saturated[:4] + ["others"] * (len(saturated) > 4))
        found.append(
            f"a CPU was busy all the time for {places}: it limits the throughput there, so throughput "
            "and service demand are one piece of evidence, not two"
        )
    if findings["one_host"]:
        found.append(
            "both ends share the CPUs of one machine: what the sender saves the receiver uses, so gains "
            "on two hosts can be smaller or larger"
        )
    if digest.errors:
        error, times = max(digest.errors.items(), key=lambda item: (item[1], item[0]))
        found.append(f"the most frequent error, {text.count(times, 'time')}: {error}")
    empty = [table["title"] for table in tables if not table["quantities"]]
    if empty and digest.trials:
        found.append(
            f"no result at all for {text.listed(empty[:6] + ['others'] * (len(empty) > 6))}"
        )
    if not manifest:
        found.append("what the campaign ran on was not recorded (no manifest.json)")
    return [text.sentence(item).rstrip(".") + "." for item in found]


def _judged(row: dict[str, Any]) -> str:
    """Return in words what the failures of a profile mean."""
    if row["shown"]:
        return "shown to fail more"
    return "not recommended" if row["forbids"] else ""


def failures(findings: dict[str, Any]) -> dict[str, Any] | None:
    """Return the failures by profile as a table; None where nothing failed."""
    rows = findings["failures"]
    if not any(row["failed"] for row in rows):
        return None
    kinds: dict[str, dict[str, int]] = {}
    for own in findings["failed_in"]:
        for kind, times in own["kinds"].items():
            held = kinds.setdefault(own["profile"], {})
            held[kind] = held.get(kind, 0) + times
    head = ["Profile", "Trials", "Failed", "Share", "p, report", "How", ""]
    return {
        "head": head,
        "text": [head[0], head[5], head[6]],
        "rows": [
            {
                "cells": [
                    row["profile"],
                    f"{row['trials']:,}",
                    f"{row['failed']:,}",
                    _share(row["share"]),
                    text.p_value(row["p_report"]),
                    ", ".join(
                        f"{kind.replace('_', ' ')} {times}"
                        for kind, times in kinds.get(row["profile"], {}).items()
                    ),
                    _judged(row),
                ]
            }
            for row in rows
        ],
    }


def _share(value: float | None) -> str:
    return text.NONE if value is None else f"{value:.0%}"


def _evidence(row: Mapping[str, Any]) -> str:
    """Return what a verdict rests on, in words."""
    seen = PROOFS.get(row["proof"], row["proof"].replace("_", " "))
    if row["proof"] != "read_back":
        seen += f": {_share(row['share_on'])} of bytes at on, {_share(row['share_off'])} at off"
    return f"{seen}; {row['reason']}" if row["reason"] else seen


def verdicts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what each factor was seen to do, a row a device; paths with the same verdict are one
    row.
    """
    if not rows:
        return {
            "notes": ["No evidence of what the settings did was recorded with the trials."],
            "rows": [],
            "folded": False,
        }
    merged: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        key = row["factor"], row["node"], row["end"], row["device"], row["verdict"], _evidence(row)
        merged.setdefault(key, []).append(row["path"])
    found = [
        {
            "factor": factor,
            "device": f"{node} ({end}) {device}, {text.listed(paths)}",
            "verdict": verdict,
            "evidence": evidence,
        }
        for (factor, node, end, device, verdict, evidence), paths in merged.items()
    ]
    notes = [
        "What each setting was seen to do, in packets sampled on the device and in what the kernel reads back."
    ]
    if any(row.get("confounded") for row in rows):
        notes.append(
            "The settings were changed together, so another setting may have caused a verdict."
        )
    return {"notes": notes, "rows": found, "folded": len(found) > FOLD}


def _listed(trial: Mapping[str, Any]) -> dict[str, Any]:
    where = f"{trial['path']} · {trial['mtu']} · {(trial['workload'] or {}).get('name')}"
    why = trial["error"] or "; ".join(mark["reason"] for mark in trial["marks"])
    return {"cells": [trial["id"], where, trial["profile"], why]}


def marked(digest: Digest) -> dict[str, Any]:
    """Return the trials that were left out, marked or failed: by guard, by error, and the first
    ones singly.
    """
    if not digest.guards and not digest.failed:
        return {
            "summary": "None: every trial gave a result and no guard marked one.",
            "tables": [],
            "trials": None,
        }
    guards = [
        {"cells": [name, str(seen["trials"]), str(seen["left_out"]), seen["reason"]]}
        for name, seen in sorted(digest.guards.items())
    ]
    errors = [
        {"cells": [error, str(times)]}
        for error, times in sorted(digest.errors.items(), key=lambda item: (-item[1], item[0]))[:20]
    ]
    tables = [
        {
            "head": ["Guard", "Trials", "Left out", "First reason"],
            "text": ["Guard", "First reason"],
            "rows": guards,
        },
        {"head": ["Error", "Trials"], "text": ["Error"], "rows": errors},
    ]
    head = ["Trial", "Where", "Profile", "Why"]
    total = digest.failed + digest.left_out
    trials = {
        "head": head,
        "text": head,
        "rows": [_listed(trial) for trial in digest.listed],
        "caption": (
            f"The first {len(digest.listed)} of {total:,}; trials.csv has all."
            if total > len(digest.listed)
            else ""
        ),
    }
    reasons = ", ".join(
        f"{name} {seen['left_out']:,}"
        for name, seen in sorted(digest.guards.items())
        if seen["left_out"]
    )
    reasons = f" ({reasons})" if reasons else ""
    return {
        "summary": f"{text.count(digest.trials, 'trial')}: {digest.failed:,} failed, {digest.left_out:,} left out "
        f"because a guard marked them{reasons}. Other marks are warnings.",
        "tables": [table for table in tables if table["rows"]],
        "trials": trials if trials["rows"] else None,
    }


def repeat(plan: Plan) -> dict[str, str]:
    """Return how to run the same campaign again."""
    name = plan["name"]
    if plan.get("kind") == "imported":
        return {
            "note": f"Imported from {plan['source']}; module import_logs makes the same campaign from it again.",
            "command": f"ansible-playbook offload.lab.report -e offload_lab_report_folder=results/{name}",
        }
    return {
        "note": f"The order of blocks, visits and cells follows from seed {plan['seed']}; plan.json has it. The same "
        "campaign with the same seed is measured in the same order.",
        "command": "\n".join(
            (
                "ansible-playbook -i INVENTORY offload.lab.measure -e offload_lab_campaign_file=CAMPAIGN.yml \\",
                f"  -e '{{offload_lab_campaign_overrides: {{seed: {plan['seed']}}}, offload_lab_results_dir: again}}'",
                f"ansible-playbook offload.lab.report -e offload_lab_report_folder=again/{name}",
            )
        ),
    }


def page(
    findings: dict[str, Any],
    plan: Plan,
    digest: Digest,
    manifest: Mapping[str, Any] | None,
    standing: Standing | None = None,
) -> dict[str, Any]:
    """Return the page as data; ``findings`` come from report/view.py, ``standing`` is given while
    it runs.
    """
    tables = effect_tables.name_tables(findings["tables"])
    titles = dict((table["id"], table["short"]) for table in tables)
    groups = trial_panels.spread([table for table in tables if table["quantities"]], plan, digest)
    running = standing(findings, tables, plan, digest) if standing else None
    items = running["answer"] if running else answers.answer(findings, tables, plan, digest, groups)
    details = (
        running["standing"]
        if running
        else (advice.sentences(findings["attribution"], tables) or by_table.by_table(tables))
    )
    return {
        "running": running,
        "name": plan["name"],
        "question": answers.question(plan),
        "answer": items,
        "shown": items[0]["verdict"] == "better",
        "details": details,
        "details_title": "Comparison by comparison, so far"
        if running
        else "Setting by setting, table by table",
        "groups": groups,
        "headline": " ".join(re.sub(":$", ".", item["text"]) for item in items[:2]),
        "error_rate": f"{text.sentence(findings['error_rate']['text'])}. A difference below {findings['matters']:g} % "
        "does not matter here (matters).",
        "failures": failures(findings),
        "search": search_section.section(
            findings["search"],
            findings["recommendation"],
            findings["names"],
            confirmed=findings["confirmation"] is not None,
        ),
        "visited": effect_tables.visited(tables) if findings["search"] else [],
        "caveats": caveats(findings, tables, digest, manifest),
        "facts": facts(plan, digest),
        "recommendations": advice.recommendations(findings, titles),
        "leaders": advice.leader_table(findings["attribution"], titles),
        "overview": effect_tables.matrices(tables),
        "tables": tables,
        "blocks": effect_tables.blocks(tables),
        "reading": READING.format(matters=findings["matters"])
        + NOISE_FLOOR * (control_visits(plan) == 2),
        "verdicts": verdicts(findings["verdicts"]),
        "conditions": conditions.conditions(manifest, digest.node_cpu.rows()),
        "marked": marked(digest),
        "repeat": repeat(plan),
        "files": FILES,
        "footer": "Made by offload.lab while the campaign runs." if running else FOOTER,
    }
