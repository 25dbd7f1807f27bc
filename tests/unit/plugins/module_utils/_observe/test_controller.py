# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that measures, as a process of its own, whose controller goes away."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._observe import probe as observe_probe
from ansible_collections.offload.lab.plugins.module_utils._observe import trial_watch
from ansible_collections.offload.lab.plugins.module_utils._restore import sign_of_life


@pytest.fixture(name="alive")
def _alive(tmp_path, monkeypatch):
    """The last sign of life of a node whose switch is armed."""
    monkeypatch.setattr(sign_of_life, "ALIVE", str(tmp_path / "alive"))
    (tmp_path / "alive").write_text("")
    return tmp_path / "alive"


@pytest.fixture(name="told")
def _told(monkeypatch):
    """The other end's probe, which answers when it is started, and what it was told."""
    events_told = threading.Event()
    monkeypatch.setattr(
        observe_probe,
        "answer",
        lambda request: events_told.set() if request["op"] == "give_up" else None,
    )
    server = observe_probe.listen("127.0.0.1", 0, "secret")
    ended = threading.Event()

    def serve():
        while not ended.is_set():
            server.step()

    thread = threading.Thread(target=serve, daemon=True)
    yield (
        {"address": "127.0.0.1", "port": server.listener.getsockname()[1], "token": "secret"},
        events_told,
        thread,
    )
    ended.set()
    thread.join()
    server.shut()


def _measure(server, reader, writer, measuring):
    os.close(reader)
    with trial_watch.needed(server, writer):
        os.write(measuring, b"x")
        time.sleep(60)


@pytest.mark.parametrize("how", ["nobody reads its output", signal.SIGTERM, signal.SIGHUP])
def test_both_ends_are_told_to_restore_themselves(alive, told, how):
    server, event, probe = told
    reader, writer = os.pipe()
    context = multiprocessing.get_context("fork")
    begun, measuring = os.pipe()
    module = context.Process(target=_measure, args=(server, reader, writer, measuring))
    module.start()
    probe.start()  # after the fork, which no thread survives
    os.close(writer)
    assert os.read(begun, 1) == b"x"
    assert alive.stat().st_mtime > 0
    if isinstance(how, signal.Signals):
        os.kill(module.pid, how)
        os.kill(module.pid, signal.SIGHUP)  # and what the end of a terminal adds
    else:
        os.close(reader)
    module.join(120)
    assert module.exitcode == 1
    assert alive.stat().st_mtime == 0
    assert event.wait(120)


def test_without_a_probe_nothing_is_watched(alive):
    before = signal.getsignal(signal.SIGTERM)
    with trial_watch.needed(None):
        assert signal.getsignal(signal.SIGTERM) == before
    assert alive.stat().st_mtime > 0
