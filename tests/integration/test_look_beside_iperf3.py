# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``look`` says of TSO, TX checksum offload and GRO while iperf3 runs between two namespaces: it
did not start this traffic. Each verdict has to be right in 30 of 30 runs.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._observe import traffic
from ansible_collections.offload.lab.plugins.plugin_utils._across.traffic import (
    APPLIED,
    NOT_APPLIED,
    PARTLY,
    PAST_GRO,
    offloads,
)
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import VETH, Nodes

pytestmark = [pytest.mark.usefixtures("root_required"), pytest.mark.nightly]
NAMES = (
    "beside0",
    "beside1",
)  # a tracepoint knows no namespace: other tests have devices lie0, too
SERVER = "192.0.2.2"
RUNS = 30
SECONDS = 1.2
LIMIT = 0.01  # of the host's CPU time: the module's default
PATIENCE = 10  # s until iperf3 sends
TCP = ("-b", "150M")
FULL = ("-u", "-l", "1472", "-b", "150M")  # datagrams of full size, which nothing cuts or merges
FRAGMENTS = ("-u", "-l", "8000", "-b", "150M")  # their checksums are not left to the device
FLOWING = 2000  # packets


@pytest.fixture
def nodes():
    with Nodes(VETH, "ol-beside") as pair:
        pair.rename(NAMES)
        pair.inside(0, "ping", "-c", "1", "-W", "2", SERVER)
        yield pair


@contextlib.contextmanager
def iperf3(nodes, options, port):
    """Run iperf3 between the nodes until the block ends."""
    inside = [["ip", "netns", "exec", space, "iperf3", "-p", str(port)] for space in nodes.spaces]
    with subprocess.Popen([*inside[1], "-s", "-1"], stdout=subprocess.DEVNULL) as server:
        until = time.monotonic() + PATIENCE
        while f":{port}" not in nodes.inside(1, "ss", "-Hltn"):
            assert time.monotonic() < until
            time.sleep(0.05)
        argv = [*inside[0], "-c", SERVER, "-t", "600", *options]
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as client:
            try:
                yield
            finally:
                client.kill()
                server.kill()


def packets(nodes):
    """Return how many packets the first node has sent."""
    (link,) = json.loads(nodes.inside(0, "ip", "-s", "-j", "link", "show", NAMES[0]))
    return link["stats64"]["tx"]["packets"]


@contextlib.contextmanager
def flowing(nodes, streams):
    """Run an iperf3 for each stream; begin the block when packets flow."""
    with contextlib.ExitStack() as stack:
        for port, options in enumerate(streams, 5201):
            stack.enter_context(iperf3(nodes, options, port))
        until = time.monotonic() + PATIENCE
        while packets(nodes) < FLOWING:
            assert time.monotonic() < until
            time.sleep(0.1)
        yield


def verdicts(nodes, number):
    """Return what look says of a node's device."""
    choice = traffic.CountedAt(NAMES[number], nodes.spaces[number])
    traced = traffic.watch([choice], SECONDS, LIMIT)["traced"]
    (counts,) = traced["devices"].values()
    segments = traced["segments"].get(f"{choice.netns}/{choice.name}", 1.0)
    return {name: acting.verdict for name, acting in offloads(counts, segments).items()}


def different(nodes, number, offload, expected):
    """Return the verdicts of 30 runs that are not the expected one."""
    seen = [verdicts(nodes, number)[offload] for _run in range(RUNS)]
    return [verdict for verdict in seen if verdict != expected]


@pytest.mark.parametrize(
    ("tso", "streams", "expected"),
    [
        ("on", [TCP], APPLIED),
        ("on", [TCP, FULL], PARTLY),
        ("off", [TCP], NOT_APPLIED),
    ],
)
def test_tso(nodes, tso, streams, expected):
    nodes.inside(0, "ethtool", "-K", NAMES[0], "tso", tso)
    with flowing(nodes, streams):
        assert different(nodes, 0, "tso", expected) == []


@pytest.mark.parametrize(
    ("tx", "streams", "expected"),
    [
        ("on", [TCP], APPLIED),
        ("on", [TCP, FRAGMENTS], PARTLY),
        ("off", [TCP], NOT_APPLIED),
    ],
)
def test_tx_checksum(nodes, tx, streams, expected):
    nodes.inside(0, "ethtool", "-K", NAMES[0], "tso", "off", "tx", tx)
    with flowing(nodes, streams):
        assert different(nodes, 0, "tx", expected) == []


@pytest.mark.parametrize(
    ("gro", "streams", "expected"),
    [
        ("on", [TCP], APPLIED),
        ("on", [TCP, FULL], PARTLY),
        ("on", [FULL], NOT_APPLIED),
        ("off", [TCP], PAST_GRO),
    ],
)
def test_gro(nodes, gro, streams, expected):
    nodes.inside(0, "ethtool", "-K", NAMES[0], "tso", "off")
    nodes.inside(1, "ethtool", "-K", NAMES[1], "gro", gro)
    with flowing(nodes, streams):
        assert different(nodes, 1, "gro", expected) == []
