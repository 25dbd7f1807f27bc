# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a report over kernels, and its text for the console and for Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from .._analysis.integrity import is_broken
from .._figures.nouns import PlainTable
from .._report.nouns import Sentence
from .._report.phrases import line
from .._statistics import text
from .page import (
    MOST,
    DrawnSeries,
    Page,
    documents_of,
    drawings_of,
    table_of,
    title_of,
)
from .rows import KernelChange, KernelPayload, KernelQuantity, KernelsReport, Under

MOST_NAMED = 8  # changes in sentences; the table has all
MOST_SUPPORT = 3  # settings in a sentence, and devices of each setting
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
    return [kernel["kernel"] for kernel in report["kernels"]]


def _effects(report: KernelsReport) -> list[KernelQuantity]:
    """Return the effects, different ones first."""
    effects = [row for row in report["quantities"] if row["kind"] == "effect"]
    return sorted(effects, key=lambda effect: effect["state"] != "different")


def _change_words(change: KernelChange) -> str:
    span = text.interval(change["low"], change["high"])
    return f"{text.change(change['ratio'])} ({span})"


def _from_to(report: KernelsReport, effect: KernelQuantity, change: KernelChange) -> str:
    """Return an effect before and after a change, and by how much it changed."""
    kernels = _kernels(report)
    means = [effect["under"][kernels.index(change[end])]["mean"] for end in ("before", "after")]
    return f"from {text.ratio(means[0])} to {text.ratio(means[1])}, {_change_words(change)}"


def ordered_changes(report: KernelsReport) -> list[tuple[KernelQuantity, KernelChange]]:
    """Return all changes with their effects, the largest first."""
    changes = []
    for effect in _effects(report):
        changes += [(effect, change) for change in effect["changes"]]
    return sorted(changes, key=lambda pair: -text.distance(pair[1]["ratio"]))


def _changes(report: KernelsReport) -> list[Sentence]:
    """Return a sentence for each change, the largest first."""
    changes = ordered_changes(report)
    sentences = []
    for effect, change in changes[:MOST_NAMED]:
        kernels = f"Between {change['before']} and {change['after']}"
        sentence = f"{kernels}: {title_of(effect)}: {_from_to(report, effect, change)}."
        sentences.append(line(change["verdict"], sentence))
    if len(changes) > MOST_NAMED:
        more = text.count(len(changes) - MOST_NAMED, "more change")
        sentences.append(line("note", f"{more}: see the table of effects."))
    return sentences


def _counted(report: KernelsReport) -> Sentence:
    """Return how many effects differ, are the same, and are not known."""
    effects = _effects(report)
    counts = Counter(effect["state"] for effect in effects)
    differ = counts["different"] or "none"
    sentence = (
        f"Of {text.count(len(effects), 'effect')} under {len(report['kernels'])} kernels: shown to differ {differ}, "
        f"no difference that matters {counts['same'] or 'none'}, not known {counts['unknown'] or 'none'}."
    )
    return line("note" if counts["different"] else "unknown", sentence)


def _advice_changes(report: KernelsReport) -> Iterator[Sentence]:
    """Yield a sentence for each two neighbouring kernels with different recommendations."""
    shown = {effect["profile"] for effect in _effects(report) if effect["changes"]}
    for earlier, later in zip(report["advice"], report["advice"][1:]):
        if earlier["unfinished"] or later["unfinished"] or earlier["words"] == later["words"]:
            continue
        sentence = (
            f"Between {earlier['kernel']} and {later['kernel']} the recommendation changes from "
            f"{earlier['words']} to {later['words']}"
        )
        if not shown & {earlier["name"], later["name"]}:
            sentence += "; no effect of either was shown to differ between kernels"
        yield line("note", f"{sentence}.")


def _support_changes(report: KernelsReport) -> Iterator[Sentence]:
    """Yield a sentence for each two neighbouring kernels between which support changed."""
    kernels = _kernels(report)
    for index in range(1, len(kernels)):
        devices: dict[tuple[str, str, str], list[str]] = {}
        for row in report["support"]:
            was, now = row["values"][index - 1 : index + 1]
            if was != now:
                devices.setdefault((row["what"], was, now), []).append(row["where"])
        changes = [
            f"{what} of {text.listed(where[:MOST_SUPPORT])} ({was}, then {now})"
            for (what, was, now), where in devices.items()
        ]
        if changes:
            more = [f"{len(changes) - MOST_SUPPORT} more"] if len(changes) > MOST_SUPPORT else []
            named = "; ".join(changes[:MOST_SUPPORT] + more)
            between = f"Between {kernels[index - 1]} and {kernels[index]}"
            yield line("note", f"{between} support changed: {named}.")


def _broken(report: KernelsReport, row: KernelPayload) -> str:
    """Return the payload verdict of a path under each kernel, where one of them is "broken"."""
    under = [f"{kernel}: {verdict}" for kernel, verdict in zip(_kernels(report), row["values"])]
    return f"Payload over {row['path']} at MTU {row['mtu']}, {'; '.join(under)}."


def answer(report: KernelsReport) -> list[Sentence]:
    """Return the answer: each change, the count of other effects, recommendations, support."""
    broken = [row for row in report["payload"] if any(map(is_broken, row["verdicts"]))]
    unfinished = [
        line("unknown", f"Under {advice['kernel']} {advice['unfinished']}.")
        for advice in report["advice"]
        if advice["unfinished"]
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


def _sides(effect: KernelQuantity) -> str:
    """Return the kernels on each side of a change, such as ``6.1, 6.6 → 6.12``."""
    if not effect["changes"]:
        return text.NONE
    sides = " → ".join(map(", ".join, effect["sides"]))
    if effect["between"]:
        sides += f"; not known: {', '.join(effect['between'])}"
    return sides


def _effect_table(report: KernelsReport) -> PlainTable:
    """Return each effect under each kernel, and the side of a change on which each kernel is."""
    head = ["Effect, ratio to the control", *_kernels(report), "Kernels", "Sides", "Changes"]
    rows = []
    for effect in _effects(report):
        cells = [_effect_cell(under) for under in effect["under"]]
        changes = [
            f"{change['before']} to {change['after']}: {_change_words(change)}, {change['verdict']}"
            for change in effect["changes"]
        ]
        state = STATES[effect["state"] or "unknown"]
        rows.append(
            [title_of(effect), *cells, state, _sides(effect), "; ".join(changes) or text.NONE]
        )
    return table_of("Effects under each kernel", head, rows, DATA)


def _value_table(report: KernelsReport) -> PlainTable:
    """Return the control's values."""
    head = ["Quantity of the control", *_kernels(report)]
    rows = [
        [f"{title_of(row)}, {row['unit']}", *map(_cell, row["under"])]
        for row in report["quantities"]
        if row["kind"] == "value"
    ]
    return table_of("The control under each kernel, for information", head, rows, DATA)


def _advice_table(report: KernelsReport) -> PlainTable:
    rows = []
    for advice in report["advice"]:
        confirmed = "yes" if advice["confirmed"] else "no"
        state = advice["unfinished"] or (confirmed if advice["name"] else text.NONE)
        rows.append([advice["kernel"], advice["words"], state])
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
    names = sorted(set(chain.from_iterable(kernel["versions"] for kernel in kernels)) - {"kernel"})
    rows = []
    for number, kernel in enumerate(kernels, 1):
        versions = [kernel["versions"].get(name, text.NONE) for name in names]
        planned = kernel["created"] or text.NONE
        identity = [str(number), kernel["kernel"], kernel["campaign"], planned]
        rows.append([*identity, str(kernel["blocks"]), *versions])
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
    """Return the series of the figures: the quantities that were measured under each kernel."""
    drawn: list[DrawnSeries] = []
    for row in quantities:
        means = [under["mean"] for under in row["under"] if under["mean"] is not None]
        if len(means) == len(row["under"]):
            drawn.append(
                {
                    "id": row["id"],
                    "table": row["table"],
                    "label": row["label"],
                    "profile": row["profile"],
                    "kind": row["kind"],
                    "unit": row["unit"],
                    "means": means,
                    "low": [under["low"] for under in row["under"]],
                    "high": [under["high"] for under in row["under"]],
                }
            )
    return drawn


def _changed(report: KernelsReport) -> dict[str, dict[int, str]]:
    """Return the changes of each effect: ``{id: {index of the kernel after it: outcome}}``."""
    kernels = _kernels(report)
    changed: dict[str, dict[int, str]] = {}
    for effect, change in ordered_changes(report):
        after = kernels.index(change["after"])
        changed.setdefault(effect["id"], {})[after] = change["verdict"]
    return changed


def _page(report: KernelsReport) -> Page:
    tested = text.count(report["tested"], "comparison")
    verb = "was" if report["tested"] == 1 else "were"
    drawn = _drawn(report["quantities"])
    return Page(
        "kernels",
        "What changed between which kernels?",
        answer(report),
        f"{report['note']}. {text.sentence(tested)} {verb} tested.",
        tables(report),
        drawings_of(drawn, _changed(report), "kernel"),
        ABOUT,
        f"{len(drawn) - MOST} more are in {DATA}." if len(drawn) > MOST else "",
    )


def documents(report: KernelsReport) -> dict[str, str]:
    """Return ``{file name: text}`` of a report."""
    return documents_of(_page(report), report)
