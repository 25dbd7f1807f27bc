# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factor kind ``rps``: receive packet steering, the CPUs that take packets in (sysfs ``rps_cpus``).

Levels are off, all, or a hexadecimal mask of CPUs such as f.
"""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils.factors._values import cpus

KIND = {"group": "rps", "settings": ["cpus"], "levels": ["off", "all"], "devices": ["underlay"], "value": cpus}
