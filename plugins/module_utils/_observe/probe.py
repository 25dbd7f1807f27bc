# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe: one end's clock, CPU counters, features and packet samples, read here or asked of the
other end.

A probe answers on one lab address over TCP, one JSON object a line. It reads counters and packet
lengths, and starts nothing. Its one request with an effect has the node's dead man's switch restore
the node, because the controller is gone.

The probe sends a nonce to each connection. Each request carries a proof: an HMAC of the nonce, the
number of the request on its connection, and its text. So the token is never sent, and nobody can
use a request again. Who has not shown a proof can send one line of :data:`HELLO_BYTES`, within
seconds; for longer ones and for a thread a proof is needed.
"""

from __future__ import annotations

import binascii
import contextlib
import glob
import hashlib
import hmac
import json
import os
import socket
import threading
import time
from typing import Any, Callable, Collection, Mapping

from .._base.errors import LabError
from .._base.network import VXLAN_PORT
from .._engines.wire import Caller, Door, Guests, family_of
from .._host import daemons
from .._host import netns as host_netns
from .._host.waiting import PATIENCE
from .._restore import sign_of_life, strikes
from . import crossing, drop_places, errors_seen, sampler
from .reading import CounterReading
from .sampler import SampledDevice

MAX_LINE = 1 << 20  # bytes of a request that has a proof
MOST_ANSWER = 1 << 26  # bytes
NONCE_BYTES = 16
MOST_CALLERS = 128  # connections that have shown no proof; the oldest of an address goes first
MOST_CLIENTS = 64
IDLE_S = 600.0  # s that a client may say nothing
CLOCK_ROUNDS = 5
MAX_SAMPLE = 10.0  # seconds
HELLO = {"op": "hello"}
CONNECTED_S = 3.0  # until a connection within a node is there: one SYN may be lost
CLOSED_S = 10.0  # until a server has closed the connection of somebody without the token
NO_TOKEN = b"?" * 200 + b"\n"


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


def snapshot(
    devices: Collection[SampledDevice] = (), begins: str = "", ends: str = ""
) -> CounterReading:
    """Return this end's state now: ``time`` (s since the epoch), raw CPU counters, features,
    throttle count.

    A trial that ``begins`` is counted from now on; of a trial that ``ends`` the reading has the
    packets that crossed the stack.
    """
    sign_of_life.renew()
    reading: CounterReading = {
        "time": time.time(),
        "stat": _rows(_read("/proc/stat"), "cpu"),
        "softirqs": _rows(_read("/proc/softirqs"), ("CPU", "NET_RX", "NET_TX")),
        "boot_id": _read("/proc/sys/kernel/random/boot_id").strip(),
        "hertz": os.sysconf("SC_CLK_TCK"),
        "features": sampler.features_of(devices),
        "programs": sampler.programs_of(devices),
        "throttled": throttle_count(),
        "errors": {**errors_seen.read(devices), **drop_places.read()},
        "alarms": errors_seen.kernel_log().alarms(),
    }
    if begins:
        crossing.begin(begins)
    crossed = crossing.end(ends) if ends else None
    if crossed:
        reading["crossed"] = crossed
    return reading


def _snapshot(request: Mapping[str, Any]) -> Mapping[str, Any]:
    trial = str(request.get("begins", "")), str(request.get("ends", ""))
    return snapshot(request.get("devices", ()), *trial)


def _prepare(request: Mapping[str, Any]) -> Mapping[str, Any]:
    crossing.prepare(request["devices"])
    return {}


def _sample(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return sampler.sample(
        request["devices"],
        min(float(request["seconds"]), MAX_SAMPLE),
        request.get("vxlan_port", VXLAN_PORT),
        request.get("both_ways", True),
    )


def _serves(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"serves": answers(str(request["address"]), int(request["port"]))}


def _give_up(_request: Mapping[str, Any]) -> Mapping[str, Any]:
    sign_of_life.give_up()
    return {}


REQUESTS: dict[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "clock": lambda _request: {"time": time.time()},
    "snapshot": _snapshot,
    "prepare": _prepare,
    "sample": _sample,
    "serves": _serves,
    "strike": lambda _request: {"strike": strikes.current()},
    "give_up": _give_up,
}


def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer to one request: ``{"op": one of REQUESTS, ...}``."""
    if request["op"] not in REQUESTS:
        raise LabError(f"unknown request {request['op']!r}", "probe", "Run playbook lab again.")
    return REQUESTS[request["op"]](request)


class Seal:
    """The proofs of one connection, in their order."""

    def __init__(self, token: str, nonce: str) -> None:
        self.key = token.encode()
        self.nonce = nonce
        self.number = 0

    def _proof(self, text: str) -> str:
        sealed = f"{self.nonce} {self.number} {text}".encode()
        return hmac.new(self.key, sealed, hashlib.sha256).hexdigest()

    def close(self, request: Mapping[str, Any]) -> bytes:
        """Return the line of the next request."""
        text = json.dumps(request)
        line = json.dumps({"proof": self._proof(text), "request": text})
        self.number += 1
        return line.encode() + b"\n"

    def open(self, line: bytes) -> dict[str, Any]:
        """Return the next request; raise ValueError for a line without its proof."""
        try:
            message = json.loads(line.decode())
            text, proof = str(message["request"]), str(message["proof"])
        except (KeyError, TypeError, RecursionError):
            raise ValueError("not a request with a proof") from None
        if not hmac.compare_digest(proof.encode(), self._proof(text).encode()):
            raise ValueError("not the proof of this request")
        self.number += 1
        request = json.loads(text)
        if not isinstance(request, dict):
            raise ValueError("not a request")
        return request


HELLO_BYTES = len(Seal("", "").close(HELLO))


class _Caller(Caller):
    """A connection that has got its nonce, and has shown no proof yet."""

    seal: Seal


class ProbeServer(Door):
    """Each connection has a thread, once it has shown a proof."""

    def __init__(self, address: str, port: int, token: str, peers: frozenset[str]) -> None:
        super().__init__(address, port, Guests(token.encode(), peers), MOST_CALLERS)

    def descriptors(self) -> list[int]:
        """Return what the process of the probe has to keep open."""
        return [self.listener.fileno(), self.poll.fileno()]

    def admit(self, connection: socket.socket, peer: str, flags: int) -> None:
        nonce = binascii.hexlify(os.urandom(NONCE_BYTES)).decode()
        caller = _Caller(connection, peer)
        caller.seal = Seal(self.who.token.decode(), nonce)
        connection.send(json.dumps({"nonce": nonce}).encode() + b"\n", socket.MSG_DONTWAIT)
        self.attend(caller, flags)

    def hear(self, caller: Caller, flags: int) -> bool:
        more = caller.connection.recv(HELLO_BYTES - len(caller.text), flags)
        caller.text += more
        if more and len(caller.text) < HELLO_BYTES:
            return False
        if not isinstance(caller, _Caller) or caller.seal.open(caller.text) != HELLO:
            raise ValueError("not a hello")
        if threading.active_count() > MOST_CLIENTS:
            raise ValueError("too many clients")
        self.release(caller)
        connection = socket.socket(fileno=caller.connection.detach())
        threading.Thread(target=_serve, args=(connection, caller.seal), daemon=True).start()
        return True


def _serve(connection: socket.socket, seal: Seal) -> None:
    """Answer requests until one has no proof, or the client has gone."""
    connection.settimeout(IDLE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError, ValueError):
        for line in iter(lambda: stream.readline(MAX_LINE), b""):
            reply = _reply(seal.open(line))
            connection.sendall(json.dumps(reply).encode() + b"\n")


def _reply(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer to a request, or an error in words."""
    try:
        return answer(request)
    except (LabError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return {"error": str(error)}


def listen(address: str, port: int, token: str, peers: frozenset[str] = frozenset()) -> ProbeServer:
    """Return a bound server; ``run()`` serves for ever.

    ``token`` is the key of the proofs. Without ``peers`` any address may connect.
    """
    return ProbeServer(address, port, token, peers)


class Probe:
    """The other end's probe, asked over one connection."""

    def __init__(
        self, address: str, port: int, token: str, timeout: float = 15, patience: float = PATIENCE
    ) -> None:
        self.where = f"{address} port {port}"
        try:
            self.socket = socket.create_connection((address, port), timeout=timeout)
            self.socket.settimeout(
                patience
            )  # for an answer; a running end accepts a connection immediately
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise LabError(
                f"the probe does not answer ({error})",
                self.where,
                "Run the lab playbook again: its netperf role starts the probe.",
            )
        self.stream = self.socket.makefile("rb")
        self.seal = Seal(token, str(self.receive()["nonce"]))
        self.send(**HELLO)

    def send(self, op: str, **request: Any) -> None:
        """Send a request without waiting for its answer."""
        self.socket.sendall(self.seal.close(dict(request, op=op)))

    def receive(self) -> dict[str, Any]:
        """Return the answer to the oldest request that was sent."""
        line = self.stream.readline(MOST_ANSWER)
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


def answers(address: str, port: int) -> bool | None:
    """Return whether the lab's server at an address and a port of this node answers; None where it
    is not known.
    """
    state = _state_at(address, port)
    if state is None:
        return None
    if not daemons.lives(state):
        return False
    try:
        with host_netns.inside(state["server"]["netns"]):
            return _closes(address, port) if _passes(address) else None
    except (LabError, OSError):
        return None


def _state_at(address: str, port: int) -> dict[str, Any] | None:
    """Return the state file of the server at an address and a port, also where it is gone."""
    for path in daemons.state_files(daemons.SERVER):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(path) as stream:
            state = json.load(stream)
            server = state["server"]
            ports = range(server["port"], server["port"] + server.get("count", 1))
            if server["address"] == address and port in ports:
                return state
    return None


def _passes(address: str) -> bool:
    """Return whether a connection to an address of this namespace is possible within it; it is not
    where the loopback device is down.
    """
    with socket.socket(family_of(address), socket.SOCK_STREAM) as listener:
        listener.bind((address, 0))
        listener.listen(1)
        there = listener.getsockname()[:2]
        with contextlib.suppress(OSError):
            socket.create_connection(there, CONNECTED_S).close()
            return True
    return False


def _closes(address: str, port: int) -> bool:
    """Return whether the server takes a connection and closes it, as it does without the token."""
    try:
        connection = socket.create_connection((address, port), CONNECTED_S)
    except OSError:
        return False
    with connection:
        connection.settimeout(CLOSED_S)
        try:
            connection.sendall(NO_TOKEN)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
        except socket.timeout:
            return False
        except OSError:  # a reset
            return True
    return True
