# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._host import lease
from ansible_collections.offload.lab.plugins.module_utils._host.processes import started_at
from ansible_collections.offload.lab.plugins.plugin_utils._store import campaign_lock as lock

ME = {
    "host": "here",
    "pid": os.getpid(),
    "started": started_at(os.getpid()),
    "kernel": lease.kernel(),
}
CONTAINER = {
    "host": "f0a1d74bf762",
    "pid": 9,
    "started": 77,
    "kernel": ["elsewhere", 1],
    "job": "41",
}
START = 1_700_000_000


class Time:
    """A clock that passes only in sleep; ``events`` are ``{second: what happens then}``."""

    def __init__(self, events=()):
        self.passed = 0.0
        self.events = dict(events)

    def now(self):
        return START + self.passed

    def clock(self):
        return self.passed

    def sleep(self, seconds):
        end = self.passed + seconds
        for second in sorted(second for second in self.events if second <= end):
            self.passed = second
            self.events.pop(second)()
        self.passed = end


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lock")


def wait(path, time_, message=None):
    lock.wait_for(
        lambda silent: lease.take(path, ME, lock.SECONDS, time_.now(), silent),
        path,
        (message if message is not None else []).append,
        lock.Clock(time_.now, time_.clock, time_.sleep),
    )


def test_a_free_campaign_is_taken_immediately(path):
    time_ = Time()
    wait(path, time_)
    assert time_.passed == 0


def test_after_a_killed_container_a_relaunch_waits_at_most_a_minute_and_says_until_when(path):
    lease.take(path, CONTAINER, lock.SECONDS, START)
    time_ = Time()
    messages = []
    wait(path, time_, messages)
    assert time_.passed <= 60
    assert messages == [
        "The campaign is locked by AWX job 41, process 9 on f0a1d74bf762, which cannot be seen from here. "
        "If it has not renewed its lease by 22:14:20 UTC, this run goes on."
    ]


@pytest.mark.parametrize("skew", [-(10**6), -50, 50, 10**6])
def test_two_clocks_that_differ_take_no_lease_of_who_lives(path, skew):
    lease.take(path, CONTAINER, lock.SECONDS, START + skew)
    time_ = Time(
        {
            lock.RENEWAL: lambda: lease.take(
                path, CONTAINER, lock.SECONDS, START + skew + lock.RENEWAL
            )
        }
    )
    with pytest.raises(
        LabError,
        match="another controller measures this campaign: AWX job 41, process 9 on f0a1d74bf",
    ):
        wait(path, time_)


@pytest.mark.parametrize("skew", [-(10**6), -50, 50, 10**6])
def test_two_clocks_that_differ_make_nobody_wait_longer(path, skew):
    lease.take(path, CONTAINER, lock.SECONDS, START + skew)
    time_ = Time()
    wait(path, time_)
    assert time_.passed <= 60


def test_what_is_given_back_meanwhile_is_taken(path):
    lease.take(path, CONTAINER, lock.SECONDS, START)
    time_ = Time({12: lambda: lease.give_back(path, CONTAINER)})
    wait(path, time_)
    assert time_.passed <= 15


def test_of_two_that_wait_one_gets_it(path):
    lease.take(path, CONTAINER, lock.SECONDS, START)
    third = dict(CONTAINER, started=78)
    holder = lease.take(path, ME, 60, START)["holder"]
    time_ = Time({58: lambda: lease.take(path, third, 60, START + 58, holder)})
    with pytest.raises(LabError, match="another controller"):
        wait(path, time_)


def test_the_message_says_until_when(path):
    lease.take(path, dict(ME, pid=os.getppid(), started=started_at(os.getppid())), 60, START)
    with pytest.raises(
        LabError, match=rf"process {os.getppid()} on here; its lease lasts until 22:14:20 UTC"
    ):
        lock.acquire(path, ME)


def test_the_controller_is_the_parent_of_this_process(monkeypatch):
    monkeypatch.setenv("JOB_ID", "7")
    assert (lock.controller()["pid"], lock.controller()["job"]) == (os.getppid(), "7")


def test_a_folder_that_cannot_be_written_is_one_message(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be locked"):
        lock.acquire(str(tmp_path / "file" / "lock"), ME)


def _until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_it_is_renewed_while_trials_are_measured(path):
    lock.acquire(path, ME, now=START)
    with lock.kept(path, ME, renewal=0.01):
        _until(lambda: lease.take(path, CONTAINER, 60)["holder"]["until"] > time.time())
    assert lease.take(path, ME, 60)["taken"]


def _measure(path, measuring, pid=None):
    if pid:
        pid.value = os.getpid()
    lock.acquire(path, lock.controller())
    with lock.kept(path, lock.controller(), renewal=0.01):
        measuring.set()
        while True:  # a signal just before signal.pause() would not end it
            time.sleep(1)


def _control(path, measuring, pid):
    multiprocessing.get_context("fork").Process(
        target=_measure, args=(path, measuring, pid)
    ).start()
    signal.pause()


def test_it_is_given_back_on_sigterm(path):
    context = multiprocessing.get_context("fork")
    measuring = context.Event()
    worker = context.Process(target=_measure, args=(path, measuring))
    worker.start()
    assert measuring.wait(20)
    worker.terminate()
    worker.join(20)
    assert worker.exitcode == -signal.SIGTERM
    assert not os.path.exists(path)


def test_a_worker_whose_controller_was_killed_ends_and_gives_it_back(path):
    context = multiprocessing.get_context("fork")
    measuring = context.Event()
    pid = context.Value("i")
    controller = context.Process(target=_control, args=(path, measuring, pid))
    controller.start()
    assert measuring.wait(20)
    controller.kill()
    _until(lambda: not os.path.exists(path))
    _until(lambda: started_at(pid.value) is None)
