# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaigns whose reports must tell something that averages hide: two modes, stalls, an
interaction, too few blocks.
"""

from __future__ import annotations

import random
from typing import Any, Callable, Iterator

from ansible_collections.offload.lab.tests.instruments.simulation import synthetic

FIRST, SECOND = synthetic.FEATURES[1:3]
Made = tuple[dict[str, Any], list[dict[str, Any]]]


def _trials(
    plan: dict[str, Any], ratios: dict[str, float], noise: float = 0.03
) -> Iterator[dict[str, Any]]:
    truth = synthetic.Truth(ratios, noise=noise, block_noise=0.03)
    return synthetic.make_trials(plan, truth, cpus=4, raw="")


def _scaled(trial: dict[str, Any], ratio: float) -> dict[str, Any]:
    """Return a trial that carried ``ratio`` times as much, with the service demand of this rate."""
    result = dict(trial["result"])
    for name in ("throughput_mbps", "throughput_sent_mbps"):
        result[name] *= ratio
    cpu = dict(
        trial["cpu"],
        ends={
            name: dict(end, service_demand_us_per_kb=end["service_demand_us_per_kb"] / ratio)
            for name, end in trial["cpu"]["ends"].items()
        },
    )
    return dict(trial, result=result, cpu=cpu)


def two_modes() -> Made:
    """A third of all trials is much slower, whatever was set; nothing else differs."""
    plan = synthetic.make_plan(2, blocks=12, workloads=("tcp_stream",), name="two_modes")
    generator = random.Random(9)
    return plan, [
        _scaled(trial, 0.55 if generator.random() < 1 / 3 else 1.0) for trial in _trials(plan, {})
    ]


def stalls() -> Made:
    """With all on it is 8 % faster, but in a third of its trials nothing is received."""
    plan = synthetic.make_plan(2, blocks=10, workloads=("tcp_stream",), name="stalls")
    generator = random.Random(3)
    trials = list(_trials(plan, {synthetic.FEATURES[0]: 1.08}, noise=0.01))
    return plan, [
        _stalled(trial) if trial["profile"] == "all_on" and generator.random() < 1 / 3 else trial
        for trial in trials
    ]


def _stalled(trial: dict[str, Any]) -> dict[str, Any]:
    result = dict(trial["result"], throughput_mbps=0.0)
    return dict(trial, result=result, cpu=None)


def interaction() -> Made:
    """Each of two settings alone helps, both together are slower than the better one."""
    plan = synthetic.make_plan(
        3,
        blocks=8,
        design="full_factorial",
        workloads=("tcp_stream",),
        paths=("physical",),
        name="interaction",
    )
    both = {FIRST: "on", SECOND: "on"}
    slower = {
        name
        for name, profile in plan["profiles"].items()
        if both.items() <= profile["levels"].items()
    }
    return plan, [
        _scaled(trial, 0.78) if trial["profile"] in slower else trial
        for trial in _trials(plan, {FIRST: 1.2, SECOND: 1.15})
    ]


def lacks_blocks() -> Made:
    """A quarter of the trials is left out because the host took the CPU; what is left is too
    little.
    """
    plan = synthetic.make_plan(
        2, blocks=9, workloads=("tcp_stream", "udp_stream"), name="lacks_blocks"
    )
    generator = random.Random(5)
    steal = [{"guard": "steal", "reason": "the hypervisor took 31 % of the CPU", "excludes": True}]
    return plan, [
        dict(trial, marks=steal) if generator.random() < 0.25 else trial
        for trial in _trials(plan, {FIRST: 2.1})
    ]


CAMPAIGNS: dict[str, Callable[[], Made]] = {
    maker.__name__: maker for maker in (two_modes, stalls, interaction, lacks_blocks)
}
