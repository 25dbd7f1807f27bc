# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dead man's switch as far as it needs no node; what it restores is tested on devices."""

from __future__ import annotations

import os
import threading

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import daemons
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._restore import (
    dead_man,
    restore,
    sign_of_life,
)


def test_it_says_that_it_watches_before_it_waits(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(dead_man, "STATE", str(tmp_path / "run/state.json"))
    monkeypatch.setattr(
        dead_man, "_watching", lambda seconds, _harms: calls.append((seconds, dead_man.find()))
    )
    dead_man.watch(0.5, "/var/lib/snapshot.json", [])
    [(seconds, state)] = calls
    assert (seconds, state["pid"], state["minutes"], state["path"]) == (
        30,
        os.getpid(),
        0.5,
        "/var/lib/snapshot.json",
    )


def test_it_does_not_wait_for_a_controller_that_is_known_to_be_gone(tmp_path, monkeypatch):
    for module in (dead_man, sign_of_life):
        monkeypatch.setattr(module, "ALIVE", str(tmp_path / "alive"))
    (tmp_path / "alive").write_text("")
    sign_of_life.give_up()
    assert dead_man._watching(1000)
    sign_of_life.touch()
    (tmp_path / "alive").unlink()
    assert not dead_man._watching(1000)


def test_of_two_that_restore_together_the_second_finds_the_node_restored(tmp_path, monkeypatch):
    snapshot = tmp_path / "snapshot.json"
    begun = threading.Event()
    go_on = threading.Event()
    snapshot.write_text('{"schema": 1, "devices": [], "links": [], "other": {}}')

    def slow(_snapshot, _dry):
        begun.set()
        assert go_on.wait(20)
        return []

    monkeypatch.setattr(restore, "_links_step", slow)
    monkeypatch.setattr(restore, "_other_step", lambda _snapshot, _dry: [])
    exit_codes = {}
    threads = [
        threading.Thread(
            target=lambda name=name: exit_codes.update(
                {name: restore.restore(str(snapshot))["exists"]}
            )
        )
        for name in ("switch", "task")
    ]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert exit_codes == {"switch": True, "task": False}


def test_no_profile_is_set_where_the_snapshot_is_gone(tmp_path, monkeypatch):
    """A reboot takes the switch and the snapshot, and a fast host is back before anybody has missed
    it.
    """
    for name in ("ALIVE", "FIRED"):
        monkeypatch.setattr(sign_of_life, name, str(tmp_path / name))
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text('{"schema": 1, "devices": [], "links": [], "other": {}}')
    sign_of_life.renew(str(snapshot))
    snapshot.unlink()
    sign_of_life.renew()
    with pytest.raises(LabError, match="was rebooted"):
        sign_of_life.renew(str(snapshot))


class Clock:
    """A monotonic clock and a heartbeat's file, both in the test's hands."""

    def __init__(self, path, monkeypatch):
        self.path = path
        self.now = 0.0
        self.beats = 0
        monkeypatch.setattr(dead_man.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(dead_man, "HEARTBEAT", str(path))

    def beat(self):
        self.beats += 1
        self.path.touch()
        os.utime(self.path, ns=(self.beats, self.beats))


@pytest.mark.parametrize(
    ("beats", "pause", "stopped_after"),
    [(6, 5, 20), (6, 12, 48), (6, 1, 20), (3, 5, 60), (3, 20, 80)],
)
def test_the_silence_of_a_heartbeat_that_counts_follows_its_pace_and_is_longer_at_first(
    tmp_path, monkeypatch, beats, pause, stopped_after
):
    clock = Clock(tmp_path / "heartbeat", monkeypatch)
    heartbeat = dead_man.Heartbeat()
    for _beat in range(beats):
        clock.beat()
        assert not heartbeat.has_stopped()
        clock.now += pause
    last = clock.now - pause
    clock.now = last + stopped_after
    assert not heartbeat.has_stopped()
    clock.now += 1
    assert heartbeat.has_stopped()


def test_a_heartbeat_whose_pace_is_not_known_or_that_is_not_expected_never_stops(
    tmp_path, monkeypatch
):
    clock = Clock(tmp_path / "heartbeat", monkeypatch)
    heartbeat = dead_man.Heartbeat()
    assert not heartbeat.has_stopped()
    for _beat in range(2):
        clock.beat()
        heartbeat.has_stopped()
        clock.now += 5
    clock.now += 1000
    assert not heartbeat.has_stopped()
    clock.path.unlink()
    assert not heartbeat.has_stopped()


def test_what_was_started_since_it_was_armed_is_the_campaigns(tmp_path, monkeypatch):
    monkeypatch.setattr(dead_man, "STATE", str(tmp_path / "switch.json"))
    monkeypatch.setattr(daemons, "FOLDER", str(tmp_path))
    (tmp_path / "netserver-@198.18.0.1-12865.json").touch()
    before = dead_man.before_armed()
    assert before == [str(tmp_path / "netserver-@198.18.0.1-12865.json")]
    assert dead_man.started_since(before) == []
    daemons.write(dead_man.STATE, os.getpid(), {"before": before})
    (tmp_path / "netserver-@198.18.0.1-12868.json").touch()
    assert dead_man.started_since(before) == [str(tmp_path / "netserver-@198.18.0.1-12868.json")]
    assert dead_man.before_armed() == before  # who arms it again knows it, too


@pytest.mark.parametrize("error", [None, PermissionError()])
def test_the_program_goes_first_where_it_may(monkeypatch, error):
    calls = []

    def set_priority(*arguments):
        calls.append(arguments)
        if error:
            raise error

    monkeypatch.setattr(dead_man.os, "setpriority", set_priority)
    monkeypatch.setattr(dead_man, "watch", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(dead_man.sys, "argv", ["program", "0.5", "/snapshot.json", "/probe.json"])
    dead_man.main()
    first = (dead_man.os.PRIO_PROCESS, 0, dead_man.FIRST)
    assert calls == [first, (0.5, "/snapshot.json", ["/probe.json"])]
    assert dead_man.FIRST < 0


@pytest.mark.parametrize(
    "state, runs", [("active", True), ("activating", True), ("failed", False), ("inactive", False)]
)
def test_a_switch_that_systemd_starts_again_is_waited_for(monkeypatch, state, runs):
    monkeypatch.setattr(
        dead_man, "run", lambda argv, **_more: CommandResult(argv, 0, f"{state}\n", "")
    )
    assert dead_man._unit_runs() is runs
