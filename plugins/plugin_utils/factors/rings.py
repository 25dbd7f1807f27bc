# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factor kind ``rings``: the length of the descriptor rings in packets (``ethtool -G``); levels are numbers."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.factors._values import number

KIND = {"group": "rings", "settings": ["rx", "tx"], "levels": None, "devices": ["underlay"], "value": number}
