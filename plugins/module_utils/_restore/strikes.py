# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Strikes of the dead man's switch: a path stops answering under a profile in a campaign that asks just
that. The switch restores the node and goes on watching; its mark keeps modules from changing the node.

The mark stays until a module of the campaign asks for its end. The switch ends it when the path answers
again and the node is read back. Where the path stays silent with the settings as found, the switch fires.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TypedDict

from .._base.errors import LabError
from .._host import echo, files
from .._host.waiting import wait_until
from .sign_of_life import STRUCK, WATCHED, renew

ANSWER_S = 0.4  # that an answer to an echo request may take
END_S = 20.0  # that a module waits for the end of a strike
ASKED = 0  # the time of a mark whose end is asked for: this needs no space


class Strike(TypedDict):
    """What a switch has seen: the address that stopped answering, and a sentence."""

    address: str
    reason: str


def current() -> Strike | None:
    """Return the strike whose mark is on this node, None without one."""
    try:
        with open(STRUCK) as stream:
            strike: Strike = json.load(stream)
        return {"address": str(strike["address"]), "reason": str(strike["reason"])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        return {"address": "", "reason": f"the mark of a strike cannot be read ({error})"}


def mark(strike: Strike) -> bool:
    """Write the mark of a strike; return False where that is not possible."""
    try:
        files.write(STRUCK, json.dumps(strike), 0o600)
    except (LabError, OSError):
        return False
    return True


def watched() -> list[echo.Target]:
    """Return the addresses whose silence is a strike for the switch of this node."""
    try:
        with open(WATCHED) as stream:
            watchlist = json.load(stream)
        answers = watchlist["answers"] if watchlist["strikes"] else []
        return [echo.Target(item["netns"], item["address"]) for item in answers]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def are_expected() -> bool:
    """Return whether the switch of this node watches addresses whose silence is a strike."""
    return bool(watched())


def all_answer() -> bool:
    """Return whether all these addresses answer now: then the switch is not about to strike."""
    targets = watched()
    return echo.ask(targets, ANSWER_S) == set(targets)


def count_from_now() -> None:
    """Have the switch count silences from now on: one that began under the profile before says nothing
    of the profile that is set now.
    """
    with contextlib.suppress(OSError):
        os.utime(WATCHED)


def counted_from() -> int:
    """Return the time from which silences count, as a number that changes; 0 where nothing is watched."""
    try:
        return os.stat(WATCHED).st_mtime_ns
    except OSError:
        return 0


def check() -> None:
    """Raise :class:`LabError` where the mark of a strike is on this node."""
    strike = current()
    if strike:
        raise LabError(
            f"a path stopped answering and the node was restored: {strike['reason']}",
            STRUCK,
            "Ask for the end of the strike before the next change (after_strike).",
        )


def end(lease: str | None = None) -> None:
    """Ask the switch for the end of a strike, and wait for it; without a strike nothing happens.

    Raises :class:`LabError` where the switch fires instead, or does not answer.
    """

    def ended() -> bool:
        renew(lease=lease)
        return current() is None

    if current() is None:
        return
    os.utime(STRUCK, ns=(ASKED, ASKED))
    if not wait_until(ended, patience=END_S):
        raise LabError(
            f"the dead man's switch has not ended its strike within {END_S:.0f} s",
            STRUCK,
            "Restore the node (restore.yml), then run the campaign again: it goes on from here.",
        )


def end_is_asked_for() -> bool:
    """Return whether a module waits for the end of the strike."""
    try:
        return os.stat(STRUCK).st_mtime_ns == ASKED
    except OSError:
        return False
