# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark of a switch that has fired: why, and the snapshot until a controller has read the node back.

The file is made when the switch is armed, and renamed when it fires. A file system that is full then
has room for the reason, because its page is there already.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import Any

from .._base.errors import LabError
from .._host import files
from . import identity
from . import snapshot as restore_snapshot
from .sign_of_life import FIRED

ARMED = "/run/offload-lab/dead_man_switch.armed"
ROOM = 2048  # characters for the reason
NANO = 10**9


def prepare() -> None:
    """Make the file, for a switch that has seen no sign of life yet."""
    files.write(ARMED, " " * ROOM + "\n", 0o600)
    os.utime(ARMED, ns=(0, 0))


def remember_sign(sign: int, moment: float) -> None:
    """Remember the last sign of life, and when it was seen: the file's two times need no space."""
    with contextlib.suppress(OSError):
        os.utime(ARMED, ns=(sign, int(moment * NANO)))


def last_sign() -> tuple[int | None, float]:
    """Return the last sign of life that a switch has seen since it was armed, and when by the monotonic
    clock: a switch that runs again waits no longer than the one that was killed.
    """
    now = time.monotonic()
    try:
        times = os.stat(ARMED)
    except OSError:
        return None, now
    moment = times.st_mtime_ns / NANO
    return (times.st_atime_ns, moment) if 0 < moment <= now else (None, now)


def set_fired(reason: str) -> None:
    """Mark the node as restored by its switch. Restoring does not depend on it."""
    line = " ".join(reason.split())[: ROOM // 2]  # a character may take several bytes
    with contextlib.suppress(OSError), open(ARMED, "r+", errors="replace") as stream:
        stream.write(line + "\n")
    with contextlib.suppress(OSError):
        os.rename(ARMED, FIRED)
    if not os.path.exists(FIRED):
        with contextlib.suppress(LabError, OSError):
            files.write(FIRED, line + "\n", 0o600)


def _rewrite(reason: str, more: dict[str, Any]) -> bool:
    """Write the mark again with something more to read; return whether there was room for it."""
    text = f"{reason}\n{json.dumps(more)}\n" if more else f"{reason}\n"
    try:
        files.write(FIRED, text, 0o600)
    except (LabError, OSError, ValueError):
        return False
    return True


def add_problems(reason: str, problems: list[str]) -> None:
    """Say in the mark what could not be restored yet."""
    _rewrite(reason, {"not_restored": problems})


def keep(reason: str, path: str) -> None:
    """Move the snapshot of the file ``path`` into the mark; where that is not possible the file stays.

    It stays for hardware that is gone, too: the next campaign removes the mark.
    """
    try:
        snapshot = restore_snapshot.read(path)
        if snapshot and any(map(identity.is_hardware, identity.resolve(snapshot["devices"]).gone)):
            return
    except Exception:  # whatever it is, the file stays unchanged
        return
    if snapshot and _rewrite(reason, {"path": path, "snapshot": snapshot}):
        with contextlib.suppress(OSError):
            restore_snapshot.remove(path)


def _more() -> dict[str, Any]:
    try:
        with open(FIRED) as stream:
            more = json.loads(stream.read().partition("\n")[2].strip() or "{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return more if isinstance(more, dict) else {}


def kept(path: str) -> restore_snapshot.Snapshot | None:
    """Return the snapshot of the file ``path`` that a switch has restored and no controller has read back."""
    more = _more()
    return more.get("snapshot") if more.get("path") == path else None


def forget(path: str) -> None:
    """Forget what :func:`keep` kept, after the node was read back. The reason stays."""
    if kept(path) is not None:
        with open(FIRED) as stream:
            reason = stream.readline().strip()
        _rewrite(reason, {})
