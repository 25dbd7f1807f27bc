# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import stat
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import daemons
from ansible_collections.offload.lab.plugins.module_utils._restore import node_lease


def lease_of(name, minutes=15.0):
    return {
        "id": f"id of {name}",
        "campaign": name,
        "results": f"/home/{name}/results",
        "controller": f"host-{name}",
        "user": name,
        "minutes": minutes,
    }


A, B = lease_of("anna"), lease_of("ben")


@pytest.fixture(autouse=True)
def lease(tmp_path, monkeypatch):
    monkeypatch.setattr(node_lease, "LEASE", str(tmp_path / "campaign.json"))
    monkeypatch.setattr(node_lease, "STATE", str(tmp_path / "switch.json"))


@pytest.fixture
def clock(monkeypatch):
    """The node's boot clock, in seconds; the wall clock is somewhere else."""
    now = [1000.0]
    monkeypatch.setattr(node_lease.time, "clock_gettime", lambda _clock: now[0])
    monkeypatch.setattr(node_lease.time, "clock_gettime_ns", lambda _clock: int(now[0] * 10**9))
    return now


def test_a_second_campaign_is_refused_and_told_who_has_the_node(clock):
    assert not node_lease.claim(A)
    clock[0] += 12
    with pytest.raises(LabError) as error:
        node_lease.claim(B)
    for word in ("anna", "host-anna", "/home/anna/results", "12 s ago", "restore.yml"):
        assert word in str(error.value)
    assert node_lease.read() == A


def test_nobody_else_may_read_it():
    node_lease.claim(A)
    assert stat.S_IMODE(os.stat(node_lease.LEASE).st_mode) == 0o600


def test_the_same_campaign_takes_its_node_over():
    node_lease.claim(A)
    assert node_lease.claim({**A, "controller": "another container"})
    node_lease.check(A["id"])


def test_a_silent_campaign_without_a_switch_loses_the_node(clock):
    node_lease.claim(A)
    clock[0] += 15 * 60
    with pytest.raises(LabError):
        node_lease.claim(B)
    node_lease.renew()
    clock[0] += 15 * 60 + 1
    assert not node_lease.claim(B)
    with pytest.raises(LabError, match="campaign ben"):
        node_lease.check(A["id"])


def test_a_campaign_whose_switch_is_armed_keeps_the_node(clock):
    node_lease.claim(A)
    daemons.write(node_lease.STATE, os.getpid(), {})
    clock[0] += 10**6
    with pytest.raises(LabError, match="campaign anna"):
        node_lease.claim(B)
    os.unlink(node_lease.STATE)
    assert not node_lease.claim(B)


@pytest.mark.parametrize("jump", [-3 * 86400, 3 * 86400])
def test_a_wall_clock_that_jumps_has_no_effect(monkeypatch, jump):
    wall = time.time() + jump
    node_lease.claim(A)
    monkeypatch.setattr(time, "time", lambda: wall)
    with pytest.raises(LabError, match="campaign anna"):
        node_lease.claim(B)


def test_a_lease_of_another_boot_is_over(clock):
    node_lease.claim(A)
    clock[0] = 5.0
    assert not node_lease.claim(B)


def test_a_file_that_is_torn_or_of_another_shape_is_no_lease():
    for text in ("", "{", "[]", '{"id": 1}'):
        with open(node_lease.LEASE, "w") as stream:
            stream.write(text)
        assert node_lease.current() is None
    assert not node_lease.claim(B)


def test_only_its_campaign_gives_it_back_and_a_person_may():
    node_lease.claim(A)
    node_lease.release(B["id"])
    assert node_lease.read() == A
    node_lease.release(A["id"])
    assert node_lease.read() is None
    node_lease.claim(A)
    node_lease.release()
    with pytest.raises(LabError, match="somebody has restored it"):
        node_lease.check(A["id"])
