# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils._exports.drift import FORMATS


def drift(hosts: Mapping[str, Any], form: str = "text") -> str:
    """Return where applied settings are no longer there, of all hosts."""
    if form not in FORMATS:
        raise AnsibleFilterError(
            f"offload.lab.drift: {form!r} is not a form of the report. Use {', '.join(FORMATS)}."
        )
    read = {name: host if "devices" in host else None for name, host in hosts.items()}
    return FORMATS[form](read)


class FilterModule:
    """The filter offload.lab.drift."""

    def filters(self) -> dict[str, Callable[..., str]]:
        return {"drift": drift}
