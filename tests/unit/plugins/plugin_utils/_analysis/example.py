# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaigns without chance for the tests of the analysis: plan, trials, and an analysis that is
checked.
"""

from __future__ import annotations

import math
import zlib

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.schema import validate
from ansible_collections.offload.lab.tests.support import as_file

BASE = {
    "TCP_STREAM": 4000.0,
    "UDP_STREAM": 2000.0,
    "TCP_RR": 20000.0,
    "TCP_MAERTS": 3000.0,
    "PAYLOAD": 1000.0,
}
WOBBLE = (1.00, 1.02, 0.99, 1.01, 0.98, 1.015, 0.995, 1.005, 1.01, 0.99)


def plan(**campaign):
    campaign_keys = {
        "name": "x",
        "duration": 1,
        "paths": ["physical"],
        "workloads": ["tcp_stream"],
        "blocks": 8,
        **campaign,
    }
    return make_plan(read_campaign(campaign_keys), "2026-01-05T08:00:00Z")


def trials(campaign_plan, effect=lambda levels, test: 1.0, demand=None, drift=1.0):
    """Trials without chance: each block has its level, and each trial wobbles a little by its id."""
    tests = {work["name"]: work for work in campaign_plan["workloads"]}
    for visit in campaign_plan["visits"]:
        levels = campaign_plan["profiles"][visit["profile"]]["levels"]
        for cell in visit["cells"]:
            work = tests[cell["workload"]]
            wobble = WOBBLE[zlib.crc32(cell["id"].encode()) % len(WOBBLE)]
            value = (
                BASE[work["test"]]
                * effect(levels, work["test"])
                * wobble
                * drift ** visit["block"]
                * (1 + 0.1 * (visit["block"] % 3))
            )
            result = (
                {
                    "transactions_per_s": value,
                    "latency_us": {"mean": 1e6 / value, "p99": 2e6 / value},
                }
                if (work["test"] == "TCP_RR")
                else {"throughput_mbps": value}
            )
            ends = {
                end: {
                    "service_demand_us_per_kb": cost(levels) * wobble,
                    "percent": {
                        "user": 5.0,
                        "nice": 1.0,
                        "system": 30.0,
                        "irq": 0.0,
                        "softirq": 14.0,
                        "iowait": 0.0,
                        "steal": 0.0,
                        "idle": 50.0,
                    },
                }
                for end, cost in (demand or {}).items()
            }
            yield {
                "id": cell["id"],
                "block": visit["block"],
                "visit": visit["visit"],
                "path": cell["path"],
                "mtu": visit["mtu"],
                "profile": visit["profile"],
                "repeat": visit["repeat"],
                "workload": work,
                "pair": cell.get("pair", "node1-node2"),
                "result": result,
                "cpu": {"ends": ends} if ends else None,
                "marks": [],
                "error": None,
            }


def boost(**factors):
    return lambda levels, _test: math.prod(
        factors.get(factor, 1.0) for factor, level in levels.items() if level == "on"
    )


def metric(analysis, name="throughput", table=0):
    return next(row for row in analysis["tables"][table]["metrics"] if row["metric"] == name)


def checked(*arguments, **options):
    analysis = as_file(analyse(*arguments, **options))
    validate(analysis, "analysis", "analysis")
    return analysis
