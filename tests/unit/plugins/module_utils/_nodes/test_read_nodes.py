# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import ParseError
from ansible_collections.offload.lab.plugins.module_utils._nodes import read_nodes
from ansible_collections.offload.lab.plugins.module_utils._nodes.read_nodes import (
    mounts_of,
    parse_links,
    parse_mountinfo,
    read_mountpoint,
    read_state,
)

# Of a machine with one node; the ids, devices and options are as recorded on Linux 6.18.
MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
253 27 254:0 /run/netns /run/netns rw shared:1 - ext4 /dev/vda rw,discard
254 253 0:4 net:[4026532901] /run/netns/a-node1 rw shared:49 - nsfs nsfs rw
255 27 0:4 net:[4026532901] /run/netns/a-node1 rw shared:49 master:3 - nsfs nsfs rw
251 27 0:49 / /run/offload-lab/a-node1 rw,relatime - tmpfs offload-lab rw,mode=755
325 251 0:4 uts:[4026533108] /run/offload-lab/a-node1/uts rw - nsfs nsfs rw
326 251 0:4 mnt:[4026533107] /run/offload-lab/a-node1/mnt rw - nsfs nsfs rw
400 27 0:50 / /mnt/a\040b rw - tmpfs tmpfs rw
"""
LINKS = """[{},{"ifindex":2,"link_index":3,"ifname":"underlay0","flags":["BROADCAST","UP","LOWER_UP"],"mtu":9000,
"operstate":"UP","link_netnsid":0,"addr_info":[
{"family":"inet","local":"198.18.0.1","prefixlen":24,"scope":"global","label":"underlay0"},
{"family":"inet6","local":"fe80::1","prefixlen":64,"scope":"link"}]}]"""


def test_mountinfo():
    mounts = parse_mountinfo(MOUNTINFO)
    assert len(mounts) == 8
    assert mounts[0] == {"target": "/proc", "root": "/", "fstype": "proc"}
    assert mounts[-1]["target"] == "/mnt/a b"


def test_mountinfo_of_this_machine():
    assert "/proc" in [
        mount["target"] for mount in parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    ]


def test_what_the_mounts_say():
    nodes, homes = mounts_of(["a-node1", "a-node10"], parse_mountinfo(MOUNTINFO))
    assert nodes["a-node1"] == {
        "netns": 4026532901,
        "mounted": True,
        "mnt": 4026533107,
        "uts": 4026533108,
    }
    assert nodes["a-node10"] == {"netns": None, "mounted": False, "mnt": None, "uts": None}
    assert homes == ["a-node1"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("22 27 0:21 / /proc rw\n", 1),
        (MOUNTINFO + "22 27 0:21 -", 9),
        ("22 27 0:21 / /proc rw - ", 1),
    ],
)
def test_mountinfo_that_is_cut_off(text, line):
    with pytest.raises(ParseError) as caught:
        parse_mountinfo(text)
    assert caught.value.line == line


def test_links():
    assert parse_links(LINKS) == {
        "underlay0": {
            "ifindex": 2,
            "peer": 3,
            "mtu": 9000,
            "up": True,
            "master": None,
            "addresses": ["198.18.0.1/24"],
        }
    }
    assert parse_links("") == {}


KEYS = st.sampled_from(["ifname", "ifindex", "mtu", "flags", "addr_info", "scope"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@given(
    st.text() | JSON.map(json.dumps) | st.integers(0, len(LINKS)).map(lambda length: LINKS[:length])
)
def test_any_text_gives_links_or_our_error(text):
    try:
        links = parse_links(text)
    except ParseError as error:
        assert error.line == 1
    else:
        assert all(
            set(link) == {"ifindex", "peer", "mtu", "up", "master", "addresses"}
            for link in links.values()
        )


@given(
    st.text()
    | st.text(alphabet="0123456789 :/-[]\\netsfu\n")
    | st.integers(0, len(MOUNTINFO)).map(lambda length: MOUNTINFO[:length])
)
def test_any_text_gives_mounts_or_our_error(text):
    try:
        mounts = parse_mountinfo(text)
    except ParseError as error:
        assert 1 <= error.line <= len(text.splitlines())
    else:
        assert len(mounts) == len(text.splitlines())


def test_a_mountpoint_is_missing_present_or_ours(tmp_path):
    mountpoint = tmp_path / "place"
    assert read_mountpoint(str(mountpoint)) == "missing"
    mountpoint.mkdir()
    assert read_mountpoint(str(mountpoint)) == "present"
    (mountpoint / ".offload-lab-mountpoint").touch()
    assert read_mountpoint(str(mountpoint)) == "ours"


def test_a_machine_without_any_lab(monkeypatch, tmp_path):
    monkeypatch.setattr(read_nodes, "ROOT", str(tmp_path / "offload-lab"))
    monkeypatch.setattr(read_nodes, "NETNS_FOLDER", str(tmp_path / "netns"))

    def runner(argv):
        pytest.fail(f"nothing has to be run, but this was: {argv}")

    state = read_state(runner, "unit-test", ["unit-test-node1"])
    assert (state["claims"], state["netns"], state["ports"]) == ([], [], {})
    assert not state["nodes"]["unit-test-node1"]["ready"]
