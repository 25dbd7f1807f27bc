# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._trials import damage, guards


def snapshot(alarms=(), **errors):
    return {"errors": {name.replace("__", " "): value for name, value in errors.items()}} | {
        "alarms": list(alarms)
    }


def marks(test="TCP_STREAM", **counters):
    trial = {"workload": {"test": test}, "damage": counters}
    names = [mark["guard"] for mark in guards.marks_of(trial, {})]
    assert not any(mark["excludes"] for mark in guards.marks_of(trial, {}))
    return names


def test_only_what_rose_is_kept():
    watched = {
        "client": [snapshot(TcpInCsumErrors=5, lo__rx_errors=1), snapshot(TcpInCsumErrors=9)],
        "server": [snapshot(alarms=["before the trial"]), snapshot(UdpInErrors=2)],
    }
    assert damage.damage_of(watched) == {"client": {"counters": {"TcpInCsumErrors": 4}}}
    watched["server"][1] = snapshot(alarms=["eth0: hw csum failure"])
    assert damage.damage_of(watched)["server"] == {"alarms": ["eth0: hw csum failure"]}
    # A probe of an earlier version.
    assert damage.damage_of({"client": [{}, {}]}) == {}


@pytest.mark.parametrize(
    "counters, expected",
    [
        ({"TcpInCsumErrors": 1}, ["checksum_errors"]),
        ({"eth0 rx-csum-bad": 1}, ["checksum_errors"]),
        ({"eth0 tx_errors": 1}, ["device_errors"]),
        ({"eth0 rx_dropped": 9}, []),
        ({"eth0 rx_dropped": 6, "softnet_dropped": 4}, ["drops"]),
        ({"TcpExtTCPTimeouts": 1}, []),
        ({"TcpExtTCPTimeouts": 2}, ["timeouts"]),
        ({"softnet_squeezed": 1000, "TcpRetransSegs": 1000}, []),
    ],
)
def test_counters_become_marks(counters, expected):
    assert marks(server={"counters": counters}) == expected


def test_a_flood_of_datagrams_may_lose_some():
    assert marks("UDP_STREAM", server={"counters": {"softnet_dropped": 100}}) == []


def test_alarms_of_the_kernel_are_said():
    assert marks(client={"alarms": ["eth0: hw csum failure"]}) == ["kernel_log"]
    assert set(damage.WORDS) == {
        "checksum_errors",
        "checksum_vouched",
        "checksum_unfilled",
        "checksum_wrong",
        "device_errors",
        "drops",
        "timeouts",
        "kernel_log",
    }


@pytest.mark.parametrize(
    "counts, guard",
    [
        ({"right": 200}, None),
        ({"right": 199, "wrong": 1}, None),  # a wire may flip one bit
        ({"right": 170, "vouched": 30}, "checksum_vouched"),
        ({"right": 1, "unfilled": 2}, "checksum_unfilled"),
        ({"wrong": 2}, "checksum_wrong"),
    ],
)
def test_checksums_of_sampled_packets_become_marks(counts, guard):
    trial = {"evidence": {"packets": {"server": {"eth0": {"checksums": counts}, "lo": {}}}}}
    marks = guards.marks_of(trial, {})
    assert [mark["guard"] for mark in marks] == ([guard] if guard else [])
    for mark in marks:
        assert f"of {sum(counts.values())} packets that eth0 received" in mark["reason"]


def test_a_forwarder_drops_as_an_end_does():
    watched = {"forwarder": [snapshot(eth1__rx_dropped=5), snapshot(eth1__rx_dropped=90)]}
    damage_found = damage.damage_of(watched)
    assert damage_found == {"forwarder": {"counters": {"eth1 rx_dropped": 85}}}
    assert marks(**damage_found) == ["drops"]
