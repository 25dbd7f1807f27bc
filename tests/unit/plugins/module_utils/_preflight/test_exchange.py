# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Datagrams between two ends of this machine, and what its devices count."""

from __future__ import annotations

import socket
import threading

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines.payload.payload import (
    PayloadCheck,
)
from ansible_collections.offload.lab.plugins.module_utils._preflight import exchange

HERE, THERE = "127.0.0.1", "127.0.0.2"
DEV = """\
Inter-|   Receive          |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier
    lo: 1000 10 0 0 0 0 0 0 1000 11 0 0 0 0 0 0
torn0: 1 2
"""


def asked(near_end, there, port):
    return {
        "endpoints": {"pods": {"address": near_end}},
        "peers": {"peer": {"pods": {"address": there}}},
        "paths": ["pods", "other"],
        "devices": {"tenant": [{"name": "lo"}], "underlay": [], "tunnel": None},
        "port": port,
    }


@pytest.fixture
def port():
    """Return a port below the port of payload checks which is free at the moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((HERE, 0))
        return sock.getsockname()[1] - PayloadCheck.port_offset


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(exchange, "SECONDS", 0.5)
    monkeypatch.setattr(exchange, "_answers_ping", lambda path: False)
    monkeypatch.setattr(exchange, "_takes_connection", lambda path, port: True)


def test_two_ends_count_what_arrives_without_talking_about_it(quick, port):
    results_by_end = {}

    def run(near_end, there):
        results_by_end[near_end] = exchange.exchanges(asked(near_end, there, port))

    threads = [threading.Thread(target=run, args=ends) for ends in ((HERE, THERE), (THERE, HERE))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rows in results_by_end.values():
        [row] = rows
        assert (row["path"], row["peer"], row["ping"], row["tcp"]) == ("pods", "peer", False, True)
        assert row["sent"] > 5 and 0 < row["arrived"] <= 100
        [device] = row["devices"]
        assert device["device"] == "lo" and device["out"] >= row["sent"]


def test_an_end_that_hears_nothing_is_a_result(quick, port):
    [row] = exchange.exchanges(asked(HERE, THERE, port))
    assert row["arrived"] == 0 and row["sent"] > 0


def test_nothing_is_sent_where_ping_and_tcp_pass(quick, monkeypatch, port):
    monkeypatch.setattr(exchange, "_answers_ping", lambda path: True)
    [row] = exchange.exchanges(asked(HERE, THERE, port))
    assert (row["sent"], row["arrived"], row["devices"]) == (0, 0, [])


def test_devices_of_the_host_behind_a_pod_receive_what_leaves():
    assert exchange._rows(DEV) == {"lo": (10, 11)}
    devices = [("host", {"name": "veth0"}), ("underlay", {"name": "eth0"})]
    before = {"veth0": (0, 0), "eth0": (0, 0)}
    after = {"veth0": (5, 7), "eth0": (11, 13)}
    assert list(exchange._passed(devices, before, after)) == [
        {"device": "veth0", "out": 5, "back": 7},
        {"device": "eth0", "out": 13, "back": 11},
    ]


@pytest.mark.parametrize("change", [{"address": "x; reboot"}, {"address": HERE, "netns": "../x"}])
def test_what_is_no_path_is_refused(change):
    with pytest.raises(InputError):
        exchange.paths_of({**asked(HERE, THERE, 1), "endpoints": {"pods": change}})
