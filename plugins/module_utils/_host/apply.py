# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running the steps of a plan."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterable, Iterator, NamedTuple

from .._base.errors import CommandError
from .._base.steps import Step, in_netns
from .netns import inside
from .runner import CommandResult, run

TIMEOUT = 120  # seconds; ovs-vsctl gives up before
STARTS_DAEMONS = "ovs-ctl"  # they would keep a lock that they inherit


class Guard(NamedTuple):
    """What is asked before each step, and the open file of a lock that each step's process holds, too."""

    check: Callable[[], None]
    lock: int | None


_guards: list[Guard] = []


@contextlib.contextmanager
def guarded(check: Callable[[], None], lock: int | None) -> Iterator[None]:
    """While this lasts, ``check`` may refuse each step, by raising, and a step that outlives this process
    keeps the lock.
    """
    _guards.append(Guard(check, lock))
    try:
        yield
    finally:
        _guards.pop()


def _ask_guards(step: Step) -> dict[str, Any]:
    """Ask all guards; return the option with which the step's process holds their locks, too."""
    for guard in _guards:
        guard.check()
    locks = [guard.lock for guard in _guards if guard.lock is not None]
    if not locks or os.path.basename(step.argv[0]) == STARTS_DAEMONS:
        return {}
    return {"pass_fds": locks}


def _complaint(result: CommandResult, stdin: str | None) -> str:
    """Return a message that quotes the line of a batch, which ip gives by its number only."""
    message = " ".join(result.err.split())
    number = message.rsplit(":", 1)[-1]
    lines = (stdin or "").splitlines()
    if number.isdigit() and 0 < int(number) <= len(lines):
        return f"{lines[int(number) - 1]!r} failed: {message.partition(' Command failed')[0]}"
    return f"failed with exit status {result.rc}: {message}"


def _called(step: Step, call: Callable[[], None]) -> CommandResult:
    """Call the kernel in the step's network namespace; a refusal is a result like a failed process."""
    try:
        with inside(step.netns):
            call()
    except OSError as error:
        return CommandResult(step.argv, 1, "", error.strerror or str(error))
    return CommandResult(step.argv, 0, "", "")


def _run(step: Step) -> CommandResult:
    """Run a step, once more on each CPU where that may help."""
    kept = _ask_guards(step)
    if step.call:
        return _called(step, step.call)
    cpus = sorted(os.sched_getaffinity(0)) if step.each_cpu else []
    prefixes = [["taskset", "--cpu-list", str(cpu)] for cpu in cpus]
    for prefix in [[], *prefixes]:
        argv = [*prefix, *step.argv]
        result = run(argv, step.stdin, step.netns, timeout=TIMEOUT, check=False, **kept)
        if result.rc == 0:
            break
    return result


def apply(steps: Iterable[Step]) -> list[CommandResult]:
    """Run the steps in their order and return their results. The first step that has to succeed and
    fails ends the run.
    """
    results = []
    for step in steps:
        result = _run(step)
        results.append(result)
        if result.rc != 0 and step.check:
            raise CommandError(
                _complaint(result, step.stdin),
                in_netns(step.argv, step.netns),
                result.rc,
                result.err,
            )
        if step.argv[0] == "ovs-vsctl" and "Error detected" in result.err:
            # ovs-vsctl exits with 0 when the database took the change and ovs-vswitchd could not
            # follow.
            raise CommandError(
                result.err.strip().splitlines()[0].replace("ovs-vsctl: ", ""),
                step.argv[:1],
                to_do="See ovs-vswitchd.log on the node.",
            )
    return results
