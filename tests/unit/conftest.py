# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of all property tests: how long one example takes is the machine's load, not a property
of the code.
"""

from __future__ import annotations

import sys

from hypothesis import HealthCheck, settings

settings.register_profile(
    "offload_lab", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("offload_lab"), max_examples=20)
# pytest --hypothesis-profile wins. An older Python repeats what the newest ran, to find syntax and
# calls it lacks.
settings.load_profile("offload_lab" if sys.version_info >= (3, 11) else "quick")
