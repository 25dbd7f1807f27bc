# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running steps: failures name the line of a batch, and what Open vSwitch says is heard."""
from __future__ import annotations

import contextlib

import pytest

from ansible_collections.offload.lab.plugins.module_utils import _apply
from ansible_collections.offload.lab.plugins.module_utils._errors import CommandError
from ansible_collections.offload.lab.plugins.module_utils._runner import Result
from ansible_collections.offload.lab.plugins.module_utils._steps import batch


@pytest.fixture(name="host")
def _host(monkeypatch):
    """A host that records ``(namespace, argv, stdin)`` and answers with ``answer`` (exit status, errors)."""
    class Host(object):
        answer, calls, netns = (0, ""), [], None

    host = Host()
    host.calls = []

    @contextlib.contextmanager
    def inside(netns):
        host.netns = netns
        yield
        host.netns = None

    def run(argv, stdin, timeout, check):
        assert (timeout, check) == (_apply.TIMEOUT, False)
        host.calls.append((host.netns, argv, stdin))
        return Result(argv, host.answer[0], "", host.answer[1])

    monkeypatch.setattr(_apply, "inside", inside)
    monkeypatch.setattr(_apply, "run", run)
    return host


def test_each_step_runs_once_where_it_belongs(host):
    _apply.apply(batch(["a", "b"]) + batch([]) + batch(["c"], "tenant1") + batch(["d"], program="bridge"))
    assert host.calls == [(None, ["ip", "-batch", "-"], "a\nb\n"), ("tenant1", ["ip", "-batch", "-"], "c\n"),
                          (None, ["bridge", "-batch", "-"], "d\n")]


def test_the_failed_line_is_named_and_nothing_more_is_run(host):
    host.answer = (1, "RTNETLINK answers: File exists\nCommand failed -:2\n")
    with pytest.raises(CommandError, match="'link add b' failed: RTNETLINK answers: File exists"):
        _apply.apply(batch(["link add a", "link add b"]) + batch(["link add c"]))
    assert len(host.calls) == 1


@pytest.mark.parametrize("message", ["Cannot open network namespace", "Command failed -:9", ""])
def test_another_message_is_passed_on(host, message):
    host.answer = (255, message)
    with pytest.raises(CommandError, match="failed with exit status 255: " + message):
        _apply.apply(batch(["link add a"]))


def test_open_vswitch_complains_with_exit_status_0(host):
    host.answer = (0, "ovs-vsctl: Error detected while setting up 'x': could not open network device x.\nSee the log\n")
    with pytest.raises(CommandError, match="could not open network device x"):
        _apply.apply([{"argv": ["ovs-vsctl", "add-port", "br-int", "x"], "stdin": None}])
