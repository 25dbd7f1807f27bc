# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens where, from recorded output of ss; and what a connection to another end shows."""

from __future__ import annotations

import socket

import pytest

from ansible_collections.offload.lab.plugins.module_utils._preflight import host

# ss -H -t -l -n -p of Debian 12 with the netperf package: its netserver listens everywhere.
SS = """\
LISTEN 0      128          0.0.0.0:22         0.0.0.0:*    users:(("sshd",pid=512,fd=3))
LISTEN 0      128             [::]:12865         [::]:*    users:(("netserver",pid=733,fd=3))
LISTEN 0      128     198.18.0.1%eth1:12866   0.0.0.0:*
"""

# The same of a lab's netserver, while other hosts connect: a new child still has its socket.
CHILD = (
    'LISTEN 602    1024    198.18.0.1:12865 0.0.0.0:* users:(("netserver",pid=17857,fd=3),'
    '("netserver",pid=15141,fd=3))\n'
)


def test_listeners_are_parsed():
    assert host.parse_listeners(SS + "nonsense\n") == [
        {"address": "0.0.0.0", "port": 22, "program": "sshd", "pids": [512]},
        {"address": "::", "port": 12865, "program": "netserver", "pids": [733]},
        {"address": "198.18.0.1", "port": 12866, "program": "", "pids": []},
    ]


@pytest.mark.parametrize(
    ("address", "port", "program"),
    [
        ("198.18.0.1", 12865, "netserver"),
        ("198.18.0.1", 12866, ""),
        ("198.18.0.2", 12866, None),
        ("198.18.0.1", 80, None),
    ],
)
def test_who_holds_a_port(monkeypatch, address, port, program):
    monkeypatch.setattr(host, "ours", lambda *_where: [])
    row = host.held(address, port, host.parse_listeners(SS))
    assert (row and row["program"]) == program


def test_a_host_without_an_address_is_asked_who_has_all():
    assert host.held(None, 12865, host.parse_listeners(SS))["program"] == "netserver"


def test_our_own_listener_is_nobody(monkeypatch):
    monkeypatch.setattr(host, "ours", lambda *_where: [733])
    assert host.held("198.18.0.1", 12865, host.parse_listeners(SS)) is None


def test_a_new_child_of_our_netserver_is_nobody_else(monkeypatch):
    rows = host.parse_listeners(CHILD)
    assert rows[0]["pids"] == [17857, 15141]
    monkeypatch.setattr(host, "ours", lambda *_where: [15141])
    assert host.held("198.18.0.1", 12865, rows) is None
    monkeypatch.setattr(host, "ours", lambda *_where: [])
    assert host.held("198.18.0.1", 12865, rows)["program"] == "netserver"


def test_a_refusal_shows_that_the_other_end_is_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert host.reach("127.0.0.1", port) == {
            "address": "127.0.0.1",
            "port": port,
            "reached": True,
            "answer": "open",
        }
    assert host.reach("127.0.0.1", port)["reached"] is True
    reached = host.reach("127.0.0.1", port, source="192.0.2.77")
    assert reached["reached"] is False and "assign" in reached["answer"]


def test_a_closed_udp_port_refuses_and_an_open_one_is_silent(monkeypatch):
    monkeypatch.setattr(host, "PATIENCE", 0.1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        assert host.is_silent("127.0.0.1", port)
    assert not host.is_silent("127.0.0.1", port)
