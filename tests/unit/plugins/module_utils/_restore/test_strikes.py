# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is a strike and what is a harm; tests/security/test_strikes.py has them on devices."""

from __future__ import annotations

import os

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import echo
from ansible_collections.offload.lab.plugins.module_utils._restore import harm, strikes

FAR = {"netns": "pod", "address": "10.244.2.5"}
CONTROLLER = {"netns": None, "address": "192.0.2.1"}


class Node:
    """A node whose switch strikes, on a clock in the test's hands."""

    def __init__(self, monkeypatch, folder):
        self.now = 100.0
        self.restored = []
        self.restores = True
        self.mark = str(folder / "struck")
        self.answering = {echo.Target(**FAR), echo.Target(**CONTROLLER)}
        for module in (strikes, harm):
            monkeypatch.setattr(module, "STRUCK", self.mark)
        self.changed = folder / "watched.json"
        self.changed.write_text("{}")
        monkeypatch.setattr(strikes, "WATCHED", str(self.changed))
        monkeypatch.setattr(harm.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(harm.echo, "ask", self.ask)
        watched = harm.checked({"answers": [FAR, CONTROLLER], "strikes": True})
        watched["controller"] = CONTROLLER["address"]
        self.watched = watched

    def watch(self):
        return harm.StrikingWatch(harm.HarmWatch(self.watched), self.restore, self.restore)

    def restore(self):
        self.restored.append(self.now)
        return self.restores

    def ask(self, targets, seconds):
        answered = self.answering.intersection(targets)
        self.now += 0.001 if answered == set(targets) else seconds
        return answered

    def look(self, watch, seconds):
        """Return the first harm within ``seconds``."""
        end = self.now + seconds
        while self.now < end:
            state_before = watch.seen()
            if state_before:
                return state_before
            self.now += 0.2
        return None

    def change(self):
        """Set another profile."""
        before = strikes.counted_from()
        strikes.count_from_now()
        if strikes.counted_from() == before:  # a file system whose clock is coarse
            os.utime(self.changed, ns=(before + 1, before + 1))

    def silence(self, *ends):
        self.answering -= {echo.Target(**end) for end in ends}

    def speak(self, *ends):
        self.answering |= {echo.Target(**end) for end in ends}


@pytest.fixture
def node(monkeypatch, tmp_path):
    return Node(monkeypatch, tmp_path)


def test_a_silence_of_the_profile_before_is_not_this_ones(node):
    watch = node.watch()
    node.silence(FAR)
    assert node.look(watch, harm.PATIENCE_S - 0.5) is None
    node.change()
    assert node.look(watch, harm.PATIENCE_S - 0.5) is None
    node.speak(FAR)
    assert node.look(watch, 3) is None and not node.restored


def test_a_silence_that_a_profile_does_not_end_is_a_strike(node):
    watch = node.watch()
    node.silence(FAR)
    assert node.look(watch, harm.PATIENCE_S - 0.5) is None
    node.change()
    changed = node.now
    assert node.look(watch, 3) is None and node.restored
    assert harm.PATIENCE_S < node.restored[0] - changed < harm.PATIENCE_S + 1


def test_a_silent_path_is_an_answer_and_ends_when_that_is_asked_for(node):
    watch = node.watch()
    assert node.look(watch, 5) is None and not node.restored
    cut = node.now
    node.silence(FAR)
    assert node.look(watch, 4) is None
    [restored] = node.restored
    assert restored - cut < 2
    assert strikes.current()["address"] == FAR["address"]
    with pytest.raises(LabError, match="a path stopped answering"):
        strikes.check()
    node.speak(FAR)
    assert node.look(watch, 5) is None and strikes.current()  # nobody has asked for its end
    os.utime(node.mark, ns=(0, 0))
    assert node.look(watch, 5) is None
    assert strikes.current() is None and len(node.restored) == 2  # the node was read back
    strikes.check()
    node.silence(FAR)
    assert node.look(watch, 4) is None and len(node.restored) == 3


def test_a_path_that_stays_silent_with_the_settings_as_found_is_a_harm(node):
    watch = node.watch()
    node.silence(FAR)
    assert node.look(watch, 4) is None and node.restored
    os.utime(node.mark, ns=(0, 0))
    assert "with the settings as found" in node.look(watch, 20)
    assert strikes.current()  # nothing may be changed


def test_the_silence_of_the_controller_and_a_device_that_is_gone_are_harms(node):
    node.silence(CONTROLLER)
    assert "192.0.2.1 did not answer" in node.look(node.watch(), 4)
    assert not node.restored and strikes.current() is None
    node.speak(CONTROLLER)
    node.watched["devices"] = [{"netns": None, "name": "ol-none0"}]
    assert "ol-none0 is gone" in node.look(node.watch(), 4)


def fail(*_args):
    raise OSError(28, "No space left on device")


def test_the_switch_fires_where_a_strike_cannot_be_marked_or_the_node_not_restored(
    node, monkeypatch
):
    node.silence(FAR)
    with monkeypatch.context() as full:
        full.setattr(strikes.files, "write", fail)
        assert "did not answer" in node.look(node.watch(), 4) and not node.restored
    node.restores = False
    assert "did not answer" in node.look(node.watch(), 4) and node.restored


def test_a_switch_that_is_killed_in_its_strike_restores_again(node):
    strikes.mark({"address": FAR["address"], "reason": "silent"})
    watch = node.watch()
    assert len(node.restored) == 1
    os.utime(node.mark, ns=(0, 0))
    assert node.look(watch, 2) is None and strikes.current() is None


def test_a_mark_that_cannot_be_read_keeps_the_node_as_it_is(node):
    with open(node.mark, "w") as stream:
        stream.write("{")
    with pytest.raises(LabError, match="cannot be read"):
        strikes.check()


ANSWERS = '[{"netns": null, "address": "10.244.2.5"}]'


@pytest.mark.parametrize(
    "text, expected",
    [
        (f'{{"strikes": true, "answers": {ANSWERS}}}', True),
        ('{"strikes": true, "answers": []}', False),
        (f'{{"strikes": false, "answers": {ANSWERS}}}', False),
        ('{"strikes": true, "answers": [1]}', False),
        ("{}", False),
        ("", False),
    ],
)
def test_a_strike_is_expected_where_an_address_is_watched(monkeypatch, tmp_path, text, expected):
    monkeypatch.setattr(strikes, "WATCHED", str(tmp_path / "watched"))
    assert not strikes.are_expected()
    (tmp_path / "watched").write_text(text)
    assert strikes.are_expected() is expected


def test_it_is_not_about_to_strike_while_all_answer(monkeypatch, tmp_path):
    monkeypatch.setattr(strikes, "WATCHED", str(tmp_path / "watched"))
    monkeypatch.setattr(strikes.echo, "ask", lambda targets, _seconds: set(targets))
    assert strikes.all_answer()  # none is watched
    (tmp_path / "watched").write_text(f'{{"strikes": true, "answers": {ANSWERS}}}')
    assert strikes.all_answer()
    monkeypatch.setattr(strikes.echo, "ask", lambda _targets, _seconds: set())
    assert not strikes.all_answer()
