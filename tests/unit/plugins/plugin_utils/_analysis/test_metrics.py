# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which quantities of a trial count."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.metrics import (
    better,
    compared,
    values_of,
)

TRIAL = {
    "workload": {"test": "TCP_STREAM"},
    "result": {"throughput_mbps": 9000.0, "local_service_demand": 77.0},
    "cpu": {
        "ends": {
            "client": {"service_demand_us_per_kb": 1.5, "percent": {"user": 10.0, "idle": 90.0}}
        }
    },
}


def with_share(share):
    return dict(TRIAL, cpu=dict(TRIAL["cpu"], traffic_share=share))


@pytest.mark.parametrize("trial", [TRIAL, with_share(None), with_share(0.9), with_share(1.0)])
def test_cpu_counts_where_it_was_counted_during_the_traffic(trial):
    values = values_of(trial)
    assert (values["throughput"], values["service_demand_client"], values["cpu_client_busy"]) == (
        9000.0,
        1.5,
        10.0,
    )


def test_cpu_of_another_time_does_not_count_nor_what_netperf_saw_instead():
    assert values_of(with_share(0.1)) == {"throughput": 9000.0}


def test_receive_calls_count_of_datagrams_and_claim_nothing():
    result = {"throughput_mbps": 9000.0, "receive_calls_per_s": 100.0}
    datagrams = {"workload": {"test": "UDP_STREAM"}, "result": result}
    assert values_of(datagrams) == {"throughput": 9000.0, "receive_calls": 100.0}
    assert values_of({**datagrams, "workload": {"test": "TCP_STREAM"}}) == {"throughput": 9000.0}
    assert not compared("receive_calls") and better("receive_calls") is None
