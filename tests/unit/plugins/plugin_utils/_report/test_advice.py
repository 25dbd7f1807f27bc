# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who leads, and what to set, in words: several leaders, none, both ends, what is not confirmed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import (
    Attribution,
    Contender,
)
from ansible_collections.offload.lab.plugins.plugin_utils._figures.nouns import NamedTable
from ansible_collections.offload.lab.plugins.plugin_utils._report import advice
from ansible_collections.offload.lab.tests.unit.builders import made

TABLE = made(
    NamedTable,
    **{
        "id": "t",
        "pair": None,
        "path": "physical",
        "mtu": 9000,
        "workload": "tcp_stream",
        "test": "TCP_STREAM",
    },
)
OTHER = replace(TABLE, id="u", path="tenant_vxlan")


def candidate(factor, ratio, verdict="better"):
    return made(
        Contender,
        **{
            "factor": factor,
            "level": "on",
            "base": "off",
            "n": 7,
            "ratio": ratio,
            "low": ratio * 0.95,
            "high": ratio * 1.05,
            "state": verdict,
        },
    )


def entry(table, *candidates, leaders=(), side="both", end=None):
    return made(
        Attribution,
        **{
            "goal": "tcp_throughput",
            "side": side,
            "table": table,
            "end": end,
            "leaders": list(leaders),
            "separated": len(leaders) == 1,
            "candidates": list(candidates),
        },
    )


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (
            [entry("t", candidate("tso", 1.4), leaders=["tso"])],
            (
                "better",
                "TCP throughput: tso=on leads for TCP_STREAM over physical at MTU 9000: 40 % more (33 to 47 %).",
            ),
        ),
        (
            [
                entry("t", candidate("tso", 1.4), leaders=["tso"]),
                entry("u", candidate("tso", 1.5), candidate("gro", 1.45), leaders=["tso", "gro"]),
            ],
            (
                "better",
                "TCP throughput: tso=on leads in 2 of 2 comparisons, most for TCP_STREAM over tenant_vxlan at MTU "
                "9000: 50 % more (42 to 58 %). Not shown to differ from it, or leading elsewhere: gro=on.",
            ),
        ),
        (
            [entry("t", candidate("tso", 3.7, "same"), candidate("gro", 1.1), leaders=["gro"])],
            (
                "better",
                "TCP throughput: gro=on leads for TCP_STREAM over physical at MTU 9000: 10 % more (4.5 to 16 %). "
                "Gained more there, but was not shown: tso=on (3.70 in 7 blocks).",
            ),
        ),
        (
            [entry("t", candidate("tso", 1.0, "same"))],
            ("same", "TCP throughput: no setting helps by an amount that matters."),
        ),
        (
            [entry("t", candidate("tso", 1.0, "unknown"))],
            ("unknown", "TCP throughput: no setting was shown to help."),
        ),
        (
            [entry("t", candidate("tso", 1.4), leaders=["tso"], side="transmitter", end="client")],
            (
                "better",
                "TCP throughput, set at the transmitter: tso=on leads for TCP_STREAM over physical at MTU 9000 at the "
                "client: 40 % more (33 to 47 %).",
            ),
        ),
    ],
)
def test_sentences(entries, expected):
    sentences = advice.sentences(entries, [TABLE, OTHER])
    assert [(item["tone"], item["text"]) for item in sentences] == [expected]
