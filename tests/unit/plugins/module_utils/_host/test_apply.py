# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running steps: failures name the line of a batch, and what Open vSwitch says is heard."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import CommandError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import Step, batch, shown
from ansible_collections.offload.lab.plugins.module_utils._host import runner
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult


@pytest.fixture(name="host")
def _host(monkeypatch):
    """A host that records ``(namespace, argv, stdin)`` and answers with ``answer`` (exit status,
    errors).
    """

    class Host:
        answer = (0, "")
        calls = []

    host = Host()
    host.calls = []

    def run(argv, stdin, netns, timeout, check):
        assert (timeout, check) == (runner.TIMEOUT, False)
        host.calls.append((netns, argv, stdin))
        return CommandResult(argv, host.answer[0], "", host.answer[1])

    monkeypatch.setattr(runner, "run", run)
    return host


def test_each_step_runs_once_where_it_belongs(host):
    runner.apply(
        batch(["a", "b"]) + batch([]) + batch(["c"], "tenant1") + batch(["d"], program="bridge")
    )
    assert host.calls == [
        (None, ["ip", "-batch", "-"], "a\nb\n"),
        ("tenant1", ["ip", "-batch", "-"], "c\n"),
        (None, ["bridge", "-batch", "-"], "d\n"),
    ]


def test_the_failed_line_is_named_and_nothing_more_is_run(host):
    host.answer = (1, "RTNETLINK answers: File exists\nCommand failed -:2\n")
    with pytest.raises(CommandError, match="'link add b' failed: RTNETLINK answers: File exists"):
        runner.apply(batch(["link add a", "link add b"]) + batch(["link add c"]))
    assert len(host.calls) == 1


@pytest.mark.parametrize("message", ["Cannot open network namespace", "Command failed -:9", ""])
def test_another_message_is_passed_on(host, message):
    host.answer = (255, message)
    with pytest.raises(CommandError, match="failed with exit status 255: " + message):
        runner.apply(batch(["link add a"]))


def test_open_vswitch_complains_with_exit_status_0(host):
    host.answer = (
        0,
        "ovs-vsctl: Error detected while setting up 'x': could not open network device x.\nSee the log\n",
    )
    with pytest.raises(CommandError, match="could not open network device x"):
        runner.apply([Step(["ovs-vsctl", "add-port", "br-int", "x"])])


def test_a_step_that_may_fail_is_told_and_the_next_one_runs(host):
    host.answer = (1, "No such device")
    results = runner.apply(
        [Step(["ethtool", "-K", "a"], check=False), Step(["ethtool", "-K", "b"], check=False)]
    )
    assert [(result.rc, result.err) for result in results] == [host.answer] * 2


@pytest.mark.parametrize(("fails", "runs"), [(0, 1), (1, 2), (2, 3), (9, 4)])
def test_a_step_that_depends_on_its_cpu_is_tried_on_each(host, monkeypatch, fails, runs):
    monkeypatch.setattr(runner.os, "sched_getaffinity", lambda _process: {7, 2, 5})
    argvs = []

    def run(argv, *_step, **_options):
        argvs.append(argv)
        return CommandResult(argv, int(len(argvs) <= fails), "", "Invalid argument")

    monkeypatch.setattr(runner, "run", run)
    step = Step(["unshare", "--mount=a"], check=False, each_cpu=True)
    (result,) = runner.apply([step])
    tried = [["taskset", "--cpu-list", cpu, *step.argv] for cpu in ("2", "5", "7")]
    assert argvs == [step.argv, *tried][:runs]
    assert (result.rc == 0) == (fails < 4)


def test_a_user_sees_commands_as_they_would_be_typed():
    assert shown([*batch(["a"], "tenant1"), Step(["ovs-vsctl"])]) == [
        {"argv": ["ip", "netns", "exec", "tenant1", "ip", "-batch", "-"], "stdin": "a\n"},
        {"argv": ["ovs-vsctl"], "stdin": None},
    ]
