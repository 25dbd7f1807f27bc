# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the formats of tracepoints. Where tracefs is not mounted, a thread mounts it for itself: in a
mount namespace of its own, which ends with the thread. The host sees nothing of it.

Constants: linux/sched.h, linux/mount.h.
"""

from __future__ import annotations

import ctypes
import os
from typing import Iterable

from .._base.errors import LabError
from .._host.waiting import in_thread

PLACE = "/sys/kernel/tracing"
CLONE_NEWNS = 0x00020000
MS_REC_PRIVATE = 0x4000 | 0x40000
MS_SAFE = 1 | 2 | 4 | 8  # read-only, no set-user-ID, no devices, no programs
WAIT = 30.0  # s; an emulated CPU needs one
TO_DO = (
    "Run it as root of the host (become: true). A container, a kernel that is locked down or one "
    "without CONFIG_TRACEPOINTS does not allow it."
)


def unavailable(why: str) -> LabError:
    """Return the error of a host on which tracepoints cannot be counted."""
    return LabError(f"the kernel's tracepoints cannot be counted: {why}", None, TO_DO)


def _call(done: int, what: str) -> None:
    if done != 0:
        raise unavailable(f"{what} ({os.strerror(ctypes.get_errno())})")


def _mount() -> None:
    """Mount tracefs where this thread alone sees it."""
    library = ctypes.CDLL(None, use_errno=True)
    _call(library.unshare(CLONE_NEWNS), "the kernel gives no mount namespace")
    _call(library.mount(None, b"/", None, MS_REC_PRIVATE, None), "mounts cannot be made private")
    mounted = library.mount(b"tracefs", PLACE.encode(), b"tracefs", MS_SAFE, None)
    _call(mounted, "tracefs cannot be mounted")


def _read(names: Iterable[str]) -> dict[str, str]:
    """Return the formats of the tracepoints that this kernel has."""
    texts = {}
    for name in names:
        try:
            with open(f"{PLACE}/events/{name}/format") as stream:
                texts[name] = stream.read()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise unavailable(f"{error.filename}: {error.strerror}")
    return texts


def formats(names: Iterable[str]) -> dict[str, str]:
    """Return ``{"GROUP/NAME": format}`` of the tracepoints that this kernel has.

    Raise LabError where the kernel or a container allows none.
    """
    if os.path.isdir(f"{PLACE}/events"):
        return _read(names)
    texts: dict[str, str] = {}
    errors = []

    def work() -> None:
        try:
            _mount()
            texts.update(_read(names))
        except LabError as error:
            errors.append(error)

    in_thread(work).join(WAIT)
    if errors:
        raise errors[0]
    return texts
