# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError

from ..module_utils._engines.netperf.values import Row
from ..plugin_utils._netperf_logs.parse import parse_netperf as parse


def parse_netperf(text: object) -> list[Row]:
    """Return a dictionary for each netperf run in a text of netperf's output."""
    if not isinstance(text, str):
        raise AnsibleFilterError(
            "offload.lab.parse_netperf: expected the text that netperf printed, got "
            f"{type(text).__name__}."
        )
    return parse(text)


class FilterModule:
    """The filter offload.lab.parse_netperf."""

    def filters(self) -> dict[str, Callable[[object], list[Row]]]:
        return {"parse_netperf": parse_netperf}
