# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counts of packets agree with what was sent, with packet sockets, and with the counters of the
device and of its queueing discipline: real traffic between two network namespaces.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
import socket
import threading
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._host.netns import inside
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import in_thread
from ansible_collections.offload.lab.plugins.module_utils._observe import (
    crossing,
    sampler,
    tracepoints,
)
from ansible_collections.offload.lab.plugins.module_utils._observe.tracepoints import TracedDevice
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import (
    VETH,
    Nodes,
)
from ansible_collections.offload.lab.tests.support import each_day

pytestmark = pytest.mark.usefixtures("root_required")
NAMES = ("cross0", "cross1")  # a tracepoint knows no namespace: other tests have devices lie0, too
SERVER = "192.0.2.2"
PORT = 5355
UDP_SEGMENT = 103
SEGMENT = 1472
SEGMENTS = 40  # of a datagram that the device cuts
SECONDS = 2.0
ERRORS = 4  # standard errors


@pytest.fixture
def nodes():
    with Nodes(VETH, "ol-cross") as pair:
        pair.rename(NAMES)
        pair.inside(0, "tc", "qdisc", "replace", "dev", NAMES[0], "root", "pfifo")
        pair.inside(0, "ping", "-c", "1", "-W", "2", SERVER)
        yield pair


class Traffic:
    """Datagrams in a random order; a share of them is left to the device to cut."""

    def __init__(self, nodes, share):
        self.share = share
        self.cut = self.whole = 0
        self.ending = threading.Event()
        with inside(nodes.spaces[1]):
            self.receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.receiver.bind((SERVER, PORT))
        with inside(nodes.spaces[0]):
            self.sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.sender.connect((SERVER, PORT))
        self.sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SEGMENT)
        self.random = random.Random(7)

    def send(self, packets):
        for _number in range(packets):
            is_cut = self.random.random() < self.share
            self.sender.send(b"x" * (SEGMENT * (SEGMENTS if is_cut else 1)))
            self.cut += is_cut
            self.whole += not is_cut

    def _flow(self):
        while not self.ending.is_set():
            self.send(20)
            time.sleep(0.001)

    @contextlib.contextmanager
    def flowing(self):
        thread = in_thread(self._flow)
        try:
            yield
        finally:
            self.ending.set()
            thread.join()

    def close(self):
        self.sender.close()
        self.receiver.close()


@pytest.fixture(params=each_day([0.1], [0.0, 0.1, 0.5, 1.0]))
def traffic(request, nodes):
    datagrams = Traffic(nodes, request.param)
    yield datagrams
    datagrams.close()


def device_counters(nodes):
    (link,) = json.loads(nodes.inside(0, "ip", "-s", "-j", "link", "show", NAMES[0]))
    (qdisc,) = json.loads(nodes.inside(0, "tc", "-s", "-j", "qdisc", "show", "dev", NAMES[0]))
    return link["stats64"]["tx"]["packets"], qdisc["packets"]


def test_counts_are_those_of_the_device_and_its_queueing_discipline(nodes, traffic):
    tracing = tracepoints.Tracing([TracedDevice(NAMES[0], nodes.spaces[0], 1500)])
    try:
        before = device_counters(nodes)
        tracing.begin()
        traffic.send(2000)
        tracing.end()
        after = device_counters(nodes)
        counts = tracing.counted()["devices"][f"{nodes.spaces[0]}/{NAMES[0]}"]
        segments = tracing.counted()["segments"].get(f"{nodes.spaces[0]}/{NAMES[0]}", 0)
    finally:
        tracing.close()
    assert counts["cut"] == traffic.cut
    assert traffic.whole <= counts["sent_full"] + counts["cut"] - traffic.cut <= traffic.whole + 5
    assert abs(after[0] - before[0] - counts["sent"]) <= 5  # neighbour discovery may be outside
    # The qdisc counts the segments of a packet that is to be cut.
    in_segments = counts["sent"] - counts["cut"] + counts["cut"] * segments
    assert abs(after[1] - before[1] - in_segments) <= 5


def polled(nodes):
    """Return the packets that the second device has given to GRO, from the counters of its driver."""
    shown = nodes.inside(1, "ethtool", "-S", NAMES[1])
    return sum(map(int, re.findall(r"rx_queue_\d+_xdp_packets: (\d+)", shown)))


def test_counts_are_those_of_ethtool(nodes, traffic):
    """A veth with GRO, whose peer has no TSO, counts the packets of each queue, also without XDP."""
    nodes.inside(0, "ethtool", "-K", NAMES[0], "tso", "off")
    nodes.inside(1, "ethtool", "-K", NAMES[1], "gro", "on")
    key = f"{nodes.spaces[1]}/{NAMES[1]}"
    tracing = tracepoints.Tracing([TracedDevice(NAMES[1], nodes.spaces[1], 1500)])
    try:
        before = polled(nodes)
        tracing.begin()
        traffic.send(2000)
        tracing.end()
        counts = tracing.counted()["devices"][key]
        assert counts["into_gro"] >= 2000
        assert abs(polled(nodes) - before - counts["into_gro"]) <= 5
    finally:
        tracing.close()


def test_counts_in_turns_agree_with_packet_sockets_on_the_same_traffic(nodes, traffic):
    devices = [{"name": name, "netns": space} for name, space in zip(NAMES, nodes.spaces)]
    counting = crossing.Crossing(devices)
    key = f"{nodes.spaces[0]}/{NAMES[0]}"
    try:
        with traffic.flowing():
            began = time.monotonic()
            counting.begin()
            sampled = sampler.sample([devices[0]], SECONDS, both_ways=False)[key]["out"]
            time.sleep(SECONDS)
            crossed = counting.end()
            elapsed = time.monotonic() - began
        counts = crossed["devices"][key]
    finally:
        counting.close()
    share = traffic.cut / (traffic.cut + traffic.whole)
    error_of_share = math.sqrt(share * (1 - share) / (counts["sent"] / crossing.PERIOD))
    others = 2 * crossing.PERIOD / counts["sent"]  # neighbour discovery may be among the records
    assert abs(counts["cut"] / counts["sent"] - share) <= ERRORS * error_of_share + others
    # A packet socket gives shares of bytes: the share of packets follows from it.
    share_of_bytes = sampled["super_share"]
    super_packets = share_of_bytes / (share_of_bytes + (1 - share_of_bytes) * SEGMENTS)
    error = math.sqrt(share * (1 - share) * (1 / sampled["packets"] + error_of_share**2))
    assert abs(counts["cut"] / counts["sent"] - super_packets) <= ERRORS * error + others
    checksums = counts["checksum_left"] / counts["sent"]
    assert abs(checksums - sampled["csum_not_ready_share"]) <= 0.01 + others
    assert crossed["cost_s"] <= 0.01 * elapsed
    received = crossed["devices"][f"{nodes.spaces[1]}/{NAMES[1]}"]["received"]
    assert abs(received / counts["sent"] - 1) <= ERRORS * math.sqrt(
        2 * crossing.PERIOD / counts["sent"]
    )
