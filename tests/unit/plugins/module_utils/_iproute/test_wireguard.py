# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._iproute import discover
from ansible_collections.offload.lab.plugins.module_utils._iproute.walk import path_of

# In the format of wg(8), with keys that are none.
ALLOWED = "A=\t10.8.0.0/24 fd00::/64\nB=\t10.8.0.7/32\nC=\t(none)\n"
ENDPOINTS = "A=\t198.51.100.1:51820\nB=\t[2001:db8::7]:51820\nC=\t(none)\n"


@pytest.mark.parametrize(
    ("address", "peer", "endpoint"),
    [
        ("10.8.0.2", "A=", "198.51.100.1"),
        ("10.8.0.7", "B=", "2001:db8::7"),
        ("fd00::5", "A=", "198.51.100.1"),
    ],
)
def test_the_longest_prefix_gives_the_peer_and_its_endpoint(address, peer, endpoint):
    assert discover.peer_for(ALLOWED, address) == peer
    assert discover.endpoint_of(ENDPOINTS, peer) == endpoint


def test_who_is_no_peer_or_was_not_heard_of_has_no_endpoint():
    assert discover.peer_for(ALLOWED, "192.0.2.1") is None
    assert discover.endpoint_of(ENDPOINTS, "C=") is None


def link(name, kind, mtu):
    row = {"name": name, "kind": kind, "mtu": mtu, "master": None, "peer": None, "data": {}}
    return {**row, "index": 1, "peer_index": None}


def test_the_way_goes_on_at_the_device_that_leads_to_the_endpoint(monkeypatch):
    answers = {"allowed-ips": ALLOWED, "endpoints": ENDPOINTS}
    monkeypatch.setattr(
        discover, "run", lambda argv, check: CommandResult(argv, 0, answers[argv[3]], "")
    )
    links = {"wg0": link("wg0", "wireguard", 1420), "eth0": link("eth0", None, 1500)}
    discover._add_endpoints(links, "10.8.0.2")
    leads = {"10.8.0.2": "wg0", "198.51.100.1": "eth0"}
    way = path_of({"": links}, lambda _netns, to: leads[to], ("", "wg0"), "10.8.0.2")
    assert [step["device"] for step in way] == ["wg0", "eth0"]
    assert way[1]["how"] == "the route to the tunnel's end 198.51.100.1"


@given(st.text(), st.text())
def test_any_output_is_read(allowed, endpoints):
    peer = discover.peer_for(allowed, "10.8.0.2")
    assert peer is None or isinstance(peer, str)
    assert discover.endpoint_of(endpoints, peer or "A=") is None or peer
