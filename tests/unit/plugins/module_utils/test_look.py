# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import io

import pytest

from ansible_collections.offload.lab.plugins.module_utils import _look

PARAMS = {"paths": [{"name": "physical", "address": "198.18.0.2", "local_address": "198.18.0.1", "port": 12865,
                     "client_devices": [{"name": "eth0"}], "server_devices": [{"name": "eth0"}]}],
          "tests": ["TCP_STREAM"], "seconds": 0.1, "vxlan_port": 4789}


def seen(sent, received=0):
    return {"eth0": {"out": {"bytes": sent}, "in": {"bytes": received}}}


class Stream(object):
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


class Probe(object):
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
        rest = list(counted)
        monkeypatch.setattr(_look, "_bytes", lambda _device: rest.pop(0) if rest else 0)
        monkeypatch.setattr(_look._runner, "start", lambda *args, **options: stream or Stream())
        monkeypatch.setattr(_look._sampler, "sample", lambda *args: seen(client.pop(0) if client else 0))
        return _look.look(PARAMS, Probe(server))["physical"]["TCP_STREAM"]
    return call


def test_one_sample_is_enough_where_traffic_runs(looked):
    assert looked([500000], [500000]) == {"client": seen(500000), "server": seen(500000)}


def test_a_stream_that_stands_still_is_looked_at_again(looked):
    assert looked([500000, 500000, 600000], [0, 3000, 600000])["server"] == seen(600000)


def test_the_last_sample_counts_where_a_stream_never_moves(looked):
    sizes = [60] * _look.TRIES
    assert looked(sizes, sizes)["client"] == seen(60)


def test_of_devices_that_are_alike_one_must_see_traffic():
    def passed(**sizes):
        found = {name: {"out": {"bytes": size}, "in": {"bytes": 0}} for name, size in sizes.items()}
        return _look._traffic_everywhere(devices, found, False)

    devices = [{"name": "a", "alike": True}, {"name": "b", "alike": True}, {"name": "c"}]
    assert passed(a=0, b=500000, c=500000) and passed(a=500000, b=0, c=500000)
    assert not passed(a=0, b=0, c=500000) and not passed(a=500000, b=500000, c=0)


def test_a_stream_that_ended_is_an_error(looked):
    assert looked([0], [0], Stream("no route\n")) == {"error": "no route"}


def test_a_trial_begins_when_the_stream_has_drained(looked, monkeypatch):
    slept = []
    monkeypatch.setattr(_look.time, "sleep", slept.append)
    looked([500000], [500000], counted=[0, 900000, 1100000, 1150000, 2000000])
    assert slept == [_look.SETTLE] + 3 * [_look.QUIET]


def test_a_device_that_others_use_is_not_waited_for(looked, monkeypatch):
    monkeypatch.setattr(_look, "DRAIN", 0.02)
    monkeypatch.setattr(_look.time, "sleep", lambda _seconds: None)
    assert looked([500000], [500000], counted=range(0, 10 ** 12, 10 ** 6))["client"] == seen(500000)


@pytest.mark.parametrize("name, count", [("eth1", 3307), ("eth10", 40), ("eth2", 0)])
def test_bytes_of_a_device_are_those_received_and_sent(monkeypatch, name, count):
    text = ("Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame ...|bytes packets ...\n"
            " eth10:      40  1 0 0 0 0 0 0   0 0 0 0 0 0 0 0\n  eth1:    3000 12 0 0 0 0 0 0 307 5 0 0 0 0 0 0\n")
    monkeypatch.setattr(_look, "open", lambda _path: io.StringIO(text), raising=False)
    assert _look._bytes({"name": name}) == count


@pytest.fixture
def looked_both_ways(monkeypatch):
    """Look with streams both ways, or one by one: the client's samples, each with the tests that ran meanwhile."""
    def call(samples, ended=()):
        running, asked = [], []

        def start(argv, *_args, **_options):
            running.append(argv[argv.index("-t") + 1])
            return Stream("no route\n" if running[-1] in ended else None)

        def sample(*_args):
            asked.append(tuple(running))
            running.clear()
            return samples.pop(0)

        monkeypatch.setattr(_look._runner, "start", start)
        monkeypatch.setattr(_look._sampler, "sample", sample)
        monkeypatch.setattr(_look, "_bytes", lambda _device: 0)
        monkeypatch.setattr(Probe, "receive", lambda _probe: seen(500000, 500000))
        return _look.look(dict(PARAMS, tests=["TCP_STREAM", "TCP_MAERTS"]), Probe([]))["physical"], asked
    return call


def test_both_directions_are_sampled_at_once(looked_both_ways):
    found, asked = looked_both_ways([seen(500000, 400000)])
    assert found["TCP_STREAM"] == {"client": seen(500000, 400000), "server": seen(500000, 500000)}
    assert found["TCP_MAERTS"] == found["TCP_STREAM"]
    assert asked == [("TCP_STREAM", "TCP_MAERTS")]


def test_a_stream_that_ended_is_an_error_of_its_own(looked_both_ways):
    found, asked = looked_both_ways([seen(500000)], ended=["TCP_MAERTS"])
    assert found["TCP_STREAM"]["client"] == seen(500000) and found["TCP_MAERTS"] == {"error": "no route"}
    assert len(asked) == 1


def test_where_one_stream_starves_the_other_each_is_sampled_by_itself(looked_both_ways):
    found, asked = looked_both_ways([seen(500000, 7000), seen(600000, 4000), seen(3000, 700000)])
    assert asked == [("TCP_STREAM", "TCP_MAERTS"), ("TCP_STREAM",), ("TCP_MAERTS",)]
    assert found["TCP_STREAM"]["client"] == found["TCP_MAERTS"]["client"] == seen(600000, 700000)


def test_what_belongs_to_no_direction_is_of_the_stream_that_moved_most():
    tunnel = {"eth0": dict(seen(9000, 1000)["eth0"], vnis=[]), "eth1": dict(seen(9000, 0)["eth0"], vnis=[7])}
    other = {"eth0": dict(seen(10, 90000)["eth0"], vnis=[7]), "eth1": dict(seen(0, 1)["eth0"], vnis=[])}
    merged = _look._together([{"client": tunnel, "server": tunnel}, {"client": other, "server": other}])["client"]
    assert merged == {"eth0": dict(seen(9000, 90000)["eth0"], vnis=[7]), "eth1": dict(seen(9000, 1)["eth0"], vnis=[7])}


@pytest.mark.parametrize("sent_by, received_by, enough", [("a", "b", True), ("b", "b", True), ("a", None, False)])
def test_of_devices_that_are_alike_any_may_see_the_opposite_stream(sent_by, received_by, enough):
    found = {name: {"out": {"bytes": 500000 * (name == sent_by)}, "in": {"bytes": 500000 * (name == received_by)}}
             for name in ("a", "b")}
    assert _look._traffic_everywhere([{"name": name, "alike": True} for name in found], found, True) is enough
