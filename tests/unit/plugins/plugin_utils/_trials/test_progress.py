# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.workloads import read_workload
from ansible_collections.offload.lab.plugins.plugin_utils._trials import progress


def visit(block, number, *ids, mtu=9000):
    return {
        "block": block,
        "visit": number,
        "mtu": mtu,
        "profile": "tso=off",
        "cells": [{"id": name} for name in ids],
    }


@pytest.mark.parametrize(
    "result, expected",
    [
        ({"throughput_mbps": 9412.3}, "9.41 Gbit/s"),
        ({"throughput_mbps": 512.34}, "512.3 Mbit/s"),
        ({"throughput_mbps": None, "transactions_per_s": 21111.7}, "21112 trans/s"),
        ({}, "no result"),
        ({"throughput_mbps": 0.0}, "no result"),
    ],
)
def test_headline(result, expected):
    assert progress.rate_text(result) == expected


@pytest.mark.parametrize(
    "seconds, expected",
    [
        (0, "0 s left"),
        (89, "89 s left"),
        (90, "2 min left"),
        (720, "12 min left"),
        (5400, "1 h 30 min left"),
        (11100, "3 h 5 min left"),
        (-3, "0 s left"),
    ],
)
def test_time_left(seconds, expected):
    assert progress.time_text(seconds) == expected


PLAN = {
    "workloads": [{**read_workload("tcp_stream", 10), "name": "w"}],
    "profiles": {"a": {}, "b": {}},
    "paths": ["physical"],
    "mtus": [9000],
    "pairs": [],
    "rounds": [],
}
ONE = (
    10 + progress.CELL_SECONDS + progress.VISIT_SECONDS
)  # what the plan expects of a visit of one cell


def visits(count):
    return [
        dict(visit(1, number), cells=[{"id": f"c{number}", "workload": "w"}])
        for number in range(1, count + 1)
    ]


def starts(*times):
    return {(9000, 1, number): time for number, time in enumerate(times, 1)}


@pytest.mark.parametrize(
    ("times", "pace"),
    [
        ((), 1),
        ((100.0,), 1),
        ((100.0, 100 + 1.5 * ONE), 1.5),
        ((100.0, 100 + 2 * ONE, 100 + 5 * ONE), 2.5),
        ((100.0, 100 + ONE, 90_000.0, 90_000 + ONE), 1),  # stopped, and gone on the next day
    ],
)
def test_time_left_learns_from_the_visits_made(times, pace):
    trials_known = {f"c{number}" for number in range(1, len(times) + 1)}
    seconds = progress.seconds_left(PLAN, visits(8), trials_known, starts(*times))
    assert seconds == pytest.approx((8 - len(times)) * ONE * pace)


def test_time_left_counts_a_confirmation_that_is_not_decided():
    plan = dict(PLAN, confirm=6, design="profiles", profiles={"a": {}, "b": {}, "c": {}})
    planned = visits(2)
    decided = [
        *planned,
        dict(planned[0], block=2, part="confirm", cells=[{"id": "x", "workload": "w"}]),
    ]
    assert progress.seconds_left(plan, planned, {"c1", "c2"}, {}) > 6 * 4 * ONE
    assert progress.seconds_left(plan, decided, {"c1", "c2", "x"}, {}) == 0


def test_time_left_of_a_search_counts_its_rounds_and_its_confirmation():
    plan = dict(
        PLAN,
        confirm=6,
        design="search",
        search={"rounds": 9},
        control_visits=1,
        profiles={name: {} for name in "abcd"},
    )
    planned = visits(4)
    trials_known = {f"c{number}" for number in range(1, 5)}
    assert progress.to_come(plan, planned)[0] == 9 + 6 * 3
    seconds = progress.seconds_left(plan, planned, trials_known, {})
    assert seconds > (9 + 6 * 3) * ONE
    visit_of_search = dict(planned[0], block=2, part="search", cells=[{"id": "x", "workload": "w"}])
    after = progress.seconds_left(plan, [*planned, visit_of_search], trials_known, {})
    assert after == pytest.approx(seconds), (
        "a round that is decided takes what it was expected to take"
    )
    assert progress.seconds_left(
        plan, [*planned, visit_of_search], {*trials_known, "x"}, {}
    ) == pytest.approx(seconds - ONE)


def test_the_line():
    planned = [visit(3, number, "a", "b") for number in range(1, 13)] + [visit(10, 1, "z")]
    newest = {"workload": {"name": "tcp_rr"}, "path": "tenant", "result": {}}
    stream = {**newest, "workload": {"name": "tcp_stream"}, "result": {"throughput_mbps": 9412.0}}
    line = progress.progress_line(planned, planned[3], 1, stream, 720)
    assert line == (
        "block 3/10 visit 4/12 [tso=off] cells 1/2, tcp_stream on tenant 9.41 Gbit/s, 12 min left"
    )
    planned.append(visit(3, 4, "y", mtu=1500))
    line = progress.progress_line(planned, planned[3], 1, newest, 0)
    assert "visit 4/12 MTU 9000 [tso=off]" in line and "tcp_rr on tenant no result" in line
