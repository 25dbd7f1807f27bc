# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both ends, and a forwarder between them, observed over the time in which all streams of a trial
overlap: CPU counters, features, throttling.
"""

from __future__ import annotations

import binascii
import os
from typing import Any, Callable, Mapping, Sequence, Tuple

from .._base.errors import LabError
from .._load.run import Watch
from .._restore import sign_of_life, strikes
from . import crossing, probe
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
