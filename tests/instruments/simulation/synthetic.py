# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthetic campaigns with a known truth, for tests and benchmarks: plan, trials, manifest, results
folder.

Nothing here is a measurement. The truth is a ratio per factor (see :class:`Truth`); block effects,
drift and log-normal noise are laid over it, all from ``random.Random(seed)``.
"""

from __future__ import annotations

import json
import math
import os
import random

from ansible_collections.offload.lab.plugins.plugin_utils._campaign import design as campaign_design
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._trials.records import encode

FEATURES = (
    "tx-checksum-ip-generic",
    "tx-tcp-segmentation",
    "tx-generic-segmentation",
    "rx-gro",
    "rx-checksum",
    "tx-udp_tnl-segmentation",
    "tx-udp_tnl-csum-segmentation",
    "tx-scatter-gather",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-udp-gro-forwarding",
    "tx-udp-segmentation",
    "tx-gso-partial",
    "tx-gso-list",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-scatter-gather-fraglist",
    "rx-hashing",
    "rx-vlan-hw-parse",
    "tx-vlan-hw-insert",
    "rx-vlan-filter",
    "rx-vlan-stag-hw-parse",
    "tx-vlan-stag-hw-insert",
    "rx-udp_tunnel-port-offload",
    "tx-gre-segmentation",
    "tx-gre-csum-segmentation",
    "tx-ipxip4-segmentation",
    "tx-ipxip6-segmentation",
    "tx-sctp-segmentation",
    "tx-checksum-sctp",
    "tx-esp-segmentation",
    "esp-hw-offload",
    "rx-ntuple-filter",
    "rx-lro",
    "tx-nocache-copy",
    "highdma",
    "hw-tc-offload",
    "rx-all",
    "rx-fcs",
)
WORKLOADS = {
    "tcp_stream": {"test": "TCP_STREAM", "message_size": 16384},
    "udp_stream": {"test": "UDP_STREAM", "message_size": 1472},
    "tcp_maerts": {"test": "TCP_MAERTS", "message_size": 16384},
    "tcp_rr": {"test": "TCP_RR", "request_size": 1},
}
PATHS = ("physical", "tenant_vxlan")
BASE_MBPS = {"TCP_STREAM": 4200.0, "TCP_MAERTS": 4000.0, "UDP_STREAM": 1900.0}
RAW = "\n".join(
    f"{key}={value}"
    for key, value in (
        (
            "MIGRATED",
            "omni Send TEST from 198.18.0.1 port 0 AF_INET to 198.18.0.2 port 0 AF_INET : +/-2.500% @ 99% conf.",
        ),
        ("PROTOCOL", "TCP"),
        ("DIRECTION", "Send"),
        ("LSS_SIZE_END", 87040),
        ("RSR_SIZE_END", 131072),
        ("LOCAL_SEND_SIZE", 16384),
        ("ELAPSED_TIME", 1.00),
        ("THROUGHPUT_UNITS", "10^6bits/s"),
        ("LOCAL_TRANSPORT_RETRANS", 0),
        ("TRANSPORT_MSS", 8948),
        ("COMMAND_LINE", '"netperf -H 198.18.0.2 -t omni"'),
    )
)


class Truth:
    """What the campaign would show without noise: ``ratios`` {factor: throughput on ÷ off}, noise
    as log SD.
    """

    def __init__(self, ratios=None, noise=0.03, block_noise=0.10, drift=0.0):
        self.ratios = (
            ratios
            if ratios is not None
            else {
                FEATURES[0]: 1.10,
                FEATURES[1]: 1.45,
                FEATURES[2]: 1.12,
                FEATURES[3]: 1.30,
                FEATURES[4]: 0.97,
            }
        )
        self.noise = noise
        self.block_noise = block_noise
        self.drift = drift

    def throughput(self, levels, base, block_factor, generator):
        """Return one throughput in Mbit/s (or transactions per second) with noise."""
        value = base * block_factor * math.exp(generator.gauss(0, self.noise))
        for factor, level in levels.items():
            value *= self.ratios.get(factor, 1.0) if level == "on" else 1.0
        return value


def _workload(index, name):
    """The named workloads, and beyond them the same with other message sizes."""
    workload = WORKLOADS.get(name)
    if workload is None:
        workload = dict(list(WORKLOADS.values())[index % 4])
        workload["request_size" if workload["test"].endswith("_RR") else "message_size"] = min(
            64 << (index % 11), 65507
        )
    return dict(workload, name=name, duration=1)


def make_plan(
    factors=2,
    *,
    blocks=9,
    paths=PATHS,
    mtus=(9000,),
    workloads=("tcp_stream", "udp_stream"),
    design="on_off",
    seed=1,
    name="synthetic",
):
    """Return the real plan of a campaign; ``factors`` is how many of :data:`FEATURES` are varied."""
    campaign = {
        "name": name,
        "seed": seed,
        "blocks": blocks,
        "design": design,
        "paths": list(paths),
        "mtus": list(mtus),
        "factors": list(FEATURES[:factors]),
        "workloads": [_workload(index, work) for index, work in enumerate(workloads)],
    }
    return campaign_design.make_plan(read_campaign(campaign, "synthetic"), "2026-01-05T08:00:00Z")


def _end(generator, busy, cpus, window):
    """CPU of one end in the form of plugin_utils/_trials/cpu.py; ``busy`` is the busy share of all
    CPUs (0 to 1).
    """
    shares = {"user": 0.08, "nice": 0.0, "system": 0.52, "irq": 0.02, "softirq": 0.38}
    by_cpu = {}
    counts = {}
    for cpu in range(cpus):
        load = min(0.99, busy * (1.6 if cpu % 4 == 0 else 0.8) * math.exp(generator.gauss(0, 0.05)))
        spent = dict((kind, round(share * load * window, 2)) for kind, share in shares.items())
        by_cpu[str(cpu)] = dict(
            spent, iowait=0.0, steal=0.0, idle=round(window - sum(spent.values()), 2)
        )
        counts[str(cpu)] = int(load * 90000)
    total = dict((kind, sum(cpu[kind] for cpu in by_cpu.values())) for kind in by_cpu["0"])
    total_trials = sum(total.values())
    return {
        "window_s": window,
        "cpus": by_cpu,
        "busy_s": sum(v for kind, v in total.items() if kind not in ("idle", "iowait", "steal")),
        "busy_percent": dict(
            (cpu, 100 * (1 - kinds["idle"] / window)) for cpu, kinds in by_cpu.items()
        ),
        "percent": dict((kind, 100 * value / total_trials) for kind, value in total.items()),
        "softirqs": {"NET_RX": counts, "NET_TX": dict.fromkeys(counts, 12)},
    }


def _cpu(generator, throughput, base, options):
    """The ``cpu`` field: cheaper per byte where the offloads help, both ends or one ``combined``."""
    names = ("combined",) if options["combined"] else ("client", "server")
    ends = {}
    for name in names:
        end = _end(generator, 0.45 * (base / throughput) ** 0.4, options["cpus"], 1.0)
        end["service_demand_us_per_kb"] = end["busy_s"] * 1e6 / (throughput * 1e6 / 8 / 1024)
        ends[name] = end
    return {
        "combined": options["combined"],
        "ends": ends,
        "clock_error_s": 0.0002,
        "clock_offset_s": 0.0,
    }


def _result(test, value, generator):
    stream = test not in ("TCP_RR", "UDP_RR", "TCP_CRR")
    udp = test.startswith("UDP")
    result = {
        "elapsed_s": 1.0,
        "confidence_met": None,
        "mss": None if udp else 8898,
        "retransmits": None if udp else max(0, int(generator.gauss(1, 2))),
        "throughput_mbps": value if stream else None,
        "transactions_per_s": None if stream else value,
        "throughput_sent_mbps": value * 1.03 if stream and udp else (value if stream else None),
        "local_cpu_percent": None,
        "remote_cpu_percent": None,
        "local_service_demand": None,
        "remote_service_demand": None,
    }
    if not stream:
        result["latency_us"] = {"mean": 1e6 / value, "p50": 0.97e6 / value, "p99": 1.9e6 / value}
    return result


def make_trials(
    plan, truth=None, *, seed=2, failures=0.0, marked=0.0, cpus=2, combined=False, cpu=True, raw=RAW
):
    """Yield the trial records of a plan. ``failures`` and ``marked`` are shares (0 to 1)."""
    truth = truth or Truth()
    generator = random.Random(seed)
    clock = 1767600000.0
    blocks = dict(
        (block, math.exp(generator.gauss(0, truth.block_noise)) * (1 + truth.drift) ** block)
        for block in range(1, plan["blocks"] + 1)
    )
    options = {"cpus": cpus, "combined": combined}
    works = dict((work["name"], work) for work in plan["workloads"])
    for visit in plan["visits"]:
        levels = plan["profiles"][visit["profile"]]["levels"]
        for cell in visit["cells"]:
            test = works[cell["workload"]]["test"]
            base = (
                BASE_MBPS.get(test, 21000.0)
                * (0.55 if "vxlan" in cell["path"] else 1.0)
                * (0.8 if visit["mtu"] < 2000 else 1.0)
            )
            value = truth.throughput(levels, base, blocks[visit["block"]], generator)
            failed = generator.random() < failures
            mark = generator.random() < marked
            clock += 1.2
            yield {
                "schema": 1,
                "id": cell["id"],
                "campaign": plan["name"],
                "block": visit["block"],
                "visit": visit["visit"],
                "cell": cell["cell"],
                "pair": "node1-node2",
                "client": "node1",
                "server": "node2",
                "path": cell["path"],
                "mtu": visit["mtu"],
                "profile": visit["profile"],
                "repeat": visit["repeat"],
                "workload": works[cell["workload"]],
                "started": clock,
                "finished": clock + 1.0,
                "streams": [
                    {
                        "netns": None,
                        "argv": ["netperf", "-H", "198.18.0.2"],
                        "rc": int(failed),
                        "raw": raw,
                        "stderr": "",
                        "started": clock,
                        "finished": clock + 1.0,
                    }
                ],
                "result": {} if failed else _result(test, value, generator),
                "cpu": _cpu(generator, value, base, options) if cpu and not failed else None,
                "evidence": None,
                "marks": [
                    {"guard": "mss", "reason": "MSS 8940 observed, 8898 expected at MTU 8950"}
                ]
                if mark
                else [],
                "error": "netperf did not end within 31 s" if failed else None,
            }


def crossed(packets, cut=False, cost_s=0.002):
    """Return the ``crossed`` of a trial with 100 MB counted at both ends."""
    size = 100_000_000
    device = {
        "sent": packets,
        "sent_bytes": size,
        "cut": packets if cut else 0,
        "cut_bytes": size if cut else 0,
        "checksum_left": packets,
        "into_gro": 0,
        "received": packets // 10,
        "received_bytes": 52 * (packets // 10),
        "namespaces": 1,
    }
    other = {**device, "sent": packets // 10, "sent_bytes": 52 * (packets // 10), "cut": 0}
    other |= {"checksum_left": packets // 10, "received": packets, "received_bytes": size}
    return {
        "client": {"seconds": 0.1, "cost_s": cost_s, "devices": {"under0": device}},
        "server": {"seconds": 0.1, "cost_s": cost_s, "devices": {"under1": other}},
    }


def write(folder, plan, trials, manifest=None):
    """Write a results folder as a campaign leaves it: plan.json, trials.jsonl and, if given,
    manifest.json.
    """
    os.makedirs(folder, exist_ok=True)
    for name, content in (("plan.json", plan), ("manifest.json", manifest)):
        if content is not None:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                json.dump(content, stream)
    with open(os.path.join(folder, "trials.jsonl"), "w", encoding="utf-8") as stream:
        for trial in trials:
            stream.write(encode(trial))
