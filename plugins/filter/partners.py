# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..plugin_utils._campaign import loop
from ..plugin_utils._paths.path import CampaignHost


def partners(
    member: CampaignHost, hostvars: Mapping[str, Mapping[str, Any]], playing: Iterable[str]
) -> list[str]:
    """Return the hosts of a campaign that a host can measure with now."""
    applied = {name: loop.applied_by(hostvars[name].get(loop.APPLIED) or {}) for name in playing}
    return loop.partners(member, loop.in_order(applied))


class FilterModule:
    """The filter offload.lab.partners."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        return {"partners": partners}
