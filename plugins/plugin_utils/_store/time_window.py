# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hours of a day in which a network may be measured. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from ...module_utils._base.errors import InputError

HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])\Z", re.ASCII)


@dataclass(frozen=True)
class TimeWindow:
    """From one minute of the day to another, by the controller's clock; it may span midnight."""

    begin: int  # minutes since midnight
    end: int  # minutes since midnight, the first that is outside

    def is_open(self, now: datetime) -> bool:
        """Return whether a moment is in it."""
        minute = now.hour * 60 + now.minute
        if self.begin < self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end


def parse(text: str) -> TimeWindow | None:
    """Return the window that a text such as ``22:00-05:30`` gives; None for an empty one."""
    if not text:
        return None
    found = HOURS.match(text)
    if not found:
        raise InputError(
            "not two times of a day",
            f"offload_lab_only_between {text!r}",
            "Give HH:MM-HH:MM, for example 22:00-05:30.",
        )
    numbers = [int(word) for word in found.groups()]
    window = TimeWindow(numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3])
    if window.begin == window.end:
        raise InputError(
            "begins when it ends",
            f"offload_lab_only_between {text!r}",
            "Give two times that differ.",
        )
    return window


def check_open(text: str, now: datetime) -> None:
    """Raise InputError when a moment is outside of the window."""
    window = parse(text)
    if window and not window.is_open(now):
        raise InputError(
            f"it is {now:%H:%M} on the controller, and it may be measured from "
            f"{text.replace('-', ' to ')} only",
            "offload_lab_only_between",
            "Run it then, from a timer or cron for example: it goes on where it stopped.",
        )
