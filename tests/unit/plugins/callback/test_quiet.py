# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quiet callback: what stands on the screen, and that the log file has the rest."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.tests.support import run

PLAYBOOK = """\
- name: Build something
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Include much
      ansible.builtin.include_tasks: one.yml
      loop: [1, 2, 3]
    - name: Say something
      ansible.builtin.debug:
        msg: [first line, second line]
    - name: Fail and recover
      block:
        - name: Try
          ansible.builtin.fail:
            msg: not to be seen
      rescue:
        - name: Recover
          ansible.builtin.assert: {that: true, quiet: true}
    - name: Fail in the end
      ansible.builtin.fail:
        msg: this is what went wrong
      when: wrong | default(false) | bool
    - name: Fail for some
      ansible.builtin.assert:
        that: item != 2
        fail_msg: "{{ item }} is wrong"
      loop: [1, 2, 3]
      when: some | default(false) | bool
"""


@pytest.fixture(name="play")
def _play(tmp_path):
    (tmp_path / "play.yml").write_text(PLAYBOOK)
    (tmp_path / "one.yml").write_text(
        "- name: One of many\n  ansible.builtin.assert: {that: true, quiet: true}\n"
    )

    def play(*arguments, rc=0, **variables):
        return run(
            ["ansible-playbook", tmp_path / "play.yml", *arguments],
            rc=rc,
            ANSIBLE_LOG_PATH=str(tmp_path / "log"),
            **variables,
        ).splitlines()

    return play


def test_a_person_sees_stages_and_messages_and_the_log_has_all(play, tmp_path):
    assert play(ANSIBLE_STDOUT_CALLBACK="offload.lab.quiet") == [
        "- Build something",
        "  first line",
        "  second line",
    ]
    log = (tmp_path / "log").read_text()
    assert log.count("included: ") == 3 and "not to be seen" in log and "PLAY RECAP" in log


def test_a_failure_is_seen_and_one_that_was_rescued_is_not(play):
    lines = play("-e", "wrong=true", rc=2, ANSIBLE_STDOUT_CALLBACK="offload.lab.quiet")
    assert lines[-1] == "localhost: Fail in the end: this is what went wrong"
    assert not any("not to be seen" in line for line in lines)


def test_of_a_loop_the_items_that_failed_say_why(play):
    lines = play("-e", "some=true", rc=2, ANSIBLE_STDOUT_CALLBACK="offload.lab.quiet")
    assert lines[-1] == "localhost: Fail for some: 2 is wrong"


def test_without_it_all_is_as_ever(play):
    assert any(line.startswith("PLAY RECAP") for line in play())
