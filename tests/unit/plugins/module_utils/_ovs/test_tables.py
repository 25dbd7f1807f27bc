# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OVSDB parser: sets, maps and UUIDs, recorded tables, and any text at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import ParseError
from ansible_collections.offload.lab.plugins.module_utils._ovs.tables import (
    optional,
    parse_query,
    parse_tables,
)
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

VALUES = [
    ("x", "x"),
    (7, 7),
    (True, True),
    (["uuid", "a-b"], "a-b"),
    (["named-uuid", "row1"], "row1"),
    (["set", []], []),
    (["set", ["a", ["uuid", "c"]]], ["a", "c"]),
    (["map", []], {}),
    (["map", [["key", "10"], ["n", 3]]], {"key": "10", "n": 3}),
    (["map", [[3, ["uuid", "u"]]]], {3: "u"}),
]


def document(*values):
    return json.dumps(
        {"data": [list(values)], "headings": [f"c{number}" for number in range(len(values))]}
    )


@pytest.mark.parametrize(("raw", "value"), VALUES)
def test_values(raw, value):
    assert parse_tables(document(raw)) == [[{"c0": value}]]


def test_several_tables_and_their_blank_lines():
    text = "\n" + document(1) + "\n\n" + document(2, 3) + "\n"
    assert parse_tables(text) == [[{"c0": 1}], [{"c0": 2, "c1": 3}]]


def test_no_text_has_no_table():
    assert parse_tables(" \n") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ovs-vsctl: unix:db.sock: database connection failed", 1),
        (document(1) + "\n" + document(2)[:-3], 2),
        (document(1) + "\n\n[]", 3),
        ('{"data": [[1, 2]], "headings": ["a"]}', 1),
        ('{"data": [[["set", 5]]], "headings": ["a"]}', 1),
        ('{"data": [[["map", [[1]]]]], "headings": ["a"]}', 1),
        ('{"data": [[["uuid"]]], "headings": ["a"]}', 1),
        ('{"data": [[null]], "headings": ["a"]}', 1),
        ('{"data": 3, "headings": ["a"]}', 1),
        ("[" * 100000, 1),
    ],
)
def test_what_is_no_table_is_an_error_with_its_line(text, line):
    with pytest.raises(ParseError) as caught:
        parse_tables(text)
    assert caught.value.line == line


def test_recorded_ports_and_interfaces():
    folder = corpus_dir() / "ovs_json"
    [ports] = parse_tables((folder / "xcpng_list_port.json").read_text())
    [interfaces] = parse_tables((folder / "xcpng_list_interface.json").read_text())
    tunnels = {row["name"]: row["options"] for row in interfaces if row["type"] == "gre"}
    assert tunnels["xapi16_iface13"] == {"key": "12", "remote_ip": "192.168.1.221"}
    by_uuid = {row["_uuid"]: row["name"] for row in interfaces}
    port = next(row for row in ports if row["name"] == "xapi16_port13")
    assert by_uuid[port["interfaces"]] == "xapi16_iface13"
    assert (port["protected"], optional(port["tag"])) == (False, None)


ATOMS = st.one_of(
    st.text(), st.integers(), st.booleans(), st.uuids().map(str).map(lambda text: ["uuid", text])
)


def python(atom):
    return atom[1] if isinstance(atom, list) else atom


@given(st.lists(ATOMS), st.dictionaries(st.text(), ATOMS))
def test_any_set_and_map_come_back(atoms, mapping):
    [[row]] = parse_tables(
        document(["set", atoms], ["map", [list(item) for item in mapping.items()]])
    )
    assert row == {
        "c0": [python(atom) for atom in atoms],
        "c1": {key: python(atom) for key, atom in mapping.items()},
    }


JSON = st.recursive(
    st.one_of(st.none(), st.text(max_size=5), st.integers()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "headings", "set", "map"]), inner)
    ),
    max_leaves=20,
)


@given(
    st.one_of(
        st.text(),
        JSON.map(json.dumps),
        st.lists(JSON, max_size=2).map(
            lambda rows: json.dumps({"data": [rows], "headings": ["a"] * len(rows)})
        ),
    )
)
def test_any_text_is_tables_or_our_error(text):
    try:
        tables = parse_tables(text)
    except ParseError:
        return
    assert all(isinstance(row, dict) for table in tables for row in table)


@given(
    st.one_of(
        st.text(),
        st.lists(st.dictionaries(st.sampled_from(["rows", "error"]), JSON)).map(json.dumps),
    )
)
def test_any_text_is_the_result_of_a_query_or_our_error(text):
    try:
        tables = parse_query(text)
    except ParseError:
        return
    assert all(isinstance(row, dict) for table in tables for row in table)
