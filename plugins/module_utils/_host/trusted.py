# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs and files that only root can change: nothing else is run as root at a user's word."""

from __future__ import annotations

import os
import stat
from typing import Iterator

from .._base.errors import LabError

FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
WRITABLE = stat.S_IWGRP | stat.S_IWOTH
MOST_LINKS = 40  # that the kernel follows


def find(program: str) -> str:
    """Return the path of a program, by its path or its name; raise LabError unless only root can
    change it.

    A folder of the search path that others may write to is passed over.
    """
    if os.path.isabs(program):
        check_executable(program)
        return program
    if "/" in program or program in ("", ".", ".."):
        raise LabError("is no program", repr(program), "Give its name, or its whole path.")
    for folder in FOLDERS:
        path = os.path.join(folder, program)
        if os.access(path, os.X_OK) and changeable(folder) is None:
            check_executable(path)
            return path
    raise LabError(
        "is not installed in a folder that only root can change",
        program,
        f"Install it, or give its path. The search takes {', '.join(FOLDERS)}.",
    )


def check_executable(path: str) -> None:
    """Raise LabError unless a path is a program that only root can change."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise LabError("is no program", path, "Install it, or correct the path.")
    culprit = changeable(path)
    if culprit:
        raise LabError(
            f"is not run as root, since not root alone may change {culprit}",
            path,
            f"Make it root's: chown root:root {culprit}; chmod go-w {culprit}.",
        )


def changeable(path: str) -> str | None:
    """Return the first file or folder by which somebody else can replace what ``path`` names, or None.

    In a sticky folder such as /tmp nobody renames root's folders, but anyone may add files.
    """
    folder = os.path.dirname(os.path.realpath(path))
    for name in _named(path):
        status = os.lstat(name)
        if status.st_uid != 0:
            return name
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX and name != folder
        if not stat.S_ISLNK(status.st_mode) and status.st_mode & WRITABLE and not sticky:
            return name
    return None


def _named(path: str) -> Iterator[str]:
    """Yield each folder, link and file on the way to a path, and to what its links name."""
    for _link in range(MOST_LINKS):
        yield path
        yield from _above(os.path.dirname(path))
        if not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    real = os.path.realpath(path)
    yield real
    yield from _above(os.path.dirname(real))


def _above(folder: str) -> Iterator[str]:
    while True:
        yield folder
        if folder in ("/", ""):
            return
        folder = os.path.dirname(folder)
