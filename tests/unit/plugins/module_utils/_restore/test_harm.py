# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is a harm, and what is not; on devices the target dead_man_switch shows it."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._host.echo import Target
from ansible_collections.offload.lab.plugins.module_utils._restore import harm

FAR = {"netns": "pod", "address": "10.244.2.5"}
NEAR = {"netns": None, "address": "192.0.2.1"}


class Network:
    """Addresses that answer, on a clock in the test's hands."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        self.answering = {Target(**FAR), Target(**NEAR)}
        monkeypatch.setattr(harm.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(harm.echo, "ask", self.ask)

    def ask(self, targets, seconds):
        answered = self.answering.intersection(targets)
        self.now += 0.001 if answered == set(targets) else seconds
        return answered


@pytest.fixture
def network(monkeypatch):
    return Network(monkeypatch)


def first_harm(watch, network, looks):
    for _look in range(looks):
        state_before = watch.seen()
        if state_before:
            return state_before
        network.now += 0.2 if network.answering >= set(watch.targets) else 0.0
    return None


def test_an_end_that_falls_silent_is_named_within_two_seconds(network):
    watch = harm.HarmWatch(harm.checked({"answers": [FAR, NEAR]}))
    assert first_harm(watch, network, 50) is None
    cut = network.now
    network.answering = {Target(**NEAR)}
    assert "10.244.2.5 did not answer from namespace pod for 1." in first_harm(watch, network, 50)
    assert network.now - cut < 1.7


def test_lost_packets_and_a_process_that_slept_are_no_harm(network):
    watch = harm.HarmWatch(harm.checked({"answers": [FAR]}))
    for _round in range(20):
        everything = network.answering
        network.answering = set()
        assert watch.seen() is None
        network.now += 30  # this process got no CPU: one question is no silence
        assert watch.seen() is None
        network.answering = everything
        assert first_harm(watch, network, 3) is None


def test_an_address_that_never_answered_is_not_watched(network):
    network.answering = {Target(**NEAR)}
    watch_options = harm.checked({"answers": [FAR, NEAR]})
    watched = harm.without_silent(watch_options)
    assert (watched["answers"], watched["silent"]) == ([NEAR], [FAR])
    assert harm.is_asked(watched, watch_options)
    assert not harm.is_asked(watched, harm.checked({"answers": [NEAR]}))
    assert not harm.is_asked(watched, None) and harm.is_asked(None, None)


def test_a_device_that_is_gone_is_a_harm():
    device = {"name": "lo"}
    gone = {"name": "ol-none0"}
    assert harm.HarmWatch(harm.checked({"devices": [device]})).seen() is None
    assert harm.HarmWatch(harm.checked({"devices": [gone]})).seen() == "device ol-none0 is gone"
    inside = harm.checked({"devices": [{**device, "netns": "ol-none"}]})
    assert harm.HarmWatch(inside).seen() == "device ol-none/lo is gone"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["true"], None),
        (["false"], "the check 'false' ended with status 1"),
        (["sleep", "1000"], "the check 'sleep' did not end within 2 s"),
        (["ol-none"], "the check 'ol-none' could not be started (No such file or directory)"),
    ],
)
def test_a_check_of_the_users(command, message):
    check = harm.UserCheck(command)
    state_before = []
    now = 0.0
    for _look in range(30):
        state_before.append(check.harm(now))
        now += 0.2
        if check.process is not None and command[0] != "sleep":
            check.process.wait()
    check.end()
    assert next((harm for harm in state_before if harm), None) == message


@pytest.mark.parametrize(
    "value",
    [
        {"answers": [{"address": "pod2"}]},
        {"devices": [{"name": "a/b"}]},
        {"commands": [[]]},
        {"patience": 0.1},
    ],
)
def test_what_cannot_be_watched_is_refused(value):
    with pytest.raises(InputError):
        harm.checked(value)
