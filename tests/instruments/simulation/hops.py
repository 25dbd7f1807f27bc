# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the hop at which a setting breaks is named: the campaign of playbook hop over chains of
devices with a fault at a hop that is known. Nothing here sends a packet.

``python -m …simulation.hops 50`` tries 50 chains for each rate and noise.
"""

from __future__ import annotations

import random
import sys

from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.plugin_utils._analysis import blame, hop, named
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cure import at
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import interim
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._exports.hop import hop_campaign
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.simulation import curing

CHAINS = (
    ["underlay"],
    ["underlay", "tunnel"],
    ["underlay", "tunnel", "tenant_port", "tenant"],
)
OUT = ("tx", "tso", "tx-udp-segmentation")
IN = ("rx", "gro")


def plan_of(setting, classes, seed, rate):
    """Return the plan that asks for the hop of a setting on a path with these classes of devices."""
    first = make_plan(
        read_campaign(
            {
                "name": "chain",
                "design": "integrity",
                "paths": ["physical"],
                "factors": [{"name": setting, "devices": classes}],
                "workloads": ["payload"],
                "duration": 4,
            }
        ),
        "",
    )
    chance_seen = 1 - (1 - rate) ** (curing.PACKETS * first["workloads"][0]["duration"])
    return make_plan(
        read_campaign({**hop_campaign(first, [setting], ["physical"], chance_seen), "seed": seed}),
        "",
    )


def _met(devices):
    """Return the classes of devices that a packet meets on its way out, up to these."""
    way_out = blame.ON_THE_WAY_OUT
    return way_out[: way_out.index(devices) + 1] if devices in way_out else (devices,)


class Chain(curing.Machine):
    """Devices of two ends; one device breaks a setting."""

    def __init__(self, plan, truth, rate, noise, seed):
        by_hop = {
            (factor["sides"][0], factor["devices"][0]): factor["name"] for factor in plan["factors"]
        }
        (setting,), side, devices = truth.settings, truth.side, truth.devices
        met = _met(devices) if setting in OUT else (devices,)
        acting = tuple(by_hop[side, name] for name in met if (side, name) in by_hop)
        super().__init__({acting: rate}, noise, seed, plan["workloads"][0]["duration"])


COUNTS = dict.fromkeys(result.COUNTS, 0)
SIGNS = {payload.WRONG: {"wrong": 1}, payload.SEGMENTS_LOST: {"segments_lost": 4}, None: {}}


def _trial(visit, kind):
    """Return the record of a visit's trial in which something was wrong, or nothing."""
    path, mtu = curing.PLACE
    check = {**COUNTS, "first": None, **SIGNS[kind]}
    check_of_path = {"elapsed_s": 1.0, "mss": 1448, "checks": {"tcp_forward": check}, "error": None}
    row = {key: visit[key] for key in ("profile", "block")}
    counters = {"client": {}, "server": {}}
    return {
        **row,
        "path": path,
        "mtu": mtu,
        "result": {"payload": {**check_of_path, "counters": counters}},
    }


def until_named(machine, plan):
    """Return the interim tests and the trials of a campaign that ends when its fault is named."""
    plans = []
    record = []
    for block in range(1, plan["blocks"] + 1):
        visits = interim.with_decisions(plan, plans)["visits"]
        for visit in (visit for visit in visits if visit["block"] == block):
            levels = plan["profiles"][visit["profile"]]["levels"]
            record.append(_trial(visit, machine.trial(levels, len(record))))
        ended = bool(plans and plans[-1]["answered"])
        due = [look for look in plan["looks"] if look["block"] == block and not ended]
        plans += [named.decide(plan, record, look, list(plans)) for look in due]
    return plans, record


def named_by(seed, rate, noise):
    """Return whether the hop of a chain is the one that is named, alone."""
    chance = random.Random(seed)
    classes = chance.choice(CHAINS)
    setting = chance.choice(OUT + IN)
    plan = plan_of(setting, classes, seed, rate)
    truth = hop.Hop((setting,), chance.choice(("client", "server")), chance.choice(sorted(classes)))
    _made, record = until_named(Chain(plan, truth, rate, noise, seed), plan)
    checks = payload.checks_of(record)
    return hop.likeliest(plan, at(checks.planned, curing.PLACE), payload.WRONG) == [[truth]]


def main(number):
    """Print how often the hop is named, by rate and noise."""
    for rate in curing.RATES:
        for noise in curing.NOISES:
            right = sum(named_by(seed, rate, noise) for seed in range(number))
            print(f"rate {rate:g}, noise {noise}: the hop is named in {right} of {number} chains")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
