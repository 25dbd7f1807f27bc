# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a sample ends: all its time is needed only where streams are slow, or one of them stands
still.
"""

from __future__ import annotations

import itertools
import socket

import pytest

from ansible_collections.offload.lab.plugins.module_utils._observe import packets, sampler

# bytes
DATA = 9000
ACKNOWLEDGEMENT = 52
OUT, BACK = [
    packets.Packet(DATA, way, False, False, socket.IPPROTO_TCP, None, None, None)
    for way in (True, False)
]
ACK = OUT._replace(length=ACKNOWLEDGEMENT, outgoing=False)


class Socket:
    def close(self):
        pass


def next_of(stream):
    packet = next(stream)
    return packet and sampler._Heard(packet, bytes(packet.length + packets.ETHERNET))


@pytest.fixture
def sample(monkeypatch):
    """Sample devices that hear packets again and again; return the number of packets of each, and
    the seconds.
    """

    def call(heard, both_ways=True):
        clock = itertools.count()
        sockets = {name: Socket() for name in heard}
        streams = {sockets[name]: itertools.cycle(kinds or [None]) for name, kinds in heard.items()}
        now = []

        def monotonic():
            now.append(next(clock) / 1000)  # a millisecond from one look at the clock to the next
            return now[-1]

        monkeypatch.setattr(sampler, "_open_tap", lambda device: sockets[device["name"]])
        monkeypatch.setattr(sampler, "_receive", lambda tap, *_how: next_of(streams[tap]))
        monkeypatch.setattr(sampler, "read_counters", lambda _tap, _name: {})
        monkeypatch.setattr(sampler, "mtu", lambda _tap, _device: 9000)
        monkeypatch.setattr(sampler.select, "select", lambda taps, *_rest: (taps, [], []))
        monkeypatch.setattr(sampler.time, "monotonic", monotonic)
        samples = sampler.sample([{"name": name} for name in heard], 5, both_ways=both_ways)
        return {
            name: {way: sample_of_device[way]["packets"] for way in packets.WAYS}
            for name, sample_of_device in samples.items()
        }, now[-1]

    return call


def test_a_sample_ends_when_it_has_enough_of_both_streams(sample):
    sampled, seconds = sample({"underlay0": [OUT, BACK]})
    assert sampled == {"underlay0": {"out": sampler.ENOUGH, "in": sampler.ENOUGH}} and seconds < 1


def test_acknowledgements_are_no_stream(sample):
    sampled = sample({"underlay0": [OUT, ACK]})[0]
    assert sampled["underlay0"]["out"] + sampled["underlay0"]["in"] == sampler.LIMIT


def test_of_one_stream_acknowledgements_are_not_waited_for(sample):
    sampled, seconds = sample({"underlay0": [*[OUT] * 49, ACK]}, both_ways=False)
    assert (
        seconds < 1
        and sampler.ENOUGH <= sampled["underlay0"]["out"] < sampler.ENOUGH + sampler.BATCH
    )


def test_small_packets_are_not_enough(sample):
    assert (
        sample({"underlay0": [ACK, ACK._replace(outgoing=True)]}, both_ways=False)[0]["underlay0"][
            "in"
        ]
        > packets.TRAFFIC / ACKNOWLEDGEMENT / 2 - sampler.BATCH
    )


def test_a_device_that_sees_nothing_is_sampled_for_all_the_time(sample):
    sampled, seconds = sample({"underlay0": [OUT, BACK], "tenant1-veth0": []})
    assert seconds >= 5 and sampled["tenant1-veth0"] == {"out": 0, "in": 0}
    assert sampled["underlay0"] == {
        "out": sampler.ENOUGH,
        "in": sampler.ENOUGH,
    }  # and is not read meanwhile


def test_no_device_is_read_at_the_cost_of_another(sample):
    sampled = sample({"underlay0": [OUT, BACK], "tenant1-veth0": [OUT, BACK]})[0]
    assert sampled["underlay0"] == sampled["tenant1-veth0"]


def test_a_fast_device_is_read_up_to_its_limit(sample, monkeypatch):
    monkeypatch.setattr(sampler, "LIMIT", 130)
    sampled, seconds = sample({"underlay0": [OUT]})
    assert sampled["underlay0"]["out"] == 130 and seconds < 1


@pytest.mark.parametrize(
    "packet, size, is_frame",
    [
        (BACK, DATA + 14, True),
        (OUT, DATA + 14, False),
        (BACK, DATA + 13, False),  # a part is missing
        (BACK._replace(not_ready=True), DATA + 14, False),  # nobody has made its checksum yet
    ],
)
def test_only_what_arrived_whole_is_judged(packet, size, is_frame):
    assert bool(sampler._Heard(packet, bytes(size)).frame()) == is_frame
