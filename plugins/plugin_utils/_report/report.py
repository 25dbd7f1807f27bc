# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a results folder to its report: reads plan, manifest and trials, writes all outputs whole or
not at all.

Only the folder's content goes in: no clock, no host, no path, so the same folder gives the same
bytes. The report of a running campaign alone says when it was made.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypedDict

from ...module_utils._base.errors import InputError, LabError
from ...module_utils._host import files
from .._analysis.campaign_verdicts import verdicts_of
from .._analysis.cure import cure_of
from .._analysis.encode import encoded
from .._analysis.integrity import BROKEN, cure_in
from .._analysis.integrity import verdicts as path_verdicts
from .._analysis.result import Analysis, DeviceVerdict, PayloadFindings
from .._campaign import plan_file
from .._campaign.nouns import Levels, Plan
from .._campaign.stored import read_manifest
from .._exports import csv_file, daemonset, pipeline, recommended, reproduction
from .._store.manifest import Manifest
from .._trials import shape
from .._trials.digest import Digest
from .._trials.nouns import Trial
from .._trials.payload import Checks
from .._trials.records import stream_records
from . import broken, html, imported, plain, study
from . import page as report_page
from .issue import Issue, issue
from .nouns import CampaignReport

LIVE = ("report.txt", "report.md", "report.html")  # what is made of a running campaign
OUTPUTS = (
    "analysis.json",
    "trials.csv",
    "recommended.yml",
    "report.txt",
    "report.md",
    "report.html",
    "junit.xml",
    "metrics.prom",
)
ISSUE = "issue.md"
OF_BROKEN = (ISSUE, daemonset.DAEMONSET, reproduction.FILE)  # are there where something is broken
# What a job keeps of the verdict of a path.
OF_PATH = (
    "path",
    "mtu",
    "verdict",
    "kind",
    "trials",
    "troubled",
    "blames",
    "bounds",
    "hops",
    "off",
    "text",
)


def _analyse(
    plan: Plan,
    trials: Iterable[Trial],
    manifest: Manifest | None,
    verdicts: Callable[[], list[DeviceVerdict]],
    running: bool,
) -> Analysis:
    """Analyse with scipy, which takes a while to import."""
    from .._analysis.analysis import analyse  # noqa: PLC0415

    return analyse(plan, trials, manifest, verdicts=verdicts, running=running)


class Folder(NamedTuple):
    """What a results folder has."""

    plan: Plan
    manifest: Manifest | None
    trials: str  # path


def _read(folder: str) -> Folder:
    """Read a results folder."""
    plan = plan_file.read_whole_plan(folder)
    if plan is None:
        raise InputError(
            "there is no plan.json",
            folder,
            "Give the folder of one campaign, such as results/demo.",
        )
    trials = os.path.join(folder, "trials.jsonl")
    if not os.path.exists(trials):
        raise InputError(
            "there is no trials.jsonl",
            folder,
            "Run the campaign first: nothing has been measured yet.",
        )
    return Folder(plan, read_manifest(folder), trials)


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def _write_json(folder: str, name: str, document: Analysis) -> None:
    """Write a document whose text may be of 60 MB: nothing holds the text afterwards."""
    text = json.dumps(document, default=encoded, indent=1, sort_keys=True, allow_nan=False)
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.write("\n")


def _seen(digest: Digest, trials: Iterator[Trial]) -> Iterator[Trial]:
    for trial in trials:
        digest.see(trial)
        yield trial


@contextlib.contextmanager
def _digested(
    record: str, new: str, control: str, running: bool
) -> Iterator[tuple[Callable[[], Digest], Iterator[Trial], list[str]]]:
    """Yield ``(digest, trials, problems)``: who gives the digest, once the trials are read.

    While a campaign runs it is done in one process and without trials.csv: if killed, it leaves no
    process behind.
    """
    problems: list[str] = []
    if running:
        digest = Digest(control)
        yield lambda: digest, _seen(digest, stream_records(record, problems)), problems
    else:
        with csv_file.digested(record, os.path.join(new, "trials.csv"), control) as digested:
            yield digested, stream_records(record, problems), problems


class ReportOfAnalysis(NamedTuple):
    """A report, the analysis that it is of, and what playbook apply takes of it."""

    report: CampaignReport
    analysis: Analysis
    advice: recommended.RecommendedSettings
    issue: Issue | None
    daemonset: str | None
    script: str | None  # reproduce.sh


def _report_of(folder: str, new: str, standing: report_page.Standing | None) -> ReportOfAnalysis:
    """Return the report of the campaign in ``folder``; trials.csv is written into ``new``.

    What only the report is made of is not held while the files are written.
    """
    plan, manifest, trials = _read(folder)
    with _digested(trials, new, plan["control"], standing is not None) as (
        digested,
        records,
        problems,
    ):
        analysis = _analyse(
            plan,
            records,
            manifest,
            lambda: verdicts_of(plan, digested().evidence, manifest),
            standing is not None,
        )
        digest = digested()
    checks = digest.checks
    verdicts = path_verdicts(plan, checks) if checks.whole() else []
    cure = cure_of(plan, checks, {(row.path, row.mtu): row.blames for row in verdicts})
    advice = recommended.recommendation(analysis.recommendation, plan, manifest, cure, digest.last)
    if verdicts and not standing:
        paths = broken.findings(plan, checks, verdicts, broken.hosts_of(manifest))
        payload = PayloadFindings(paths=paths, cure=cure_in(advice))
        analysis = replace(analysis, payload=payload)
    is_imported = plan.get("kind") == "imported"
    report = report_page.page(
        analysis,
        plan,
        digest,
        manifest,
        standing=standing,
        study=study.section(plan, analysis),
        worth=imported.worth(plan, stream_records(trials, [])) if is_imported else (),
        problems=problems,
    )
    if analysis.payload is None:
        return ReportOfAnalysis(report, analysis, advice, None, None, None)
    tried = _tried(plan, analysis.payload, checks, manifest, trials)
    return ReportOfAnalysis(
        report,
        analysis,
        advice,
        issue(plan, analysis.payload, manifest, digest.nodes, tried is not None),
        daemonset.daemonset(advice, manifest, digest.nodes),
        reproduction.script(tried) if tried else None,
    )


def _tried(
    plan: Plan, payload: PayloadFindings, checks: Checks, manifest: Manifest | None, trials: str
) -> reproduction.Reproduction | None:
    """Return what a script can try of the first broken path that it can; None for none."""
    for row in payload.paths:
        if row.verdict == BROKEN:
            records = stream_records(trials, [])
            tried = reproduction.reproduction(plan, row, checks, manifest, records)
            if tried:
                return tried
    return None


def _make(folder: str, new: str, standing: report_page.Standing | None) -> ReportOfAnalysis:
    """Write all outputs of the campaign in ``folder`` into the folder ``new``."""
    results = _report_of(folder, new, standing)
    _write_json(new, "analysis.json", results.analysis)
    _write(new, "recommended.yml", recommended.document(results.advice))
    _write(new, "report.txt", plain.console(results.report))
    _write(new, "report.md", plain.markdown(results.report))
    _write(new, "report.html", html.render(results.report))
    _write(new, "junit.xml", pipeline.junit(results.analysis))
    _write(new, "metrics.prom", pipeline.openmetrics(results.analysis))
    if results.issue:
        _write(new, ISSUE, plain.issue_text(results.issue))
    if results.daemonset:
        _write(new, daemonset.DAEMONSET, results.daemonset)
    if results.script:
        _write(new, reproduction.FILE, results.script)
    return results


def _same(new: str, old: str) -> bool:
    if not os.path.lexists(old) or not os.path.exists(new):
        return not os.path.lexists(old) and not os.path.exists(new)
    return os.path.exists(old) and filecmp.cmp(new, old, shallow=False)


def _put(new: str, old: str, mode: int) -> None:
    """Replace a file of the report; remove one that the new report has not."""
    if not os.path.exists(new):
        os.remove(old)
        return
    os.chmod(new, mode)
    os.replace(new, old)


def _text(path: str) -> str:
    if not os.path.islink(path):  # somebody else's, to a file that only the controller may read
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as stream:
            return stream.read()
    return ""


class Artifacts(TypedDict):
    """What a job keeps of the analysis."""

    states: dict[str, int]  # how many effects are in each
    recommended: Levels
    payload: dict[str, Any]  # of each checked path what OF_PATH names, and the cure


def _artifacts(analysis: Analysis) -> Artifacts:
    states: Counter[str] = Counter()
    for table in analysis.claimed:
        for metric in table.comparisons:
            states.update(effect.state for effect in metric.effects if effect.state)
    advice = analysis.recommendation
    return {
        "states": dict(sorted(states.items())),
        "recommended": advice.changes or advice.levels,
        "payload": _payload_artifact(analysis),
    }


def _payload_artifact(analysis: Analysis) -> dict[str, Any]:
    if analysis.payload is None:
        return {"paths": []}
    document: dict[str, Any] = json.loads(json.dumps(analysis.payload, default=encoded))
    document["paths"] = list(map(_of_path, document["paths"]))
    return document


def _of_path(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in OF_PATH}


class Diff(TypedDict):
    """Two texts, as Ansible shows them."""

    before_header: str
    after_header: str
    before: str
    after: str


class MadeReport(Artifacts):
    """What is said of a report that was made; ``standing`` is of a running campaign."""

    changed: bool
    files: dict[str, str]
    headline: str
    standing: str | None
    table: str
    recommendation: recommended.RecommendedSettings
    diff: Diff


def _folder_for_new(folder: str, check: bool, running: bool) -> str:
    if not os.path.isdir(folder):
        raise InputError(
            "there is no such folder",
            folder,
            "Give the folder of one campaign, such as results/demo.",
        )
    try:
        prefix = ".live-" if running else ".report-"
        return tempfile.mkdtemp(prefix=prefix, dir=None if check else folder)
    except OSError as error:
        raise InputError(
            f"the report cannot be written ({error.strerror})", folder, "Make the folder writable."
        )


def _changed(new: str, folder: str, names: Iterable[str]) -> list[str]:
    return [
        name for name in names if not _same(os.path.join(new, name), os.path.join(folder, name))
    ]


def _told(results: ReportOfAnalysis, folder: str, new: str, changed: bool) -> MadeReport:
    running = results.report.running
    of_broken = {
        ISSUE: results.issue,
        daemonset.DAEMONSET: results.daemonset,
        reproduction.FILE: results.script,
    }
    names = [*OUTPUTS, *(name for name, text in of_broken.items() if text)]
    return {
        "changed": changed,
        "files": {name: os.path.join(folder, name) for name in names},
        "headline": results.report.headline,
        "standing": running.line if running else None,
        "table": _text(os.path.join(new, "report.txt")),
        "recommendation": results.advice,
        "diff": {
            "before_header": "report.md",
            "after_header": "report.md",
            "before": _text(os.path.join(folder, "report.md")),
            "after": _text(os.path.join(new, "report.md")),
        },
        **_artifacts(results.analysis),
    }


def make_report(
    folder: str, check: bool = False, standing: report_page.Standing | None = None
) -> MadeReport:
    """Make the report of the campaign whose results are in ``folder``; with ``check`` nothing in it
    is changed.

    ``standing`` is given while the campaign runs (see _live/refresh.py): then it claims nothing,
    and only what people read is written.
    """
    folder = os.path.abspath(folder)
    created = _folder_for_new(folder, check, standing is not None)
    try:
        record = os.path.join(folder, "trials.jsonl")
        trials = stream_records(record, [])
        with files.opened_private(created) as new, shape.explained(record, trials):
            results = _make(folder, new, standing)
            changed = _changed(new, folder, LIVE if standing else (*OUTPUTS, *OF_BROKEN))
            report = _told(results, folder, new, bool(changed))
            mode = files.results_mode(folder)
            for name in [] if check else changed:
                _put(os.path.join(new, name), os.path.join(folder, name), mode)
        return report
    except OSError as error:
        raise LabError(
            f"the report cannot be written ({error.strerror})",
            error.filename or folder,
            "Make room, or make the folder writable.",
        )
    finally:
        shutil.rmtree(created, ignore_errors=True)
