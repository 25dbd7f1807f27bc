# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs of life for the dead man's switch of a node; see _restore/dead_man.py."""

from __future__ import annotations

import contextlib
import os

from .._base.errors import LabError
from .._host import daemons
from .._host.waiting import wait_until
from . import node_lease
from . import snapshot as campaign_snapshot
from .node_lease import STATE

ALIVE = "/run/offload-lab/alive"
FIRED = "/run/offload-lab/dead_man_switch.fired"
# Touched every few seconds by a process of the controller, whatever its playbook waits for.
HEARTBEAT = "/run/offload-lab/heartbeat"
STRUCK = "/run/offload-lab/dead_man_switch.struck"  # see _restore/strikes.py
WATCHED = "/run/offload-lab/watched.json"  # where the switch looks for harm, too
HARM_S = 3.0  # in which this end sees what the other end has seen
RESTART_S = 10.0  # in which a switch that was killed runs again
NOBODY = 0  # a time of the last sign of life that says: there will be no other


def fired() -> str | None:
    """Return why the switch has restored this node; None where it has not."""
    try:
        with open(FIRED) as stream:
            return stream.readline().strip()
    except OSError:
        return None


def renew(snapshot: str | None = None, lease: str | None = None) -> None:
    """Tell the switch that a controller lives; nothing happens where none is armed.

    Raises :class:`LabError` where it has restored the node: what is measured now would have another
    profile's name. Also where the file ``snapshot`` is missing, or the switch's process: what is
    changed now nobody would restore. Also where another campaign than ``lease`` has the node by now.
    """
    _check_process()
    _check_not_fired()
    if snapshot and not campaign_snapshot.is_current(snapshot):
        raise LabError(
            "the campaign's snapshot is gone: this node was rebooted, or somebody has restored it",
            snapshot,
            "Build the lab again (lab.yml), then run the campaign again: it goes on from here.",
        )
    node_lease.check(lease)
    if snapshot:
        campaign_snapshot.check_devices(snapshot)
    _give_sign()
    node_lease.renew()


def _check_process() -> None:
    """Raise :class:`LabError` where a switch is armed and its process does not run, nor again soon."""

    def settled() -> bool:
        return not os.path.exists(ALIVE) or daemons.read(STATE) is not None or fired() is not None

    if not wait_until(settled, patience=RESTART_S):
        raise LabError(
            "the dead man's switch of this node is armed, but its process has ended",
            STATE,
            "Somebody or something has killed it (journalctl -k says whether the kernel did). Restore the "
            "node (restore.yml), then run the campaign again: it goes on from here.",
        )


def _check_not_fired() -> None:
    reason = fired()
    if reason is not None:
        raise LabError(
            f"the dead man's switch has restored this node{': ' if reason else ''}{reason}",
            FIRED,
            "Run the campaign again: it goes on from here. If trials take long, raise "
            "offload_lab_dead_man_minutes; if the harm is what you want to see, set "
            "offload_lab_stop_on_harm to false.",
        )


def _give_sign() -> None:
    try:
        os.utime(ALIVE)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise LabError(
            f"the dead man's switch cannot get a sign of life ({error.strerror})",
            ALIVE,
            "It is going to restore this node. See whether /run is mounted read-only (findmnt /run).",
        )


def explain() -> None:
    """Raise :class:`LabError` with the harm, where an error comes from it: the other end's switch has
    seen it first, and has ended its probe. This end's switch sees the same in a moment.
    """
    if os.path.exists(WATCHED):
        wait_until(lambda: fired() is not None, patience=HARM_S)
    if fired() is not None:
        renew()


def touch() -> None:
    """Have the switch wait again, also where it has restored the node already: who calls this
    changes no profile.
    """
    with contextlib.suppress(OSError):
        os.utime(ALIVE)


def give_up() -> None:
    """Have the switch restore this node now: who measures here has lost its controller."""
    with contextlib.suppress(OSError):
        os.utime(ALIVE, (NOBODY, NOBODY))
