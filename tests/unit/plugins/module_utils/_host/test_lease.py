# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import multiprocessing
import os
import subprocess

import pytest

from ansible_collections.offload.lab.plugins.module_utils._host import lease
from ansible_collections.offload.lab.plugins.module_utils._host.processes import started_at


def owner(pid, **more):
    return dict(
        {"host": "here", "pid": pid, "started": started_at(pid), "kernel": lease.kernel()}, **more
    )


ME = owner(os.getpid())
ELSEWHERE = owner(os.getpid(), kernel=["elsewhere", 1], host="f0a1d74bf762")


@pytest.fixture
def other():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def take(monkeypatch):
    """Take or renew the lease at a time of day, and at a monotonic time."""

    def at(path, now, passed):
        monkeypatch.setattr(lease.time, "monotonic", lambda: passed)
        return lease.take(path, ME, 60, now=now)

    return at


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "results" / "lock")


def test_the_holder_renews_it(path):
    lease.take(path, ME, 60, now=1000)
    assert lease.take(path, ME, 60, now=1010)["taken"]
    with open(path, encoding="utf-8") as stream:
        assert json.loads(stream.read())["until"] == 1070


def test_who_is_slow_between_renewals_has_a_longer_lease(take, path):
    take(path, 1000, 5)
    slow = take(path, 1150, 155)["holder"]
    assert slow["until"] == 1150 + 150 + lease.SPARE
    again = take(path, 1160, 165)["holder"]
    assert again["lease"] == 150 + lease.SPARE  # it may be as slow again
    lease.give_back(path, ME)
    assert take(path, 1170, 175)["holder"]["lease"] == 60


@pytest.mark.parametrize("jump", [3 * 86400, -3 * 86400, 8 * 3600])
def test_a_clock_that_jumps_makes_no_lease_longer(take, path, jump):
    """A suspended controller is the same: its monotonic clock stands, its wall clock goes on."""
    take(path, 10**6, 100)
    holder = take(path, 10**6 + jump, 115)["holder"]
    assert (holder["lease"], holder["until"]) == (60, 10**6 + jump + 60)


@pytest.mark.parametrize("renewed", [{"renewed": ["another boot", 5.0]}, {}])
@pytest.mark.parametrize("pause", [0, 3 * 86400])
def test_no_pause_makes_a_lease_longer_than_15_minutes(take, path, renewed, pause):
    """Of a lease in a store that another machine served, or that an earlier version wrote, the wall
    clock is all there is.
    """
    holder = lease.take(path, ME, 60, now=1000)["holder"]
    del holder["renewed"]
    with open(path, "w", encoding="utf-8") as stream:
        json.dump({**holder, **renewed, "pause": pause}, stream)
    assert lease.take(path, ME, 60, now=1000 + 3 * 86400)["holder"]["lease"] == 15 * 60
    take(path, 1000 + 3 * 86400, 0)
    assert take(path, 0, 8 * 3600)["holder"]["lease"] == 15 * 60


def test_one_that_lives_keeps_it_however_old(path, other):
    lease.take(path, owner(other.pid), 60, now=1000)
    answer = lease.take(path, ME, 60, now=10**6)
    assert (answer["taken"], answer["alive"], answer["holder"]["pid"]) == (False, True, other.pid)
    assert not lease.take(path, ME, 60, silent=answer["holder"])["taken"]


def test_one_that_is_dead_has_lost_it(path, other):
    lease.take(path, owner(other.pid), 60)
    other.kill()
    other.wait()
    assert lease.take(path, ME, 60)["taken"]


def test_a_process_number_that_is_another_process_by_now(path, other):
    lease.take(path, owner(other.pid, started=1), 60)
    assert lease.take(path, ME, 60)["taken"]


def test_one_that_cannot_be_seen_loses_it_only_if_it_was_silent(path):
    lease.take(path, ELSEWHERE, 60, now=1000)
    answer = lease.take(path, ME, 60, now=10**6)
    assert (answer["taken"], answer["alive"]) == (False, None)
    lease.take(path, ELSEWHERE, 60, now=1001)
    assert not lease.take(path, ME, 60, silent=answer["holder"])["taken"]  # it was renewed
    silent = lease.take(path, ME, 60)["holder"]
    assert lease.take(path, ME, 60, silent=silent)["taken"]
    assert not lease.take(path, ELSEWHERE, 60)[
        "taken"
    ]  # it was only asleep, and finds that it has lost it


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"pid": "x"}', "\0"])
def test_a_torn_file_holds_nothing(path, content):
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(content)
    assert lease.take(path, ME, 60)["taken"]


def test_only_the_holder_gives_it_back(path, other):
    lease.take(path, owner(other.pid), 60)
    assert not lease.give_back(path, ME)
    assert os.path.exists(path)
    assert lease.give_back(path, owner(other.pid))
    assert not os.path.exists(path)
    assert not lease.give_back(path, owner(other.pid))


def _race(path, number):
    racer = dict(ELSEWHERE, started=number)
    for _turn in range(300):
        if lease.take(path, racer, 60)["taken"]:
            assert lease.give_back(path, racer)


def test_who_waited_for_a_file_that_is_gone_makes_a_new_one(path):
    """Given back between another's opening and locking of the file: it must not write into one that
    was removed.
    """
    racers = [
        multiprocessing.get_context("fork").Process(target=_race, args=(path, number))
        for number in (1, 2)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert [racer.exitcode for racer in racers] == [0, 0]
