# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The view of Open vSwitch's database, and the words of a transaction."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, ParseError
from ansible_collections.offload.lab.plugins.module_utils._ovs import ovs_state
from ansible_collections.offload.lab.plugins.module_utils._ovs.tables import parse_query

# What ovsdb-tool query prints for a bridge with a tunnel, shortened.
QUERY = """[{"rows":[{"_uuid":["uuid","r"],"external_ids":["map",[["offload-lab","started"]]]}]},
{"rows":[{"_uuid":["uuid","b"],"name":"br-int","external_ids":["map",[["offload-lab","switch"]]],
"ports":["set",[["uuid","p1"],["uuid","p2"]]]},{"_uuid":["uuid","c"],"name":"br-ex","ports":["uuid","p3"],
"external_ids":["map",[]]}]},
{"rows":[{"_uuid":["uuid","p1"],"name":"vxlan0","interfaces":["uuid","i1"],"tag":["set",[]],"protected":true,
"other_config":["map",[]],"external_ids":["map",[["offload-lab","tunnel"],["x","1"]]]},
{"_uuid":["uuid","p2"],"name":"bond0","interfaces":["set",[["uuid","i2"],["uuid","i1"]]],"tag":7,"protected":false,
"other_config":["map",[]],"external_ids":["map",[]]},
{"_uuid":["uuid","p3"],"name":"br-ex","interfaces":["uuid","i3"],"external_ids":["map",[]]}]},
{"rows":[{"_uuid":["uuid","i1"],"type":"vxlan","options":["map",[["key","10"]]]},{"_uuid":["uuid","i2"],"type":""}]}]"""


@pytest.fixture(name="state")
def _state():
    return ovs_state.state_of(parse_query(QUERY), running=False)


def test_ports_know_their_bridge_and_interface(state):
    assert dict((name, port["bridge"]) for name, port in state["ports"].items()) == {
        "vxlan0": "br-int",
        "bond0": "br-int",
        "br-ex": "br-ex",
    }
    assert ovs_state.summary(state["ports"]["vxlan0"]) == {
        "type": "vxlan",
        "options": {"key": "10"},
        "other_config": {},
        "external_ids": {"x": "1"},
        "protected": True,
        "tag": None,
        "trunks": [],
        "owner": "tunnel",
    }
    assert ovs_state.summary(state["ports"]["bond0"])["tag"] == 7
    assert state["ports"]["br-ex"]["interface"] == {}, "a row that is missing is no reason to fail"


def test_complaints():
    broken = {"interface": {"error": "could not open network device x (No such device)"}}
    state = {"ports": {"x": broken, "y": {"interface": {"error": []}}, "z": {"interface": {}}}}
    assert ovs_state.complaint(state, ["absent", "y", "z"]) is None
    assert ovs_state.complaint(state, ["y", "x"]).startswith("x: could not open")


def test_owners(state):
    assert ovs_state.owner_of(state["root"]) == "started"
    assert ovs_state.owner_of(state["bridges"]["br-ex"]) is None
    ovs_state.check_bridge(state, "br-int")
    ovs_state.check_bridge(state, "br-new")
    with pytest.raises(InputError, match="not ours.*does not change it. Set offload_lab_bridge"):
        ovs_state.check_bridge(state, "br-ex")


@pytest.mark.parametrize(
    "text", ["", "{}", '[{"error": "no such table"}]', '[{"rows": [["x"]]}]', "[" * 99999]
)
def test_what_is_no_result_is_an_error(text):
    with pytest.raises(ParseError):
        parse_query(text)


def test_a_transaction():
    step = ovs_state.transaction([["del-port", "br-int", "a"], ["del-port", "br-int", "b"]])
    assert step.argv == [
        "ovs-vsctl",
        "--timeout=60",
        "del-port",
        "br-int",
        "a",
        "--",
        "del-port",
        "br-int",
        "b",
    ]
    assert "--no-wait" in ovs_state.transaction([["del-br", "br-int"]], wait=False).argv


@pytest.mark.parametrize(
    ("text", "word"), [("10", '"10"'), (10, '"10"'), ('a "b"', '"a \\"b\\""'), ("{x}", '"{x}"')]
)
def test_values_are_quoted(text, word):
    assert ovs_state.quoted(text) == word
