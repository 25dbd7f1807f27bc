# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which comparisons of an analysis the report shows, and how it calls them. Small datagrams have
packets a second in addition to Mbit/s: there each packet costs, not its bytes.

An effect explained in packets: how many crossed the stack, how many the device cut, how many GRO
merged, and the CPU time of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .._analysis.metrics import MAIN
from .._analysis.result import (
    AnalysedTable,
    Analysis,
    Comparison,
    Effect,
    InteractionEffect,
    PacketCounts,
    Spread,
)
from .._campaign.nouns import Plan
from .._figures.nouns import Medians, NamedTable, Quantity, QuantityRow
from .._statistics import text
from .phrases import ENDS
from .tables import name_tables

LABELS = {"transactions": "transaction rate"}
SHOWN_LATENCIES = ("latency_mean", "latency_p99")
NOT_MEASURED = Spread(n=0, median=None, q1=None, q3=None)  # of no single profile
SMALL = 512  # bytes of a datagram
MOST = 8  # profiles in the sentence
PER_MEGABIT = 1e6 / 8  # bytes
MOST_COUNTED = 3  # profiles in addition to the control
ACTS = 0.25  # from this share of the larger count on, two counts differ
NEXT_TO_NOTHING = 1.0  # packets per MB
ByProfile = Mapping[str, PacketCounts]


def _label(metric: Comparison) -> str:
    return LABELS.get(metric.metric, metric.label) + ENDS.get(metric.end or "", "")


def _is_shown(metric: Comparison) -> bool:
    """Effects on CPU shares say little without the throughput: service demand stands for them."""
    name = metric.metric
    return name in MAIN or name.startswith("service_demand") or name in SHOWN_LATENCIES


def _shown(table: AnalysedTable) -> list[Comparison]:
    return [metric for metric in table.comparisons if _is_shown(metric)]


def _quantity(
    metric: Comparison,
    rows: list[QuantityRow],
    *,
    name: str = "",
    label: str = "",
    control: str = "",
) -> Quantity:
    """Return a quantity; where it is not the metric of profiles it has another name, and no control
    that was measured.
    """
    group = "main" if metric.metric in MAIN else metric.metric
    return Quantity(
        name=name or metric.metric,
        group=name or group,
        label=label or _label(metric),
        unit=metric.unit,
        better=metric.better or "",
        blocks=max([row.effect.n for row in rows], default=0),
        control=control or metric.control.profile,
        control_row=None if control else metric.control,
        noise_floor=metric.noise_floor,
        smallest=metric.smallest_detectable,
        rows=rows,
    )


def _of_profiles(
    metric: Comparison, left_out: Collection[str], names: dict[str, str]
) -> list[QuantityRow]:
    return [
        QuantityRow(profile=row.profile, label=names[row.profile], effect=row, spread=row)
        for row in metric.rows
        if row.profile not in left_out
    ]


def _of_settings(label: str, effect: Effect) -> QuantityRow:
    return QuantityRow(profile=label, label=label, effect=effect, spread=NOT_MEASURED)


def together(row: InteractionEffect) -> str:
    """Return the name of an interaction, and those that a screen cannot separate from it."""
    return " or ".join(" × ".join(pair) for pair in [row.factors, *(row.aliases or ())])


def _main_effects(metric: Comparison) -> Quantity:
    """Return what each setting does on average over all others; its control is no profile."""
    rows = [_of_settings(f"{row.factor}={row.level}", row) for row in metric.main_effects or ()]
    return _quantity(metric, rows, control="the factor's first level")


def _interactions(metric: Comparison) -> Quantity:
    """Return what pairs of settings do beyond what each does alone."""
    rows = [_of_settings(together(row), row) for row in metric.interactions or ()]
    label = f"interactions, {_label(metric)}"
    return _quantity(metric, rows, name="interactions", label=label, control="no interaction")


def _quantities(
    metrics: Iterable[Comparison], left_out: Collection[str], names: dict[str, str]
) -> list[Quantity]:
    """Return the quantities of one table.

    A full factorial shows its main effects first, then what they rest on.
    """
    quantities = []
    after = []
    for metric in metrics:
        rows = _of_profiles(metric, left_out, names)
        if not metric.main_effects:
            quantities.append(_quantity(metric, rows))
            continue
        quantities.append(_main_effects(metric))
        if metric.metric in MAIN:
            label = f"{_label(metric)} of each profile"
            profiles = _quantity(metric, rows, name="profiles", label=label)
            after += [_interactions(metric), profiles]
    return quantities + [quantity for quantity in after if quantity.rows]


def _notes(metrics: Sequence[Comparison], already_noted: Collection[str]) -> list[str]:
    """Return the warnings of a table's metrics; what is said of all of them, or of the campaign, is
    not said again.
    """
    labels: dict[str, list[str]] = {}  # of the metrics that each warning is of
    for metric in metrics:
        for warning in dict.fromkeys(metric.warnings):
            labels.setdefault(warning, []).append(_label(metric))
    notes = []
    for warning, names in labels.items():
        if warning in already_noted:
            continue
        start = "" if len(names) == len(metrics) else f"{', '.join(names)}: "
        notes.append(f"{start}{warning}.")
    return notes


def _medians(
    metrics: Iterable[Comparison], left_out: Collection[str], names: dict[str, str]
) -> dict[str, Medians]:
    """Return ``{metric: {name: median}}``, the control first."""
    medians = {}
    for metric in metrics:
        compared = [row for row in metric.rows if row.profile not in left_out]
        medians[metric.metric] = {
            names[row.profile]: row.median
            for row in [metric.control, *compared]
            if row.median is not None
        }
    return medians


def shown_tables(analysis: Analysis, left_out: Collection[str]) -> list[NamedTable]:
    """Return the tables that the report shows, without the profiles that are ``left_out``.

    A search shows the tables of its confirmation, once there is one: earlier visits claim nothing.
    The tables have the medians of all visited profiles.
    """
    names = analysis.names
    visited: dict[str, dict[str, Medians]] = {}
    if analysis.search:
        visited = {
            visited_table.id: _medians(_shown(visited_table), left_out, names)
            for visited_table in analysis.tables
        }
    shown = []
    for table, name in zip(analysis.claimed, name_tables(analysis.claimed)):
        metrics = _shown(table)
        medians = _medians(metrics, left_out, names)
        for metric, all_medians in visited.get(table.id, {}).items():
            medians[metric] = {**all_medians, **medians.get(metric, {})}
        shown.append(
            NamedTable(
                **vars(table),
                title=name.title,
                short=name.short,
                notes=_notes(metrics, analysis.warnings),
                medians=medians,
                quantities=_quantities(metrics, left_out, names),
            )
        )
    return shown


def common_notes(tables: Iterable[NamedTable]) -> list[str]:
    """Return the notes that all tables have: they belong to the campaign."""
    notes = [table.notes for table in tables if table.quantities]
    if len(notes) < 2:
        return []
    return [note for note in notes[0] if all(note in notes_of_table for notes_of_table in notes)]


def added(tables: Sequence[NamedTable], plan: Plan, names: Mapping[str, str]) -> list[NamedTable]:
    """Return the tables; small datagrams get a sentence and a note with their rates in packets a
    second, and counts of packets explain effects.
    """
    sizes = {load["name"]: load["message_size"] for load in plan["workloads"]}
    named = Named(plan["control"], names)
    return [_explained(_with_rates(table, sizes.get(table.workload)), named) for table in tables]


def _explained(table: NamedTable, named: Named) -> NamedTable:
    sentence = explained(table, named)
    if not sentence:
        return table
    packets = " ".join(filter(None, [table.packets, sentence]))
    return replace(table, packets=packets, notes=[*table.notes, sentence])


def _with_rates(table: NamedTable, size: int | None) -> NamedTable:
    medians = table.medians.get("throughput")
    if table.test != "UDP_STREAM" or not size or size > SMALL or not medians:
        return table
    sentence = _sentence(medians, size)
    return replace(table, packets=sentence, notes=[*table.notes, sentence])


def _sentence(medians: dict[str, float], size: int) -> str:
    rates = [
        f"{name} {text.number(megabits * PER_MEGABIT / size)}" for name, megabits in medians.items()
    ]
    more = "; …" if len(rates) > MOST else ""
    return f"Packets a second, of {size} bytes each: {'; '.join(rates[:MOST])}{more}."


class Named(NamedTuple):
    """The control of a campaign, and how the report calls each profile."""

    control: str
    names: Mapping[str, str]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}".replace(".0", "")


def _row(label: str, row: PacketCounts, rows: Iterable[PacketCounts]) -> str:
    """Return a profile's counts in words; what no profile has is left out."""
    rows = list(rows)
    parts = [f"{label} {_number(row.per_mb)}"]
    if any(other.cut_per_mb >= NEXT_TO_NOTHING for other in rows):
        parts.append(f"the device cut {_number(row.cut_per_mb)}")
    if any(other.merged_per_mb >= NEXT_TO_NOTHING for other in rows):
        parts.append(f"GRO merged {_number(row.merged_per_mb)}")
    if row.cpu_us:
        parts.append(f"{_number(row.cpu_us)} µs of CPU time each")
    return ", ".join(parts)


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > max(NEXT_TO_NOTHING, ACTS * max(one, other))


def acts(control: PacketCounts, row: PacketCounts) -> bool:
    """Return whether a profile changes what happens to the packets."""
    pairs = (
        (control.per_mb, row.per_mb),
        (control.cut_per_mb, row.cut_per_mb),
        (control.merged_per_mb, row.merged_per_mb),
    )
    checksums = abs(control.checksum_left - row.checksum_left) > ACTS
    return checksums or any(_differ(one, other) for one, other in pairs)


def _ends(counts: Sequence[PacketCounts]) -> dict[str, dict[str, PacketCounts]]:
    by_end: dict[str, dict[str, PacketCounts]] = {}
    for row in counts:
        by_end.setdefault(row.end, {})[row.profile] = row
    return by_end


def _without_effect(table: NamedTable) -> Iterator[str]:
    """Yield the profiles that are shown to make no difference."""
    for quantity in table.quantities:
        if quantity.group in ("main", "profiles"):
            yield from (row.profile for row in quantity.rows if row.effect.outcome == "same")


def _idle(table: NamedTable, ends: Mapping[str, ByProfile], named: Named) -> list[str]:
    """Return whether each profile without an effect acts on packets at all."""
    control, names = named
    sentences = []
    for profile in dict.fromkeys(_without_effect(table)):
        pairs = [(rows.get(control), rows.get(profile)) for rows in ends.values()]
        changes = [acts(base, row) for base, row in pairs if base and row]
        if any(changes):
            sentences.append(f"{names[profile]} makes no difference, although it acts on packets.")
        elif changes:
            sentences.append(f"{names[profile]} makes no difference: packets are the same.")
    return sentences


def explained(table: NamedTable, named: Named) -> str:
    """Return what the counts say of a table's effects; empty where there are no counts."""
    control, names = named
    ends = _ends(table.counts or ())
    sentences = []
    for end, rows in ends.items():
        if control not in rows:
            continue
        others = [profile for profile in rows if profile != control and profile in names]
        shown = [control, *others[:MOST_COUNTED]]
        listed = "; ".join(_row(names[profile], rows[profile], rows.values()) for profile in shown)
        more = "; …" if len(others) > MOST_COUNTED else ""
        sentences.append(f"Packets per MB{ENDS[end]}: {listed}{more}.")
    return " ".join([*sentences, *_idle(table, ends, named)])
