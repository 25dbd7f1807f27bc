# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils.trials import progress


def visit(block, number, *ids, mtu=9000):
    return {"block": block, "visit": number, "mtu": mtu, "profile": "tso=off", "cells": [{"id": name} for name in ids]}


@pytest.mark.parametrize("result, expected", [
    ({"throughput_mbps": 9412.3}, "9.41 Gbit/s"), ({"throughput_mbps": 512.34}, "512.3 Mbit/s"),
    ({"throughput_mbps": None, "transactions_per_s": 21111.7}, "21112 trans/s"), ({}, "no result"),
    ({"throughput_mbps": 0.0}, "no result"),
])
def test_headline(result, expected):
    assert progress.rate_text(result) == expected


@pytest.mark.parametrize("seconds, expected", [(0, "0 s left"), (89, "89 s left"), (90, "2 min left"),
                                               (720, "12 min left"), (5400, "1 h 30 min left"),
                                               (11100, "3 h 5 min left"), (-3, "0 s left")])
def test_time_left(seconds, expected):
    assert progress.time_text(seconds) == expected


def test_what_is_left_counts_cells_and_visits():
    visits = [visit(1, 1, "a", "b"), visit(1, 2, "c"), visit(2, 1, "d")]
    assert progress.seconds_left(visits, {"a", "c"}, lambda _cell: 10.0) == 20 + 2 * progress.VISIT_SECONDS
    assert progress.seconds_left(visits, {"a", "b", "c", "d"}, lambda _cell: 10.0) == 0


def test_the_line():
    planned = [visit(3, number, "a", "b") for number in range(1, 13)] + [visit(10, 1, "z")]
    line = progress.progress_line(planned, planned[3], 1, {"throughput_mbps": 9412.0}, 720)
    assert line == "block 3/10 visit 4/12 [tso=off] cells 1/2, 9.41 Gbit/s, 12 min left"
    planned.append(visit(3, 4, "y", mtu=1500))
    assert "visit 4/12 MTU 9000 [tso=off]" in progress.progress_line(planned, planned[3], 1, {}, 0)
