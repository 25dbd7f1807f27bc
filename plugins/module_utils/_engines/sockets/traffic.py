# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load by plain sockets: streams, datagrams that the kernel cuts and joins, requests, short flows.

A node runs this file, :mod:`.zerocopy` and :mod:`..wire` as one script: ``serve ADDRESS PORT`` at one end and
``measure JSON`` at the other. So it imports nothing else of ours. ``measure`` prints one line of JSON,
see :mod:`.output`; its argument is the mapping of :func:`.sockets.options_of`.

The server reads who may connect from its standard input, see :func:`..wire.guests`; the client has the
token in the variable OFFLOAD_LAB_TOKEN. The first line on a connection is the token, the second
says what the server has to do. The server starts a process for each connection, answers that it is
ready, and sends a line with its own counts when the traffic has ended. Short flows are the
exception: each is a connection that begins with its request, of zeros. The listening process
answers all of them, for a peer whose control connection exists.

What the other end may ask for is bounded by :data:`RANGES`. No input ends the listening process.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import resource
import select
import signal
import socket
import struct
import sys
import time
from array import array
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple

from ..wire import (
    BEAT,
    LARGEST_DATAGRAM,
    LINE,
    MOST_GUESTS,
    NUMBER,
    SOL_UDP,
    UDP_GRO,
    UDP_SEGMENT,
    Caller,
    Door,
    Guests,
    allow_many_files,
    decimal_number,
    family_of,
    fill,
    guests,
    object_of,
    require_token,
    token_line,
    whole_number,
)
from .zerocopy import ZeroCopySender

Options = Dict[str, Any]  # see :func:`.sockets.options_of`
CALL = 65536  # bytes of a call of a TCP stream, where no size is asked for
DATAGRAM = 1400  # bytes, where no size is asked for
MOST_SEGMENTS = 64  # datagrams of one call (UDP_MAX_SEGMENTS of linux/udp.h before 6.9)
EXAMINED = 1000  # calls that take in datagrams and look at their size; it takes time
IP_BIND_ADDRESS_NO_PORT = 24  # linux/in.h
# linux/tcp.h; the second is a place in tcp_info
TCP_CONGESTION = 13
TCP_TOTAL_RETRANS = 100
TIMEOUT = struct.Struct("ll")  # struct timeval
SILENCE = 0.2  # s without a datagram, after which an end looks whether the other one has finished
PATIENCE = 30.0  # s for an answer on the connection on which the ends speak
CONNECTED = 8.0  # s; by then the SYN was retransmitted after 1 s and 3 s
ASIDE = 0.1  # s that streams run before and after the requests that are counted
FLOW = b"\0"  # how a short flow begins
GRACE = 60.0  # s after its traffic, after which a process of the server is ended
MOST_TESTS = 2100  # processes of the server; a cell has 2000 streams at most
MESSAGES = ("message_size", "receive_size", "request_size", "response_size")
LARGEST = 1 << 24  # bytes of each: a process of the server holds all of them
# What a client may ask for: the least and the most. They allow what a workload can be.
RANGES: dict[str, tuple[float, float]] = {
    "seconds": (0.01, 90000),
    "before": (0, 90000),
    **dict.fromkeys(MESSAGES, (1, LARGEST)),
    "send_socket": (1, 1 << 30),
    "recv_socket": (1, 1 << 30),
    "rate_mbps": (0.001, 1e6),
    "server_cpu": (0, 8191),
    "from_port": (1, 65535),
}
SIZES = ("request_size", "response_size")
# The tests, and what a client has to say of each one
TESTS: dict[str, tuple[str, ...]] = {
    "TCP_STREAM": (),
    "TCP_MAERTS": (),
    "UDP_STREAM": ("from_port",),
    "TCP_RR": SIZES,
    "UDP_RR": (*SIZES, "from_port"),
    "TCP_CRR": SIZES,
    "TCP_LOADED_RR": SIZES,
}
FRACTIONS = ("seconds", "before", "rate_mbps")  # the others are whole numbers
SWITCHES = {"udp_segment": True, "udp_gro": True, "zero_copy": False}  # and their defaults
ALGORITHM = re.compile(r"[a-z0-9_]{1,15}\Z")
AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
# latencies are counted by 64 ns up to 67 ms; longer ones are kept
STEP = 6
STEPS = 1 << 20
OCTAVE = 64  # classes of latencies from one time to its double: each is 1.1 % wide
PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999))


class Usage:
    """CPU time and time of this process since a moment."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.before = resource.getrusage(resource.RUSAGE_SELF)

    def shown(self) -> dict[str, float]:
        """Return seconds of the process's own code, of the kernel for it, and of the clock."""
        now = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "user": now.ru_utime - self.before.ru_utime,
            "system": now.ru_stime - self.before.ru_stime,
            "wall": time.monotonic() - self.began,
        }


class Ticks:
    """How much was done in each interval, ``interim`` seconds long; 0 for none."""

    def __init__(self, interim: float) -> None:
        self.epoch = time.time() - time.monotonic()
        self.interim = interim or math.inf
        self.last = time.monotonic()
        self.due = self.last + self.interim
        self.counted = 0
        self.parts: list[tuple[float, float, int]] = []

    def close(self, now: float, amount: int) -> None:
        """End an interval; ``amount`` is what was done since the beginning."""
        part = (self.epoch + self.last, self.epoch + now, amount - self.counted)
        if self.interim < math.inf:
            self.parts.append(part)
        self.last = now
        self.counted = amount
        self.due = now + self.interim


class Done(NamedTuple):
    """What an end sent, or what arrived."""

    amount: int  # bytes
    calls: int
    elapsed: float  # s
    datagram: int = 0  # bytes of the largest one of the first that arrived


# Streams


def send(
    sock: socket.socket | ZeroCopySender,
    data: bytes,
    seconds: float,
    ticks: Ticks,
    rate: float = 0,
) -> Done:
    """Send for some seconds, at most ``rate`` Mbit/s where there is one."""
    pace = 8 / (rate * 1e6) if rate else 0.0  # s a byte
    began = now = time.monotonic()
    until = began + seconds
    amount = 0
    calls = 0
    while now < until:
        amount += sock.send(data)
        calls += 1
        now = time.monotonic()
        if now >= ticks.due:
            ticks.close(now, amount)
        if pace and began + amount * pace > now:
            time.sleep(began + amount * pace - now)
            now = time.monotonic()
    ticks.close(now, amount)
    return Done(amount, calls, now - began)


def sender_of(sock: socket.socket, options: Options) -> socket.socket | ZeroCopySender:
    """Return what sends on a socket: itself, or a sender that does not copy."""
    return ZeroCopySender(sock) if options.get("zero_copy") else sock


def completions(sender: socket.socket | ZeroCopySender) -> dict[str, dict[str, int]]:
    """Return what the kernel reported of sends without copying, nothing of other sends."""
    return {"zero_copy": sender.finish()} if isinstance(sender, ZeroCopySender) else {}


class Sink:
    """Takes in a TCP stream to its end. The stream is zeros; a text behind it is kept."""

    def __init__(self, size: int) -> None:
        self.buffer = bytearray(size)
        self.text = b""

    def drain(self, sock: socket.socket, ticks: Ticks) -> Done:
        """Read until the other end closes."""
        buffer = self.buffer
        began = now = time.monotonic()
        amount = calls = 0
        while True:
            got = sock.recv_into(buffer)
            now = time.monotonic()
            if not got:
                break
            amount += got
            calls += 1
            if buffer[got - 1]:
                self.text = self._rest(sock, got)
                amount -= min(got, len(self.text))
                break
            if now >= ticks.due:
                ticks.close(now, amount)
        ticks.close(now, amount)
        return Done(amount, calls, now - began)

    def _rest(self, sock: socket.socket, got: int) -> bytes:
        text = bytes(self.buffer[:got])
        while len(text) <= got + LINE:
            more = sock.recv(LINE)
            if not more:
                return text.lstrip(b"\0")
            text += more
        raise ConnectionError("the other end's counts are too long")


def retransmitted(sock: socket.socket) -> int:
    """Return how many segments TCP has retransmitted."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_TOTAL_RETRANS + NUMBER.size)
    if len(info) < TCP_TOTAL_RETRANS + NUMBER.size:
        return 0
    return int(NUMBER.unpack_from(info, TCP_TOTAL_RETRANS)[0])


# Datagrams


def batch(options: Options) -> bytes:
    """Return what one call sends: a datagram, or as many as the kernel cuts out of one call."""
    size = options.get("message_size") or DATAGRAM
    count = min(MOST_SEGMENTS, LARGEST_DATAGRAM // size) if options.get("udp_segment", True) else 1
    return bytes(size * count)


def udp_socket(address: str, port: int, options: Options) -> socket.socket:
    """Return a bound socket that cuts and joins datagrams, where that is asked for."""
    sock = socket.socket(family_of(address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    _set_buffers(sock, options)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(SILENCE))
    sock.bind((address, port))
    return sock


def refusal(error: OSError, size: int) -> str:
    """Return why the kernel does not cut datagrams of a size out of one call."""
    reason = {
        errno.EINVAL: f"datagrams of {size} bytes are larger than the path's MTU",
        errno.EMSGSIZE: f"datagrams of {size} bytes are larger than the path's MTU",
        errno.EIO: "the device computes no checksums, which this kernel needs for it",
    }.get(error.errno or 0, os.strerror(error.errno or 0))
    return f"one call cannot send several datagrams (udp_segment): {reason}"


def take_in(sock: socket.socket, buffer: bytearray) -> tuple[int, int]:
    """Return the bytes that one call takes in, and the bytes of each datagram in it (UDP_GRO)."""
    got, control, _flags, _peer = sock.recvmsg_into([buffer], socket.CMSG_SPACE(NUMBER.size))
    for level, kind, data in control:
        if (level, kind) == (SOL_UDP, UDP_GRO):
            return got, int(NUMBER.unpack_from(data)[0])
    return got, got


def merged(size: int, arrived: int) -> str | None:
    """Return what is wrong where datagrams arrived as larger ones, None where they did not."""
    if arrived <= size:
        return None
    return (
        f"datagrams of {size} bytes arrived as one of {arrived}: what is on the path, a switch or "
        "a device, does not cut what one call sends (udp_segment)"
    )


def receive_datagrams(sock: socket.socket, finished: Callable[[], bool]) -> Done:
    """Count what arrives until no more does and the other end has finished."""
    buffer = bytearray(LARGEST_DATAGRAM + 28)
    began = now = 0.0
    amount = calls = largest = 0
    while True:
        try:
            if calls < EXAMINED:
                got, size = take_in(sock, buffer)
                largest = max(largest, size)
            else:
                got = sock.recv_into(buffer)
        except BlockingIOError:
            if finished():
                return Done(amount, calls, now - began, largest)
            continue
        now = time.monotonic()
        began = began or now
        amount += got
        calls += 1


# Requests


class Latencies:
    """How long requests took, however many there are."""

    def __init__(self) -> None:
        self.counts = array("L", bytes(array("L").itemsize * STEPS))
        self.longer = array("q")  # ns

    def each(self) -> Iterator[tuple[int, int]]:
        """Give (ns, count), the shortest first."""
        for index, count in enumerate(self.counts):
            if count:
                yield (index << STEP) + (1 << STEP) // 2, count
        for took in sorted(self.longer):
            yield took, 1

    def shown(self) -> dict[str, object] | None:
        """Return latencies in us, and all of them counted by class; None without any.

        Class ``n`` is the latencies from 2^(n/64) ns on.
        """
        pairs = list(self.each())
        total = sum(count for _took, count in pairs)
        if not total:
            return None
        mean = sum(took * count for took, count in pairs) / total
        variance = sum((took - mean) ** 2 * count for took, count in pairs) / total
        shown: dict[str, object] = {
            "min": pairs[0][0] / 1e3,
            "mean": mean / 1e3,
            "max": pairs[-1][0] / 1e3,
            "stddev": math.sqrt(variance) / 1e3,
        }
        classes: dict[int, int] = {}
        percentiles = list(PERCENTILES)
        counted = 0
        for took, count in pairs:
            counted += count
            while percentiles and counted >= percentiles[0][1] * total:
                shown[percentiles.pop(0)[0]] = took / 1e3
            octave = int(math.log2(took) * OCTAVE)
            classes[octave] = classes.get(octave, 0) + count
        shown["classes"] = classes
        return shown


class Asking(NamedTuple):
    """What requests were."""

    transactions: int
    elapsed: float  # s
    lost: int  # datagrams without an answer
    latencies: Latencies


def ask(sock: socket.socket, options: Options, seconds: float, ticks: Ticks) -> Asking:
    """Send requests for some seconds, each after the answer to the one before."""
    request = bytes(options["request_size"])
    answer = memoryview(bytearray(options["response_size"]))
    udp = sock.type == socket.SOCK_DGRAM
    size = len(answer)
    number = 0
    lost = 0
    latencies = Latencies()
    counts = latencies.counts
    longer = latencies.longer
    began = now = time.monotonic_ns()
    until = now + int(seconds * 1e9)
    due = ticks.due * 1e9
    while now < until:
        sock.send(request)
        try:
            got = sock.recv_into(answer)
            if got < size and not udp and not (got and fill(sock, answer[got:]) == size - got):
                raise ConnectionError("the other end has closed the connection")
        except BlockingIOError:
            if not udp:
                raise
            lost += 1
            _drain(sock)
            now = time.monotonic_ns()
            continue
        later = time.monotonic_ns()
        number += 1
        try:
            counts[(later - now) >> STEP] += 1
        except IndexError:
            longer.append(later - now)
        now = later
        if now >= due:
            ticks.close(now / 1e9, number)
            due = ticks.due * 1e9
    ticks.close(now / 1e9, number)
    return Asking(number, (now - began) / 1e9, lost, latencies)


def _drain(sock: socket.socket) -> None:
    """Throw away answers that came late."""
    with contextlib.suppress(BlockingIOError):
        while True:
            sock.recv(1, socket.MSG_DONTWAIT)


def answer_tcp(sock: socket.socket, options: Options) -> None:
    """Answer each request until the other end closes its sending side."""
    request = memoryview(bytearray(options["request_size"]))
    answer = bytes(options["response_size"])
    while fill(sock, request) == len(request):
        sock.sendall(answer)


def answer_udp(sock: socket.socket, options: Options, finished: Callable[[], bool]) -> None:
    """Answer each datagram until no more comes and the other end has finished."""
    buffer = bytearray(LARGEST_DATAGRAM)
    answer = bytes(options["response_size"])
    while True:
        try:
            sock.recv_into(buffer)
        except BlockingIOError:
            if finished():
                return
            continue
        sock.send(answer)


def flow(there: tuple[str, int], source: tuple[str, int] | None, request: bytes) -> None:
    """Make one connection with one request, to its end. The server closes it first, so that no port
    of the client has to wait in TIME_WAIT.
    """
    with socket.socket(family_of(there[0]), socket.SOCK_STREAM) as sock:
        if source:
            sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            sock.bind(source)
        sock.connect(there)
        sock.send(request)
        while sock.recv(CALL):
            pass


def flows(options: Options, seconds: float, ticks: Ticks) -> Asking:
    """Make flows one after the other for some seconds."""
    there = (options["address"], options["port"])
    source = _source(options)
    request = bytes(options["request_size"])
    number = 0
    latencies = Latencies()
    began = now = time.monotonic_ns()
    until = now + int(seconds * 1e9)
    while now < until:
        flow(there, source, request)
        later = time.monotonic_ns()
        number += 1
        if (later - now) >> STEP < STEPS:
            latencies.counts[(later - now) >> STEP] += 1
        else:
            latencies.longer.append(later - now)
        now = later
        if now >= ticks.due * 1e9:
            ticks.close(now / 1e9, number)
    ticks.close(now / 1e9, number)
    return Asking(number, (now - began) / 1e9, 0, latencies)


# Both ends


def _timeval(seconds: float) -> bytes:
    return TIMEOUT.pack(int(seconds), int(seconds % 1 * 1e6))


def _source(options: Options) -> tuple[str, int] | None:
    return (options["local"], 0) if options.get("local") else None


def _set_buffers(sock: socket.socket, options: Options) -> None:
    """Give a socket the sizes that are asked for; else it keeps the system's own."""
    for option, key in ((socket.SO_SNDBUF, "send_socket"), (socket.SO_RCVBUF, "recv_socket")):
        if options.get(key):
            sock.setsockopt(socket.SOL_SOCKET, option, int(options[key]))


def _require_algorithm(options: Options) -> None:
    """Raise ValueError for an algorithm of TCP that this kernel has not loaded: to name it would
    load a module where the server may do that.
    """
    name = options.get("congestion_control")
    with open(AVAILABLE) as stream:
        if name and name not in stream.read().split():
            raise ValueError(f"the kernel has no congestion control {name}: modprobe tcp_{name}")


def _set_congestion(sock: socket.socket, options: Options) -> None:
    """Let TCP use the algorithm that is asked for."""
    if options.get("congestion_control"):
        name = str(options["congestion_control"]).encode()
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name)


def _sizes(sock: socket.socket) -> dict[str, int]:
    return {
        "send_socket": sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
        "recv_socket": sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
    }


class ControlLine:
    """A connection on which the ends speak, a line of JSON each time."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection

    def say(self, values: dict[str, object], before: bytes = b"") -> None:
        """Send one line."""
        self.connection.sendall(before + json.dumps(values).encode() + b"\n")

    def hear(self) -> dict[str, object]:
        """Return the next line. Nothing follows it until the other end has been answered."""
        text = b""
        while not text.endswith(b"\n") and len(text) < LINE:
            more = self.connection.recv(LINE - len(text))
            if not more:
                raise ConnectionError("the other end has closed the connection")
            text += more
        return _answer_of(text)

    def finished(self) -> bool:
        """Return whether the other end has closed its sending side."""
        try:
            return not self.connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return False


def _answer_of(text: bytes) -> dict[str, object]:
    """Return what the server says; raise ConnectionError where that is an error."""
    heard = object_of(text)
    if "error" in heard:
        raise ConnectionError(f"the server reports: {str(heard['error'])[:300]}")
    return heard


def _in_words(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else str(error)
    return text or type(error).__name__


def _algorithm(name: object) -> str:
    """Return the name of a congestion control; raise ValueError for what is none."""
    if not isinstance(name, str) or not ALGORITHM.match(name):
        raise ValueError("congestion_control is not the name of an algorithm")
    return name


def checked(options: Options) -> Options:
    """Return what a client asks of the server, without what the server does not use; raise
    ValueError for a value that no workload has.
    """
    result: Options = {"test": str(options["test"]), "before": 0}
    if result["test"] not in TESTS:
        raise ValueError("the server has no such test")
    for key in RANGES:
        if key in options or key in ("seconds", *TESTS[result["test"]]):
            read = decimal_number if key in FRACTIONS else whole_number
            result[key] = read(options, key, RANGES)
    for key, default in SWITCHES.items():
        result[key] = options.get(key, default)
        if type(result[key]) is not bool:
            raise ValueError(f"{key} is neither true nor false")
    if "congestion_control" in options:
        result["congestion_control"] = _algorithm(options["congestion_control"])
    return result


# The server


class Flow(NamedTuple):
    """What short flows are."""

    request: int  # bytes, as the last
    answer: bytes
    size: int


class SocketsServer(Door):
    """All that goes on has a process of its own, but for flows."""

    def __init__(self, address: str, port: int, who: Guests) -> None:
        super().__init__(address, port, who)
        self.tests: dict[int, str] = {}  # the peers of processes
        # Of a peer with a process that counts flows
        self.flows: dict[str, Flow] = {}

    def sweep(self) -> None:
        super().sweep()
        with contextlib.suppress(ChildProcessError):  # there is none
            while True:
                pid = os.waitpid(-1, os.WNOHANG)[0]
                if not pid:
                    break
                self.tests.pop(pid, None)
        peers = set(self.tests.values())
        self.flows = {peer: sizes for peer, sizes in self.flows.items() if peer in peers}

    def admit(self, connection: socket.socket, peer: str, flags: int) -> None:
        # Most short flows end here, as quickly as possible.
        text = b""
        sent = 0
        try:
            text = connection.recv(CALL, flags)
            if text.startswith(FLOW) and len(text) >= self.flows[peer].request:
                sent = connection.send(self.flows[peer].answer, flags)
                if sent == self.flows[peer].size:
                    connection.close()
                    return
        except BlockingIOError:
            pass
        except (OSError, KeyError):
            connection.close()
            return
        caller = Caller(connection, peer)
        caller.text, caller.got, caller.sent = text[: LINE + 1], len(text), sent
        self.attend(caller, flags)

    def hear(self, caller: Caller, flags: int) -> bool:
        began = time.monotonic()
        while time.monotonic() < began + BEAT:
            if caller.text.startswith(FLOW):
                if caller.got >= self.flows[caller.peer].request:
                    return self.answer(caller, flags)
            elif self.hear_request(caller):
                return True
            more = caller.connection.recv(CALL, flags)
            if not more:
                raise ConnectionError("the other end has closed the connection")
            caller.got += len(more)
            caller.text = (caller.text + more)[: LINE + 1]
        return False

    def answer(self, caller: Caller, flags: int) -> bool:
        """Answer a flow as far as that goes without waiting; return whether that was all."""
        caller.waits_for = select.EPOLLOUT
        flow = self.flows[caller.peer]
        caller.sent += caller.connection.send(memoryview(flow.answer)[caller.sent :], flags)
        return caller.sent == flow.size

    def hear_request(self, caller: Caller) -> bool:
        """Begin what a connection asks for, once it has said all of it; return whether it has."""
        size = len(self.who.token)
        if not caller.trusted and len(caller.text) >= size:
            caller.trusted = self.knows(caller.text[:size])
            if not caller.trusted:
                raise ConnectionError("not the token")
        if len(caller.text) > LINE:
            raise ConnectionError("a line is too long")
        if len(caller.text) <= size or not caller.text.endswith(b"\n"):
            return False
        try:
            self.start(caller, caller.text[size:])
        except Exception as error:  # whatever it asks for ends this connection alone
            text = json.dumps({"error": _in_words(error)})
            caller.connection.send(text.encode() + b"\n", socket.MSG_DONTWAIT)
        return True

    def start(self, caller: Caller, line: bytes) -> None:
        """Start the process that does what a connection asks for."""
        options = checked(object_of(line))
        if len(self.tests) >= MOST_TESTS:
            raise ValueError("the server has too many tests")
        if options["test"] == "TCP_CRR":
            size = options["response_size"]
            self.flows[caller.peer] = Flow(options["request_size"], bytes(size), size)
        pid = os.fork()
        if pid:
            self.tests[pid] = caller.peer
            return
        try:
            self.leave(caller.connection)
            signal.setitimer(signal.ITIMER_REAL, options["before"] + options["seconds"] + GRACE)
            self.begin(caller.connection, options, caller.peer)
        finally:
            os._exit(0)

    def leave(self, connection: socket.socket) -> None:
        """Keep nothing of the listening process but one connection."""
        self.shut()
        for caller in self.callers.values():
            if caller.connection is not connection:
                caller.connection.close()
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, _timeval(0))

    def begin(self, connection: socket.socket, options: Options, peer: str) -> None:
        """Be the server of one connection, in a process of its own."""
        control = ControlLine(connection)
        try:
            _require_algorithm(options)
            if options["test"] != "TCP_STREAM":  # of a stream the other end is the sender
                _set_congestion(connection, options)
            _bind_cpu(options.get("server_cpu"))
            control.say(self.counts(control, options, peer))
        except Exception as error:  # the client reports it
            control.say({"error": _in_words(error)})

    def counts(self, control: ControlLine, options: Options, peer: str) -> dict[str, object]:
        """Do the server's part of a test, and return what it counts."""
        if options["test"].startswith("UDP_"):
            return self.datagrams(control, options, peer)
        if options["test"] == "TCP_CRR":
            return self.count_flows(control)
        return SERVED[options["test"]](control, options)

    def datagrams(self, control: ControlLine, options: Options, peer: str) -> dict[str, object]:
        """Take in datagrams, or answer them."""
        with udp_socket(*self.here, options) as sock:
            sock.connect((peer, options["from_port"]))
            if options["test"] == "UDP_RR":
                control.say({"ready": True})
                usage = Usage()
                answer_udp(sock, options, control.finished)
                return {**usage.shown()}
            if options.get("udp_gro", True):
                sock.setsockopt(SOL_UDP, UDP_GRO, 1)
            control.say({"ready": True, **_sizes(sock)})
            usage = Usage()
            done = receive_datagrams(sock, control.finished)
            counts = {"bytes": done.amount, "calls": done.calls, "datagram": done.datagram}
            return {**usage.shown(), **counts}

    def count_flows(self, control: ControlLine) -> dict[str, object]:
        """Wait for the end of flows; return what the listening process needed for them."""
        before = _cpu_of(os.getppid())
        began = time.monotonic()
        control.say({"ready": True})
        while control.connection.recv(4096):
            pass
        after = _cpu_of(os.getppid())
        wall = time.monotonic() - began
        return {"user": after[0] - before[0], "system": after[1] - before[1], "wall": wall}


def _cpu_of(pid: int) -> tuple[float, float]:
    """Return the seconds that a process has needed for its own code and in the kernel, proc(5)."""
    fields = _stat(pid)
    hertz = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / hertz, int(fields[12]) / hertz


def _age() -> float:
    """Return the seconds since this process was started, proc(5)."""
    started = int(_stat(os.getpid())[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def _stat(pid: int) -> list[str]:
    """Return what follows the name of a process in /proc."""
    with open(f"/proc/{pid}/stat") as stream:
        return stream.read().rpartition(")")[2].split()


def _bind_cpu(cpu: object) -> None:
    if cpu is not None:
        os.sched_setaffinity(0, [int(str(cpu))])


def _serve_stream(control: ControlLine, options: Options) -> dict[str, object]:
    sock = control.connection
    _set_buffers(sock, options)
    control.say({"ready": True, **_sizes(sock)})
    sink = Sink(options.get("receive_size") or 2 * CALL)
    sock.recv(1, socket.MSG_PEEK)  # until the stream begins
    usage = Usage()
    done = sink.drain(sock, Ticks(0))
    return {**usage.shown(), "bytes": done.amount, "calls": done.calls}


def _serve_reverse(control: ControlLine, options: Options) -> dict[str, object]:
    sock = control.connection
    _set_buffers(sock, options)
    control.say({"ready": True, **_sizes(sock)})
    sock.recv(1)  # until the client has read the line
    usage = Usage()
    data = bytes(options.get("message_size") or CALL)
    rate = options.get("rate_mbps") or 0
    sender = sender_of(sock, options)
    done = send(sender, data, options["seconds"], Ticks(0), rate)
    shown = {**usage.shown(), **completions(sender)}
    counts = {"bytes": done.amount, "calls": done.calls, "retransmits": retransmitted(sock)}
    return {**shown, **counts}


def _serve_requests(control: ControlLine, options: Options) -> dict[str, object]:
    control.say({"ready": True})
    usage = Usage()
    answer_tcp(control.connection, options)
    return {**usage.shown()}


SERVED = {
    "TCP_STREAM": _serve_stream,
    "TCP_MAERTS": _serve_reverse,
    "TCP_RR": _serve_requests,
    "TCP_LOADED_RR": _serve_requests,
}


# The client


class SocketsClient:
    """The end that measures: it asks for a test, makes its part and hears the server's counts."""

    def __init__(self, options: Options, starter: socket.socket | None = None) -> None:
        self.options = options
        self.starter = starter  # says when the traffic may begin
        self.ticks = Ticks(0)
        self.result: dict[str, object] = {"test": options["test"], "length": options["seconds"]}
        there = (options["address"], options["port"])
        self.sock = socket.create_connection(there, CONNECTED, _source(options))
        self.sock.settimeout(None)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(PATIENCE))
        _set_congestion(self.sock, options)
        self.control = ControlLine(self.sock)

    def measure(self) -> dict[str, object]:
        """Return what was found, see :mod:`.output`."""
        if str(self.options["test"]).startswith("UDP_"):
            self.datagrams()
        else:
            MEASURED[str(self.options["test"])](self)
        return {**self.result, "parts": self.ticks.parts}

    def begin(self, **more: object) -> dict[str, object]:
        """Ask for the test, and wait for what has to come before the traffic; return the answer."""
        options = {key: value for key, value in self.options.items() if key != "streams"}
        self.control.say({**options, **more}, token_line())
        ready = self.control.hear()
        if self.starter:
            self.starter.recv(1)
        self.ticks = Ticks(self.options.get("interim") or 0)
        return ready

    def end(self) -> dict[str, object]:
        """Say that the traffic has ended, and return the server's counts."""
        self.sock.shutdown(socket.SHUT_WR)
        return self.control.hear()

    def add_stream(
        self, done: Done, client: Mapping[str, object], server: dict[str, object]
    ) -> None:
        """Add what was sent and what arrived."""
        self.result.update(
            elapsed=done.elapsed,
            client={**client, "bytes": done.amount, "calls": done.calls},
            server=server,
        )

    def add_requests(self, asking: Asking, client: dict[str, float]) -> None:
        """Add what requests took."""
        self.result.update(
            elapsed=asking.elapsed,
            transactions=asking.transactions,
            lost=asking.lost,
            latency=asking.latencies.shown(),
            client=client,
            server=self.end(),
        )

    def stream(self) -> None:
        """Send a TCP stream."""
        _set_buffers(self.sock, self.options)
        ready = self.begin()
        data = bytes(self.options.get("message_size") or CALL)
        rate = self.options.get("rate_mbps") or 0
        usage = Usage()
        sender = sender_of(self.sock, self.options)
        done = send(sender, data, self.options["seconds"], self.ticks, rate)
        client = {**usage.shown(), **completions(sender)}
        mss = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        sizes = {**_sizes(self.sock), "recv_socket": ready["recv_socket"]}
        self.add_stream(done, client, self.end())
        lost = retransmitted(self.sock)
        self.result.update(sizes, mss=mss, message_size=len(data), retransmits=lost)

    def reverse(self) -> None:
        """Take in a TCP stream."""
        _set_buffers(self.sock, self.options)
        ready = self.begin()
        self.sock.send(b"!")
        usage = Usage()
        sink = Sink(self.options.get("receive_size") or 2 * CALL)
        done = sink.drain(self.sock, self.ticks)
        client = usage.shown()
        server = _answer_of(sink.text)
        self.add_stream(done, client, server)
        mss = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        sizes = {**_sizes(self.sock), "send_socket": ready["send_socket"]}
        size = self.options.get("message_size") or CALL
        lost = server["retransmits"]
        self.result.update(sizes, mss=mss, message_size=size, retransmits=lost)

    def requests(self) -> None:
        """Ask and wait for each answer."""
        self.begin()
        usage = Usage()
        asking = ask(self.sock, self.options, self.options["seconds"], self.ticks)
        self.add_requests(asking, usage.shown())

    def loaded(self) -> None:
        """Ask while nothing else runs, then while streams run."""
        options = self.options
        seconds = options["seconds"] + 2 * ASIDE
        more = {"seconds": seconds, "before": options["before"]}
        streams = [LoadingStream({**stream, **more}) for stream in options["streams"]]
        self.begin()
        # The CPU is counted from ``before`` on, whatever Python needs to start.
        alone = ask(self.sock, options, max(ASIDE, options["before"] - ASIDE - _age()), Ticks(0))
        for client in streams:
            client.start()
        ask(self.sock, options, ASIDE, Ticks(0))
        usage = Usage()
        self.ticks = Ticks(options.get("interim") or 0)
        asking = ask(self.sock, options, options["seconds"], self.ticks)
        self.add_requests(asking, usage.shown())
        self.result["unloaded"] = alone.latencies.shown()
        self.result["streams"] = [client.result() for client in streams]

    def flows(self) -> None:
        """Make a connection for each request."""
        self.begin()
        usage = Usage()
        self.add_requests(flows(self.options, self.options["seconds"], self.ticks), usage.shown())

    def datagrams(self) -> None:
        """Send datagrams, or ask with them."""
        options = self.options
        with udp_socket(self.sock.getsockname()[0], 0, options) as sock:
            sock.connect((options["address"], options["port"]))
            ready = self.begin(from_port=sock.getsockname()[1])
            usage = Usage()
            if options["test"] == "UDP_RR":
                asking = ask(sock, options, options["seconds"], self.ticks)
                self.add_requests(asking, usage.shown())
                return
            data = batch(options)
            size = options.get("message_size") or DATAGRAM
            if len(data) > size:
                sock.setsockopt(SOL_UDP, UDP_SEGMENT, size)
            rate = options.get("rate_mbps") or 0
            sender = sender_of(sock, options)
            try:
                done = send(sender, data, options["seconds"], self.ticks, rate)
            except OSError as error:
                raise SystemExit(refusal(error, size)) if len(data) > size else error
            used = {**usage.shown(), **completions(sender)}
            server = self.end()
            wrong = merged(size, int(str(server["datagram"])))
            if wrong:
                raise SystemExit(wrong)
            self.add_stream(done, used, server)
            sizes = {**_sizes(sock), "recv_socket": ready["recv_socket"]}
            self.result.update(sizes, message_size=size)


class LoadingStream:
    """A stream in a process of its own, which waits for :meth:`start`."""

    def __init__(self, options: Options) -> None:
        self.ours, theirs = socket.socketpair()
        if os.fork() == 0:
            try:
                theirs.sendall(json.dumps(measured(options, theirs)).encode())
            finally:
                os._exit(0)
        theirs.close()

    def start(self) -> None:
        """Let the stream begin."""
        self.ours.send(b"!")

    def result(self) -> dict[str, object]:
        """Return what the stream found, once it has ended."""
        with self.ours.makefile("rb") as answer:
            return object_of(answer.read() or b'{"error": "a stream has ended early"}')


def measured(options: Options, starter: socket.socket | None = None) -> dict[str, object]:
    """Return what was found, or the error in words."""
    where = f"{options['address']} port {options['port']}"
    _bind_cpu(options.get("client_cpu"))
    try:
        return SocketsClient(options, starter).measure()
    except BlockingIOError:
        return {"error": f"{where}: no answer for {PATIENCE:g} s"}
    except OSError as error:
        return {"error": f"{where}: {error.strerror or error}"}


def errors_of(result: dict[str, object]) -> list[str]:
    """Return what went wrong, in the streams of loaded requests too."""
    errors = [str(result["error"])] if "error" in result else []
    streams = result.get("streams")
    for stream in streams if isinstance(streams, list) else []:
        errors += errors_of(stream)
    return errors


MEASURED = {
    "TCP_STREAM": SocketsClient.stream,
    "TCP_MAERTS": SocketsClient.reverse,
    "TCP_RR": SocketsClient.requests,
    "TCP_CRR": SocketsClient.flows,
    "TCP_LOADED_RR": SocketsClient.loaded,
}


def main(argv: list[str]) -> None:
    """Run one end."""
    if argv[0] == "serve":
        allow_many_files()
        SocketsServer(argv[1], int(argv[2]), guests(sys.stdin.read(MOST_GUESTS))).run()
    require_token()
    result = measured(json.loads(argv[1]))
    errors = errors_of(result)
    if errors:
        raise SystemExit(errors[0])
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
