# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..plugin_utils._request.discovered import lines


def discovered(hosts: Mapping[str, Any], inventory: str = "INVENTORY") -> list[str]:
    """Return what was found of the paths of all hosts, as lines of tables."""
    plain = json.loads(json.dumps(hosts))  # Ansible's texts know where they come from
    return lines({name: host for name, host in plain.items() if host.get("walked")}, inventory)


class FilterModule:
    """The filter offload.lab.discovered."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        return {"discovered": discovered}
