# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for the kernel with which a change began; 300 simulated searches per noise at night."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._across import bisect, kernel_sides
from ansible_collections.offload.lab.plugins.plugin_utils._across.bisect import (
    BAD,
    GOOD,
    UNKNOWN,
    Counted,
    Samples,
)
from ansible_collections.offload.lab.tests.instruments.simulation import bisections, comparisons
from ansible_collections.offload.lab.tests.instruments.simulation.truth import at_least

KERNELS = [f"k{number}" for number in range(10)]
ENDS = {"k0": GOOD, "k9": BAD}
LEVEL = bisect.level_of(len(KERNELS))
NIGHTLY = [
    pytest.param(noise, ratio, bisections.SEARCHES, marks=pytest.mark.nightly)
    for noise in comparisons.NOISES
    for ratio in (0.9, 0.95)
]


@pytest.mark.parametrize("first_bad", range(1, 10))
def test_a_search_halves_the_range(first_bad):
    sides, steps = dict(ENDS), 0
    while (kernel := bisect.next_kernel(KERNELS, sides, ())) is not None:
        sides[kernel] = BAD if KERNELS.index(kernel) >= first_bad else GOOD
        steps += 1
    found = bisect.range_of(KERNELS, sides)
    assert found == (f"k{first_bad - 1}", f"k{first_bad}", [])
    assert steps <= math.ceil(math.log2(len(KERNELS)))


def test_a_kernel_that_is_left_out_widens_the_range():
    sides = {**ENDS, "k3": GOOD, "k5": BAD}
    assert bisect.next_kernel(KERNELS, sides, {"k4"}) is None
    assert bisect.range_of(KERNELS, sides) == ("k3", "k5", ["k4"])
    assert bisect.next_kernel(KERNELS, ENDS, {"k4"}) == "k5"


def normal(mean, number=24, seed=1):
    return np.random.default_rng(seed).normal(mean, 0.02, number)


@pytest.mark.parametrize("mean, side", [(0.0, GOOD), (-0.1, BAD), (-0.05, UNKNOWN)])
def test_the_side_of_an_effect(mean, side):
    samples = Samples(normal(mean, seed=2), normal(0.0), normal(-0.1, seed=3))
    assert bisect.side_by_effect(samples, LEVEL) == side


def test_an_effect_that_was_not_measured_has_no_side():
    samples = Samples(np.array([np.nan, np.nan]), normal(0.0), normal(-0.1))
    assert bisect.side_by_effect(samples, LEVEL) == UNKNOWN


@pytest.mark.parametrize(
    "kernel, bad, side",
    [
        (Counted(48, 24, True), Counted(48, 24, True), BAD),
        (Counted(48, 0, False), Counted(48, 24, True), GOOD),
        (Counted(48, 1, False), Counted(48, 24, True), UNKNOWN),
        (Counted(48, 0, False), Counted(48, 4, True), UNKNOWN),  # a rare fault needs more trials
        (Counted(0, 0, False), Counted(48, 24, True), UNKNOWN),
    ],
)
def test_the_side_of_a_payload(kernel, bad, side):
    assert bisect.side_by_payload(kernel, bad, LEVEL) == side


@pytest.mark.parametrize("rate", [0.1, 0.5, pytest.param(0.02, marks=pytest.mark.nightly)])
def test_a_rare_fault_is_taken_for_clean_in_one_percent_at_most(rate):
    """Of all kernels with the fault; the same rate holds under the bad end."""
    chance = np.random.default_rng(65)
    wrong = []
    for _search in range(2000):
        ends, kernel = chance.binomial(96, rate, size=2)
        if ends:
            counted = Counted(96, kernel, kernel >= 3), Counted(96, ends, True)
            wrong.append(bisect.side_by_payload(*counted, LEVEL) == GOOD)
    assert np.mean(wrong) <= bisect.LEVEL


@pytest.mark.parametrize("noise, ratio, number", [("plain", 0.9, 40), *NIGHTLY])
def test_at_most_one_percent_of_the_ranges_are_wrong(noise, ratio, number):
    found = bisections.searches(noise, ratio, number)
    assert at_least(np.array([one.wrong for one in found])) <= bisect.LEVEL
    if ratio == 0.9 and noise == "plain":
        assert len(found) >= 0.95 * number
        assert sum(one.width == 1 for one in found) >= 0.9 * len(found)


OLDER = "linux (6.1.1) x; urgency=low\n\n  * first\n\n -- A\n"
NEWER = "linux (6.1.3) x; urgency=low\n\n  * third\n\n -- A\n\nlinux (6.1.2) x; urgency=low\n\n  * second\n\n -- A\n\n"


def test_entries_between_two_changelogs():
    entries = bisect.entries_between(OLDER, NEWER + OLDER)
    assert [entry.split()[1] for entry in entries] == ["(6.1.3)", "(6.1.2)"]
    assert "* third" in entries[0] and "second" not in entries[0]


def test_the_folders_of_a_kernel():
    assert kernel_sides.folders_of("results", "linux-image-6.1.0-5-amd64") == [
        "results/6.1.0-5-amd64",
        "results-again/6.1.0-5-amd64-2",
        "results-again/6.1.0-5-amd64-3",
    ]
