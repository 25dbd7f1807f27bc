# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures: the same bytes, text past matplotlib escaped, ticks that are round, no label outside."""
from __future__ import annotations

import re

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.plugin_utils import _report_figures as figures
from ansible_collections.offload.lab.plugins.plugin_utils import _report_svg as svg

LONG = "tx-udp_tnl-csum-segmentation-and-some-more=on"


def quantity(*rows):
    names = ("label", "ratio", "low", "high", "verdict")
    return {"label": "throughput", "control": "all_off", "better": "higher", "noise_floor": 1.03, "summary": "words",
            "rows": [dict(zip(names, row)) for row in rows]}


ROWS = quantity(("tso=on", 1.4, 1.3, 1.5, "better"), ("gro=on", 0.9, 0.85, 0.95, "worse"),
                (LONG, 1.0, 0.98, 1.02, "same"), ("a<b", 1.1, None, None, "unknown"),
                ("missing", None, None, None, "unknown"))
SHARES = {"user": 4.0, "system": 20.0, "softirq": 15.5}
CPU = {"rows": [{"label": "all_off", "kinds": {"client": SHARES, "server": SHARES}},
                {"label": LONG, "kinds": {"client": SHARES, "server": {}}}],
       "ends": ["client", "server"], "kinds": list(SHARES), "summary": "words"}
HEAT = {"rows": [{"label": "all_off", "shares": {"server": [1.0, 99.0] * 32}}], "ends": ["server"],
        "cpus": {"server": list(range(64))}, "most": 100, "summary": "words"}
DRIFT = {"control": [(0.0, 900.0), (2.0, 1000.0)], "others": [(1.0, 950.0)], "summarised": False, "time_unit": "min",
         "control_name": LONG, "unit": "throughput, Mbit/s", "summary": "words"}
BLOCKS = dict(DRIFT, summarised=True, control=[(0.5, 900.0, 950.0, 1000.0)], others=[])


@pytest.mark.parametrize(("draw", "shown"), [
    (figures.forest, ROWS), (figures.cpu, CPU), (figures.heat, HEAT), (figures.drift, DRIFT), (figures.drift, BLOCKS)])
def test_figure(draw, shown):
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):  # a user's own settings change nothing
        with svg.drawing():
            first = draw(shown, "one", "Title & more")
        with svg.drawing():
            assert draw(shown, "one", "Title & more") == first
    assert first.startswith('<svg class="figure" role="img" viewBox="0 0 400 ')
    assert "<title id=\"one-title\">Title &amp; more</title><desc id=\"one-desc\">words</desc>" in first
    assert not re.search(r"#[0-9a-f]{6}\b|font-family|Date", first)
    places = [float(place) for place in re.findall(r'<text x="([\d.-]+)"', first)]
    assert places and all(0 <= place <= figures.WIDTH for place in places)


def test_forest_marks_say_more_than_colour():
    with svg.drawing():
        text = figures.forest(ROWS, "one", "Title")
    assert "a&lt;b" in text and "missing" not in text and "…" in text
    assert text.count("var(--better)") >= 2 and text.count("var(--worse)") >= 2


@given(st.floats(0.02, 0.9999), st.floats(1.0001, 50))
def test_ratio_ticks_are_few_and_hold_1(low, high):
    ticks = figures.ratio_ticks(low, high)
    assert 1 in ticks and len(ticks) <= 7
    assert all(low <= tick <= high for tick in ticks)


@given(st.floats(1e-6, 1e9), st.integers(2, 6))
def test_even_ticks_are_round_and_few(most, about):
    ticks = figures.even_ticks(most, about)
    assert ticks[0] == 0 and ticks[-1] <= most * (1 + 1e-6) and len(ticks) <= about + 1
