# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load by plain sockets: streams, datagrams that the kernel cuts and joins, requests, short flows.

A node runs this file as it is, ``serve ADDRESS PORT`` at one end and ``measure JSON`` at the other,
so it imports nothing of ours. ``measure`` prints one line of JSON, see :mod:`.output`; what it is
asked for is the mapping of :func:`.command.asked`.

The first line on a connection says what the server has to do. The server becomes a process for
each, answers that it is ready, and sends a line with its own counts when the traffic has ended.
Short flows are the exception: each is a connection that begins with its request, and the
listening process answers all of them itself.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import resource
import signal
import socket
import struct
import sys
import time
from array import array
from typing import Any, Callable, Dict, Iterator, NamedTuple

Asked = Dict[str, Any]  # see :func:`.command.asked`
CALL = 65536  # bytes of a call of a TCP stream, where no size is asked for
DATAGRAM = 1400  # bytes, where no size is asked for
MOST_SEGMENTS = 64  # datagrams of one call (UDP_MAX_SEGMENTS of linux/udp.h before 6.9)
EXAMINED = 1000  # calls that take in datagrams and look at their size; it takes time
LARGEST_DATAGRAM = 65507  # bytes that IPv4 carries in a UDP datagram
# linux/udp.h
SOL_UDP = 17
UDP_SEGMENT = 103
UDP_GRO = 104
IP_BIND_ADDRESS_NO_PORT = 24  # linux/in.h
# linux/tcp.h; the second is a place in tcp_info
TCP_CONGESTION = 13
TCP_TOTAL_RETRANS = 100
TIMEOUT = struct.Struct("ll")  # struct timeval
NUMBER = struct.Struct("=I")
SILENCE = 0.2  # s without a datagram, after which an end looks whether the other one has finished
PATIENCE = 30.0  # s for an answer on the connection on which the ends speak
CONNECTED = 8.0  # s; by then the SYN was sent again after 1 s and 3 s
ASIDE = 0.1  # s that streams run before and after the requests that are counted beside them
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


def send(sock: socket.socket, data: bytes, seconds: float, ticks: Ticks, rate: float = 0) -> Done:
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
        while True:
            more = sock.recv(4096)
            if not more:
                return text.lstrip(b"\0")
            text += more


def retransmitted(sock: socket.socket) -> int:
    """Return how many segments TCP has retransmitted."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_TOTAL_RETRANS + NUMBER.size)
    if len(info) < TCP_TOTAL_RETRANS + NUMBER.size:
        return 0
    return int(NUMBER.unpack_from(info, TCP_TOTAL_RETRANS)[0])


# Datagrams


def batch(asked: Asked) -> bytes:
    """Return what one call sends: a datagram, or as many as the kernel cuts out of one call."""
    size = asked.get("message_size") or DATAGRAM
    count = min(MOST_SEGMENTS, LARGEST_DATAGRAM // size) if asked.get("udp_segment", True) else 1
    return bytes(size * count)


def udp_socket(address: str, port: int, asked: Asked) -> socket.socket:
    """Return a bound socket that cuts and joins datagrams, where that is asked for."""
    sock = socket.socket(_family(address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    _set_buffers(sock, asked)
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
    """Return the bytes that one call takes in, and those of each datagram in it (UDP_GRO)."""
    got, told, _flags, _peer = sock.recvmsg_into([buffer], socket.CMSG_SPACE(NUMBER.size))
    for level, kind, data in told:
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


def fill(sock: socket.socket, view: memoryview) -> bool:
    """Read until the view is full; return whether it is."""
    have = 0
    while have < len(view):
        got = sock.recv_into(view[have:])
        if not got:
            return False
        have += got
    return True


class Latencies:
    """How long requests took, however many there are."""

    def __init__(self) -> None:
        self.counts = array("L", bytes(array("L").itemsize * STEPS))
        self.longer = array("q")  # ns

    def each(self) -> Iterator[tuple[int, int]]:
        """Give (ns, count), the shortest first."""
        for place, count in enumerate(self.counts):
            if count:
                yield (place << STEP) + (1 << STEP) // 2, count
        for one in sorted(self.longer):
            yield one, 1

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
        found: dict[str, object] = {
            "min": pairs[0][0] / 1e3,
            "mean": mean / 1e3,
            "max": pairs[-1][0] / 1e3,
            "stddev": math.sqrt(variance) / 1e3,
        }
        classes: dict[int, int] = {}
        wanted = list(PERCENTILES)
        seen = 0
        for took, count in pairs:
            seen += count
            while wanted and seen >= wanted[0][1] * total:
                found[wanted.pop(0)[0]] = took / 1e3
            place = int(math.log2(took) * OCTAVE)
            classes[place] = classes.get(place, 0) + count
        found["classes"] = classes
        return found


class Asking(NamedTuple):
    """What requests were."""

    transactions: int
    elapsed: float  # s
    lost: int  # datagrams without an answer
    latencies: Latencies


def ask(sock: socket.socket, asked: Asked, seconds: float, ticks: Ticks) -> Asking:
    """Send requests for some seconds, each after the answer to the one before."""
    request = bytes(asked["request_size"])
    answer = memoryview(bytearray(asked["response_size"]))
    udp = sock.type == socket.SOCK_DGRAM
    size = len(answer)
    number = 0
    lost = 0
    found = Latencies()
    counts = found.counts
    longer = found.longer
    began = now = time.monotonic_ns()
    until = now + int(seconds * 1e9)
    due = ticks.due * 1e9
    while now < until:
        sock.send(request)
        try:
            got = sock.recv_into(answer)
            if got < size and not udp and not (got and fill(sock, answer[got:])):
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
    return Asking(number, (now - began) / 1e9, lost, found)


def _drain(sock: socket.socket) -> None:
    """Throw away answers that came late."""
    with contextlib.suppress(BlockingIOError):
        while True:
            sock.recv(1, socket.MSG_DONTWAIT)


def answer_tcp(sock: socket.socket, asked: Asked) -> None:
    """Answer each request until the other end closes its sending side."""
    request = memoryview(bytearray(asked["request_size"]))
    answer = bytes(asked["response_size"])
    while fill(sock, request):
        sock.sendall(answer)


def answer_udp(sock: socket.socket, asked: Asked, finished: Callable[[], bool]) -> None:
    """Answer each datagram until no more comes and the other end has finished."""
    buffer = bytearray(LARGEST_DATAGRAM)
    answer = bytes(asked["response_size"])
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
    with socket.socket(_family(there[0]), socket.SOCK_STREAM) as sock:
        if source:
            sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            sock.bind(source)
        sock.connect(there)
        sock.send(request)
        while sock.recv(CALL):
            pass


def flows(asked: Asked, seconds: float, ticks: Ticks) -> Asking:
    """Make flows one after the other for some seconds."""
    there = (asked["address"], asked["port"])
    source = _source(asked)
    request = bytes(asked["request_size"])
    number = 0
    found = Latencies()
    began = now = time.monotonic_ns()
    until = now + int(seconds * 1e9)
    while now < until:
        flow(there, source, request)
        later = time.monotonic_ns()
        number += 1
        if (later - now) >> STEP < STEPS:
            found.counts[(later - now) >> STEP] += 1
        else:
            found.longer.append(later - now)
        now = later
        if now >= ticks.due * 1e9:
            ticks.close(now / 1e9, number)
    ticks.close(now / 1e9, number)
    return Asking(number, (now - began) / 1e9, 0, found)


# Both ends


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _timeval(seconds: float) -> bytes:
    return TIMEOUT.pack(int(seconds), int(seconds % 1 * 1e6))


def _source(asked: Asked) -> tuple[str, int] | None:
    return (asked["local"], 0) if asked.get("local") else None


def _set_buffers(sock: socket.socket, asked: Asked) -> None:
    """Give a socket the sizes that are asked for; else it keeps the system's own."""
    for option, key in ((socket.SO_SNDBUF, "send_socket"), (socket.SO_RCVBUF, "recv_socket")):
        if asked.get(key):
            sock.setsockopt(socket.SOL_SOCKET, option, int(asked[key]))


def _set_congestion(sock: socket.socket, asked: Asked) -> None:
    """Let TCP use the algorithm that is asked for."""
    if asked.get("congestion_control"):
        name = str(asked["congestion_control"]).encode()
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

    def say(self, values: dict[str, object]) -> None:
        """Send one line."""
        self.connection.sendall(json.dumps(values).encode() + b"\n")

    def hear(self) -> dict[str, object]:
        """Return the next line. Nothing follows it until the other end has been answered."""
        text = b""
        while not text.endswith(b"\n"):
            more = self.connection.recv(4096)
            if not more:
                raise ConnectionError("the other end has closed the connection")
            text += more
        return _object(text)

    def finished(self) -> bool:
        """Return whether the other end has closed its sending side."""
        try:
            return not self.connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return False


def _object(text: bytes) -> dict[str, object]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("a line is not an object")
    return value


# The server


class SocketsServer:
    """Listens on one address and port. All that goes on has a process of its own, but for flows."""

    def __init__(self, address: str, port: int) -> None:
        self.here = (address, port)
        self.listener = socket.socket(_family(address), socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets have it from the listener: who connects and says nothing is left.
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(1))
        self.listener.bind(self.here)
        self.listener.listen(1024)
        self.flows: dict[str, tuple[int, bytes]] = {}  # bytes of a request, and the answer, by peer

    def run(self) -> None:
        """Serve for ever."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            try:
                connection, peer = self.listener.accept()
            except OSError:  # nobody came for a second, or somebody left
                continue
            with connection, contextlib.suppress(OSError, ValueError, KeyError):
                self.serve(connection, peer)

    def serve(self, connection: socket.socket, peer: tuple[str, int]) -> None:
        """Answer a flow, or begin what a connection asks for."""
        text = connection.recv(65536)
        if not text.startswith(b"{"):
            self.answer_flow(connection, text, peer[0])
            return
        asked = _object(text)
        if asked["test"] == "TCP_CRR":
            sizes = int(str(asked["request_size"])), bytes(int(str(asked["response_size"])))
            self.flows[peer[0]] = sizes
        if os.fork():
            return
        try:
            self.listener.close()
            self.begin(connection, asked, peer[0])
        finally:
            os._exit(0)

    def answer_flow(self, connection: socket.socket, text: bytes, peer: str) -> None:
        """Answer the one request of a connection."""
        size, answer = self.flows[peer]
        have = len(text)
        while have < size:
            have += len(connection.recv(65536)) or size
        connection.sendall(answer)

    def begin(self, connection: socket.socket, asked: Asked, peer: str) -> None:
        """Be the server of one connection, in a process of its own."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(0))
        _set_congestion(connection, asked)
        _bind_cpu(asked.get("server_cpu"))
        control = ControlLine(connection)
        test = str(asked["test"])
        if test.startswith("UDP_"):
            counts = self.datagrams(control, asked, peer)
        elif test == "TCP_CRR":
            counts = self.count_flows(control)
        else:
            counts = SERVED[test](control, asked)
        control.say(counts)

    def datagrams(self, control: ControlLine, asked: Asked, peer: str) -> dict[str, object]:
        """Take in datagrams, or answer them."""
        with udp_socket(*self.here, asked) as sock:
            sock.connect((peer, asked["from_port"]))
            if asked["test"] == "UDP_RR":
                control.say({"ready": True})
                usage = Usage()
                answer_udp(sock, asked, control.finished)
                return {**usage.shown()}
            if asked.get("udp_gro", True):
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
    words = _stat(pid)
    hertz = os.sysconf("SC_CLK_TCK")
    return int(words[11]) / hertz, int(words[12]) / hertz


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


def _serve_stream(control: ControlLine, asked: Asked) -> dict[str, object]:
    sock = control.connection
    _set_buffers(sock, asked)
    control.say({"ready": True, **_sizes(sock)})
    sink = Sink(asked.get("receive_size") or 2 * CALL)
    sock.recv(1, socket.MSG_PEEK)  # until the stream begins
    usage = Usage()
    done = sink.drain(sock, Ticks(0))
    return {**usage.shown(), "bytes": done.amount, "calls": done.calls}


def _serve_reverse(control: ControlLine, asked: Asked) -> dict[str, object]:
    sock = control.connection
    _set_buffers(sock, asked)
    control.say({"ready": True, **_sizes(sock)})
    sock.recv(1)  # until the client has read the line
    usage = Usage()
    data = bytes(asked.get("message_size") or CALL)
    rate = asked.get("rate_mbps") or 0
    done = send(sock, data, asked["seconds"], Ticks(0), rate)
    counts = {"bytes": done.amount, "calls": done.calls, "retransmits": retransmitted(sock)}
    return {**usage.shown(), **counts}


def _serve_requests(control: ControlLine, asked: Asked) -> dict[str, object]:
    control.say({"ready": True})
    usage = Usage()
    answer_tcp(control.connection, asked)
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

    def __init__(self, asked: Asked, starter: socket.socket | None = None) -> None:
        self.asked = asked
        self.starter = starter  # says when the traffic may begin
        self.ticks = Ticks(0)
        self.found: dict[str, object] = {"test": asked["test"], "length": asked["seconds"]}
        there = (asked["address"], asked["port"])
        self.sock = socket.create_connection(there, CONNECTED, _source(asked))
        self.sock.settimeout(None)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(PATIENCE))
        _set_congestion(self.sock, asked)
        self.control = ControlLine(self.sock)

    def measure(self) -> dict[str, object]:
        """Return what was found, see :mod:`.output`."""
        if str(self.asked["test"]).startswith("UDP_"):
            self.datagrams()
        else:
            MEASURED[str(self.asked["test"])](self)
        return {**self.found, "parts": self.ticks.parts}

    def begin(self, **more: object) -> dict[str, object]:
        """Ask for the test, and wait for what has to come before the traffic; return the answer."""
        told = {key: value for key, value in self.asked.items() if key != "beside"}
        self.control.say({**told, **more})
        ready = self.control.hear()
        if self.starter:
            self.starter.recv(1)
        self.ticks = Ticks(self.asked.get("interim") or 0)
        return ready

    def end(self) -> dict[str, object]:
        """Say that the traffic has ended, and return the server's counts."""
        self.sock.shutdown(socket.SHUT_WR)
        return self.control.hear()

    def add_stream(self, done: Done, client: dict[str, float], server: dict[str, object]) -> None:
        """Add what was sent and what arrived."""
        self.found.update(
            elapsed=done.elapsed,
            client={**client, "bytes": done.amount, "calls": done.calls},
            server=server,
        )

    def add_requests(self, asking: Asking, client: dict[str, float]) -> None:
        """Add what requests took."""
        self.found.update(
            elapsed=asking.elapsed,
            transactions=asking.transactions,
            lost=asking.lost,
            latency=asking.latencies.shown(),
            client=client,
            server=self.end(),
        )

    def stream(self) -> None:
        """Send a TCP stream."""
        _set_buffers(self.sock, self.asked)
        ready = self.begin()
        data = bytes(self.asked.get("message_size") or CALL)
        rate = self.asked.get("rate_mbps") or 0
        usage = Usage()
        done = send(self.sock, data, self.asked["seconds"], self.ticks, rate)
        client = usage.shown()
        mss = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        sizes = {**_sizes(self.sock), "recv_socket": ready["recv_socket"]}
        self.add_stream(done, client, self.end())
        lost = retransmitted(self.sock)
        self.found.update(sizes, mss=mss, message_size=len(data), retransmits=lost)

    def reverse(self) -> None:
        """Take in a TCP stream."""
        _set_buffers(self.sock, self.asked)
        ready = self.begin()
        self.sock.send(b"!")
        usage = Usage()
        sink = Sink(self.asked.get("receive_size") or 2 * CALL)
        done = sink.drain(self.sock, self.ticks)
        client = usage.shown()
        server = _object(sink.text)
        self.add_stream(done, client, server)
        mss = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        sizes = {**_sizes(self.sock), "send_socket": ready["send_socket"]}
        size = self.asked.get("message_size") or CALL
        lost = server["retransmits"]
        self.found.update(sizes, mss=mss, message_size=size, retransmits=lost)

    def requests(self) -> None:
        """Ask and wait for each answer."""
        self.begin()
        usage = Usage()
        asking = ask(self.sock, self.asked, self.asked["seconds"], self.ticks)
        self.add_requests(asking, usage.shown())

    def loaded(self) -> None:
        """Ask while nothing else runs, then beside streams."""
        asked = self.asked
        seconds = asked["seconds"] + 2 * ASIDE
        beside = [StreamBeside({**stream, "seconds": seconds}) for stream in asked["beside"]]
        self.begin()
        # The CPU is counted from ``before`` on, whatever Python needs to start.
        alone = ask(self.sock, asked, max(ASIDE, asked["before"] - ASIDE - _age()), Ticks(0))
        for one in beside:
            one.start()
        ask(self.sock, asked, ASIDE, Ticks(0))
        usage = Usage()
        self.ticks = Ticks(asked.get("interim") or 0)
        asking = ask(self.sock, asked, asked["seconds"], self.ticks)
        self.add_requests(asking, usage.shown())
        self.found["unloaded"] = alone.latencies.shown()
        self.found["beside"] = [one.result() for one in beside]

    def flows(self) -> None:
        """Make a connection for each request."""
        self.begin()
        usage = Usage()
        self.add_requests(flows(self.asked, self.asked["seconds"], self.ticks), usage.shown())

    def datagrams(self) -> None:
        """Send datagrams, or ask with them."""
        asked = self.asked
        with udp_socket(self.sock.getsockname()[0], 0, asked) as sock:
            sock.connect((asked["address"], asked["port"]))
            ready = self.begin(from_port=sock.getsockname()[1])
            usage = Usage()
            if asked["test"] == "UDP_RR":
                asking = ask(sock, asked, asked["seconds"], self.ticks)
                self.add_requests(asking, usage.shown())
                return
            data = batch(asked)
            size = asked.get("message_size") or DATAGRAM
            if len(data) > size:
                sock.setsockopt(SOL_UDP, UDP_SEGMENT, size)
            rate = asked.get("rate_mbps") or 0
            try:
                done = send(sock, data, asked["seconds"], self.ticks, rate)
            except OSError as error:
                raise SystemExit(refusal(error, size)) if len(data) > size else error
            used = usage.shown()
            server = self.end()
            wrong = merged(size, int(str(server["datagram"])))
            if wrong:
                raise SystemExit(wrong)
            self.add_stream(done, used, server)
            sizes = {**_sizes(sock), "recv_socket": ready["recv_socket"]}
            self.found.update(sizes, message_size=size)


class StreamBeside:
    """A stream in a process of its own, which begins when it is told to."""

    def __init__(self, asked: Asked) -> None:
        self.ours, theirs = socket.socketpair()
        if os.fork() == 0:
            try:
                theirs.sendall(json.dumps(measured(asked, theirs)).encode())
            finally:
                os._exit(0)
        theirs.close()

    def start(self) -> None:
        """Let the stream begin."""
        self.ours.send(b"!")

    def result(self) -> dict[str, object]:
        """Return what the stream found, once it has ended."""
        with self.ours.makefile("rb") as told:
            return _object(told.read() or b'{"error": "a stream has ended early"}')


def measured(asked: Asked, starter: socket.socket | None = None) -> dict[str, object]:
    """Return what was found, or the error in words."""
    where = f"{asked['address']} port {asked['port']}"
    _bind_cpu(asked.get("client_cpu"))
    try:
        return SocketsClient(asked, starter).measure()
    except BlockingIOError:
        return {"error": f"{where}: no answer for {PATIENCE:g} s"}
    except OSError as error:
        return {"error": f"{where}: {error.strerror or error}"}


def errors_of(found: dict[str, object]) -> list[str]:
    """Return what went wrong, of the streams beside requests too."""
    errors = [str(found["error"])] if "error" in found else []
    beside = found.get("beside")
    for one in beside if isinstance(beside, list) else []:
        errors += errors_of(one)
    return errors


MEASURED = {
    "TCP_STREAM": SocketsClient.stream,
    "TCP_MAERTS": SocketsClient.reverse,
    "TCP_RR": SocketsClient.requests,
    "TCP_CRR": SocketsClient.flows,
    "TCP_LOADED_RR": SocketsClient.loaded,
}


def main(words: list[str]) -> None:
    """Run one end."""
    if words[0] == "serve":
        SocketsServer(words[1], int(words[2])).run()
    found = measured(json.loads(words[1]))
    errors = errors_of(found)
    if errors:
        raise SystemExit(errors[0])
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
