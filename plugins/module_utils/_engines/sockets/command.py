# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: a workload and an endpoint become the options of :mod:`.traffic`."""

from __future__ import annotations

from typing import Any

from ..engine import Endpoint, Load

LOADED = "TCP_LOADED_RR"  # requests while streams run
# Keys of a workload that a process receives where the workload has them.
TOLD = (
    "message_size",
    "receive_size",
    "send_socket",
    "recv_socket",
    "rate_mbps",
    "congestion_control",
    "udp_segment",
    "udp_gro",
)


def before(load: Load) -> int:
    """Return the seconds of requests without streams, before requests with streams."""
    return max(1, load["duration"] // 2) if load["test"] == LOADED else 0


def options_of(load: Load, test: str, end: Endpoint, port: int, index: int) -> dict[str, Any]:
    """Return the options of one process; ``port`` is the server's."""
    options: dict[str, Any] = {
        "test": test,
        "address": end["address"],
        "port": port,
        "seconds": load["warm_up"] + load["duration"],
    }
    options.update({key: load[key] for key in TOLD if key in load})
    if end["local"]:
        options["local"] = end["local"]
    if load["interim"]:
        options["interim"] = load["interim"]
    if test.endswith("RR"):
        options["request_size"] = load.get("request_size", 1)
        options["response_size"] = load.get("response_size", 1)
    for key, cpus in (("client_cpu", load["client_cpus"]), ("server_cpu", load["server_cpus"])):
        if cpus:
            options[key] = cpus[index % len(cpus)]
    return options


def loaded_options(load: Load, end: Endpoint, port: int) -> dict[str, Any]:
    """Return the options of the process of requests while streams run."""
    options = {**options_of(load, LOADED, end, port, 0), "before": before(load)}
    streams = range(1, load["streams"] + 1)
    return {
        **options,
        "streams": [options_of(load, "TCP_STREAM", end, port, index) for index in streams],
    }
