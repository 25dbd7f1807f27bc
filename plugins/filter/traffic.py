# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils._across.traffic import FORMS, SETTINGS, TracedHost
from ..plugin_utils._request.discovered import state
from ..plugin_utils._untrusted.texts import clean_all


def _states(devices: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return ``{device: {"tso": "on"}}`` of what module ethtool_info returned."""
    states = {}
    for device, reading in devices.items():
        features = reading.get("features") or {}
        states[device] = {name: state(name, features, device).rstrip("*") for name in SETTINGS}
    return states


def traffic(hosts: Mapping[str, Any], form: str = "text", inventory: str = "INVENTORY") -> str:
    """Return the report of what offloads do with the traffic of all hosts."""
    if form not in FORMS:
        raise AnsibleFilterError(
            f"offload.lab.traffic: {form!r} is not a form of the report. Use {', '.join(FORMS)}."
        )
    plain = clean_all(json.loads(json.dumps(hosts)), "traffic")
    read = [
        TracedHost(name, host["counted"], _states(host.get("read") or {}))
        for name, host in sorted(plain.items())
        if "cost" in (host.get("counted") or {})
    ]
    return FORMS[form](read, inventory)


class FilterModule:
    """The filter offload.lab.traffic."""

    def filters(self) -> dict[str, Callable[..., str]]:
        return {"traffic": traffic}
