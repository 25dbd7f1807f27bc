# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import io
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._observe import evidence

PARAMS = {
    "paths": [
        {
            "name": "physical",
            "address": "198.18.0.2",
            "local_address": "198.18.0.1",
            "port": 12865,
            "client_devices": [{"name": "eth0"}],
            "server_devices": [{"name": "eth0"}],
        }
    ],
    "tests": ["TCP_STREAM"],
    "seconds": 0.1,
    "vxlan_port": 4789,
}


def seen(sent, received=0):
    return {"eth0": {"out": {"bytes": sent}, "in": {"bytes": received}}}


class Stream:
    """A netperf that runs, or has ended with a message."""

    def __init__(self, message=None):
        self.message = message
        self.stdout = io.StringIO()

    def poll(self):
        return None if self.message is None else 1

    def kill(self):
        pass

    def communicate(self):
        self.stdout.read()  # as subprocess does: an error when it was closed before
        self.stdout.close()
        return (self.message or "", "")


class Probe:
    """A server that saw the given numbers of bytes, one a sample."""

    def __init__(self, sizes):
        self.sizes = list(sizes)

    def send(self, op, **_request):
        assert op == "sample"

    def receive(self):
        return seen(self.sizes.pop(0))


@pytest.fixture
def looked(monkeypatch):
    def call(client, server, stream=None, counted=()):
        rest = [0, *counted]
        monkeypatch.setattr(evidence, "_bytes", lambda _path: rest.pop(0) if rest else 0)
        monkeypatch.setattr(evidence, "_wait_for_traffic", lambda *args: None)
        monkeypatch.setattr(evidence.runner, "start", lambda *args, **options: stream or Stream())
        monkeypatch.setattr(
            evidence.sampler, "sample", lambda *args: seen(client.pop(0) if client else 0)
        )
        return evidence.sample(PARAMS, Probe(server))["physical"]["TCP_STREAM"]

    return call


def test_one_sample_is_enough_where_traffic_runs(looked):
    assert looked([500000], [500000]) == {"client": seen(500000), "server": seen(500000)}


def test_a_stream_that_stands_still_is_sampled_again(looked):
    assert looked([500000, 500000, 600000], [0, 3000, 600000])["server"] == seen(600000)


def test_the_last_sample_counts_where_a_stream_never_moves(looked):
    sizes = [60] * evidence.TRIES
    assert looked(sizes, sizes)["client"] == seen(60)


def test_of_devices_that_are_alike_one_must_see_traffic():
    def passed(**sizes):
        packets_passed = {
            name: {"out": {"bytes": size}, "in": {"bytes": 0}} for name, size in sizes.items()
        }
        return evidence._traffic_everywhere(devices, packets_passed, False)

    devices = [{"name": "a", "alike": True}, {"name": "b", "alike": True}, {"name": "c"}]
    assert passed(a=0, b=500000, c=500000) and passed(a=500000, b=0, c=500000)
    assert not passed(a=0, b=0, c=500000) and not passed(a=500000, b=500000, c=0)


def test_a_stream_that_ended_is_an_error(looked):
    assert looked([0], [0], Stream("no route\n")) == {"error": "no route"}


def test_a_trial_begins_when_the_stream_has_drained(looked, monkeypatch):
    slept = []
    monkeypatch.setattr(evidence.time, "sleep", slept.append)
    # It drains, pauses for one check, drains again, and is quiet for two.
    looked([500000], [500000], counted=[0, 900000, 910000, 1100000, 1120000, 1140000, 2000000])
    assert slept == 5 * [evidence.QUIET]


def test_a_stream_that_begins_late_is_waited_for(monkeypatch):
    """On an emulated CPU netperf needs seconds before its first packet."""
    moved = iter([60, 120, 120, 60 + evidence.TRAFFIC])
    looks = []
    monkeypatch.setattr(evidence.time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(evidence, "_bytes", lambda _path: looks.append(next(moved)) or looks[-1])
    evidence._wait_for_traffic({}, 60, [Stream()])
    assert looks == [60, 120, 120, 60 + evidence.TRAFFIC]


def test_a_stream_that_has_ended_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(evidence, "_bytes", lambda _path: 0)
    began = time.monotonic()
    evidence._wait_for_traffic({}, 0, [Stream(), Stream("no route")])
    assert time.monotonic() - began < evidence.BEGIN


def test_a_device_that_others_use_is_not_waited_for(looked, monkeypatch):
    monkeypatch.setattr(evidence, "DRAIN", 0.02)
    monkeypatch.setattr(evidence.time, "sleep", lambda _seconds: None)
    assert looked([500000], [500000], counted=range(0, 10**12, 10**6))["client"] == seen(500000)


@pytest.mark.parametrize("name, count", [("eth1", 3307), ("eth10", 40), ("eth2", 0)])
def test_bytes_of_a_device_are_those_received_and_sent(monkeypatch, name, count):
    text = (
        "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame ...|bytes packets ...\n"
        " eth10:      40  1 0 0 0 0 0 0   0 0 0 0 0 0 0 0\n  eth1:    3000 12 0 0 0 0 0 0 307 5 0 0 0 0 0 0\n"
    )
    monkeypatch.setattr(evidence, "open", lambda _path: io.StringIO(text), raising=False)
    assert evidence._bytes({"client_devices": [{"name": name}]}) == count


@pytest.fixture
def looked_both_ways(monkeypatch):
    """Look with streams both ways, or one by one: the client's samples, each with the tests that
    ran meanwhile.
    """

    def call(samples, ended=()):
        running = []
        calls = []

        def start(argv, *_args, **_options):
            running.append(argv[argv.index("-t") + 1])
            return Stream("no route\n" if running[-1] in ended else None)

        def sample(*_args):
            calls.append(tuple(running))
            running.clear()
            return samples.pop(0)

        monkeypatch.setattr(evidence.runner, "start", start)
        monkeypatch.setattr(evidence.sampler, "sample", sample)
        monkeypatch.setattr(evidence, "_bytes", lambda _path: 0)
        monkeypatch.setattr(evidence, "_wait_for_traffic", lambda *args: None)
        monkeypatch.setattr(Probe, "receive", lambda _probe: seen(500000, 500000))
        return evidence.sample(dict(PARAMS, tests=["TCP_STREAM", "TCP_MAERTS"]), Probe([]))[
            "physical"
        ], calls

    return call


def test_both_directions_are_sampled_together(looked_both_ways):
    looks, calls = looked_both_ways([seen(500000, 400000)])
    assert looks["TCP_STREAM"] == {"client": seen(500000, 400000), "server": seen(500000, 500000)}
    assert looks["TCP_MAERTS"] == looks["TCP_STREAM"]
    assert calls == [("TCP_STREAM", "TCP_MAERTS")]


def test_a_stream_that_ended_is_an_error_of_its_own(looked_both_ways):
    looks, calls = looked_both_ways([seen(500000)], ended=["TCP_MAERTS"])
    assert looks["TCP_STREAM"]["client"] == seen(500000) and looks["TCP_MAERTS"] == {
        "error": "no route"
    }
    assert len(calls) == 1


def test_where_one_stream_starves_the_other_each_is_sampled_by_itself(looked_both_ways):
    looks, calls = looked_both_ways([seen(500000, 7000), seen(600000, 4000), seen(3000, 700000)])
    assert calls == [("TCP_STREAM", "TCP_MAERTS"), ("TCP_STREAM",), ("TCP_MAERTS",)]
    assert looks["TCP_STREAM"]["client"] == looks["TCP_MAERTS"]["client"] == seen(600000, 700000)


def test_what_belongs_to_no_direction_is_of_the_stream_that_moved_most():
    tunnel = {
        "eth0": dict(seen(9000, 1000)["eth0"], vnis=[]),
        "eth1": dict(seen(9000, 0)["eth0"], vnis=[7]),
    }
    other = {
        "eth0": dict(seen(10, 90000)["eth0"], vnis=[7]),
        "eth1": dict(seen(0, 1)["eth0"], vnis=[]),
    }
    merged = evidence._together(
        [{"client": tunnel, "server": tunnel}, {"client": other, "server": other}]
    )["client"]
    assert merged == {
        "eth0": dict(seen(9000, 90000)["eth0"], vnis=[7]),
        "eth1": dict(seen(9000, 1)["eth0"], vnis=[7]),
    }


@pytest.mark.parametrize(
    "sent_by, received_by, enough", [("a", "b", True), ("b", "b", True), ("a", None, False)]
)
def test_of_devices_that_are_alike_any_may_see_the_opposite_stream(sent_by, received_by, enough):
    sampled = {
        name: {
            "out": {"bytes": 500000 * (name == sent_by)},
            "in": {"bytes": 500000 * (name == received_by)},
        }
        for name in ("a", "b")
    }
    assert (
        evidence._traffic_everywhere(
            [{"name": name, "alike": True} for name in sampled], sampled, True
        )
        is enough
    )


def test_a_forwarder_is_sampled_with_both_ends_and_datagrams_after_streams(monkeypatch):
    started = []
    path = {**PARAMS["paths"][0], "forwarder_devices": [{"name": "eth0"}]}
    monkeypatch.setattr(evidence, "_bytes", lambda _path: 0)
    monkeypatch.setattr(evidence, "_wait_for_traffic", lambda *args: None)
    monkeypatch.setattr(
        evidence.runner, "start", lambda argv, *args, **options: started.append(argv) or Stream()
    )
    sizes = [500000, 700000]
    monkeypatch.setattr(evidence.sampler, "sample", lambda *args: seen(sizes.pop(0)))
    datagrams = {"test": "UDP_STREAM", "engine": "sockets", "message_size": 1400, "streams": 4}
    params = {**PARAMS, "paths": [path], "datagrams": datagrams}
    server = Probe([500000, 600000])
    forwarder = Probe([500000, 650000])
    sampled = evidence.sample(params, server, forwarder)["physical"]["TCP_STREAM"]
    assert list(sampled) == ["client", "server", "forwarder"]
    assert sampled["forwarder"]["eth0"]["out"]["bytes"] == 500000
    assert sampled["forwarder"]["eth0"]["udp_out"]["bytes"] == 650000
    assert "netperf" in started[0][0] and '"message_size": 1400' in started[1][-1]
