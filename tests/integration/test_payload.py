# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the payload against a NIC that lies, and against one that does not."""

from __future__ import annotations

import socket

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines.payload import traffic
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import in_thread
from ansible_collections.offload.lab.plugins.module_utils._observe import sampler
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.lying_nic import clean
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import (
    DEVICES,
    VETH,
    VXLAN_SERVER,
    Nodes,
    checked,
    served,
)


def test_a_nic_that_keeps_its_word_is_clean():
    with Nodes() as nodes, served(nodes):
        assert [payload.trouble(checked(nodes, 2)) for _check in range(2)] == [None] * 2


@pytest.mark.parametrize(
    "fault, expected, cure",
    [
        ("bit_flipped:0.001:tx", payload.WRONG, ["tx", "off"]),
        ("checksum_unfilled:0.01:tx", payload.REFUSED, ["tx", "off"]),
        ("dropped:0.01:tso", payload.SEGMENTS_LOST, ["tso", "off"]),
        ("truncated:0.01:uso", payload.WRONG, ["tx-udp-segmentation", "off"]),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                ("vouched:0.01:tx", payload.WRONG, ["tx", "off"]),
                ("last_byte_zeroed:1:odd+tx", payload.WRONG, ["tx", "off"]),
                ("bit_flipped:0.01:tx", payload.WRONG, ["tx", "off"]),
                ("bit_flipped:0.01:tso", payload.WRONG, ["tso", "off"]),
                ("last_byte_zeroed:0.01:odd+tx", payload.WRONG, ["tx", "off"]),
                ("dropped:1:tso", payload.SEGMENTS_LOST, ["tso", "off"]),
            )
        ),
    ],
)
def test_a_nic_that_lies_is_found_and_its_cure_is_clean(fault, expected, cure):
    with Nodes(fault) as nodes, served(nodes):
        assert payload.trouble(checked(nodes, 2)) == expected
        nodes.ethtool(*cure)
        assert payload.trouble(checked(nodes, 2)) is None


@pytest.mark.nightly
@pytest.mark.parametrize("spot", clean.PLACES)
def test_where_nothing_is_wrong_a_campaign_says_clean(spot):
    (run,) = clean.clean_runs(spot, 1)
    assert (run.verdict, run.troubled) == (clean.CLEAN, 0)


@pytest.mark.parametrize(
    "fault, wrong",
    [
        ("honest", None),
        ("bit_flipped_late:0.1:tx", "wrong"),
        pytest.param("checksum_unfilled:0.1:tx", "wrong", marks=pytest.mark.nightly),
    ],
)
def test_checksums_are_made_again_at_the_far_end(fault, wrong):
    far = {"name": DEVICES[1], "netns": "ol-far-b"}
    with Nodes(fault, "ol-far") as nodes, served(nodes):
        check = in_thread(checked, nodes, 2)
        counts = {}
        while check.is_alive():
            sample = sampler.sample([far], 0.2)["ol-far-b/lie1"]
            for name, count in sample["checksums"].items():
                counts[name] = counts.get(name, 0) + count
        check.join()
    names_wrong = {name for name, count in counts.items() if count and name != "right"}
    assert names_wrong == ({wrong} if wrong else set())


def test_all_but_ping_fails():
    with Nodes("checksum_unfilled:1:tx+above=300") as nodes, served(nodes):
        result = checked(nodes, 1)
    assert payload.trouble(result)
    assert result["pings"] == {"small": True, "large": True}


def test_a_limit_is_kept_in_each_direction():
    with Nodes() as nodes, served(nodes):
        result = checked(nodes, rate=20)
    assert payload.trouble(result) is None
    seconds = result["elapsed_s"] / len(result["checks"])  # each has its turn
    for check in result["checks"].values():
        assert 0 < check["bytes"] * 8 / seconds / 1e6 < 25


def test_a_nic_that_lies_in_tunnels_only():
    with Nodes("checksum_unfilled:0.01:tunnel+tx", tunnel=True) as nodes:
        with served(nodes):
            assert payload.trouble(checked(nodes, 2)) is None
        with served(nodes, VXLAN_SERVER):
            assert payload.trouble(checked(nodes, 2, VXLAN_SERVER)) == payload.REFUSED
            nodes.ethtool("tx", "off")
            assert payload.trouble(checked(nodes, 2, VXLAN_SERVER)) is None


def test_a_path_that_loses_large_packets_is_told_from_an_offload():
    """Behind the far end's filter packets above 1,400 bytes are gone, and no ICMP says so."""
    rules = "add table inet ol; add chain inet ol in { type filter hook prerouting priority 0; }"
    with Nodes(name="ol-hole") as nodes, served(nodes):
        nodes.inside(1, "nft", f"{rules}; add rule inet ol in meta length > 1400 drop")
        result = checked(nodes)
        assert payload.trouble(result) == payload.TOO_LARGE
        assert result["sizes"]["forward"] == {"mtu": 9000, "largest": 1400, "said": False}
        assert result["sizes"]["reverse"]["largest"] == 9000
        assert result["pings"] == {"small": True, "large": False}
        nodes.inside(1, "nft", "delete table inet ol")
        assert payload.trouble(checked(nodes)) is None


ROUTED = """
link add left netns {0} type veth peer name to_left netns {2}
link add right netns {1} type veth peer name to_right netns {2}
-n {0} address add 198.18.95.1/24 dev left
-n {1} address add 198.18.96.1/24 dev right
-n {2} address add 198.18.95.254/24 dev to_left
-n {2} address add 198.18.96.254/24 dev to_right
-n {1} link set dev right mtu 1400
-n {2} link set dev to_right mtu 1400
-n {0} link set dev left up
-n {1} link set dev right up
-n {2} link set dev to_left up
-n {2} link set dev to_right up
-n {0} route add default via 198.18.95.254
-n {1} route add default via 198.18.96.254
"""


class Routed(Nodes):
    """The two nodes with a router between them, whose second link carries 1,400 bytes."""

    def __init__(self):
        super().__init__(name="ol-way")
        self.spaces += ("ol-way-r",)

    def _make(self):
        for space in self.spaces:
            self.run("ip", "netns", "add", space)
        for line in ROUTED.format(*self.spaces).strip().splitlines():
            self.run("ip", *line.split())
        self.inside(2, "sysctl", "-qw", "net.ipv4.ip_forward=1")


def test_a_router_that_says_that_packets_are_too_large_is_no_black_hole():
    with Routed() as nodes, served(nodes, "198.18.96.1"):
        result = checked(nodes, 1, "198.18.96.1")
        assert result["sizes"]["forward"] == {"mtu": 1500, "largest": 1400, "said": True}
        assert result["sizes"]["reverse"] == {"mtu": 1400, "largest": 1400, "said": False}
        assert payload.trouble(result) is None


def test_segments_that_a_router_drops_are_lost():
    rules = "add table inet ol; add chain inet ol on { type filter hook forward priority 0; }"
    some = "numgen random mod 1000 == 0 drop"
    with Routed() as nodes, served(nodes, "198.18.96.1"):
        nodes.inside(2, "nft", f"{rules}; add rule inet ol on meta l4proto tcp {some}")
        result = checked(nodes, 2, "198.18.96.1")
        assert payload.trouble(result) == payload.SEGMENTS_LOST


def test_a_connection_that_goes_on_by_timeouts_only_ends_soon():
    """The far end's filter drops what a device is to cut; each segment that goes alone arrives."""
    rules = "add table inet ol; add chain inet ol in { type filter hook input priority 0; }"
    with Nodes(VETH, name="ol-few") as nodes:
        nodes.rename(DEVICES)  # MTU 1500
        nodes.inside(
            1, "nft", f"{rules}; add rule inet ol in meta l4proto tcp meta length > 1500 drop"
        )
        with served(nodes):
            result = checked(nodes, 1)
    assert payload.trouble(result) == payload.STALLED
    assert payload.strikes_often(result)
    stalled = result["checks"]["tcp_forward"]
    assert stalled["stalled"] == 1 and stalled["segments_lost"] >= traffic.REPEATED
    assert result["elapsed_s"] < 2 * traffic.STALL
    for name in ("tcp_reverse", "udp_forward", "udp_reverse"):  # they are checked, too
        check = result["checks"][name]
        assert check["sent"] == check["arrived"] > 0


def test_an_answer_that_comes_too_late_is_no_trouble():
    """The sender has gone when its receiver answers: the kernel says so to the receiver."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
            gone.bind(("127.0.0.1", 0))
            sock.connect(gone.getsockname())
        traffic._send(sock, [b"seen"], 0)
        assert traffic._datagrams(sock) == []
        traffic._send(sock, [b"seen"], 0)
        traffic._send(sock, [b"seen"], 0)
