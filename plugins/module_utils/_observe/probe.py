# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe: one end's clock, CPU counters, features and packet samples, read here or asked of the
other end.

A probe answers on one lab address over TCP, one JSON object a line, and only to requests with its
token. It reads counters and packet lengths; it changes nothing and starts nothing. It passes on
that the controller is gone.
"""

from __future__ import annotations

import glob
import hmac
import json
import os
import socket
import socketserver
import time
from typing import Any, Collection, Mapping, TypedDict

from .._base.errors import LabError
from .._base.network import VXLAN_PORT
from .._host.waiting import PATIENCE
from .._restore import sign_of_life
from . import errors_seen, sampler
from .sampler import SampledDevice

MAX_LINE = 1 << 20
CLOCK_ROUNDS = 5
MAX_SAMPLE = 10.0  # seconds


def _read(path: str) -> str:
    try:
        with open(path) as stream:
            return stream.read()
    except OSError:
        return ""


def _rows(text: str, names: str | tuple[str, ...]) -> str:
    return "".join(
        row + "\n" for row in text.splitlines() if row.split(":")[0].strip().startswith(names)
    )


def throttle_count() -> int:
    """Return how often the CPUs were throttled by heat since boot (Intel's counters; 0 where there
    are none).
    """
    paths = glob.glob("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
    return sum(int(_read(path) or 0) for path in paths)


class CounterReading(TypedDict):
    """The state of an end at one moment."""

    time: float  # s since the epoch
    stat: str  # raw, as the next
    softirqs: str
    boot_id: str
    hertz: int
    features: dict[str, str | None]
    throttled: int
    errors: dict[str, int]  # counted since boot
    alarms: list[str]  # of the kernel's log since the snapshot before


def snapshot(devices: Collection[SampledDevice] = ()) -> CounterReading:
    """Return this end's state now: ``time`` (s since the epoch), raw CPU counters, features,
    throttle count.
    """
    sign_of_life.renew()
    return {
        "time": time.time(),
        "stat": _rows(_read("/proc/stat"), "cpu"),
        "softirqs": _rows(_read("/proc/softirqs"), ("CPU", "NET_RX", "NET_TX")),
        "boot_id": _read("/proc/sys/kernel/random/boot_id").strip(),
        "hertz": os.sysconf("SC_CLK_TCK"),
        "features": sampler.features_of(devices),
        "throttled": throttle_count(),
        "errors": errors_seen.read(devices),
        "alarms": errors_seen.kernel_log().alarms(),
    }


def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer to one request: ``{"op": "clock" | "snapshot" | "sample" | "give_up",
    ...}``.
    """
    if request["op"] == "clock":
        return {"time": time.time()}
    if request["op"] == "snapshot":
        return snapshot(request.get("devices", ()))
    if request["op"] == "sample":
        seconds = min(float(request["seconds"]), MAX_SAMPLE)
        return sampler.sample(
            request["devices"],
            seconds,
            request.get("vxlan_port", VXLAN_PORT),
            request.get("both_ways", True),
        )
    if request["op"] == "give_up":
        sign_of_life.give_up()
        return {}
    raise LabError(f"unknown request {request['op']!r}", "probe")


class _Handler(socketserver.StreamRequestHandler):
    timeout = 600
    server: _Server

    def handle(self) -> None:
        for line in iter(lambda: self.rfile.readline(MAX_LINE), b""):
            try:
                request = json.loads(line.decode())
                if not hmac.compare_digest(str(request.get("token")), self.server.token):
                    return
                reply = answer(request)
            except (LabError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                reply = {"error": str(error)}
            self.wfile.write(json.dumps(reply).encode() + b"\n")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    token: str


def listen(address: str, port: int, token: str) -> _Server:
    """Return a bound server; ``serve_forever()`` runs it.

    ``token`` is what every request must carry.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server: _Server = type("_Bound", (_Server,), {"address_family": family})(
        (address, port), _Handler
    )
    server.token = token
    return server


class Probe:
    """The other end's probe, asked over one connection."""

    def __init__(
        self, address: str, port: int, token: str, timeout: float = 15, patience: float = PATIENCE
    ) -> None:
        self.where = f"{address} port {port}"
        self.token = token
        try:
            self.socket = socket.create_connection((address, port), timeout=timeout)
            self.socket.settimeout(
                patience
            )  # for an answer; an end that is there accepts a connection immediately
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise LabError(
                f"the probe does not answer ({error})",
                self.where,
                "Run the lab playbook again: its netperf role starts the probe.",
            )
        self.stream = self.socket.makefile("rb")

    def send(self, op: str, **request: Any) -> None:
        """Send a request without waiting for its answer."""
        self.socket.sendall(json.dumps(dict(request, op=op, token=self.token)).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        """Return the answer to the oldest request that was sent."""
        line = self.stream.readline()
        reply = (
            json.loads(line.decode())
            if line
            else {"error": "the connection was closed (is the token right?)"}
        )
        if "error" in reply:
            raise LabError(reply["error"], f"probe at {self.where}")
        return reply

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        self.send(op, **request)
        return self.receive()

    def clock(self) -> tuple[float, float]:
        """Return (offset, error) in seconds: the other clock less ours, and half the shortest round
        trip.
        """
        rounds = []
        for _round in range(CLOCK_ROUNDS):
            sent = time.time()
            there = self.ask("clock")["time"]
            back = time.time()
            rounds.append(((back - sent) / 2, there - (sent + back) / 2))
        error, offset = min(rounds)
        return offset, error

    def close(self) -> None:
        """End the connection."""
        self.stream.close()
        self.socket.close()
