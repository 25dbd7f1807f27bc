# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that measures ends when its controller is gone, and has both ends restored immediately.

The controller reads this module's standard output. A job that is cancelled closes it, by way of SSH
or its own end, and runs no task any more that would restore the nodes.
"""

from __future__ import annotations

import contextlib
import select
import signal
from typing import Any, Iterable, Iterator, Mapping

from .._base.errors import LabError
from .._host.waiting import in_thread, wake_main_thread
from .._restore import sign_of_life
from .probe import Probe

ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
STDOUT = 1


class GoneError(SystemExit):
    """Nobody waits for the result of this module."""


def _watch(descriptor: int) -> None:
    """Sleep until nobody reads what is written to a pipe, socket or terminal any more, then end
    this process.
    """
    polled = select.poll()
    polled.register(descriptor, 0)  # an error and a hang-up are always reported
    if any(event & (select.POLLERR | select.POLLHUP) for _descriptor, event in polled.poll()):
        wake_main_thread(signal.SIGTERM)


def _give_up(others: Iterable[Mapping[str, Any]]) -> None:
    sign_of_life.give_up()
    for other in others:
        with contextlib.suppress(LabError, OSError):
            Probe(**other).ask("give_up")


@contextlib.contextmanager
def needed(
    server: Mapping[str, Any] | None,
    descriptor: int = STDOUT,
    forwarder: Mapping[str, Any] | None = None,
) -> Iterator[None]:
    """While this lasts, the end of the controller ends the module, and this end, ``server`` and
    ``forwarder`` are restored.

    These are what :class:`Probe` needs. Without a server nobody has a profile that must be taken
    back.
    """
    if not server:
        yield
        return
    notified: list[int] = []

    def end(number: int, _frame: object) -> None:
        if (
            not notified
        ):  # a lost terminal is reported twice: the second must not end what the first began
            notified.append(number)
            raise GoneError(1)

    for number in ENDINGS:
        signal.signal(number, end)
    in_thread(_watch, descriptor)
    try:
        yield
    except GoneError:
        _give_up([server, forwarder] if forwarder else [server])
        raise
