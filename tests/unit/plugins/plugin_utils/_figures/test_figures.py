# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures: ticks that are round, no label or mark outside, marks that say more than colour, groups
that are two.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Metric
from ansible_collections.offload.lab.plugins.plugin_utils._figures import (
    choices,
    effects,
    latency,
    machine,
    marks,
    trials,
)
from ansible_collections.offload.lab.plugins.plugin_utils._figures.nouns import (
    NamedTable,
    Quantity,
    TimeMark,
)
from ansible_collections.offload.lab.plugins.plugin_utils._report.html import environment
from ansible_collections.offload.lab.plugins.plugin_utils._trials.digest import Digest
from ansible_collections.offload.lab.tests.unit.builders import made, shown_row

LONG = "tx-udp_tnl-csum-segmentation-and-some-more=on"
SHARES = {"user": 4.0, "system": 20.0, "softirq": 15.5}
CPU = {
    "rows": [
        {"label": "all_off", "kinds": {"client": SHARES, "server": SHARES}},
        {"label": LONG, "kinds": {"client": SHARES, "server": {}}},
    ],
    "ends": ["client", "server"],
    "kinds": list(SHARES),
    "summary": "words",
}
HEAT = {
    "rows": [{"label": "all_off", "shares": {"server": [1.0, 99.0] * 32}}],
    "ends": ["server"],
    "cpus": {"server": list(range(64))},
    "most": 100,
    "summary": "words",
}
TIME = {
    "control": [TimeMark(0.0, 900.0), TimeMark(2.0, 1000.0)],
    "others": [TimeMark(1.0, 950.0)],
    "left_out": [TimeMark(1.5, 0.0)],
    "time_unit": "min",
    "control_name": LONG,
    "unit": "throughput, Mbit/s",
    "summary": "words",
}
BLOCKS = dict(TIME, control=[TimeMark(0.5, 950.0, 900.0, 1000.0)], others=[], left_out=[])
SPREAD = {
    "rows": [{"label": "all_off", "values": [900.0, 1900.0]}, {"label": LONG, "values": [1000.0]}],
    "unit": "throughput, Mbit/s",
    "summary": "words",
}
PARETO = {
    "points": [
        {"label": "all_off", "value": 900.0, "cost": 3.0, "control": True, "frontier": False},
        {"label": LONG, "value": 1900.0, "cost": 2.0, "control": False, "frontier": True},
        {"label": "gro=on", "value": 1000.0, "cost": 1.5, "control": False, "frontier": True},
    ],
    "unit": "throughput, Mbit/s",
    "cost_unit": "CPU time of both ends, µs/KB",
    "summary": "words",
}
INTERACTION = {
    "factor": "tso",
    "levels": ["tso=off", "tso=on"],
    "control": "all_off",
    "summary": "words",
    "lines": [
        {"label": "gso=off", "values": [1.0, 1.2]},
        {"label": "gso=on", "values": [1.15, 1.1]},
    ],
}
LATENCY = {
    "rows": [
        {
            "label": "all_off",
            "unloaded": [20.0, 30.0, 40.0, 90.0],
            "loaded": [50.0, 90.0, 400.0, 5e3],
        },
        {
            "label": LONG,
            "unloaded": [21.0, 31.0, 41.0, 91.0],
            "loaded": [51.0, 91.0, 401.0, 5001.0],
        },
    ],
    "summary": "words",
}


def quantity(*rows):
    names = ("label", "ratio", "low", "high", "verdict", "blocks")
    return made(
        Quantity,
        label="throughput",
        control="all_off",
        better="higher",
        noise_floor=1.03,
        rows=[shown_row(**dict(zip(names, row))) for row in rows],
    )


def forest(quantity, title):
    return effects.forest(quantity, title, "words")


ROWS = quantity(
    ("tso=on", 1.4, 1.3, 1.5, "better", [1.3, 1.5, None, 1.45]),
    ("gro=on", 0.9, 0.85, 0.95, "worse", [0.9, 0.88, 9.0]),
    (LONG, 1.0, 0.98, 1.02, "same", None),
    ("a<b", 1.1, None, None, "unknown", None),
    ("missing", None, None, None, "unknown", None),
)


@pytest.mark.parametrize(
    ("draw", "shown"),
    [
        (forest, ROWS),
        (machine.cpu, CPU),
        (machine.heat, HEAT),
        (trials.over_time, TIME),
        (trials.over_time, BLOCKS),
        (trials.spread, SPREAD),
        (choices.pareto, PARETO),
        (choices.interaction, INTERACTION),
        (latency.under_load, LATENCY),
    ],
)
def test_figure(draw, shown):
    figure = draw(shown, "Title & more")
    macro = environment().get_template("figure.j2").module.figure
    text = str(macro(figure, "one"))
    assert str(macro(draw(shown, "Title & more"), "one")) == text
    assert text.startswith('<svg class="figure" role="img" viewBox="0 0 400 ')
    assert '<title id="one-title">Title &amp; more</title><desc id="one-desc">words</desc>' in text
    assert not re.search(r"#[0-9a-f]{6}\b|style=\"fill", text), (
        "a colour that the dark page cannot change"
    )
    word_marks = [mark for mark in figure.marks if isinstance(mark, marks.Words)]
    assert word_marks and all(
        0 <= float(word.x) <= figure.width and 0 <= float(word.y) <= figure.height
        for word in word_marks
    )
    starts = re.findall(r"M(-?[\d.]+) (-?[\d.]+)", text)
    assert starts and all(
        -4 <= float(x) <= figure.width and -4 <= float(y) <= figure.height for x, y in starts
    )


def css_of(figure):
    return {mark.css for mark in figure.marks if isinstance(mark, marks.Shape)}


def test_forest_marks_say_more_than_colour():
    figure = effects.forest(ROWS, "Title", "words")
    texts = [mark.text for mark in figure.marks if isinstance(mark, marks.Words)]
    assert "a<b" in texts and "missing" not in texts and any("…" in word for word in texts)
    assert {
        "f-better",
        "wide s-better",
        "f-worse",
        "wide s-worse",
        "h-same",
        "f-band",
        "dots s-same",
    } <= css_of(figure)


def test_dots_are_those_of_the_blocks_and_a_far_one_is_a_cross_at_the_edge():
    figure = effects.forest(ROWS, "Title", "words")
    dots = next(
        mark.data
        for mark in figure.marks
        if isinstance(mark, marks.Shape) and mark.css == "dots s-same"
    )
    assert dots.count("M") == 5
    assert "s-same" in css_of(figure)  # of the ratio 9
    many = quantity(("tso=on", 1.4, 1.3, 1.5, "better", [1.4] * (effects.MOST_DOTS + 1)))
    assert "dots s-same" not in css_of(effects.forest(many, "Title", "words"))


def test_bars_of_cpu_do_not_pass_100_per_cent():
    kinds = {"user": 30.0, "system": 60.0, "softirq": 40.0}
    metrics = [
        made(Metric, metric=f"cpu_client_{kind}", end="client", control={"median": median})
        for kind, median in kinds.items()
    ]
    table = made(NamedTable, metrics=metrics, quantities=[{}])
    row = machine.cpu_panels([table], {"control": "a"})[0]["rows"][0]
    assert sum(row["kinds"]["client"].values()) == pytest.approx(100)


def loaded_trial(profile, *loaded):
    """Return a trial whose requests took 1, 2, 3 and 4 us before the streams."""
    names = ("p50", "p90", "p99", "p999")
    return {
        "id": profile,
        "path": "physical",
        "mtu": 9000,
        "profile": profile,
        "workload": {"name": "mixed"},
        "result": {
            "latency_us": dict(zip(names, loaded)),
            "unloaded_us": dict(zip(names, (1.0, 2.0, 3.0, 4.0))),
        },
    }


def test_latency_under_load_has_the_medians_of_each_profile():
    table = made(
        NamedTable,
        path="physical",
        mtu=9000,
        workload="mixed",
        quantities=[{"rows": [shown_row("tso", "tso=on")]}],
    )
    digest = Digest("off")
    for loaded in (10.0, 20.0, 60.0):
        digest.see(loaded_trial("off", loaded, loaded, loaded, 5 * loaded))
    digest.see(loaded_trial("tso", 5.0, 6.0, 7.0, 8.0))
    digest.see(loaded_trial("other", 5.0, 6.0, 7.0))  # an engine without the last percentile
    [panel] = latency.latency_panels([table], {"control": "off"}, digest)
    assert panel["rows"] == [
        {"label": "off", "unloaded": [1.0, 2.0, 3.0, 4.0], "loaded": [20.0, 20.0, 20.0, 100.0]},
        {"label": "tso=on", "unloaded": [1.0, 2.0, 3.0, 4.0], "loaded": [5.0, 6.0, 7.0, 8.0]},
    ]
    assert panel["numbers"]["rows"][1]["cells"][:3] == ["off", "yes", "20.00"]
    assert (
        "99 % take at most 3.00 µs without streams, and 20.00 µs during streams" in panel["summary"]
    )
    plain = replace(table, workload="tcp_stream")
    assert latency.latency_panels([plain], {"control": "off"}, digest) == []


@pytest.mark.parametrize(
    ("low", "high", "places"),
    [
        (18.0, 120.0, [20, 50, 100]),
        (3.0, 50_000.0, [10, 100, 1000, 10_000]),
    ],
)
def test_ticks_of_a_logarithmic_scale_are_round_and_few(low, high, places):
    assert latency.ticks(marks.Scale(low, high, 0, 100, True)) == places


def test_two_groups_are_seen_and_one_is_not():
    generator = random.Random(4)
    single_group = [1000 * math.exp(generator.gauss(0, 0.1)) for _number in range(24)]
    two = [value * (0.6 if number % 3 else 1) for number, value in enumerate(single_group)]
    assert trials.two_groups(single_group) is None
    two = [
        1000 * math.exp(generator.gauss(0, 0.03)) * (0.6 if number % 3 else 1)
        for number in range(24)
    ]
    low, high = trials.two_groups(two)
    assert (len(low), len(high)) == (16, 8) and max(low) < min(high)
    assert trials.two_groups(two[:8]) is None


def test_the_frontier_is_what_no_other_beats_in_both():
    table = made(
        NamedTable,
        medians={
            "throughput": {"control": 800.0, "a": 1000.0, "b": 1100.0, "c": 900.0},
            "service_demand_client": {"control": 4.0, "a": 2.0, "b": 3.0, "c": 2.5},
        },
        quantities=[
            {"group": "main", "label": "throughput", "unit": "Mbit/s"},
            {"group": "service_demand_client", "label": "service demand", "unit": "µs/KB"},
        ],
    )
    points = choices.pareto_panels([table], "control")[0]["points"]
    assert {point["label"] for point in points if point["frontier"]} == {"a", "b"}


@given(st.floats(0.02, 0.9999), st.floats(1.0001, 50))
def test_ratio_ticks_are_few_and_hold_1(low, high):
    ticks = marks.ratio_ticks(low, high)
    assert 1 in ticks and len(ticks) <= 7
    assert all(low <= tick <= high for tick in ticks)


@given(st.floats(1e-6, 1e9), st.integers(2, 6))
def test_even_ticks_are_round_and_few(most, about):
    ticks = marks.even_ticks(most, about)
    assert ticks[0] == 0 and ticks[-1] <= most * (1 + 1e-6) and len(ticks) <= about + 1


@given(st.floats(0.01, 0.99), st.floats(1.01, 100), st.floats(0.001, 1000), st.booleans())
def test_a_scale_stays_between_its_ends(low, high, value, logarithmic):
    assert 49.99 <= marks.Scale(low, high, 50, 386, logarithmic).at(value) <= 386.01
