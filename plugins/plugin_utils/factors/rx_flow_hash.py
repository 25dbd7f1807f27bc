# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factor kind ``rx_flow_hash``: the header fields that spread a flow type over receive queues (``ethtool -N``).

``settings`` are flow types such as udp4, levels are letters such as sd (addresses) and sdfn (and ports).
"""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.factors._values import hash_fields

KIND = {"group": "rx_flow_hash", "settings": ["udp4"], "levels": ["sd", "sdfn"], "devices": ["underlay"],
        "value": hash_fields}
