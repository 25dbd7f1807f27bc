# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What action plugins say on the console: never a control sequence that a node has written."""

from __future__ import annotations

from ansible.utils.display import Display

from .._untrusted.texts import lines


def say(text: str) -> None:
    """Show a text, line by line."""
    for line in lines(text):
        Display().display(line)


def warn(text: str) -> None:
    """Show a warning."""
    Display().warning(" ".join(lines(text)))
