# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._figures.nouns import NamedTable
from ansible_collections.offload.lab.plugins.plugin_utils._report import quantities
from ansible_collections.offload.lab.tests.unit.builders import made

SAID = "Packets a second, of 64 bytes each: all_off 125,000; tso=on 250,000."


def found(test="UDP_STREAM", size=64, medians=None):
    """Return the notes and the sentence of a table."""
    table = made(
        NamedTable,
        **{
            "test": test,
            "workload": "small",
            "notes": ["A note."],
            "medians": medians or {"throughput": {"all_off": 64.0, "tso=on": 128.0}},
        },
    )
    plan = {"workloads": [{"name": "small", "message_size": size}], "control": "all_off"}
    [table] = quantities.added([table], plan, {})
    return table.notes, table.packets


def test_small_datagrams_have_their_rate_in_packets():
    assert found() == (["A note.", SAID], SAID)


@pytest.mark.parametrize(
    "manifest_given",
    [
        {"size": quantities.SMALL + 1},
        {"size": None},
        {"test": "TCP_STREAM"},
        {"medians": {"transactions": {"all_off": 1.0}}},
    ],
)
def test_others_have_none(manifest_given):
    assert found(**manifest_given) == (["A note."], "")


def test_many_profiles_are_cut_short():
    medians = {f"p{number}": 64.0 for number in range(quantities.MOST + 1)}
    notes = found(medians={"throughput": medians})[1]
    assert notes.count("125,000") == quantities.MOST and notes.endswith("; ….")
