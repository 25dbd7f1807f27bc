# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed errors of the collection: each says what is wrong, where, and what to do."""
from __future__ import annotations

LONGEST = 600  # characters of a part of a message: a hostile name or a program's output may have any number of them


def shortened(text):
    """Return a part of a message without its middle if it is too long to be read."""
    return text if len(text) <= LONGEST else "{0} ... {1}".format(text[:LONGEST // 2], text[-LONGEST // 2:])


class LabError(Exception):
    """An error that a user can act on.

    ``what`` is wrong, ``where`` it is (a device, a file and line, a value), and what ``to_do`` about it.
    """

    def __init__(self, what, where=None, to_do=None):
        self.what = what
        self.where = where
        self.to_do = to_do
        super().__init__(str(self))

    def __str__(self):
        place = "{0}: ".format(shortened(str(self.where))) if self.where else ""
        advice = " {0}".format(self.to_do) if self.to_do else ""
        return "{0}{1}.{2}".format(place, shortened(self.what.rstrip(".")), advice)


class ParseError(LabError):
    """Text that is not what it should be; ``line`` is the 1-based line of the input."""

    def __init__(self, what, line, to_do=None):
        self.line = line
        super().__init__(what, "line {0}".format(line), to_do)


class InputError(LabError):
    """A value given by the user that cannot be used; raised before anything is changed."""


class CommandError(LabError):
    """A program that is missing, timed out, or failed."""

    def __init__(self, what, argv, rc=None, err="", to_do=None):
        self.argv = list(argv)
        self.rc = rc
        self.err = err
        super().__init__(what, " ".join(self.argv), to_do)
