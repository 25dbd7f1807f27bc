# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door through which the collection starts processes on a node: argument lists, never a
shell string.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any, Mapping, NamedTuple, Sequence

from .._base.errors import CommandError
from .._base.steps import in_netns
from .netns import inside

# sbin is not on every user's PATH, and tools of other languages must not change what we parse.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


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
        raise CommandError(f"did not end within {timeout} s", in_netns(argv, netns))
    if check and process.returncode != 0:
        reason = (err or _shown(argv, out)).strip()
        raise CommandError(
            f"failed with exit status {process.returncode}" + (f": {reason}" if reason else ""),
            in_netns(argv, netns),
            process.returncode,
            err,
        )
    return CommandResult(argv, process.returncode, out, err)
