# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where packets of a dead path were last seen, from the records of both ends."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._report import broken

WAY = ("pod/eth0", "vethpod", "flannel.1", "underlay0")  # from an end to the wire


def exchange(peer, out, back, **more):
    """Return a node's record; ``out`` and ``back`` say how many devices passed the packets, from the end
    and from the wire.
    """
    count = len(WAY)
    devices = [
        {
            "device": name,
            "out": 310 if index < out else 3,
            "back": 305 if index >= count - back else 0,
        }
        for index, name in enumerate(WAY)
    ]
    exchange_kept = {
        "path": "pods",
        "peer": peer,
        "ping": False,
        "tcp": False,
        "sent": 300,
        "arrived": 0,
    }
    return {**exchange_kept, "devices": devices, **more}


@pytest.mark.parametrize(
    "out, back, message",
    [
        (4, 2, "last seen at flannel.1 of node2."),  # a firewall behind the tunnel
        (4, 1, "last seen at underlay0 of node2."),  # a wrong VNI
        (4, 0, "last seen at underlay0 of node1."),  # the wire
        (3, 0, "last seen at flannel.1 of node1."),
        (0, 0, "no device of node1 counted them."),
    ],
)
def test_the_last_device_is_named(out, back, message):
    by_node = {"node1": [exchange("node2", out, 0)], "node2": [exchange("node1", 0, back)]}
    text = broken.sentences("pods", by_node)
    assert text.startswith(" As found, neither ping nor TCP passed. From node1 to node2 0 of 300")
    assert message in text
    assert broken.sentences("other", by_node) == ""


def test_what_passes_is_said():
    by_node = {
        "node1": [exchange("node2", 4, 4, ping=True, arrived=300)],
        "node2": [exchange("node1", 4, 4, ping=True, arrived=299)],
    }
    assert broken.sentences("pods", by_node) == (
        " As found, ping passed. From node1 to node2 299 of 300 datagrams arrived. From node2 to "
        "node1 300 of 300 datagrams arrived."
    )
    passing = {"node1": [exchange("node2", 0, 0, ping=True, tcp=True, sent=0)]}
    assert broken.sentences("pods", passing) == ""


def test_what_one_end_alone_knows_is_said():
    text = broken.sentences("pods", {"node1": [exchange("node2", 0, 0, sent=0)]})
    assert "no datagram left: node1 has no route" in text
    text = broken.sentences("pods", {"node1": [exchange("node2", 4, 0)], "node2": []})
    assert "300 datagrams were sent; node2 did not count them." in text


def test_the_records_are_those_of_the_manifest():
    exchange_made = exchange("node2", 4, 0)
    manifest = {
        "nodes": {"node1": {"before": {"exchanges": [exchange_made]}}, "node2": {"before": {}}}
    }
    assert broken.exchanges_of(manifest) == {"node1": [exchange_made], "node2": []}
    assert broken.exchanges_of(None) == {}
