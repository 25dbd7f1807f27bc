# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much an earlier campaign scattered, for the next one's plan. Pure."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.offload.lab.plugins.plugin_utils.analysis.cube import collect
from ansible_collections.offload.lab.plugins.plugin_utils.campaign.workloads import seconds_of
from ansible_collections.offload.lab.plugins.plugin_utils.statistics import effects
from ansible_collections.offload.lab.plugins.plugin_utils.statistics.components import Scatter, components
from ansible_collections.offload.lab.plugins.plugin_utils.statistics.libraries import np

RATES = ("throughput", "transactions")


def scatter_of(plan: dict[str, Any], trials: Iterable[dict[str, Any]]) -> Scatter | None:
    """Return what scattered in a campaign's throughput and transactions; None where it measured too little."""
    cube = collect(plan, trials)
    found = [effects.logs(cube.values[name]) for name in RATES if name in cube.values]
    if not found:
        return None
    tables = np.concatenate(found)
    seconds = [seconds_of(workload) for workload in plan["workloads"]]
    return components(tables[~np.isnan(tables).all(axis=(1, 2))], sum(seconds) / len(seconds))
