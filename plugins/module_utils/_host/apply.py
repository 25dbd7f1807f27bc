# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running the steps of a plan."""

from __future__ import annotations

from typing import Iterable

from .._base.errors import CommandError
from .._base.steps import Step, in_netns
from .runner import CommandResult, run

TIMEOUT = 120  # seconds; ovs-vsctl gives up by itself before


def _complaint(result: CommandResult, stdin: str | None) -> str:
    """Return a message that quotes the line of a batch, which ip gives by its number only."""
    message = " ".join(result.err.split())
    number = message.rsplit(":", 1)[-1]
    lines = (stdin or "").splitlines()
    if number.isdigit() and 0 < int(number) <= len(lines):
        return f"{lines[int(number) - 1]!r} failed: {message.partition(' Command failed')[0]}"
    return f"failed with exit status {result.rc}: {message}"


def apply(steps: Iterable[Step]) -> list[CommandResult]:
    """Run the steps in their order and return their results. The first step that has to succeed and
    fails ends the run.
    """
    results = []
    for step in steps:
        result = run(step.argv, step.stdin, step.netns, timeout=TIMEOUT, check=False)
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
