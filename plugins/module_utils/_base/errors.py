# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed errors of the collection: each says what is wrong, where, and what to do."""

from __future__ import annotations

from typing import Sequence

# Characters of a part of a message: a hostile name or a program's output may have any number of
# them
LONGEST = 600


def shortened(text: str) -> str:
    """Return a part of a message without its middle if it is too long to be read."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


class LabError(Exception):
    """An error that a user can act on.

    It says ``what`` is wrong, ``where`` (a device, a file and line, a value), and what ``to_do``
    about it.
    """

    def __init__(self, what: str, where: object = None, to_do: str | None = None) -> None:
        self.what = what
        self.where = where
        self.to_do = to_do
        super().__init__(str(self))

    def __str__(self) -> str:
        prefix = f"{shortened(str(self.where))}: " if self.where else ""
        advice = f" {self.to_do}" if self.to_do else ""
        return f"{prefix}{shortened(self.what.rstrip('.'))}.{advice}"


class ParseError(LabError):
    """Text that is not what it should be; ``line`` is the 1-based line of the input."""

    def __init__(self, what: str, line: int, to_do: str | None = None) -> None:
        self.line = line
        super().__init__(what, f"line {line}", to_do)


class InputError(LabError):
    """A value given by the user that cannot be used; raised before anything is changed."""


class CommandError(LabError):
    """A program that is missing, timed out, or failed."""

    def __init__(
        self,
        what: str,
        argv: Sequence[str],
        rc: int | None = None,
        err: str = "",
        to_do: str | None = None,
    ) -> None:
        self.argv = list(argv)
        self.rc = rc
        self.err = err
        super().__init__(what, " ".join(self.argv), to_do)
