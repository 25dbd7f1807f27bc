# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door through which the collection starts processes on a node: argument lists, never a
shell string. Steps of a plan run through it, too.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from .._base.errors import CommandError
from .._base.steps import Step, in_netns
from .netns import inside

# sbin is not on every user's PATH, and tools of other languages must not change what we parse.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BY_HAND = "Run this command by hand on the node."


# What these print may hold secrets of the host, so no message shows it.
CONFIDENTIAL = frozenset(
    (
        "crictl",
        "ctr",
        "dmesg",
        "docker",
        "nmcli",
        "ovs-vsctl",
        "ovsdb-tool",
        "podman",
        "udevadm",
        "wg",
    )
)


class CommandResult(NamedTuple):
    """What a finished process left: its arguments, its exit status, and what it printed."""

    argv: Sequence[str]
    rc: int
    out: str
    err: str


def environment() -> dict[str, str]:
    """Return the environment of every process that is started: plain C locale, system directories
    first.
    """
    return dict(
        os.environ,
        LC_ALL="C",
        LANGUAGE="C",
        PATH=SEARCH_PATH + os.pathsep + os.environ.get("PATH", ""),
    )


def start(
    argv: Sequence[str],
    netns: str | None = None,
    *,
    variables: Mapping[str, str] | None = None,
    **options: Any,
) -> subprocess.Popen[Any]:
    """Start a process in the named network namespace (None: in ours), in the root folder, and
    return it; ``variables`` are its environment, and ``options`` go to Popen.
    """
    try:
        with inside(netns):
            # AnsibleModule.run_command is for modules only, and cannot start what goes on while
            # the module runs. pylint: disable-next=ansible-bad-function
            return subprocess.Popen(
                argv,
                env=variables if variables is not None else environment(),
                cwd="/",
                close_fds=True,
                universal_newlines=True,
                **options,
            )
    except OSError as error:
        raise CommandError(
            f"could not be started ({error.strerror})",
            argv,
            to_do=f"Install the package that provides {argv[0]!r}.",
        )


def _shown(argv: Sequence[str], out: str) -> str:
    """Return what a message may show of the standard output of a program."""
    return "" if os.path.basename(argv[0]) in CONFIDENTIAL else out


def run(
    argv: Sequence[str],
    stdin: str | None = None,
    netns: str | None = None,
    timeout: float = 60,
    check: bool = True,
    *,
    pass_fds: Sequence[int] = (),
) -> CommandResult:
    """Run a process to its end and return its :class:`CommandResult`.

    ``timeout`` is in seconds. With ``check`` an exit status other than 0 raises
    :class:`CommandError`. The open files ``pass_fds`` are the process's, too.
    """
    process = start(
        argv,
        netns,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=pass_fds,
    )
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise CommandError(f"did not end within {timeout} s", in_netns(argv, netns), to_do=BY_HAND)
    if check and process.returncode != 0:
        reason = (err or _shown(argv, out)).strip()
        raise CommandError(
            f"failed with exit status {process.returncode}" + (f": {reason}" if reason else ""),
            in_netns(argv, netns),
            process.returncode,
            err,
            BY_HAND,
        )
    return CommandResult(argv, process.returncode, out, err)


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
                BY_HAND,
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
