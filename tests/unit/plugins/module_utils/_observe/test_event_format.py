# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Formats of tracepoints, as Linux 6.18 shows them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import ParseError
from ansible_collections.offload.lab.plugins.module_utils._observe import tracefs
from ansible_collections.offload.lab.tests.support import CHECKOUT

RECORDED = CHECKOUT / "tests/unit/recorded/tracepoints/linux-6.18"
KFREE_SKB = (RECORDED / "kfree_skb.txt").read_text()


def test_numbers_fields_and_names_of_drops():
    layout = tracefs.parse(KFREE_SKB)
    assert layout.number == 2310
    assert layout.fields["location"] == (16, 8) and layout.fields["reason"] == (36, 4)
    assert layout.name_of("reason", 10) == "TCP_CSUM"
    assert layout.name_of("reason", 12) == "NETFILTER_DROP"
    assert layout.name_of("reason", 0x30005) == "0x30005"  # of a subsystem: it has no name here


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.txt")), ids=lambda path: path.stem)
def test_each_field_of_a_recorded_format_is_read(path):
    text = path.read_text()
    layout = tracefs.parse(text)
    assert len(layout.fields) == text.count("field:")
    assert f"ID: {layout.number}\n" in text


def test_values_of_a_record():
    layout = tracefs.parse(KFREE_SKB)
    record = bytearray(40)
    record[16:24] = (0xFFFFFFFF820A7F2C).to_bytes(8, "little")
    record[36:40] = (10).to_bytes(4, "little")
    assert layout.value(bytes(record), "location") == 0xFFFFFFFF820A7F2C
    assert layout.value(bytes(record), "reason") == 10
    assert layout.value(bytes(record[:38]), "reason") == 0  # cut short
    assert layout.value(bytes(record), "rx_ifindex") == 0  # no such field


def test_a_text_without_a_number_is_refused():
    with pytest.raises(ParseError, match="no ID"):
        tracefs.parse("name: kfree_skb\n")


@given(st.text())
def test_any_text_is_a_format_or_refused(text):
    with contextlib.suppress(ParseError):
        tracefs.parse(text)


@given(st.data(), st.binary(max_size=64))
def test_a_damaged_format_reads_any_record(data, record):
    start = data.draw(st.integers(0, len(KFREE_SKB)))
    end = data.draw(st.integers(start, len(KFREE_SKB)))
    try:
        layout = tracefs.parse(KFREE_SKB[:start] + KFREE_SKB[end:])
    except ParseError:
        return
    for field in layout.fields:
        assert isinstance(layout.name_of(field, layout.value(record, field)), str)
