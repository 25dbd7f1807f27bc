# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of a report, each a function from a part of the view (see _report_view.py) to inline SVG.

They are 400 pixels wide: two beside each other on a screen or on paper, one on a phone with letters still readable.
Colour never speaks alone: form, fill or order say the same.
"""
from __future__ import annotations

import math

from ansible_collections.offload.lab.plugins.plugin_utils import _report_svg as svg
from ansible_collections.offload.lab.plugins.plugin_utils import _report_text as text

WIDTH = 400
ROW = 19
LETTER = 6.5  # pixels that a letter of a label takes on average, in a wide font
MUTED = svg.COLOURS["muted"]
NICE = (1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100)


def _short(name, most):
    return name if len(name) <= most else name[:most // 2] + "…" + name[len(name) - most // 2 + 1:]


def _labels(fig, names, left, top, row=ROW):
    """Write row labels that end at ``left``, from ``top`` on; what is too long loses its middle."""
    most = int((left - 4) / LETTER)
    for place, name in enumerate(names):
        svg.words(fig, (left, top + row * (place + 0.5)), _short(name, most), anchor="end")


def _label_width(names, most=205):
    return min(most, 12 + LETTER * max(len(name) for name in names))


def ratio_ticks(low, high):
    """Return ticks for a logarithmic ratio axis from ``low`` to ``high``: 1 and few round ratios at equal steps."""
    span = max(math.log(high), -math.log(low), 1e-6)
    step = next((nice for nice in NICE if span / math.log(nice) <= 3.2), NICE[-1])
    power = int(span / math.log(step)) + 1
    places = [step ** exponent for exponent in range(-power, power + 1)]
    return [place for place in places if low <= place <= high]


def _ratio_axis(ax, values):
    low, high = min(values + [1.0]), max(values + [1.0])
    pad = max(0.06 * (math.log(high) - math.log(low)), 0.004)
    low, high = math.exp(math.log(low) - pad), math.exp(math.log(high) + pad)
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    places = ratio_ticks(low, high)
    digits = 3 if places and max(abs(math.log(place)) for place in places) < 0.03 else 2
    svg.ticks(ax, "x", places, [f"{place:.{digits}f}" for place in places])


def forest(quantity, ident, title):
    """Effects as ratios to the control with their intervals; the band is the noise floor from the A/A visits."""
    rows = [row for row in quantity["rows"] if row["ratio"]]
    names = [row["label"] for row in rows]
    left, height = _label_width(names), ROW * len(rows) + 56
    fig = svg.figure(WIDTH, height)
    ax = svg.axes(fig, left, 36, 14, 20)
    values = [value for row in rows for value in (row["low"], row["ratio"], row["high"]) if value]
    floors = [row.get("floor") or quantity.get("noise_floor") for row in rows]
    svg.boxes(ax, [(1 / floor, place - 0.5, floor, place + 0.5) for place, floor in enumerate(floors) if floor],
              svg.COLOURS["band"])
    values += [value for floor in floors if floor for value in (floor, 1 / floor)]
    ax.axvline(1.0, color=MUTED, linewidth=0.8)
    _intervals(ax, rows)
    _labels(fig, names, left - 5, 20)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    _ratio_axis(ax, values)
    axis = f"{quantity['label']}, ratio to {quantity['control']} (log scale)"
    svg.words(fig, (WIDTH / 2, height - 9), axis, "muted", 10, "middle")
    good, bad = ("end", "start") if quantity["better"] == "higher" else ("start", "end")
    for word, side in (("better", good), ("worse", bad)):
        corner, words = (left, "◂ " + word) if side == "start" else (WIDTH - 14, word + " ▸")
        svg.words(fig, (corner, 10), words, word, 10, side)
    return svg.to_svg(fig, ident, title, quantity["summary"])


def _intervals(ax, rows):
    """Draw all effects, those of one form at once: filled circle better, filled square worse, hollow not shown."""
    forms = {}
    for place, row in enumerate(rows):
        colour, marker, filled = {"better": ("better", "o", True), "worse": ("worse", "s", True)}.get(
            row["verdict"], ("same", "o" if row["low"] else "D", False))
        forms.setdefault((colour, marker, filled), []).append((place, row))
    for (name, marker, filled), members in sorted(forms.items()):
        colour = svg.COLOURS[name]
        lines = [(end, place) for place, row in members if row["low"] for end in (row["low"], row["high"], math.nan)]
        if lines:
            ax.plot(*zip(*lines), color=colour, linewidth=1.8, solid_capstyle="butt")
        ax.plot([row["ratio"] for _place, row in members], [place for place, _row in members], linestyle="none",
                marker=marker, markersize=6.5, markeredgewidth=1.4, color=colour,
                markerfacecolor=colour if filled else svg.COLOURS["paper"])


def _legend(fig, items):
    """A legend in one line at the top; ``items`` are (word, colour or None, form)."""
    left = 8
    for word, colour, form in items:
        if colour:
            svg.swatch(fig, (left, 11), colour, form)
        svg.words(fig, (left + (14 if colour else 0), 11), word, "muted", 10)
        left += 24 + 6 * len(word)


def cpu(panel, ident, title):
    """CPU time by kind, stacked, a bar a profile, the ends beside each other; per cent of all CPUs of a host."""
    names = [row["label"] for row in panel["rows"]]
    ends = panel["ends"]
    left, height = _label_width(names, 160), ROW * len(names) + 70
    fig = svg.figure(WIDTH, height)
    gap, right = 22, 14
    width = (WIDTH - left - right - gap * (len(ends) - 1)) / len(ends)
    most = max([sum(row["kinds"][end].values()) for row in panel["rows"] for end in ends if row["kinds"].get(end)])
    for number, end in enumerate(ends):
        start = left + number * (width + gap)
        ax = svg.axes(fig, start, 42, WIDTH - start - width, 26)
        edges = [0.0] * len(names)
        for kind in panel["kinds"]:
            tops = [edge + (row["kinds"].get(end) or {}).get(kind, 0.0) for edge, row in zip(edges, panel["rows"])]
            svg.boxes(ax, [(edge, place - 0.36, top, place + 0.36)
                           for place, (edge, top) in enumerate(zip(edges, tops))], svg.COLOURS[kind])
            edges = tops
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(0, max(most * 1.03, 1.0))
        places = even_ticks(most, 3 if len(ends) > 1 else 5)
        svg.ticks(ax, "x", places, [text.number(place) if place % 1 else f"{place:.0f}" for place in places])
        svg.words(fig, (start + width / 2, height - 12), f"{end}, % of CPU", "muted", 10, "middle")
    _labels(fig, names, left - 5, 26)
    _legend(fig, [(kind, kind, "s") for kind in panel["kinds"]])
    return svg.to_svg(fig, ident, title, panel["summary"])


def even_ticks(most, about):
    """Return round ticks from 0 to ``most``, about as many as wished."""
    raw = max(most, 1e-9) / about
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * nice for nice in (1, 2, 5, 10) if unit * nice >= raw * 0.999)
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def heat(panel, ident, title):
    """Softirq time of each CPU, a row a profile, the ends above each other; per cent of each CPU's time."""
    names = [row["label"] for row in panel["rows"]]
    ends = list(panel["ends"])
    left, part = _label_width(names, 160), 16 * len(names) + 44
    fig = svg.figure(WIDTH, part * len(ends) + 28)
    width = panel["most"] / svg.HEAT_STEPS
    for number, end in enumerate(ends):
        ax = svg.axes(fig, left, part * (len(ends) - 1 - number) + 34, 14, 38 + part * number)
        steps = [[] for _step in range(svg.HEAT_STEPS)]
        for place, row in enumerate(panel["rows"]):
            for column, share in enumerate(row["shares"][end]):
                steps[min(svg.HEAT_STEPS - 1, int(share / width))].append((column, place, column + 1, place + 1))
        for step, cells in enumerate(steps):
            svg.boxes(ax, cells, svg.COLOURS[f"heat{step}"], edge=1.0 if len(panel["cpus"][end]) <= 32 else 0.2)
        ax.set_xlim(0, len(panel["cpus"][end]))
        ax.set_ylim(len(names), 0)
        places = range(0, len(panel["cpus"][end]), max(1, math.ceil(len(panel["cpus"][end]) / 16)))
        svg.ticks(ax, "x", [place + 0.5 for place in places], [panel["cpus"][end][place] for place in places])
        middle = ((left + WIDTH - 14) / 2, 38 + part * (number + 1) - 16)
        svg.words(fig, middle, f"CPU of the {end}", "muted", 10, "middle")
        _labels(fig, names, left - 5, 38 + part * number, 16)
    _legend(fig, [(f"{step * width:.0f}", f"heat{step}", "s") for step in range(svg.HEAT_STEPS)]
            + [("% softirq", None, "")])
    return svg.to_svg(fig, ident, title, panel["summary"])


def drift(panel, ident, title):
    """Trials over time: the control's and the others', or each block's median and middle half when there are many."""
    fig = svg.figure(WIDTH, 190)
    ax = svg.axes(fig, 50, 42, 14, 24)
    for series, colour, marker in ((panel["others"], svg.COLOURS["same"], "o"),
                                   (panel["control"], svg.COLOURS["better"], "s")):
        if panel["summarised"] and series:
            lines = [(at, value) for at, low, _middle, high in series for value in (low, high, math.nan)]
            ax.plot(*zip(*lines), color=colour, linewidth=1.2)
            ax.plot([row[0] for row in series], [row[2] for row in series], linestyle="none", marker=marker,
                    markersize=4, color=colour)
        elif series:
            ax.scatter([point[0] for point in series], [point[1] for point in series], s=13, marker=marker,
                       facecolors=colour if marker == "s" else "none", edgecolors=colour, linewidths=0.9)
    values = [value for series in (panel["others"], panel["control"]) for point in series for value in point[1:]]
    top = max(values) * 1.06
    ax.set_ylim(0, top)
    places = even_ticks(top, 4)
    svg.ticks(ax, "y", places, [text.number(place) if place % 1 else f"{place:,.0f}" for place in places])
    svg.words(fig, (WIDTH / 2, 178), f"{panel['time_unit']} since the first trial", "muted", 10, "middle")
    times = [point[0] for series in (panel["others"], panel["control"]) for point in series]
    pad = 0.02 * max(max(times) - min(times), 1e-6)
    ax.set_xlim(min(times) - pad, max(times) + pad)
    places = [place for place in even_ticks(max(times), 6) if place >= min(times) - pad]
    svg.ticks(ax, "x", places, [text.number(place) if place % 1 else f"{place:,.0f}" for place in places])
    for place in even_ticks(top, 4)[1:]:
        ax.axhline(place, color=svg.COLOURS["line"], linewidth=0.6, zorder=0)
    _legend(fig, [(panel["unit"] + ":", None, ""), (_short(panel["control_name"], 20), "better", "S"),
                  ("other profiles", "same", "O")])
    return svg.to_svg(fig, ident, title, panel["summary"])
