# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.lab import plan


def lab_duplicates(endpoints):
    """Return the addresses that several ends have."""
    return plan.duplicates(endpoints)


class FilterModule:
    """The filter offload.lab.lab_duplicates."""

    def filters(self):
        return {"lab_duplicates": lab_duplicates}
