# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the dead man's switch that strikes; see _restore/strikes.py."""

from __future__ import annotations

import time
from typing import Callable

from .._host import daemons
from . import strikes
from .harm import HarmWatch
from .sign_of_life import STRUCK

# From the restore until the path must answer again: the other end may restore itself 2 s later, and
# neighbours may have to be found again.
SILENT_AGAIN_S = 10.0


class StrikingWatch:
    """Looks for harm, and strikes where that is an answer.

    ``restore`` restores the node when no module changes it. ``read_back`` does so while the module that
    asks for the end of a strike has the lock. Both return whether the node is restored.
    """

    def __init__(
        self, harms: HarmWatch, restore: Callable[[], bool], read_back: Callable[[], bool]
    ) -> None:
        self.harms = harms
        self.restore = restore
        self.read_back = read_back
        self.since = time.monotonic()  # of the last restore
        self.unrestored = False
        self.counted_from = strikes.counted_from()
        strike = strikes.current()
        if strike:  # the switch that has marked it was killed
            self._restore()

    def _restore(self) -> None:
        self.unrestored = not self.restore()
        self.harms.start_again()
        self.since = time.monotonic()

    def seen(self) -> str | None:
        """Return the harm for which the switch fires, None without one or after a strike."""
        strike = strikes.current()
        if strike is None:
            self._count_from_change()
        reason = self.harms.seen()
        if self.unrestored:
            return strike["reason"] if strike else "the node could not be restored"
        if strike:
            return self._after_strike(reason)
        address = self.harms.silent_end
        if (
            reason is None
            or address is None
            or not strikes.mark({"address": address, "reason": reason})
        ):
            return reason
        self._restore()
        return reason if self.unrestored else None

    def _count_from_change(self) -> None:
        """Count silences again where a profile was set since."""
        changed = strikes.counted_from()
        if changed != self.counted_from:
            self.counted_from = changed
            self.harms.start_again()

    def _after_strike(self, reason: str | None) -> str | None:
        """Return the harm that no profile explains; end the strike where that is asked for."""
        if reason and self.harms.silent_end is None:
            return reason
        if reason:
            waited = time.monotonic() - self.since > SILENT_AGAIN_S
            return f"{reason} with the settings as found" if waited else None
        if strikes.end_is_asked_for() and self.harms.all_answer_since(self.since):
            self.unrestored = not self.read_back()
            if not self.unrestored:
                self.harms.start_again()
                daemons.forget(STRUCK)
        return None

    def end(self) -> None:
        """End the checks that still run."""
        self.harms.end()
