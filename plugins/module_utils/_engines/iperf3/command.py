# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: a workload and an endpoint become the argument list of iperf3, of version 3.7 or later.

Options: the manual page iperf3(1) of 3.12 and 3.18.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..engine import Endpoint, Load

# What is sent and received with one call is one option, and so are the buffers of both ends.
PAIRS = (("message_size", "receive_size"), ("send_socket", "recv_socket"))


def _same(load: Load, pair: tuple[str, str]) -> Any:
    """Return the one value that iperf3 gives both ends, or None."""
    return load.get(pair[0], load.get(pair[1]))


def differ(load: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a pair of sizes that iperf3 cannot set apart, or None."""
    for pair in PAIRS:
        values = [load[key] for key in pair if key in load]
        if len(values) == 2 and values[0] != values[1]:
            return pair
    return None


def _cpus(load: Load, index: int) -> list[str]:
    """Return the option that binds a stream to CPUs: of the client, of the server, or of both."""
    client = load["client_cpus"]
    server = load["server_cpus"]
    if not client and not server:
        return []
    bound = str(client[index % len(client)]) if client else ""
    if server:
        bound += f",{server[index % len(server)]}"
    return ["-A", bound]


def stream_argv(load: Load, test: str, end: Endpoint, port: int, index: int) -> list[str]:
    """Return the argument list of one process, to be run inside ``end["netns"]``."""
    argv = ["iperf3", "-c", end["address"], "-p", str(port), "-J"]
    argv += ["-t", str(load["warm_up"] + load["duration"])]
    if end["local"]:
        argv += ["-B", end["local"]]
    if load["interim"]:
        argv += ["-i", f"{load['interim']:g}"]
    else:
        argv += ["-i", "0"]
    if load["bidirectional"]:
        argv.append("--bidir")
    elif test == "TCP_MAERTS":
        argv.append("-R")
    if test == "UDP_STREAM":
        argv += ["-u", "-b", f"{load.get('rate_mbps', 0):g}M"]
    elif "rate_mbps" in load:
        argv += ["-b", f"{load['rate_mbps']:g}M"]
    for flag, pair in zip(("-l", "-w"), PAIRS):
        value = _same(load, pair)
        if value is not None:
            argv += [flag, str(value)]
    if "congestion_control" in load:
        argv += ["-C", load["congestion_control"]]
    return argv + _cpus(load, index)
