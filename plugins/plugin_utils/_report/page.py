# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one value, the same for the console, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .._analysis.campaign_verdicts import unsupported_profiles
from .._analysis.result import Analysis
from .._campaign.forwarding import cautions, left_out
from .._campaign.nouns import Plan
from .._campaign.plan_file import paths_of
from .._campaign.visits import control_visits
from .._figures import trials
from .._figures.nouns import NamedTable
from .._statistics import text
from .._store.manifest import Manifest
from .._trials.digest import Digest
from . import advice, conditions, phrases, quantities, sections
from . import answer as answers
from . import tables as effect_tables
from .nouns import (
    CampaignReport,
    Details,
    Fact,
    Repeat,
    RunningCampaign,
    SearchSection,
    Study,
)
from .quantities import common_notes, shown_tables

FILES = (
    Fact("plan.json", "factors, design, seed and order; enough to run it again"),
    Fact("manifest.json", "what was measured on: both ends, before and after"),
    Fact("trials.jsonl", "one record a trial, with netperf's raw text"),
    Fact("analysis.json", "effects, intervals, leaders and recommendations as data"),
    Fact("trials.csv", "one row a trial, for a spreadsheet"),
    Fact("recommended.yml", "the settings that the evidence supports, for playbooks/apply.yml"),
    Fact("report.md", "this report for a merge request"),
    Fact("report.txt", "the comparison for a console"),
    Fact("junit.xml", "each comparison as a case, for a pipeline"),
    Fact("metrics.prom", "values and effects for Prometheus"),
)
Standing = Callable[
    [Analysis, Sequence[NamedTable], Plan, Digest], RunningCampaign
]  # section of _live/refresh.py
FOOTER = "Made by offload.lab from the results folder alone: the same folder gives the same report, byte for byte."
READING = (
    "A ratio of 1.20 means a fifth more than {other}. A filled mark is a difference that was "
    "shown. A hollow circle, printed as ~, is no difference that matters: its interval lies within ±{matters:g} %. All "
    "else is not known yet, a hollow diamond, printed with ?. Lines are 95 % intervals, the dots under a line are its "
    "blocks, and a cross at the edge is a block farther out."
)
OTHER = {
    "measured": "the control in the same block",
    "imported": "the control's run of the same number",
}
PAIRED = {"measured": "paired in blocks", "imported": "run by run in the order of the logs"}
IF_IMPORTED = " The error rate holds if nothing but the profile changed between the runs."
# Where a block has two
NOISE_FLOOR = " The grey band is the noise floor: what two visits to the control differ by."


def facts(plan: Plan, digest: Digest) -> list[Fact]:
    """Return the campaign in figures."""
    pairs = [f"{pair['client']}-{pair['server']}" for pair in plan.get("pairs") or ()]
    figures = [
        Fact("trials", _trials(digest)),
        Fact("blocks", str(plan["blocks"])),
        Fact("profiles", str(len(plan["profiles"]))),
        Fact("paths", ", ".join(plan["paths"])),
        Fact("MTU", ", ".join(str(mtu) for mtu in plan["mtus"] if mtu)),
        Fact("pairs", ", ".join(pairs)),
        Fact("seed", "" if plan["seed"] is None else str(plan["seed"])),
        Fact("took", _took(digest)),
    ]
    return [fact for fact in figures if fact.value]


def _trials(digest: Digest) -> str:
    counts = [f"{digest.trials:,}"]
    if digest.failed:
        counts.append(f"{digest.failed:,} failed")
    if digest.left_out:
        counts.append(f"{digest.left_out:,} left out")
    return ", ".join(counts)


def _took(digest: Digest) -> str:
    if not digest.first or not digest.last:
        return ""
    return text.seconds(digest.last - digest.first)


def _first_few(names: list[str], most: int) -> str:
    others = ["others"] if len(names) > most else []
    return text.listed(names[:most] + others)


def caveats(
    analysis: Analysis,
    tables: Sequence[NamedTable],
    plan: Plan,
    digest: Digest,
    *,
    manifest: Manifest | None,
    warnings: Sequence[str],
) -> list[str]:
    """Return what a reader must know before relying on the answer."""
    limits = [*cautions(plan), *warnings, *_of_machines(analysis, tables)]
    if digest.errors:
        error, times = max(digest.errors.items(), key=lambda item: (item[1], item[0]))
        limits.append(f"the most frequent error, {text.count(times, 'time')}: {error}")
    empty = [table.title for table in tables if not table.quantities]
    if empty and digest.trials:
        limits.append(f"no result at all for {_first_few(empty, 6)}")
    if not manifest:
        limits.append("the conditions were not recorded (no manifest.json)")
    return [text.sentence(item).rstrip(".") + "." for item in limits]


def _not_compared(unsupported: dict[str, str]) -> list[str]:
    """Return a warning for each reason why profiles are not what their names say: control, or only
    what they need.
    """
    profiles: dict[str, list[str]] = {}
    for profile, reason in unsupported.items():
        profiles.setdefault(reason, []).append(profile)
    return [
        f"no device accepts {text.listed(names)} ({reason}): measured without it, and not compared"
        for reason, names in profiles.items()
    ]


def _damaged(problems: Sequence[str]) -> list[str]:
    if not problems:
        return []
    return [f"damaged lines in trials.jsonl, {len(problems)} of them: {'; '.join(problems[:3])}"]


def _without_notes(table: NamedTable, common: Sequence[str]) -> NamedTable:
    return replace(table, notes=[note for note in table.notes if note not in common])


def _of_machines(analysis: Analysis, tables: Sequence[NamedTable]) -> list[str]:
    """Return what limits the numbers on these machines."""
    limits = []
    measured = [table for table in tables if table.quantities]
    saturated = [phrases.place(table) for table in measured if table.saturated]
    if saturated:
        limits.append(
            f"a CPU was busy all the time for {_first_few(saturated, 4)}: it limits the throughput there, so "
            "throughput and service demand are one piece of evidence, not two"
        )
    if analysis.methods.one_host:
        limits.append(
            "both ends share the CPUs of one machine: what the sender saves the receiver uses, so gains "
            "on two hosts can be smaller or larger"
        )
    return limits


def repeat(plan: Plan) -> Repeat:
    """Return how to run the same campaign again."""
    name = plan["name"]
    if plan.get("kind") == "imported":
        return Repeat(
            note=f"Imported from {plan['source']}; module import_logs makes the same campaign from it again.",
            command=f"ansible-playbook offload.lab.report -e offload_lab_report_folder=results/{name}",
        )
    return Repeat(
        note=f"The order of blocks, visits and cells follows from seed {plan['seed']}; plan.json has it. The same "
        "campaign with the same seed is measured in the same order.",
        command="\n".join(
            (
                "ansible-playbook -i INVENTORY offload.lab.measure -e offload_lab_campaign_file=CAMPAIGN.yml \\",
                f"  -e '{{offload_lab_campaign_overrides: {{seed: {plan['seed']}}}, offload_lab_results_dir: again}}'",
                f"ansible-playbook offload.lab.report -e offload_lab_report_folder=again/{name}",
            )
        ),
    )


def _details(
    analysis: Analysis, tables: Sequence[NamedTable], running: RunningCampaign | None
) -> Details:
    if running:
        return Details("Comparison by comparison, so far", running.standing)
    lines = advice.sentences(analysis.attribution, tables) or advice.by_table(tables)
    return Details("Setting by setting, table by table", lines)


def _error_rate(analysis: Analysis) -> str:
    return (
        f"{text.sentence(analysis.error_rate.text)}. A difference below {analysis.methods.matters_percent:g} % "
        "does not matter here (matters)."
    )


def _scatter(analysis: Analysis) -> str:
    """Return where the scatter comes from."""
    scatter = analysis.scatter
    return f" {scatter.text}" if scatter else ""


def _search(analysis: Analysis, tables: Sequence[NamedTable]) -> SearchSection | None:
    section = sections.search_section(analysis)
    return SearchSection(*section, effect_tables.visited(tables)) if section else None


def _warnings(analysis: Analysis, plan: Plan, unsupported: dict[str, str]) -> list[str]:
    """Return what the reader is to know of the campaign before its results."""
    lacked = left_out(plan, paths_of(plan)).values()
    return [*lacked, *analysis.warnings, *_not_compared(unsupported)]


def page(
    analysis: Analysis,
    plan: Plan,
    digest: Digest,
    manifest: Manifest | None,
    *,
    standing: Standing | None = None,
    study: Study | None = None,
    worth: Sequence[str] = (),
    problems: Sequence[str] = (),
) -> CampaignReport:
    """Return the report.

    ``standing`` is given while the campaign runs. ``worth`` says what imported runs are worth,
    ``problems`` which lines of trials.jsonl are damaged.
    """
    unsupported = unsupported_profiles(analysis)
    tables = shown_tables(analysis, unsupported)
    common = common_notes(tables)
    warnings = [*worth, *_warnings(analysis, plan, unsupported), *common, *_damaged(problems)]
    tables = [_without_notes(table, common) for table in tables]
    tables = quantities.added(tables, plan, analysis.names)
    measured = [table for table in tables if table.quantities]
    groups = trials.spread_panels(measured, plan, digest)
    titles = {table.id: table.short for table in tables}
    running = standing(analysis, tables, plan, digest) if standing else None
    lines = running.answer if running else answers.answer(analysis, tables, plan, digest, groups)
    noise_floor = NOISE_FLOOR if control_visits(plan) == 2 else ""
    kind = plan.get("kind", "measured")
    reading = READING.format(matters=analysis.methods.matters_percent, other=OTHER[kind])
    return CampaignReport(
        name=plan["name"],
        question=answers.question(plan),
        running=running,
        answer=lines,
        error_rate=_error_rate(analysis) + (IF_IMPORTED if kind == "imported" else ""),
        details=_details(analysis, tables, running),
        caveats=caveats(analysis, tables, plan, digest, manifest=manifest, warnings=warnings),
        facts=facts(plan, digest),
        recommended=advice.recommendations(analysis, titles),
        overview=effect_tables.matrices(tables),
        leaders=advice.leader_table(analysis.attribution, titles),
        study=study,
        search=_search(analysis, tables),
        tables=measured,
        effects=sections.with_forests(effect_tables.blocks(tables)),
        reading=reading + noise_floor + _scatter(analysis),
        paired=PAIRED[kind],
        figures=sections.figure_sections(measured, plan, digest, groups),
        failures=sections.failures(analysis),
        evidence=sections.evidence(analysis.verdicts),
        conditions=conditions.conditions(manifest, digest.node_cpu.rows()),
        marked=sections.marked(digest),
        repeat=repeat(plan),
        files=FILES,
        footer="Made by offload.lab while the campaign runs." if running else FOOTER,
    )
