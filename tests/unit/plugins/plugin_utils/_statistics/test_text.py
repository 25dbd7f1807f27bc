# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers and sentences as they are printed."""

from __future__ import annotations

import math

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._statistics import text


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0.0, "0.000"),
        (0.0451, "0.045"),
        (1.234, "1.23"),
        (99.4, "99.40"),
        (489.44, "489.4"),
        (4281.2, "4281"),
        (9999.4, "9999"),
        (10072.4, "10,072"),
    ],
)
def test_number(value, printed):
    assert text.number(value) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (None, "–"),
        (1.0, "1.000"),
        (1.0133, "1.013"),
        (1.453, "1.45"),
        (0.64, "0.64"),
        (12.3, "12.30"),
    ],
)
def test_ratio(value, printed):
    assert text.ratio(value) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (1.84, "84 % more"),
        (1.052, "5.2 % more"),
        (0.58, "42 % less"),
        (1.0, "0.0 % more"),
        (2.4, "2.40 times as much"),
    ],
)
def test_change(value, printed):
    assert text.change(value) == printed


@pytest.mark.parametrize(
    ("value", "printed"), [(1.084, "8.4 %"), (1.92, "92 %"), (2.25, "a factor of 2.2")]
)
def test_size(value, printed):
    assert text.size(value) == printed


@pytest.mark.parametrize(
    ("value", "printed"), [(None, "–"), (0.0004, "<0.001"), (0.03125, "0.031"), (1.0, "1.000")]
)
def test_p_value(value, printed):
    assert text.p_value(value) == printed


@pytest.mark.parametrize(
    ("value", "printed"), [(None, "–"), (45, "45 s"), (720, "12 min"), (12600, "3.5 h")]
)
def test_seconds(value, printed):
    assert text.seconds(value) == printed


@pytest.mark.parametrize(
    ("items", "printed"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_listed(items, printed):
    assert text.listed(items) == printed
