# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of all property tests: how long one example takes is the machine's load, not a property of the code."""
from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("offload_lab", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("offload_lab")
# pytest --hypothesis-profile=quick
settings.register_profile("quick", settings.get_profile("offload_lab"), max_examples=20)
