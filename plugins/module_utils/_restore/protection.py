# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps the process of the dead man's switch alive: the OOM killer takes others first, and a process
that was killed is started again, by systemd or by its parent.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from typing import Callable, Sequence

from .._host.daemons import ProcessState
from .._host.processes import started_at

SPARED = -900  # of oom_score_adj; -1000 would be never, also where it is the one to blame
ORDINARY = 0
RESTART_S = 0.2  # from its end to its next start
RESTARTS = 30  # within a minute

_parent: list[ProcessState] = []  # of the child that supervise() has started


def _set_oom_score(pid: int, score: int) -> None:
    path = f"/proc/{pid}/oom_score_adj"
    with contextlib.suppress(OSError), open(
        path, "w"
    ) as stream:  # a container may not be allowed to
        stream.write(str(score))


def from_oom_killer() -> None:
    """Have the kernel end other processes first where memory is short."""
    _set_oom_score(os.getpid(), SPARED)


def expose(pid: int) -> None:
    """Take the protection from a child that is not ours: a user's check may need any memory."""
    _set_oom_score(pid, ORDINARY)


def by_systemd(unit: str, argv: Sequence[str]) -> list[str]:
    """Return the command that starts a program as a unit, which runs again where it is killed or fails."""
    properties = {
        "OOMScoreAdjust": SPARED,
        "Restart": "on-failure",
        "RestartSec": f"{RESTART_S * 1000:.0f}ms",
        "StartLimitIntervalSec": 60,
        "StartLimitBurst": RESTARTS,
    }
    options = [f"--property={name}={value}" for name, value in properties.items()]
    return ["systemd-run", "--quiet", "--collect", "--unit=" + unit, *options, *argv]


def parent() -> ProcessState | None:
    """Return the process that starts this one again; None where systemd does, or nobody."""
    return _parent[0] if _parent else None


def supervise(work: Callable[[], None]) -> None:
    """Do ``work`` in a child, and again in another one where it is killed or fails. To end both, end this
    process first.
    """
    this_process: ProcessState = {"pid": os.getpid(), "started": started_at(os.getpid())}
    while True:
        child = os.fork()
        if not child:
            _parent[:] = [this_process]
            _run_child(work)
        if os.waitpid(child, 0)[1] == 0:
            return
        time.sleep(RESTART_S)


def _run_child(work: Callable[[], None]) -> None:
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # the parent starts it again
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(status)
