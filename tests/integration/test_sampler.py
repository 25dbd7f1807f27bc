# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packets of one device are sampled, and no other's: in a network namespace of its own."""

from __future__ import annotations

import socket

import pytest

from ansible_collections.offload.lab.plugins.module_utils._host.netns import inside
from ansible_collections.offload.lab.plugins.module_utils._observe import sampler
from ansible_collections.offload.lab.tests.support import run

NETNS = "systest-sampler"


@pytest.fixture
def namespace(root_required):
    run(["ip", "netns", "add", NETNS])
    try:
        run(
            [
                "ip",
                "-netns",
                NETNS,
                "link",
                "add",
                "sa-veth",
                "type",
                "veth",
                "peer",
                "name",
                "sa-peer",
            ]
        )
        for device in ("sa-veth", "lo"):
            run(["ip", "-netns", NETNS, "link", "set", device, "up"])
        yield
    finally:
        run(["ip", "netns", "del", NETNS])


def send_on_lo():
    with inside(NETNS), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x" * 500, ("127.0.0.1", 9))


def test_a_sample_has_no_packet_that_another_device_had_before(namespace, monkeypatch):
    opened = sampler.open_socket

    def open_and_send(*arguments, **options):
        sock = opened(*arguments, **options)
        send_on_lo()
        return sock

    monkeypatch.setattr(sampler, "open_socket", open_and_send)
    packets = sampler.sample([{"name": "sa-veth", "netns": NETNS}], 0.05)[f"{NETNS}/sa-veth"]
    assert max(packets["in"]["longest"], packets["out"]["longest"]) < 500
