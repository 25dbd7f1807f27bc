# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factor kind ``feature``: one offload, or several that go together, of ``ethtool -k``, off or on."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.factors._values import switch

KIND = {
    "group": "features",  # where the ethtool module takes it
    "settings": None,  # the name of the factor is the name of the feature
    "levels": ["off", "on"],
    "devices": None,  # those that the packets of the campaign's paths pass
    "value": switch,
}
