# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: words that become text of a shell, or of a unit file of systemd.

Processes are started from argument lists, so nearly nothing is such text. What a host runs at its
boot cannot be an argument list: scripts of ifupdown, units, .link and .network files. All of that
text is made with these functions, and of names that are checked before.
"""

from __future__ import annotations

import re
import shlex
from typing import Iterable

from .errors import InputError

# Words that systemd takes as they are: no quotes, no specifier (%), no variable ($), no escape (\).
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@+-]+\Z")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$"}


def shell_line(argv: Iterable[object]) -> str:
    """Return words as a command line of a POSIX shell, which sees each as one word."""
    return " ".join(shlex.quote(str(word)) for word in argv)


def one_line(text: object) -> str:
    """Return text for one line of a file; raises InputError for a line break or another control
    character.
    """
    value = str(text)
    if not value.isprintable():
        raise InputError(
            "has a line break or a control character", repr(value)[:80], "Remove the character."
        )
    return value


def unit_value(text: object) -> str:
    """Return text as a value of a unit file, in which "%" begins a specifier."""
    return one_line(text).replace("%", "%%")


def _unit_word(word: object) -> str:
    text = one_line(word)
    if _PLAIN.match(text):
        return text
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in text) + '"'


def exec_start(argv: Iterable[object]) -> str:
    """Return the line of a unit file that starts a program with these arguments (systemd.service(5))."""
    return f"ExecStart={' '.join(map(_unit_word, argv))}\n"
