# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._ethtool.settings import (
    FIELDS,
    check_letters,
    parse_flow_hash,
    parse_rss,
)
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

HASHED = "UDP over IPV4 flows use these fields for computing Hash flow key:\n"


@pytest.mark.parametrize(
    "text,letters",
    [
        (
            HASHED
            + "IP SA\nIP DA\nL4 bytes 0 & 1 [TCP/UDP src port]\nL4 bytes 2 & 3 [TCP/UDP dst port]\n\n",
            "sdfn",
        ),
        ("For RSS context 1:\n" + HASHED + "IP DA\n", "d"),
        (HASHED + "None\n", ""),
        ("UDP over IPV4 flows - All matching flows discarded on RX\n", "r"),
        ("Cannot get RX network flow hashing options: Operation not supported\n", None),
        ("", None),
    ],
)
def test_hash_fields(text, letters):
    assert parse_flow_hash(text) == letters


def test_recorded_hash_fields():
    text = (corpus_dir() / "ethtool_n" / "arthur2018_eth0_udp4_2tuple.txt").read_text(
        encoding="utf-8"
    )
    assert parse_flow_hash(text) == "sd"


@pytest.mark.parametrize(
    "name,device,expected,functions",
    [
        ("arthur2018_eth3_2rings.txt", "eth3", (2, 32, 2), {}),
        (
            "arthur2022_eth0_40rings.txt",
            "eth0",
            (40, 56, 40),
            {"toeplitz": False, "xor": True, "crc32": False},
        ),
        (
            "arthur2022impl_eth0_40rings.txt",
            "eth0",
            (40, 128, 40),
            {"toeplitz": False, "xor": True, "crc32": False},
        ),
    ],
)
def test_recorded_tables(name, device, expected, functions):
    text = (corpus_dir() / "ethtool_x" / name).read_text(encoding="utf-8")
    assert list(parse_rss(text)) == [device]
    table = parse_rss(text)[device]
    assert (table["rings"], len(table["indirection"]), len(set(table["indirection"]))) == expected
    assert (table["key"], table["functions"]) == (None, functions)


def test_a_table_without_entries():
    text = (
        "RX flow hash indirection table for eth0 with 1 RX ring(s):\nOperation not supported\nRSS hash key:\n"
        "6d:5a:56\nRSS hash function:\n    toeplitz: on\n"
    )
    assert parse_rss(text) == {
        "eth0": {"rings": 1, "indirection": [], "key": "6d:5a:56", "functions": {"toeplitz": True}}
    }


@given(st.sets(st.sampled_from([letter for letter, _line in FIELDS])))
def test_letters_are_read_back(letters):
    text = HASHED + "\n".join(line for letter, line in FIELDS if letter in letters)
    assert set(parse_flow_hash(text)) == letters


@pytest.mark.parametrize("letters", ["sdx", "SD", "s d"])
def test_unknown_letters(letters):
    with pytest.raises(InputError, match="eth0"):
        check_letters(letters, "eth0")


def test_letters_in_any_order():
    assert check_letters("nfds", "eth0") == "sdfn"
    assert check_letters("", "eth0") == ""


@given(
    st.lists(
        st.one_of(
            st.just("RX flow hash indirection table for eth0 with 2 RX ring(s):"),
            st.just("toeplitz: on"),
            st.just("ab:cd"),
            st.builds(
                "{0}: {1}".format,
                st.integers(),
                st.lists(st.integers()).map(lambda row: " ".join(map(str, row))),
            ),
            st.text(),
        ),
        max_size=20,
    ).map("\n".join)
)
def test_any_text_gives_tables(text):
    assert parse_flow_hash(text) is None or set(parse_flow_hash(text)) <= set("mvtsdfnelr")
    for table in parse_rss(text).values():
        assert all(isinstance(ring, int) for ring in table["indirection"])
