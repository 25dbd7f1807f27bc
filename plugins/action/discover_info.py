# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module discover_info: it explains a host without a usable Python; see
plugins/modules/discover_info.py.
"""

from __future__ import annotations

from ..plugin_utils._action.first_module import FirstModule


class ActionModule(FirstModule):
    """Run the module."""
