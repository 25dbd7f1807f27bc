# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a report over kernels, and its text for the console and for Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from .._analysis.payload_findings import is_broken
from .._figures.nouns import PlainTable
from .._history.page import (
    MOST,
    DrawnSeries,
    Page,
    drawings_of,
    html_of,
    markdown_of,
    table_of,
    title_of,
)
from .._report.nouns import Sentence
from .._report.phrases import line
from .._statistics import text
from .rows import KernelChange, KernelPayload, KernelQuantity, KernelsReport, Under

MOST_NAMED = 8  # changes in sentences; the table has all
MOST_PLACES = 3  # settings, and devices of each, in a sentence
DATA = "kernels.json"
ABOUT = (
    "A dot is a kernel, by its number in the table of kernels, its line the 95 % interval of its blocks. "
    "A vertical line is a change that was shown in this quantity."
)
NOTHING_BROKEN = (
    "No offload was shown to break the payload under any of these kernels. The report of each campaign has "
    "its bounds."
)
STATES = {"different": "differs", "same": "no difference that matters", "unknown": "not known"}


def _kernels(report: KernelsReport) -> list[str]:
    return [one["kernel"] for one in report["kernels"]]


def _effects(report: KernelsReport) -> list[KernelQuantity]:
    """Return the effects, those that differ first."""
    found = [one for one in report["quantities"] if one["kind"] == "effect"]
    return sorted(found, key=lambda one: one["state"] != "different")


def _change_words(change: KernelChange) -> str:
    span = text.interval(change["low"], change["high"])
    return f"{text.change(change['ratio'])} ({span})"


def _from_to(report: KernelsReport, one: KernelQuantity, change: KernelChange) -> str:
    """Return an effect before and after a change, and by how much it changed."""
    kernels = _kernels(report)
    means = [one["under"][kernels.index(change[end])]["mean"] for end in ("before", "after")]
    return f"from {text.ratio(means[0])} to {text.ratio(means[1])}, {_change_words(change)}"


def ordered_changes(report: KernelsReport) -> list[tuple[KernelQuantity, KernelChange]]:
    """Return all changes with the effects that they are of, the largest first."""
    found = []
    for one in _effects(report):
        found += [(one, change) for change in one["changes"]]
    return sorted(found, key=lambda pair: -text.distance(pair[1]["ratio"]))


def _changes(report: KernelsReport) -> list[Sentence]:
    """Return a sentence for each change, the largest first."""
    found = ordered_changes(report)
    sentences = []
    for one, change in found[:MOST_NAMED]:
        words = f"Between {change['before']} and {change['after']}: {title_of(one)}: {_from_to(report, one, change)}."
        sentences.append(line(change["verdict"], words))
    if len(found) > MOST_NAMED:
        more = text.count(len(found) - MOST_NAMED, "more change")
        sentences.append(line("note", f"{more}: see the table of effects."))
    return sentences


def _counted(report: KernelsReport) -> Sentence:
    """Return of how many effects what is known."""
    effects = _effects(report)
    counts = Counter(one["state"] for one in effects)
    differ = counts["different"] or "none"
    words = (
        f"Of {text.count(len(effects), 'effect')} under {len(report['kernels'])} kernels: shown to differ {differ}, "
        f"no difference that matters {counts['same'] or 'none'}, not known {counts['unknown'] or 'none'}."
    )
    return line("note" if counts["different"] else "unknown", words)


def _advice_changes(report: KernelsReport) -> Iterator[Sentence]:
    """Yield a sentence for each two neighbours under which different things are recommended."""
    shown = {one["profile"] for one in _effects(report) if one["changes"]}
    for one, other in zip(report["advice"], report["advice"][1:]):
        if one["unfinished"] or other["unfinished"] or one["words"] == other["words"]:
            continue
        words = (
            f"Between {one['kernel']} and {other['kernel']} the recommendation changes from {one['words']} to "
            f"{other['words']}"
        )
        if not shown & {one["name"], other["name"]}:
            words += "; that an effect of either differs between kernels was not shown"
        yield line("note", f"{words}.")


def _support_changes(report: KernelsReport) -> Iterator[Sentence]:
    """Yield a sentence for each two neighbours between which support changed."""
    kernels = _kernels(report)
    for place in range(1, len(kernels)):
        places: dict[tuple[str, str, str], list[str]] = {}
        for row in report["support"]:
            was, now = row["values"][place - 1 : place + 1]
            if was != now:
                places.setdefault((row["what"], was, now), []).append(row["where"])
        found = [
            f"{what} of {text.listed(where[:MOST_PLACES])} ({was}, then {now})"
            for (what, was, now), where in places.items()
        ]
        if found:
            more = [f"{len(found) - MOST_PLACES} more"] if len(found) > MOST_PLACES else []
            named = "; ".join(found[:MOST_PLACES] + more)
            words = f"Between {kernels[place - 1]} and {kernels[place]} support changed: {named}."
            yield line("note", words)


def _broken(report: KernelsReport, row: KernelPayload) -> str:
    """Return what became of the payload of a path under each kernel, where it is broken under some."""
    under = [f"{kernel}: {words}" for kernel, words in zip(_kernels(report), row["values"])]
    return f"Payload over {row['path']} at MTU {row['mtu']}, {'; '.join(under)}."


def answer(report: KernelsReport) -> list[Sentence]:
    """Return the answer: each change, what is known of the others, recommendations, support."""
    broken = [row for row in report["payload"] if any(map(is_broken, row["verdicts"]))]
    unfinished = [
        line("unknown", f"Under {one['kernel']} {one['unfinished']}.")
        for one in report["advice"]
        if one["unfinished"]
    ]
    return [
        *[line("worse", _broken(report, row)) for row in broken],
        *_changes(report),
        *([_counted(report)] if _effects(report) else []),
        *([] if broken or not report["payload"] else [line("same", NOTHING_BROKEN)]),
        *_advice_changes(report),
        *_support_changes(report),
        *unfinished,
    ]


def _cell(under: Under) -> str:
    if under["mean"] is None:
        return text.NONE
    if under["low"] is None:
        return text.number(under["mean"])
    return f"{text.number(under['mean'])} ({text.number(under['low'])} to {text.number(under['high'])})"


def _effect_cell(under: Under) -> str:
    if under["mean"] is None:
        return text.NONE
    return f"{text.ratio(under['mean'])} ({text.interval(under['low'], under['high'])})"


def _sides(one: KernelQuantity) -> str:
    """Return on which side each kernel is, such as ``6.1, 6.6 → 6.12``."""
    words = " → ".join(map(", ".join, one["sides"]))
    if one["between"]:
        words += f"; not known: {', '.join(one['between'])}"
    return words if one["changes"] else text.NONE


def _effect_table(report: KernelsReport) -> PlainTable:
    """Return each effect under each kernel, and on which side of a change each kernel is."""
    head = ["Effect, ratio to the control", *_kernels(report), "Kernels", "Sides", "Changes"]
    rows = []
    for one in _effects(report):
        cells = [_effect_cell(under) for under in one["under"]]
        changes = [
            f"{change['before']} to {change['after']}: {_change_words(change)}, {change['verdict']}"
            for change in one["changes"]
        ]
        state = STATES[one["state"] or "unknown"]
        rows.append([title_of(one), *cells, state, _sides(one), "; ".join(changes) or text.NONE])
    return table_of("Effects under each kernel", head, rows, DATA)


def _value_table(report: KernelsReport) -> PlainTable:
    """Return the control's own values."""
    head = ["Quantity of the control", *_kernels(report)]
    rows = [
        [f"{title_of(one)}, {one['unit']}", *map(_cell, one["under"])]
        for one in report["quantities"]
        if one["kind"] == "value"
    ]
    return table_of("The control under each kernel, for information", head, rows, DATA)


def _advice_table(report: KernelsReport) -> PlainTable:
    rows = []
    for one in report["advice"]:
        confirmed = "yes" if one["confirmed"] else "no"
        state = one["unfinished"] or (confirmed if one["name"] else text.NONE)
        rows.append([one["kernel"], one["words"], state])
    return table_of("What is recommended", ["Kernel", "Set", "Confirmed"], rows, DATA)


def _support_table(report: KernelsReport) -> PlainTable:
    head = ["Setting", "Where", *_kernels(report)]
    rows = [[row["what"], row["where"], *row["values"]] for row in report["support"]]
    nothing = [["Nothing differs.", *[""] * (len(head) - 1)]]
    return table_of("What can be set, where that differs", head, rows or nothing, DATA)


def _failure_table(report: KernelsReport) -> PlainTable:
    rows = [[row["profile"], *row["values"]] for row in report["failures"]]
    return table_of("Trials that failed", ["Profile", *_kernels(report)], rows, DATA)


def _payload_table(report: KernelsReport) -> PlainTable:
    rows = [[row["path"], str(row["mtu"]), *row["values"]] for row in report["payload"]]
    return table_of("The payload", ["Path", "MTU", *_kernels(report)], rows, DATA)


def _kernel_table(report: KernelsReport) -> PlainTable:
    kernels = report["kernels"]
    names = sorted(set(chain.from_iterable(one["versions"] for one in kernels)) - {"kernel"})
    rows = []
    for number, one in enumerate(kernels, 1):
        versions = [one["versions"].get(name, text.NONE) for name in names]
        planned = one["created"] or text.NONE
        rows.append(
            [str(number), one["kernel"], one["campaign"], planned, str(one["blocks"]), *versions]
        )
    head = ["Number", "Kernel", "Campaign", "Planned", "Blocks", *names]
    return table_of("The kernels", head, rows, DATA)


def _manifest_table(report: KernelsReport) -> PlainTable:
    head = ["Node", "Setting", *_kernels(report)]
    rows = []
    for row in report["manifest"]:
        rows.append([row["node"], row["name"], *(value or text.NONE for value in row["values"])])
    return table_of("What differs in the manifests", head, rows, DATA)


def tables(report: KernelsReport) -> list[PlainTable]:
    """Return the tables of the page."""
    return [
        _effect_table(report),
        _value_table(report),
        _advice_table(report),
        _support_table(report),
        *([_failure_table(report)] if report["failures"] else []),
        *([_payload_table(report)] if report["payload"] else []),
        _kernel_table(report),
        _manifest_table(report),
    ]


def _drawn(quantities: Sequence[KernelQuantity]) -> list[DrawnSeries]:
    """Return what the figures are made of: the quantities that were measured under each kernel."""
    found: list[DrawnSeries] = []
    for one in quantities:
        means = [under["mean"] for under in one["under"] if under["mean"] is not None]
        if len(means) == len(one["under"]):
            found.append(
                {
                    "id": one["id"],
                    "table": one["table"],
                    "label": one["label"],
                    "profile": one["profile"],
                    "kind": one["kind"],
                    "unit": one["unit"],
                    "means": means,
                    "low": [under["low"] for under in one["under"]],
                    "high": [under["high"] for under in one["under"]],
                }
            )
    return found


def _changed(report: KernelsReport) -> dict[str, dict[int, str]]:
    """Return where each effect changed: ``{id: {place of the kernel after it: verdict}}``."""
    kernels = _kernels(report)
    changed: dict[str, dict[int, str]] = {}
    for one, change in ordered_changes(report):
        place = kernels.index(change["after"])
        changed.setdefault(one["id"], {})[place] = change["verdict"]
    return changed


def _page(report: KernelsReport) -> Page:
    tested = text.count(report["tested"], "comparison")
    verb = "was" if report["tested"] == 1 else "were"
    return Page(
        "kernels",
        "What changed between which kernels?",
        answer(report),
        f"{report['note']}. {text.sentence(tested)} {verb} tested.",
        tables(report),
    )


def render(report: KernelsReport) -> str:
    """Return the page as HTML."""
    drawn = _drawn(report["quantities"])
    more = f"{len(drawn) - MOST} more are in {DATA}." if len(drawn) > MOST else ""
    return html_of(_page(report), drawings_of(drawn, _changed(report), "kernel"), ABOUT, more)


def markdown(report: KernelsReport) -> str:
    """Return the report as Markdown."""
    return markdown_of(_page(report))
