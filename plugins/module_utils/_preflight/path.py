# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a path carries traffic: echoes of the size of its MTU that may not be fragmented, and a short
stream.
"""

from __future__ import annotations

import json
import re
from typing import TypedDict

from .._base import network
from .._base.errors import InputError, LabError
from .._engines import workload
from .._engines.engines import engine_named
from .._host.runner import run
from .._load.run import run_cell

ECHOES = 20
SMALL = 56  # bytes of data of a small echo
INTERVAL = 0.02  # s between echoes
ALL_LOST = 100  # per cent
MOST_LOST = 5  # per cent: one of the twenty may be lost while neighbours are learned
HEADERS = {4: 28, 6: 48}  # bytes of IP and ICMP before an echo's data
LOSS = re.compile(r"(\d+) packets transmitted, (\d+) received")
# Bytes of IPv4's total length (RFC 791); the loopback device has a larger MTU.
LARGEST_PACKET = 65535


class PathToCheck(TypedDict, total=False):
    """A path to try: whereto, and from which network namespace."""

    name: str
    address: str
    netns: str | None


class Carries(TypedDict):
    """What a usable path carries."""

    path: str
    address: str
    mtu: int
    lost_percent: int
    mbit_s: float | None  # None where no stream was tried


def parse_ping(text: str) -> int:
    """Return the per cent of echoes that were lost, 100 where ping reported none."""
    counts = LOSS.search(text)
    sent, received = (int(number) for number in counts.groups()) if counts else (0, 0)
    return 100 * (sent - received) // sent if sent else ALL_LOST


def mtu_to(address: str, netns: str | None) -> int:
    """Return the MTU of the device that leads to the address."""
    rows = json.loads(run(["ip", "-json", "route", "get", address], netns=netns).out)
    links = json.loads(run(["ip", "-json", "link", "show", "dev", rows[0]["dev"]], netns=netns).out)
    return links[0]["mtu"]


def lost(address: str, netns: str | None, size: int) -> int:
    """Return the per cent of lost echoes of ``size`` bytes of data, with the don't-fragment bit."""
    return parse_ping(
        run(
            [
                "ping",
                "-n",
                "-q",
                "-c",
                str(ECHOES),
                "-i",
                str(INTERVAL),
                "-W",
                "1",
                "-M",
                "do",
                "-s",
                str(size),
                address,
            ],
            netns=netns,
            check=False,
        ).out
    )


def rate(address: str, netns: str | None, port: int, engine: str, token: str) -> float:
    """Return what the shortest TCP_STREAM of an engine carries, in Mbit/s."""
    options = {"test": "TCP_STREAM", "duration": 1, "cpu": False, "engine": engine}
    maker = engine_named(engine)
    load = workload.checked({**options, "duration": maker.shortest(workload.checked(options))})
    end = workload.endpoint({"address": address, "port": port, "netns": netns})
    trial = run_cell(load, [end], token=token)
    if trial["error"]:
        raise LabError(trial["error"])
    [stream] = trial["streams"]
    [row] = maker.rows(stream["argv"], stream["raw"], stream["finished"])
    carried = row["throughput_mbps"]
    if carried is None:
        raise LabError("the stream has no rate", to_do="Run the engine by hand between the nodes.")
    return carried


def _no_reply(where: str) -> InputError:
    return InputError("no reply comes back", where, "Check cable, VLAN, addresses and firewalls.")


def check(
    path: PathToCheck, port: int, engine: str = "netperf", stream: bool = True, token: str = ""
) -> Carries:
    """Return what a path carries; raise InputError for one that is not usable. ``token`` is the
    token of the servers.

    Without ``stream`` any path is: the result has the share of small echoes that were lost.
    """
    address = str(network.address(path["address"], f"path {path['name']}"))
    netns = network.namespace_name(path["netns"]) if path.get("netns") else None
    where = f"path {path['name']} to {address}"
    mtu = min(mtu_to(address, netns), LARGEST_PACKET)
    if not stream:
        small = lost(address, netns, SMALL)
        return {
            "path": path["name"],
            "address": address,
            "mtu": mtu,
            "lost_percent": small,
            "mbit_s": None,
        }
    size = mtu - HEADERS[6 if ":" in address else 4]
    large = lost(address, netns, size)
    if MOST_LOST < large < ALL_LOST:  # a slow switch lost the first ones while it learned the flow
        large = lost(address, netns, size)
    if large > MOST_LOST:
        small = lost(address, netns, SMALL)
        if small == ALL_LOST:
            raise _no_reply(where)
        if small > MOST_LOST:
            raise InputError(
                f"{small} % of the packets are lost", where, "Check cable, driver and queues."
            )
        what = "do not arrive" if large == ALL_LOST else f"are lost ({large} %)"
        raise InputError(
            f"packets of the MTU {mtu} {what}, small ones arrive",
            where,
            "Set the MTU on the switches between the nodes, or a smaller one on the underlays.",
        )
    try:
        carried = rate(address, netns, port, engine, token)
    except LabError as error:
        last = port + network.DATA_OFFSET + network.MOST_STREAMS - 1
        raise InputError(
            f"ping works, but {engine} does not get through ({error})",
            where,
            f"Open the TCP and UDP ports {port} to {last} in the firewalls.",
        )
    return {
        "path": path["name"],
        "address": address,
        "mtu": mtu,
        "lost_percent": large,
        "mbit_s": carried,
    }
