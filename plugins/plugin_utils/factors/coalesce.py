# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factor kind ``coalesce``: interrupt moderation (``ethtool -C``); levels are microseconds, or mappings of settings."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.factors._values import number_or_switch

KIND = {"group": "coalesce", "settings": ["rx-usecs"], "levels": None, "devices": ["underlay"],
        "value": number_or_switch}
