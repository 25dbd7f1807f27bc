# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A step of a plan: one command that is still to be run."""

from __future__ import annotations

import re
from typing import Callable, Iterable, NamedTuple, Sequence, TypedDict

from .checks import shown as shown_value
from .errors import InputError

# A comment, quotation marks, an escape, the end of the line (makeargs() of iproute2's lib/utils.c)
BATCH_SIGN = re.compile(r"[#\"'\\\n\r\0]")


class Step(NamedTuple):
    """A command: its arguments, its standard input, the network namespace in which it runs, whether
    it has to succeed, and whether it is tried again on each CPU.

    A step with a ``call`` is no command: this process calls the kernel, by a function that raises
    ``OSError``. Its arguments say what it does.
    """

    argv: Sequence[str]
    stdin: str | None = None
    netns: str | None = None
    check: bool = True
    each_cpu: bool = False
    call: Callable[[], None] | None = None


def batch(lines: Iterable[str], netns: str | None = None, program: str = "ip") -> list[Step]:
    """Return the step that runs all lines in one process of ip or bridge; no step for no lines.

    Raises InputError for a line with a sign that ip -batch does not read as part of a word: a name
    that a node reports may have any.
    """
    text = ""
    for line in lines:
        if BATCH_SIGN.search(line):
            raise InputError(
                "has a sign that ip -batch does not take unchanged",
                shown_value(line),
                "Rename the device or namespace.",
            )
        text += line + "\n"
    return [Step([program, "-batch", "-"], text, netns)] if text else []


def in_netns(argv: Sequence[str], netns: str | None) -> list[str]:
    """Return ``argv`` as a user would type it to run it inside the named network namespace."""
    return ["ip", "netns", "exec", netns, *argv] if netns else list(argv)


class ShownStep(TypedDict):
    """A step as the results of modules show it."""

    argv: list[str]
    stdin: str | None


def _shown_argv(step: Step) -> list[str]:
    if not step.call:
        return in_netns(step.argv, step.netns)
    return [*step.argv, "netns", step.netns] if step.netns else list(step.argv)


def shown(steps: Iterable[Step]) -> list[ShownStep]:
    """Return steps as the results of modules show them."""
    return [{"argv": _shown_argv(step), "stdin": step.stdin} for step in steps]
