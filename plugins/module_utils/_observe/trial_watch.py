# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a module that measures watches: both ends, and a forwarder between them, over the time in which
all streams of a trial overlap (CPU counters, features, throttling); and whether its controller is there.

A module ends when its controller is gone, and has both ends restored immediately. The controller reads
this module's standard output. A job that is cancelled closes it, by way of SSH or its own end, and runs no
task any more that would restore the nodes.
"""

from __future__ import annotations

import binascii
import contextlib
import os
import select
import signal
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, Tuple

from .._base.errors import LabError
from .._host.waiting import in_thread, wake_main_thread
from .._load.run import Watch
from .._restore import sign_of_life, strikes
from . import crossing, probe
from .probe import Probe
from .sampler import SampledDevice

Asked = Tuple[probe.Probe, Sequence[SampledDevice]]  # another node's probe, and what it looks at


class BothEnds(Watch):
    """A watch for :func:`.run.run_cell`: a snapshot of both ends when all streams run and when
    the first ends.

    ``server`` is the other end's :class:`probe.Probe`; ``client_devices`` and ``server_devices``
    are the devices whose features must not change meanwhile. ``between`` has the same of a
    forwarder. Without an answer of the server the client is observed alone, and it is said.
    """

    def __init__(
        self,
        server: probe.Probe,
        client_devices: Sequence[SampledDevice],
        server_devices: Sequence[SampledDevice],
        between: Mapping[str, Asked] | None = None,
    ) -> None:
        self.client_devices = client_devices
        self.others: dict[str, Asked] = {"server": (server, server_devices), **(between or {})}
        self.ends: dict[str, list[Any]] = {"client": [], **{end: [] for end in self.others}}
        self.error: str | None = None
        self.clock = self._ask(server.clock) or (None, None)
        self.trial = binascii.hexlify(os.urandom(8)).decode()
        crossing.prepare(client_devices)
        for other, devices in self.others.values():
            self._ask(other.ask, "prepare", devices=devices)

    def _ask(self, question: Callable[..., Any], *values: Any, **options: Any) -> Any:
        if self.error is None:
            try:
                return question(*values, **options)
            except (LabError, OSError) as error:
                self.error = str(error)
        return None

    def _snapshot(self, **trial: str) -> None:
        for other, devices in self.others.values():
            self._ask(other.send, "snapshot", devices=devices, **trial)
        self.ends["client"].append(probe.snapshot(self.client_devices, **trial))
        for end, (other, _devices) in self.others.items():
            answer = self._ask(other.receive)
            if answer:
                self.ends[end].append(answer)

    def opened(self) -> None:
        """All streams are about to start."""
        self._snapshot(begins=self.trial)

    def first_ended(self) -> None:
        """The first stream has ended."""
        self._snapshot(ends=self.trial)

    def stopped(self) -> str | None:
        """Return why the dead man's switch has restored the client; None where it has not."""
        strike = strikes.current()
        reason = strike["reason"] if strike else sign_of_life.fired()
        if reason is None:
            return None
        return f"broken off, because the dead man's switch has restored the node: {reason}"

    def report(self) -> dict[str, Any]:
        """Return the snapshots under ``watched``; an end that was not seen twice is left out."""
        complete = {end: pair for end, pair in self.ends.items() if len(pair) == 2}
        return {
            "watched": dict(
                complete,
                clock_offset_s=self.clock[0],
                clock_error_s=self.clock[1],
                error=self.error,
            )
        }


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
