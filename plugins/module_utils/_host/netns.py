# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work inside a named network namespace without starting a process for it: setns(2)."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Iterator

from .._base import network
from .._base.errors import InputError, LabError

FOLDER = "/run/netns"
CLONE_NEWNET = 0x40000000


def path_of(netns: str | None) -> str:
    """Return the file of a named namespace, or of this process's own without a name."""
    if not netns:
        return "/proc/self/ns/net"
    return os.path.join(FOLDER, network.namespace_name(netns))


def inode(path: str) -> int | None:
    """Return what identifies the namespace behind a file, or None where there is none."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _enter(descriptor: int, name: str) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(descriptor, CLONE_NEWNET) != 0:
        raise LabError(
            f"cannot be entered ({os.strerror(ctypes.get_errno())})",
            f"network namespace {name}",
            "Run it as root (become: true).",
        )


@contextlib.contextmanager
def inside(netns: str | None) -> Iterator[None]:
    """Run the ``with`` block in the named network namespace; its sockets and children belong to
    that.
    """
    if not netns:
        yield
        return
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(open("/proc/self/ns/net"))
        try:
            target = stack.enter_context(open(path_of(netns)))
        except OSError as error:
            raise InputError(
                f"there is no such network namespace ({error.strerror})",
                netns,
                "Create the lab first: playbooks/lab.yml.",
            )
        _enter(target.fileno(), netns)
        stack.callback(_enter, home.fileno(), "of this process")
        yield
