# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report says of packets: an effect in packets, and whether a setting without an effect acts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import PacketCounts
from ansible_collections.offload.lab.plugins.plugin_utils._report import quantities

NAMED = quantities.Named("off", {"off": "all off", "on": "tso"})


def counts(profile, per_mb, *, cut=0.0, merged=0.0, checksum_left=1.0, cpu=None, end="client"):
    return PacketCounts(
        profile=profile,
        end=end,
        n=8,
        per_mb=per_mb,
        cut_per_mb=cut,
        merged_per_mb=merged,
        checksum_left=checksum_left,
        cpu_us=cpu,
    )


def table(rows, outcome="better"):
    effect = SimpleNamespace(profile="on", effect=SimpleNamespace(outcome=outcome))
    quantity = SimpleNamespace(group="main", rows=[effect])
    return SimpleNamespace(counts=rows, quantities=[quantity])


def test_an_effect_in_packets():
    rows = [counts("off", 712.4, cpu=1.24), counts("on", 22.6, cut=20.1, cpu=25.6)]
    assert quantities.explained(table(rows), NAMED) == (
        "Packets per MB at the client: all off 712, the device cut 0, 1.2 µs of CPU time each; "
        "tso 23, the device cut 20, 26 µs of CPU time each."
    )


def test_what_gro_merged_is_named_where_it_merged():
    rows = [counts("off", 712.4, end="server"), counts("on", 72.4, merged=640.0, end="server")]
    assert quantities.explained(table(rows), NAMED) == (
        "Packets per MB at the server: all off 712, GRO merged 0; tso 72, GRO merged 640."
    )


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (counts("on", 700.0), "tso makes no difference: packets are the same."),
        (counts("on", 22.0, cut=20.0), "tso makes no difference, although it acts on packets."),
        (
            counts("on", 712.0, checksum_left=0.0),
            "tso makes no difference, although it acts on packets.",
        ),
    ],
)
def test_whether_a_setting_without_an_effect_acts(row, sentence):
    text = quantities.explained(table([counts("off", 712.4), row], "same"), NAMED)
    assert text.endswith(sentence)


def test_a_folder_without_counts():
    assert quantities.explained(table(None), NAMED) == ""


def test_many_profiles_are_not_all_listed():
    names = {name: name for name in ("off", *"abcde")}
    rows = [counts(name, 100.0) for name in names]
    text = quantities.explained(table(rows), quantities.Named("off", names))
    assert text.endswith("c 100; ….") and "d 100" not in text
