# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factor kind ``tunnel_csum``: the outer UDP checksum of the tunnel, off or on."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.factors._values import switch

KIND = {"group": None, "settings": ["csum"], "levels": ["off", "on"], "devices": ["tunnel"], "value": switch}
