# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: engine payload, traffic whose content is compared with what was sent."""

from __future__ import annotations

from typing import ContextManager, Sequence

from ..._base.errors import InputError, ParseError
from ..._host import script
from ..engine import Endpoint, Engine, Load, StreamRow
from . import command, result


class PayloadCheck(Engine):
    """TCP and UDP of known content, both directions, all sizes; Python alone."""

    name = "payload"
    tests = (command.TEST,)
    called = "the check of the payload"
    server = "the server of payload checks"
    program = script.PYTHON
    served_by = script.PYTHON
    reads_token = True
    ends_on_time = False  # the last rounds of all kinds are finished, whatever the path delays
    asks = script.VERSION
    offers = ("rate_mbps",)
    port_offset = 3

    def refuse(self, load: Load) -> None:
        if load["confidence"]:
            raise InputError(
                "a check of the payload has no confidence interval", repr(command.TEST)
            )

    def can_warm_up(self, load: Load) -> bool:
        return False

    def argv(self, load: Load, test: str, end: Endpoint, index: int) -> list[str]:
        port = end["port"] + self.port_offset
        rate = load.get("rate_mbps", 0.0)
        return command.check_argv(end["address"], port, load["duration"], rate, end["local"])

    def serve(self, address: str, port: int, count: int = 1) -> list[str]:
        return command.serve_argv(address, port)

    def server_inherited(self) -> ContextManager[tuple[int, ...]]:
        return command.descriptors()

    def inherited(self) -> ContextManager[tuple[int, ...]]:
        return command.descriptors()

    def started(self, argv: Sequence[str]) -> bool:
        return script.runs(argv, command.DESCRIPTOR, "check")

    def ended_early(self, raw: str) -> bool:
        try:
            return result.parse(raw)["error"] is not None
        except ParseError:
            return True

    def rows(self, argv: Sequence[str], raw: str, finished: float = 0.0) -> list[StreamRow]:
        payload = result.parse(raw)
        arrived = sum(check["bytes"] for check in payload["checks"].values())
        return [
            {
                "test": command.TEST,
                "throughput_mbps": arrived * 8 / payload["elapsed_s"] / 1e6,
                "elapsed_s": payload["elapsed_s"],
                "length": payload["elapsed_s"],
                "payload": payload,
            }
        ]
