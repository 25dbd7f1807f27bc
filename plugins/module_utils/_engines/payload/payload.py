# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: engine payload, traffic whose content is compared with what was sent."""

from __future__ import annotations

from typing import Sequence

from ..._base.errors import InputError, ParseError
from .. import wire
from ..engine import Endpoint, Load, ScriptEngine, StreamRow
from . import result, traffic


class PayloadCheck(ScriptEngine):
    """TCP and UDP of known content, both directions, all sizes; Python alone."""

    name = "payload"
    tests = (result.TEST,)
    called = "the check of the payload"
    server = "the server of payload checks"
    clock = 0.5  # one round of each kind takes more
    ends_on_time = False  # the last rounds of all kinds are finished, whatever the path delays
    descriptor = 199
    verb = "check"
    files = (wire, traffic)
    offers = ("rate_mbps",)
    port_offset = 3

    def refuse(self, load: Load) -> None:
        if load["confidence"]:
            raise InputError(
                "a check of the payload has no confidence interval",
                repr(result.TEST),
                "Remove confidence from the workload.",
            )

    def can_warm_up(self, load: Load) -> bool:
        return False

    def argv(self, load: Load, test: str, end: Endpoint, index: int) -> list[str]:
        port = end["port"] + self.port_offset
        rate = load.get("rate_mbps", 0.0)
        there = [end["address"], str(port), str(load["duration"]), f"{rate:g}"]
        return self.command("check", *there, *([end["local"]] if end["local"] else []))

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
                "test": result.TEST,
                "throughput_mbps": arrived * 8 / payload["elapsed_s"] / 1e6,
                "elapsed_s": payload["elapsed_s"],
                "length": payload["elapsed_s"],
                "payload": payload,
            }
        ]
