# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the workers of one task tell each other: what each has set at its host.

Each host of a task has a worker of its own. A client measures when its partners have the profile, and
learns that from files in the temporary folder of this run.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from ...module_utils._base.errors import LabError
from .._campaign.loop import (
    Applied,
    applied_by,
)

PATIENCE = 900.0  # s, for the module at another host
PAUSE = 0.005  # s


class SharedResults:
    """The results of one task, by host."""

    def __init__(self, folder: str, task: str) -> None:
        self.prefix = os.path.join(folder, f"offload-lab-{task}-")
        self.controller = os.getppid()

    def _path(self, host: str) -> str:
        return self.prefix + quote(host, safe="")

    def publish(self, host: str, result: dict[str, Any]) -> None:
        """Let the other workers read what module ethtool returned at a host, empty where it did not."""
        path = self._path(host)
        with open(f"{path}.new", "w", encoding="utf-8") as stream:
            json.dump(applied_by(result), stream)
        os.replace(f"{path}.new", path)

    def wait_for(self, hosts: Iterable[str]) -> dict[str, Applied | None]:
        """Return what was set at each of the hosts, once all of them have ended."""
        end = time.monotonic() + PATIENCE
        return {host: self._wait(host, end) for host in hosts}

    def _wait(self, host: str, end: float) -> Applied | None:
        while True:
            try:
                with open(self._path(host), encoding="utf-8") as stream:
                    applied: Applied | None = json.load(stream)
                    return applied
            except FileNotFoundError:
                pass
            if os.getppid() != self.controller:
                raise LabError(
                    "the controller of this task is gone", host, "Run the campaign again."
                )
            if time.monotonic() > end:
                raise LabError(
                    f"it has not set the profile within {PATIENCE:.0f} s",
                    host,
                    "See its own message, then run the campaign again.",
                )
            time.sleep(PAUSE)
