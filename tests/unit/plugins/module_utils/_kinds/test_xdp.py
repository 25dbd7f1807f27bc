# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kind xdp: what ip lists of programs, and what becomes of a level."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds.xdp import XDP, programs_of

# iproute2 6.1 on Linux 6.18
OURS = {"id": 3212, "name": "offload_lab", "tag": "614b434cd8324ecc", "jited": 1}
THEIRS = {"id": 7, "name": "cil_xdp_entry", "tag": "aaaa", "jited": 1}
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["xdp", "mode", "prog", "attached", "name"]), inner)
    ),
    max_leaves=8,
)


def row(*programs):
    attached = [{"mode": mode, "prog": program} for mode, program in programs]
    summary = dict(attached[0], mode=attached[0]["mode"] if len(attached) == 1 else 4)
    return {"ifname": "eth0", "xdp": {**summary, "attached": attached}}


class Reader:
    """Answers as a node whose ip lists this link, and whose kernel knows this name."""

    def __init__(self, link, name=None):
        self.link = link
        self.name = name

    def read_output(self, argv, netns):
        return json.dumps([self.link]), None

    def read_program_name(self, number):
        return self.name


def state(link, name=None):
    return XDP.read({"eth0": ["program"]}, None, Reader(link, name))["eth0"]


@pytest.mark.parametrize(
    "link, level",
    [({"ifname": "eth0"}, "off"), (row((2, OURS)), "generic"), (row((1, OURS)), "native")],
)
def test_levels(link, level):
    assert state(link) == {"supported": True, "current": {"program": level}}


@pytest.mark.parametrize(
    "link, name",
    [
        (row((1, THEIRS)), "'cil_xdp_entry'"),
        (row((2, OURS), (1, THEIRS)), "'cil_xdp_entry'"),
        (row((2, {"id": 9})), "None"),
    ],
)
def test_a_program_of_the_host_is_left_alone(link, name):
    reason = state(link)["reason"]
    assert reason == f"the host has an XDP program of its own, {name}"
    asked = {"xdp": {"program": "off"}}
    plan = XDP.plan(asked, state(link), "eth0", True)
    assert plan["change"] == {} and plan["fixed"]["program"]["reason"] == reason
    with pytest.raises(InputError, match="cannot be set here"):
        XDP.plan(asked, state(link), "eth0", False)


def test_an_old_ip_lists_no_names():
    assert state(row((2, {"id": 9})), "offload_lab")["current"] == {"program": "generic"}


def test_a_program_in_the_card():
    assert "offloaded" in state(row((3, OURS)))["reason"]


def test_what_is_called():
    [call] = XDP.calls({"program": "native"}, "eth0")
    assert call == (["bpf", "xdp", "eth0", "native"], "set_xdp", ("eth0", "native"))
    assert XDP.checked("program", False, {}, "eth0") == "off"
    with pytest.raises(InputError, match="is not a mode of XDP"):
        XDP.checked("program", "fast", {}, "eth0")
    with pytest.raises(ValueError, match="one of off, generic, native"):
        XDP.value("on")


def test_a_driver_without_native_xdp():
    plan = XDP.plan({"xdp": {"program": "native"}}, state({"ifname": "eth0"}), "eth0", False)
    assert "takes no native" in XDP.refused(plan, state({"ifname": "eth0"}))["program"]["reason"]
    assert XDP.refused(plan, state(row((1, OURS)))) == {}


@given(st.dictionaries(st.sampled_from(["xdp", "ifname"]), VALUES))
def test_any_row_is_read(link):
    for program in programs_of(link):
        assert isinstance(program["mode"], str)
    assert state({**link, "ifname": "eth0"})["supported"] in (True, False)
