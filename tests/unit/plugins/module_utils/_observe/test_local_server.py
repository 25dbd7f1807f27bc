# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On its own node, a server that is gone, refuses or hangs is distinguished from one that
answers."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines import wire
from ansible_collections.offload.lab.plugins.module_utils._engines.payload import traffic
from ansible_collections.offload.lab.plugins.module_utils._host import daemons
from ansible_collections.offload.lab.plugins.module_utils._observe import probe

HERE = "127.0.0.1"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setattr(daemons, "FOLDER", str(tmp_path))
    monkeypatch.setattr(probe, "CONNECTED_S", 1.0)
    monkeypatch.setattr(probe, "CLOSED_S", 1.0)


def known(port, pid=None, **more):
    """Write the state file of a server."""
    server = {"netns": None, "address": HERE, "port": port, "engine": "payload", **more}
    path = os.path.join(daemons.FOLDER, f"{daemons.SERVER}{HERE}-{port}.json")
    daemons.write(path, pid or os.getpid(), {"inode": 0, "server": server})


@contextlib.contextmanager
def listening():
    with socket.create_server((HERE, 0)) as listener:
        yield listener.getsockname()[1]


def free_port():
    with listening() as port:
        return port


@contextlib.contextmanager
def served():
    """Run a server that lets nobody of this host in; give its port."""
    door = traffic.PayloadServer(HERE, 0, wire.Guests(b"x" * 33, frozenset(["192.0.2.1"])))
    ended = threading.Event()

    def serve():
        while not ended.is_set():
            door.step()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield door.listener.getsockname()[1]
    finally:
        ended.set()
        thread.join()
        door.shut()


def test_a_server_that_lives_answers():
    with served() as port:
        known(port)
        assert probe.answers(HERE, port) is True
        known(port - 2, count=3)  # of several ports
        os.unlink(os.path.join(daemons.FOLDER, f"{daemons.SERVER}{HERE}-{port}.json"))
        assert probe.answers(HERE, port) is True


def test_of_what_is_not_the_labs_nothing_is_known():
    with served() as port:
        assert probe.answers(HERE, port) is None
        (path,) = [os.path.join(daemons.FOLDER, f"{daemons.SERVER}torn.json")]
        with open(path, "w") as stream:
            stream.write(json.dumps({"server": None}))
        assert probe.answers(HERE, port) is None


def test_a_process_that_is_gone_does_not_answer():
    with subprocess.Popen(["sleep", "60"]) as process, listening() as port:
        known(port, process.pid)
        process.kill()
        process.wait()
        assert probe.answers(HERE, port) is False


def test_a_server_that_refuses_or_hangs_does_not_answer():
    port = free_port()
    known(port)
    assert probe.answers(HERE, port) is False
    with listening() as port:
        known(port)
        assert probe.answers(HERE, port) is False


def test_where_nothing_passes_within_the_node_nothing_is_known(monkeypatch):
    monkeypatch.setattr(probe, "_passes", lambda address: False)
    port = free_port()
    known(port)
    assert probe.answers(HERE, port) is None
