# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions: the ends in one table, what differs between them, what changed meanwhile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.plugin_utils._report.conditions import (
    changes,
    conditions,
    differences,
    flatten,
    nodes_of,
)
from ansible_collections.offload.lab.tests.report_pages import manifest


def cells(conditions_found, title):
    return [
        row["cells"]
        for table in conditions_found.tables
        if table["title"] == title
        for row in table["rows"]
    ]


def test_changes_during_the_campaign():
    conditions_found = conditions(manifest(links={"underlay0": {"mtu": 1500, "speed_mbps": 10000}}))
    assert cells(conditions_found, "Changed between before and after") == [
        ["node2", "links.underlay0.mtu", "9000", "1500"]
    ]
    assert "1 setting was not the same after the campaign." in conditions_found.notes


def test_nodes_of_one_kernel_are_told():
    shared = manifest()
    for parts in shared["nodes"].values():
        parts["before"]["host"]["boot_id"] = "same"
    assert conditions(shared).notes[0].startswith("The nodes share one kernel")


def test_where_device_and_interrupts_are():
    link = {"numa_node": "1", "irq_affinity": {"40": "8-15", "41": "8-15"}}
    host = {"cpus": {"numa_nodes": "0-1"}}
    conditions_found = conditions(
        {"nodes": {"node1": {"before": {"host": host, "links": {"eth1": link}}}}}
    )
    assert [
        note.partition(". ")[0] for note in conditions_found.notes if note.startswith("node1")
    ] == [
        "node1: eth1 is at NUMA node 1",
        "node1: the interrupts of eth1 go to CPUs 8-15.",
    ]
    alone = {"numa_node": "-1"}
    conditions_found = conditions(
        {"nodes": {"node1": {"before": {"host": host, "links": {"eth1": alone}}}}}
    )
    assert not [note for note in conditions_found.notes if note.startswith("node1")]


def test_without_a_manifest_or_an_after():
    assert "were not recorded" in conditions(None).notes[0]
    half = manifest()
    for parts in half["nodes"].values():
        del parts["after"]
    assert "The state of the nodes after the campaign was not recorded." in conditions(half).notes


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_manifest_part_becomes_text(value):
    assert all(
        isinstance(name, str) and isinstance(text, str)
        for name, text in flatten({"a": value}).items()
    )
    conditions(
        {
            "nodes": {
                "node1": {"before": {"a": value}},
                "node2": {"before": {}, "after": {"b": value}},
            }
        }
    )


def test_the_nodes_of_tenants_have_a_table_of_their_own():
    assert [table["title"] for table in conditions(manifest(), []).tables] == [
        table["title"] for table in conditions(manifest()).tables
    ]
    table = conditions(manifest(), [("all_on", "node1", "client", 3, 41.25)]).tables[-1]
    assert (
        table["rows"] == [{"cells": ["all_on", "node1 (client)", "3", "41.2"]}]
        and "separate from the CPU time" in table["caption"]
    )


def test_a_bpf_program_that_came_or_went_is_a_change_and_its_number_is_no_difference():
    nodes = {
        name: {"before": {"programs": {"eth0": {"xdp native": {"id": number, "name": "p"}}}}}
        for name, number in (("node1", 12), ("node2", 13))
    }
    flat = nodes_of({"nodes": nodes})
    assert differences(flat) == []
    nodes["node1"]["after"] = {"host": {"kernel": "6.1"}}
    changed = changes(nodes_of({"nodes": nodes}))
    assert ("node1", "programs.eth0.xdp native.name", "p") in [row[:3] for row in changed]
