# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dead man's switch restores whatever fails around it; tests/security shows it on devices."""

from __future__ import annotations

import errno
import os
import signal

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import Step
from ansible_collections.offload.lab.plugins.module_utils._host import daemons, files, runner
from ansible_collections.offload.lab.plugins.module_utils._restore import (
    dead_man,
    fired_mark,
    harm,
    node_lease,
    protection,
    restore,
    sign_of_life,
    watched_change,
)

NAMES = ("LEASE", "ALIVE", "HEARTBEAT", "FIRED", "ARMED", "STATE", "WATCHED", "PROGRAM")
UNTOUCHED = {**restore.NOTHING, "exists": True}


@pytest.fixture(name="node")
def _node(tmp_path, monkeypatch):
    """A node with an armed switch; ``restored`` counts what :func:`restore.restore` was asked."""
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setattr(daemons, "FOLDER", str(folder))
    for name in NAMES:
        for module in (dead_man, fired_mark, harm, node_lease, sign_of_life):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, str(folder / name))
    monkeypatch.setattr(dead_man.time, "sleep", lambda _seconds: None)
    restored = []
    monkeypatch.setattr(
        restore, "restore", lambda *arguments, **_more: restored.append(arguments) or {**UNTOUCHED}
    )
    fired_mark.prepare()
    (folder / "ALIVE").touch()
    sign_of_life.give_up()
    return folder, restored


def fire(tmp_path):
    dead_man.watch(10, str(tmp_path / "snapshot.json"), [])


def test_it_restores_marks_the_node_and_ends(node, tmp_path):
    folder, restored = node
    fire(tmp_path)
    assert len(restored) == 1
    assert sorted(os.listdir(folder)) == ["FIRED"]
    assert sign_of_life.fired() == dead_man.LOST


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("failing", ["files.write", "open", "os.rename", "os.utime", "os.unlink"])
def test_it_restores_though_a_write_fails(node, tmp_path, monkeypatch, failing, code):
    _folder, restored = node
    really_open = open

    def refuse(*_asked, **_more):
        raise OSError(code, os.strerror(code))

    def refuse_to_write(path, mode="r", **more):
        return refuse() if set(mode) & set("wa+") else really_open(path, mode, **more)

    if failing == "open":
        monkeypatch.setattr("builtins.open", refuse_to_write)
    else:
        owner, name = failing.split(".")
        monkeypatch.setattr({"files": files, "os": os}[owner], name, refuse)
    fire(tmp_path)
    assert len(restored) == 1


@pytest.mark.parametrize("error", [KeyError("x"), TypeError(), MemoryError(), LabError("x")])
def test_an_error_while_it_watches_is_a_reason_to_restore(node, tmp_path, monkeypatch, error):
    _folder, restored = node

    def fail(_watch):
        raise error

    sign_of_life.touch()
    harm.remember(harm.checked({"devices": [{"name": "lo"}]}))
    monkeypatch.setattr(harm.HarmWatch, "seen", fail)
    fire(tmp_path)
    assert len(restored) == 1
    assert "cannot watch any more" in sign_of_life.fired()


@pytest.mark.parametrize("text", ["", "[]x", "5", '{"answers": 5}'])
def test_a_list_of_harms_that_cannot_be_read_is_a_reason_too(node, tmp_path, text):
    folder, restored = node
    sign_of_life.touch()
    (folder / "WATCHED").write_text(text)
    fire(tmp_path)
    assert len(restored) == 1


def test_it_tries_again_without_end_and_less_and_less_often(node, tmp_path, monkeypatch):
    folder, _restored = node
    tries = []
    pauses = []

    def fail(*_asked, **_more):
        tries.append(sign_of_life.fired())
        if len(tries) <= 40:
            raise restore.NotRestoredError("somebody else sets it", "eth0")
        return {**UNTOUCHED}

    monkeypatch.setattr(restore, "restore", fail)
    monkeypatch.setattr(dead_man.time, "sleep", pauses.append)
    fire(tmp_path)
    assert len(tries) == 41
    assert pauses[:4] == [1, 2, 4, 8] and max(pauses) == dead_man.LONGEST_PAUSE_S
    assert "somebody else sets it" in (folder / "FIRED").read_text()


def test_a_switch_that_runs_again_goes_on_where_it_was(node):
    sign_of_life.touch()
    sign = os.stat(dead_man.ALIVE).st_mtime_ns
    moment = dead_man.time.monotonic() - 5
    fired_mark.remember_sign(sign, moment)
    sign_seen, since = fired_mark.last_sign()
    assert sign_seen == sign and since == pytest.approx(moment, abs=0.001)
    fired_mark.remember_sign(sign, dead_man.time.monotonic() + 1000)  # of another boot
    assert fired_mark.last_sign()[0] is None


def test_a_switch_that_was_killed_in_its_restore_restores_again(node, tmp_path):
    _folder, restored = node
    sign_of_life.touch()
    fired_mark.set_fired("harm")
    fire(tmp_path)
    assert len(restored) == 1 and sign_of_life.fired() == "harm"


def test_its_snapshot_is_kept_until_a_controller_has_read_the_node_back(node, tmp_path):
    path = tmp_path / "snapshot.json"
    text = '{"schema": 1, "devices": [], "links": [], "other": {}}'
    path.write_text(text)
    fire(tmp_path)
    assert not path.exists()
    assert fired_mark.kept(str(path))["schema"] == 1
    assert fired_mark.kept(str(tmp_path / "applied.json")) is None
    fired_mark.forget(str(path))
    assert fired_mark.kept(str(path)) is None
    assert sign_of_life.fired() == dead_man.LOST


def test_each_part_of_an_odd_snapshot_is_restored_alone(tmp_path, monkeypatch):
    tried = []

    def bring_back(part):
        tried.append(part)
        if part["devices"] == [5]:
            raise TypeError("5 is no device")

    monkeypatch.setattr(restore, "bring_back", bring_back)
    path = tmp_path / "snapshot.json"
    path.write_text(
        '{"schema": 7, "devices": [5, {"name": "eth0"}], "links": null, "other": {"a": 1}}'
    )
    assert restore.restore_parts(str(path)) == ["device 5: TypeError('5 is no device')"]
    parts = [(part["devices"], part["links"], part["other"]) for part in tried]
    assert parts == [([5], [], {}), ([{"name": "eth0"}], [], {}), ([], [], {"a": 1})]


def test_systemd_spares_it_and_starts_it_again():
    argv = protection.by_systemd("unit", ["python3", "program"])
    assert argv[0] == "systemd-run" and argv[-2:] == ["python3", "program"]
    assert "--property=OOMScoreAdjust=-900" in argv
    assert "--property=Restart=on-failure" in argv
    assert "--property=StartLimitBurst=30" in argv


def test_its_parent_starts_it_again_until_it_has_done_its_work(tmp_path, monkeypatch):
    monkeypatch.setattr(protection, "RESTART_S", 0.0)
    log = tmp_path / "log"

    def work():
        with log.open("a") as stream:
            stream.write("x")
        runs = len(log.read_text())
        if runs == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if runs == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        if runs == 3:
            raise KeyError("x")

    protection.supervise(work)
    assert log.read_text() == "xxxx"
    assert protection.parent() is None  # of this process


def test_the_oom_killer_is_asked_to_take_others(monkeypatch, tmp_path):
    written = []
    really_open = open

    def opened(path, mode="r", **more):
        if not str(path).endswith("oom_score_adj"):
            return really_open(path, mode, **more)
        written.append(path)
        return really_open(tmp_path / "score", mode, **more)

    monkeypatch.setattr("builtins.open", opened)
    protection.from_oom_killer()
    assert written == [f"/proc/{os.getpid()}/oom_score_adj"]
    assert (tmp_path / "score").read_text() == "-900"


def test_a_switch_without_its_process_is_missed(node, monkeypatch):
    monkeypatch.setattr(sign_of_life, "RESTART_S", 0.05)
    sign_of_life.touch()
    with pytest.raises(LabError, match="its process has ended"):
        sign_of_life.renew()
    daemons.write(sign_of_life.STATE, os.getpid(), {})
    sign_of_life.renew()


@pytest.mark.usefixtures("node")
def test_only_one_process_at_a_time_has_the_lock():
    with node_lease.settings_held() as lock:
        assert lock is not None
        with node_lease.settings_held_if_free(0.05) as alone:
            assert not alone
        with pytest.raises(node_lease.BusyError, match="lslocks"), node_lease.settings_held(0.05):
            pass
    with node_lease.settings_held_if_free(0.05) as alone:
        assert alone


def test_without_a_switch_nobody_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(daemons, "FOLDER", str(tmp_path / "none"))
    with node_lease.settings_held() as lock, node_lease.settings_held_if_free(0) as alone:
        assert lock is None and alone


def test_a_switch_that_fires_ends_the_change_before_its_next_step(node, monkeypatch):
    ran = []

    def run(argv, _stdin, _netns, pass_fds, **_more):
        ran.append(argv)
        assert len(pass_fds) == 1  # a step that outlives the module keeps the lock
        fired_mark.set_fired("harm")
        return runner.CommandResult(argv, 0, "", "")

    monkeypatch.setattr(runner, "run", run)
    daemons.write(sign_of_life.STATE, os.getpid(), {})
    options = {"sign_of_life": True, "snapshot": None, "lease": None}
    with pytest.raises(LabError, match="has restored this node: harm"), watched_change.watched(
        options, False
    ):
        runner.apply([Step(["first"]), Step(["second"])])
    assert ran == [["first"]]
    with watched_change.watched({**options, "sign_of_life": False}, False):
        pass
    with watched_change.watched(options, True):
        pass


def test_daemons_that_a_step_starts_do_not_inherit_the_lock(monkeypatch):
    calls = []
    monkeypatch.setattr(
        runner,
        "run",
        lambda argv, *_more, **options: (
            calls.append(options.get("pass_fds")) or runner.CommandResult(argv, 0, "", "")
        ),
    )
    with runner.guarded(lambda: None, 7):
        runner.apply([Step(["/usr/share/openvswitch/scripts/ovs-ctl", "start"]), Step(["ip"])])
    assert calls == [None, [7]]
