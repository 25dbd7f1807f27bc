# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Traffic whose content is known: what arrives is compared with what was sent, byte for byte.

A node runs this file and :mod:`..wire` as one script: ``serve ADDRESS PORT`` at one end and ``check
ADDRESS PORT SECONDS RATE [LOCAL]`` at the other. So it imports nothing else of ours. ``check`` prints
one line of JSON, see :mod:`.result`. Both ends know the whole content: size and place of each message follow from
its number and a seed.

The server reads who may connect from its standard input, see :func:`..wire.guests`; the client has the
token in the variable OFFLOAD_LAB_TOKEN. The first line on each connection is the token. What the
other end may ask for is bounded by :data:`RANGES`. No input ends the listening process.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import errno
import json
import random
import select
import socket
import struct
import sys
import threading
import time
from typing import Callable, Iterator, NamedTuple

from ..wire import (
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

STALL = 5.0  # s without progress
# A connection that only goes on by retransmission timeouts has stalled, too: in TRICKLE_S seconds it
# delivers fewer than TRICKLE segments, and REPEATED segments were retransmitted. A busy CPU does not cause
# that: each timeout of a segment takes twice the time of the timeout before (RFC 6298), and six of them
# take longer than STALL.
TRICKLE_S = 1.0
TRICKLE = 100
REPEATED = 6
PATIENCE = 60.0  # s for an answer on the connection on which the ends speak
# That connection ends sooner where no packet of it arrives any more: what is sent is not acknowledged
# for so long, or the other end's kernel does not answer (tcp(7)).
ACKNOWLEDGED = 5000  # ms
KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 3),  # s
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),  # s
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, ACKNOWLEDGED),
)
CONNECTED = 1.5  # s; by then the SYN was retransmitted after 1 s (RFC 6298)
LATE = 0.9  # s; a connection whose first SYN was lost is there after 1 s or 3 s
TURN = 0.1  # s after which a connection without room is examined
DRAIN = 0.2  # s in which the last datagrams may still arrive
LARGEST = 65536  # bytes of a message
LARGEST_PACKET = 65535  # bytes of an IPv4 packet; the loopback device has a larger MTU
# How many times more the sizes come that an offload has work with. UDP has more of the others, which
# take longer: fragments.
TCP_OFTEN = 3
UDP_OFTEN = 9
SMALLEST_CUT = 129  # bytes of a datagram that is cut out of a larger one
BATCHES = (2, 3, 2, 4, 2, 8, 2, 3, 2, 16, 2, 4, 2, 3, 2, 64)  # datagrams that go as one
SMALL_BUFFER = 65536  # bytes that a connection may have on the way
KINDS = 4  # of rounds, each with the next seed: TCP and UDP, in both directions
# What may be on the way before the receiver has answered: that fits into its buffer, and into the
# queues of the devices between.
# bytes, datagrams
WINDOW = 32768
WINDOW_DATAGRAMS = 64
ASKS = 2  # windows on the way: the second is sent while the answer to the first comes
PATIENCE_FOR_ANSWER = 0.1  # s
ONE_CALL = 24576  # bytes that go as one, at most
RECEIVE_BUFFER = 1 << 21  # bytes
# s of one round: of UDP longer, because Python sends fewer datagrams than TCP has segments.
TCP_ROUND = 0.15
UDP_ROUND = 0.25
SO_RCVBUFFORCE = 33  # asm-generic/socket.h
# linux/tcp.h, struct tcp_info: where its numbers are, and its size since Linux 4.19
UNACKED = 24
TOTAL_RETRANS = 100
DATA_SEGS_IN = 152
DATA_SEGS_OUT = 156
DELIVERED = 192
DSACK_DUPS = 216
TCP_INFO_SIZE = 220
HEAD = struct.Struct("!IIHH")  # seed, number, size less one, flags
ASK = 1  # the flag of a datagram that is to be acknowledged
HEADERS: dict[int, int] = {socket.AF_INET: 28, socket.AF_INET6: 48}  # bytes of IP and UDP
# linux/in.h and in6.h: send with DF set, whatever the kernel has learned of the path; its errors
# are queued.
PROBE: dict[int, tuple[tuple[int, int, int], ...]] = {
    socket.AF_INET: ((socket.IPPROTO_IP, 10, 3), (socket.IPPROTO_IP, 11, 1)),
    socket.AF_INET6: (
        (socket.IPPROTO_IPV6, 23, 3),
        (socket.IPPROTO_IPV6, 62, 1),
        (socket.IPPROTO_IPV6, 25, 1),
    ),
}
MTU_OF: dict[int, tuple[int, int]] = {
    socket.AF_INET: (socket.IPPROTO_IP, 14),
    socket.AF_INET6: (socket.IPPROTO_IPV6, 24),
}
# Bytes of packets that paths often carry where they do not carry their MTU: PPPoE, tunnels, IPv6.
PACKETS = (1492, 1480, 1450, 1420, 1400, 1280, 576)
SIZE_ROUNDS = 5  # a busy CPU may lose a datagram; the largest that arrived counts
# RFC 792 and 4443: the protocol, the types of an echo request and reply, and where the reply begins.
ECHO: dict[int, tuple[int, int, int, int]] = {
    socket.AF_INET: (socket.IPPROTO_ICMP, 8, 0, 20),
    socket.AF_INET6: (58, 128, 129, 0),
}
ECHO_HEAD = struct.Struct("!BBHHH")  # type, code, checksum, identifier, number
# s
ECHO_TRIES = 2
ECHO_WAIT = 0.5
SMALL_PING = 84  # bytes of the packet, as ping sends it
# What a client says of pings to an end that takes no connection
PINGS_SAID = {
    ", though it answers a ping, also in a packet of the path's MTU": {
        "small": True,
        "large": True,
    },
    ", though it answers a small ping, but none in a packet of the path's MTU": {
        "small": True,
        "large": False,
    },
    ", and it answers no ping": {"small": False, "large": False},
}
MOST_CHECKS = 2100  # threads of the server; a cell has 2000 streams at most
STACK = 1 << 19  # bytes of a thread's stack
# What a client may ask for: the least and the most.
RANGES: dict[str, tuple[float, float]] = {
    "seconds": (0, 1),  # more than a round has
    "rate": (0, 1e6),  # Mbit/s
    "unit": (1, LARGEST_PACKET),
    "seed": (0, (1 << 32) - 1),
    "segment": (0, LARGEST_DATAGRAM),
    "port": (1, 65535),
}
COUNTERS: dict[str, dict[str, tuple[str, ...]]] = {
    "/proc/self/net/snmp": {
        "Ip": ("InHdrErrors", "ReasmFails", "ReasmTimeout"),
        "Tcp": ("InCsumErrors", "InErrs", "RetransSegs"),
        "Udp": ("InCsumErrors", "InErrors", "RcvbufErrors"),
    },
    "/proc/self/net/netstat": {"TcpExt": ("TCPTimeouts", "TCPSynRetrans")},
}
COUNTERS_6 = (
    "Ip6InHdrErrors",
    "Ip6ReasmFails",
    "Ip6ReasmTimeout",
    "Udp6InCsumErrors",
    "Udp6InErrors",
)


def pool() -> bytes:
    """Return the bytes that all messages are cut from: random, all zeros, all ones, and a ramp.

    Zeros and ones give the checksums that are special: 0x0000 and 0xffff.
    """
    noise = bytearray(random.Random(9).getrandbits(32 * LARGEST).to_bytes(4 * LARGEST, "big"))
    noise[LARGEST : LARGEST + 4096] = bytes(4096)
    noise[2 * LARGEST : 2 * LARGEST + 4096] = b"\xff" * 4096
    return bytes(noise)


POOL = pool()


def edges(unit: int, largest: int) -> list[int]:
    """Return the sizes at which offloads go wrong: tiny ones, and those around multiples of
    ``unit``, what one packet carries.
    """
    sizes = set(range(1, 65)) | {1446, 1447, 1448, 1459, 1460, 1461, 1472, 1473, 8947, 8948, 8949}
    for packets in (1, 2, 3, 4, 5, 8, 16, 17, 32, 44, 45):
        sizes.update(packets * unit + more for more in (-12, -1, 0, 1, 12))
    for power in range(7, 17):
        sizes.update(2**power + more for more in (-1, 0, 1))
    return sorted(size for size in sizes if 1 <= size <= largest)


class Messages:
    """The endless sequence of messages of one seed; the sizes of a range come ``more`` times more often."""

    def __init__(self, seed: int, unit: int, largest: int, often: range, more: int) -> None:
        self.seed = seed
        self.sizes = edges(unit, largest)
        self.sizes += [size for size in self.sizes if size in often] * more
        random.Random(seed).shuffle(self.sizes)

    def size(self, number: int) -> int:
        """Return the size of a message in bytes."""
        return self.sizes[number % len(self.sizes)]

    def start(self, number: int) -> int:
        """Return where in the pool a message begins."""
        return (number * 7919 + self.seed) % (3 * LARGEST)

    def content(self, number: int, size: int) -> memoryview:
        """Return the first bytes of a message. A datagram that is cut out of a larger one has the length
        of the first one of its batch, so its size does not follow from its number.
        """
        start = self.start(number)
        return memoryview(POOL)[start : start + size]

    def begins_with(self, number: int, got: memoryview) -> bool:
        """Return whether a message begins so. Compared like this, not as two views, because Python
        compares views byte by byte: 20 times slower.
        """
        return POOL.startswith(got, self.start(number))


def messages_of_tcp(seed: int, unit: int) -> Messages:
    """Return messages, most of them larger than a segment of ``unit`` bytes."""
    return Messages(seed, unit, LARGEST, range(unit + 1, LARGEST + 1), TCP_OFTEN)


def messages_of_udp(seed: int, unit: int, segment: int) -> Messages:
    """Return messages that fit into datagrams. The kernel can cut most of them, all of ``segment``
    bytes and less, out of a larger one.
    """
    cut = range(SMALLEST_CUT, segment + 1)
    return Messages(seed, unit, LARGEST_DATAGRAM - HEAD.size, cut, UDP_OFTEN)


class Report:
    """What arrived of one check, in messages."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(
            ("sent", "bytes", "arrived", "wrong", "short", "missing", "duplicated", "reordered",
             "late", "stalled", "segments_lost"),
            0,
        )  # fmt: skip
        self.first: dict[str, int] | None = None

    def example(self, number: int, size: int, offset: int) -> None:
        """Keep the smallest message that was wrong."""
        if self.first is None or size < self.first["size"]:
            self.first = {"number": number, "size": size, "offset": offset}

    def add(self, other: dict[str, object]) -> None:
        """Add what another report, as JSON has it, counts."""
        for name in self.counts:
            self.counts[name] += int(str(other.get(name, 0)))
        first = other.get("first")
        if isinstance(first, dict):
            self.example(first["number"], first["size"], first["offset"])

    def shown(self) -> dict[str, object]:
        """Return the report as JSON has it."""
        return {**self.counts, "first": self.first}


def difference(got: memoryview, expected: memoryview) -> int:
    """Return the place of the first byte that differs."""
    for index, (byte, expected_byte) in enumerate(zip(got, expected)):
        if byte != expected_byte:
            return index
    return min(len(got), len(expected))


def wait_for_turn(began: float, amount: int, rate: float) -> None:
    """Sleep until ``rate``, in Mbit/s, allows the bytes that were sent; 0 allows all."""
    if rate:
        time.sleep(max(0.0, began + amount * 8 / rate / 1e6 - time.monotonic()))


# TCP


class Sent(NamedTuple):
    """What an end sent over one connection."""

    messages: int
    retransmitted: int  # segments
    segments: int  # that left, with those that were retransmitted


def send_messages(
    connection: socket.socket, messages: Messages, seconds: float, rate: float
) -> Sent:
    """Send messages for some seconds, close the sending side, and wait until all is acknowledged.

    In three of four connections the send buffer is small, so that a message goes as a packet of its
    own size; in the others TCP joins messages to the largest packets. A connection that stalls is
    reset, so that the other end need not wait for it.
    """
    connection.settimeout(TURN)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if messages.seed // KINDS % 4 != 3:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER)
    began = time.monotonic()
    number = 0
    amount = 0
    try:
        while time.monotonic() < began + seconds:
            content = messages.content(number, messages.size(number))
            send_all(connection, content)
            amount += len(content)
            number += 1
            wait_for_turn(began, amount, rate)
        connection.shutdown(socket.SHUT_WR)
        again = retransmitted_segments(connection)
        return Sent(number, again, tcp_info(connection)[DATA_SEGS_OUT])
    except socket.timeout:
        info = tcp_info(connection)
        reset(connection)
        return Sent(number, repeated(info), info[DATA_SEGS_OUT])


def send_all(connection: socket.socket, content: memoryview) -> None:
    """Send a message; raises ``socket.timeout`` where the connection has stalled."""
    wait = None
    while content:
        try:
            content = content[connection.send(content) :]
        except socket.timeout:  # there was no room for TURN seconds
            wait = wait or Wait(connection)
            wait.require_progress(tcp_info(connection))


def reset(connection: socket.socket) -> None:
    """Close a connection by a reset: the other end need not wait for its end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def tcp_info(connection: socket.socket) -> dict[int, int]:
    """Return what the kernel knows of a connection, by place; all of it 0 before Linux 4.19."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_SIZE)
    if len(info) < TCP_INFO_SIZE:
        info = bytes(TCP_INFO_SIZE)
    places = (UNACKED, TOTAL_RETRANS, DATA_SEGS_IN, DATA_SEGS_OUT, DELIVERED, DSACK_DUPS)
    return {offset: NUMBER.unpack_from(info, offset)[0] for offset in places}


def retransmitted_segments(connection: socket.socket) -> int:
    """Return how many segments were retransmitted, once all are acknowledged. Segments that the receiver
    reports as duplicates (D-SACK, RFC 2883) do not count. Raises ``socket.timeout`` where the
    connection has stalled.
    """
    wait = Wait(connection)
    while True:
        info = tcp_info(connection)
        again = repeated(info)
        # The D-SACKs of the last segments come after the last acknowledgement.
        settled = again == 0 or time.monotonic() > wait.began + DRAIN
        if info[UNACKED] == 0 and settled:
            return again
        if info[UNACKED] > 0:
            wait.require_progress(info)
        time.sleep(0.001)


def repeated(info: dict[int, int]) -> int:
    """Return how many segments were retransmitted that the receiver had not got before."""
    return max(0, info[TOTAL_RETRANS] - info[DSACK_DUPS])


class Wait:
    """A wait for a connection to deliver what was sent."""

    def __init__(self, connection: socket.socket) -> None:
        self.began = time.monotonic()
        delivered = tcp_info(connection)[DELIVERED]
        self.newest = (self.began, delivered)  # when a segment was delivered, and how many by then
        self.enough = (self.began, delivered)  # the same of TRICKLE segments

    def require_progress(self, info: dict[int, int]) -> None:
        """Raise ``socket.timeout`` where the connection has stalled."""
        now = time.monotonic()
        delivered = info[DELIVERED]
        if delivered > self.newest[1]:
            self.newest = (now, delivered)
        if delivered - self.enough[1] >= TRICKLE:
            self.enough = (now, delivered)
        trickles = now - self.enough[0] > TRICKLE_S and repeated(info) >= REPEATED
        if trickles or now - self.newest[0] > STALL:
            raise socket.timeout("the connection stalled")


def segments_lost(again: int, sent: int, arrived: int) -> int:
    """Return how many segments of a connection were lost on the way.

    Busy CPUs reorder segments, and TCP retransmits segments that only arrive later. Not each D-SACK that
    says so reaches the sender. So the result is at most the number that left one end and did not
    arrive at the other. That number alone is wrong where a virtual card joins segments: the kernel
    counts one for all of them.
    """
    return min(again, max(0, sent - arrived))


def receive_messages(connection: socket.socket, _control: Control, messages: Messages) -> Report:
    """Compare all that arrives with what was sent, until the other end closes or the connection
    stalls.
    """
    connection.settimeout(STALL)
    report = Report()
    try:
        compare_messages(connection, messages, report)
    except (socket.timeout, ConnectionResetError):
        report.counts["stalled"] += 1
    return report


def compare_messages(connection: socket.socket, messages: Messages, report: Report) -> None:
    """Compare what arrives with what was sent; the report counts it."""
    buffer = memoryview(bytearray(LARGEST))
    number = 0
    while True:
        size = messages.size(number)
        have = fill(connection, buffer[:size])
        if have == 0:
            return
        report.counts["bytes"] += have
        if not messages.begins_with(number, buffer[:have]):
            report.counts["wrong"] += 1
            expected = messages.content(number, size)
            report.example(number, size, difference(buffer[:have], expected))
        if have < size:
            report.counts["short"] += 1
            return
        report.counts["arrived"] += 1
        number += 1


# UDP


def send_datagrams(
    sock: socket.socket, messages: Messages, seconds: float, segment: int, rate: float
) -> tuple[int, int]:
    """Send datagrams for some seconds, :data:`ASKS` times :data:`WINDOW` bytes ahead of the receiver
    at most; return how many, and their bytes.

    The kernel cuts several of one size, ``segment`` bytes at most, out of one call (UDP_SEGMENT).
    """
    began = time.monotonic()
    number = 0
    ahead = 0
    amount = 0
    unconfirmed: collections.deque[int] = (
        collections.deque()
    )  # to be acknowledged, the oldest first
    since = 0  # the first datagram after the last of these
    sock.settimeout(STALL)
    while time.monotonic() < began + seconds:
        size = messages.size(number)
        batch = _batch(number, size, segment)
        last = number + batch - 1
        ahead += batch * (size + HEAD.size)
        ask = ahead >= WINDOW or number + batch - since >= WINDOW_DATAGRAMS
        parts: list[bytes | memoryview] = []
        for datagram in range(number, last + 1):
            flags = ASK if ask and datagram == last else 0
            parts.append(HEAD.pack(messages.seed, datagram, size - 1, flags))
            parts.append(messages.content(datagram, size))
        segment = _send_parts(sock, parts, size + HEAD.size, segment)
        number += batch
        amount += batch * size
        if ask:
            unconfirmed.append(last)
            ahead = 0
            since = number
            if len(unconfirmed) == ASKS:
                _wait_for_answer(sock, unconfirmed.popleft())
        wait_for_turn(began, amount, rate)
    return number, amount


def _send(sock: socket.socket, parts: list[bytes | memoryview], cut: int) -> None:
    """Send a datagram, or what the kernel cuts into several of ``cut`` bytes each. The error of an
    earlier one, which came when the other end had gone already, is of no interest: it is raised
    once.
    """
    how = [(SOL_UDP, UDP_SEGMENT, struct.pack("=H", cut))] if cut else []
    try:
        sock.sendmsg(parts, how)
    except ConnectionRefusedError:
        sock.sendmsg(parts, how)


def _send_parts(
    sock: socket.socket, parts: list[bytes | memoryview], cut: int, segment: int
) -> int:
    """Send a datagram, or several of ``cut`` bytes in one call; return ``segment`` for the next ones.

    It is 0, and they went one by one, where the kernel cuts none: before Linux 6.11 where the device
    on the way out computes no checksums, and behind IPsec. To each program it says EIO then
    (udp_send_skb).
    """
    if len(parts) == 2:
        _send(sock, parts, 0)
        return segment
    try:
        _send(sock, parts, cut)
    except OSError as problem:
        if problem.errno != errno.EIO:
            raise
        for start in range(0, len(parts), 2):
            _send(sock, parts[start : start + 2], 0)
        return 0
    return segment


def _batch(number: int, size: int, segment: int) -> int:
    """Return how many datagrams the kernel is to cut out of one call: a few, or many."""
    if not SMALLEST_CUT <= size <= segment:
        return 1
    return min(BATCHES[number % len(BATCHES)], ONE_CALL // (size + HEAD.size))


def _ready(seconds: float, *sockets: socket.socket) -> list[int]:
    """Return the descriptors of the sockets that have something to read, within some seconds."""
    # select() takes no descriptor above 1023, and a server has one for each connection.
    poll = select.poll()
    for sock in sockets:
        poll.register(sock, select.POLLIN)
    return [descriptor for descriptor, _event in poll.poll(seconds * 1000)]


def _wait_for_answer(sock: socket.socket, number: int) -> None:
    """Wait until the receiver has said that a datagram, or a later one, is there."""
    # A lost datagram has no answer: the receiver counts it.
    while _ready(PATIENCE_FOR_ANSWER, sock):
        with contextlib.suppress(ConnectionRefusedError):
            answer = sock.recv(64)
            if len(answer) == NUMBER.size and NUMBER.unpack(answer)[0] >= number:
                return


def arrivals(
    sock: socket.socket,
    control: Control,
    end_report: dict[str, object],
    complete: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Give a turn for each datagram that waits, until the other end has said what it sent, which is
    put into ``end_report``, and all datagrams have arrived or no more come.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if end_report and complete():
            return
        ready = _ready(DRAIN, *([sock] if end_report else [sock, control.connection]))
        if end_report and not ready:
            return
        if sock.fileno() in ready:
            yield
        elif ready:
            end_report.update(control.hear())


def receive_datagrams(sock: socket.socket, control: Control, messages: Messages) -> Report:
    """Compare datagrams with what was sent, until the other end says how many they were."""
    report = Report()
    highest = -1
    numbers: set[int] = set()
    end_report: dict[str, object] = {}
    for _turn in arrivals(
        sock, control, end_report, lambda: len(numbers) == end_report.get("sent")
    ):
        for datagram in _datagrams(sock):
            number = _check(datagram, messages, report)
            if number is None:
                continue
            report.counts["duplicated"] += number in numbers
            report.counts["reordered"] += number < highest
            numbers.add(number)
            highest = max(highest, number)
            if HEAD.unpack_from(datagram)[3] & ASK:
                _send(sock, [NUMBER.pack(number)], 0)
    report.counts["arrived"] = len(numbers)
    report.counts["missing"] = max(0, int(str(end_report.get("sent", 0))) - len(numbers))
    return report


def _datagrams(sock: socket.socket) -> list[memoryview]:
    """Return the datagrams of one call; UDP_GRO joins several, and says their size."""
    try:
        data, messages, _flags, _address = sock.recvmsg(LARGEST, 64)
    except ConnectionRefusedError:  # of an answer, which came when the other end had gone already
        return []
    size = len(data)
    for level, kind, value in messages:
        if (level, kind) == (SOL_UDP, UDP_GRO):
            size = struct.unpack("i", value[:4])[0]
    view = memoryview(data)
    return [view[start : start + size] for start in range(0, len(data), max(1, size))]


def _check(datagram: memoryview, messages: Messages, report: Report) -> int | None:
    """Count one datagram; return its number, or None where it cannot be one of ours."""
    report.counts["bytes"] += len(datagram)
    if len(datagram) < HEAD.size:
        report.counts["short"] += 1
        return None
    seed, number, less, _flags = HEAD.unpack_from(datagram)
    if seed != messages.seed:
        report.counts["wrong"] += 1
        report.example(0, len(datagram), 0)
        return None
    size = less + 1
    got = datagram[HEAD.size :]
    if len(got) < size:
        report.counts["short"] += 1
        report.example(number, size, len(got))
    elif len(got) > size or not messages.begins_with(number, got):
        report.counts["wrong"] += 1
        report.example(number, size, difference(got, messages.content(number, size)))
    return number


# The size of the path


def send_sizes(sock: socket.socket, control: Control, family: int) -> dict[str, object]:
    """Send packets of the path's MTU and smaller ones, with fragmentation forbidden; return the
    MTU that the device or the route gives, the largest packet that arrived, and whether somebody on
    the way said that one is too large.
    """
    for level, option, value in PROBE[family]:
        sock.setsockopt(level, option, value)
    mtu = min(sock.getsockopt(*MTU_OF[family]), LARGEST_PACKET)
    for _round in range(SIZE_ROUNDS):
        for size in (mtu, *(size for size in PACKETS if size < mtu)):
            # An ICMP error of a packet before would be the answer to this send.
            sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            with contextlib.suppress(OSError):
                sock.send(bytes(size - HEADERS[family]))
        time.sleep(0.002)  # between bursts, so that no queue overflows
    control.say(mtu=mtu)
    arrived = control.hear()
    # The answer took a round trip and longer: an ICMP error of the path is here by now.
    reported = False
    with contextlib.suppress(OSError):
        sock.recvmsg(1, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        reported = True
    return {"mtu": mtu, "largest": arrived["largest"], "said": reported}


def receive_sizes(sock: socket.socket, control: Control, family: int) -> None:
    """Tell the other end the largest packet that arrived."""
    largest = 0
    for _turn in arrivals(sock, control, {}):
        with contextlib.suppress(OSError):
            largest = max(largest, len(sock.recv(LARGEST)) + HEADERS[family])
    control.say(largest=largest)


def echoed(address: str, local: str | None, family: int, size: int | None = None) -> bool | None:
    """Return whether an ICMP echo request is answered that may not be fragmented; None where none can be
    sent: this process may not, or the way to the other end has gone.

    ``size`` is the length of the packet in bytes, the path's MTU by default.
    """
    with contextlib.suppress(OSError), socket.socket(
        family, socket.SOCK_RAW, ECHO[family][0]
    ) as sock:
        for level, option, value in PROBE[family]:
            sock.setsockopt(level, option, value)
        if local:
            sock.bind((local, 0))
        sock.connect((address, 0))
        sock.settimeout(ECHO_WAIT)
        mtu = min(sock.getsockopt(*MTU_OF[family]), LARGEST_PACKET)
        return any(_answered(sock, family, size or mtu) for _try in range(ECHO_TRIES))
    return None


def pings(small: bool | None, address: str, local: str | None, family: int) -> dict[str, bool]:
    """Return which echo requests are answered: the small one, and one in a packet of the path's MTU.
    Nothing where none can be sent.
    """
    if small is None:
        return {}
    return {"small": small, "large": bool(small and echoed(address, local, family))}


def _answered(sock: socket.socket, family: int, size: int) -> bool:
    """Send one echo request in a packet of ``size`` bytes; return whether its answer came."""
    _protocol, request, reply, begin = ECHO[family]
    number = size & 0xFFFF
    identity = random.getrandbits(16)
    content = bytes(
        size - HEADERS[family]
    )  # the headers of UDP and of an echo request have the same length
    # The sum of RFC 1071; for IPv6 the kernel makes it.
    total = ((request << 8) + identity + number) % 0xFFFF
    try:
        sock.send(ECHO_HEAD.pack(request, 0, 0xFFFF - total, identity, number) + content)
        until = time.monotonic() + ECHO_WAIT
        while time.monotonic() < until:
            kind, _code, _sum, answer_identity, answer_number = ECHO_HEAD.unpack_from(
                sock.recv(LARGEST), begin
            )
            if (kind, answer_identity, answer_number) == (reply, identity, number):
                return True
    except (OSError, struct.error):  # no answer in time, an error of ICMP, or another packet
        pass
    return False


# Both ends


class Control:
    """A connection on which the ends speak, a line of JSON each time.

    Lines have even lengths. A card that spoils the last byte of odd ones does not stop the ends from
    speaking then, and they can say what it does to the payload.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for level, option, value in KEEP_ALIVE:
            connection.setsockopt(level, option, value)
        self.connection = connection
        self.stream = connection.makefile("rb", buffering=0)

    def say(self, **values: object) -> None:
        """Send one line."""
        text = json.dumps(values).encode()
        padding = b"" if len(text) % 2 else b" "
        self.connection.sendall(text + padding + b"\n")

    def hear(self) -> dict[str, object]:
        """Return the next line; raises ``ConnectionError`` where there is none.

        The other end may need a while until it begins a line, but not in the middle of one.
        """
        self.connection.settimeout(PATIENCE)
        first = self.stream.read(1)
        self.connection.settimeout(STALL)
        line = first + self.stream.readline(LINE) if first else b""
        if not line:
            raise ConnectionError("the other end has closed the connection")
        return object_of(line)


def counters() -> dict[str, int]:
    """Return the kernel's counters of errors in this network namespace."""
    counts: dict[str, int] = {}
    for path, needed in COUNTERS.items():
        with open(path) as stream:
            lines = stream.read().splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            protocol = names.split(":")[0]
            table = dict(zip(names.split()[1:], values.split()[1:]))
            for name in needed.get(protocol, ()):
                if name in table:
                    counts[protocol + name] = int(table[name])
    six: dict[str, str] = {}
    with contextlib.suppress(OSError), open("/proc/self/net/snmp6") as stream:  # without IPv6
        for line in stream:
            name, value = line.split()[:2]
            six[name] = value
    counts.update({name: int(six[name]) for name in COUNTERS_6 if name in six})
    return counts


def counted(before: dict[str, int]) -> dict[str, int]:
    """Return what the counters have gained."""
    return {name: value - before.get(name, 0) for name, value in counters().items()}


def udp_socket(address: str, port: int, family: int, join: bool) -> socket.socket:
    """Return a bound socket; with ``join`` the kernel may join datagrams (UDP_GRO)."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    # The fragments of one large datagram can fill the usual buffer. Root may have a larger one.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    sock.bind((address, port))
    if join:
        with contextlib.suppress(OSError):  # before Linux 5.0 the kernel joins none
            sock.setsockopt(SOL_UDP, UDP_GRO, 1)
    return sock


# The server


class PayloadServer(Door):
    """Each connection has a thread."""

    def __init__(self, address: str, port: int, who: Guests) -> None:
        super().__init__(address, port, who)
        # Data connections, by peer and key; None where a check waits for one
        self.waiting: dict[tuple[str, str], socket.socket | None] = {}

    def hear(self, caller: Caller, flags: int) -> bool:
        size = len(self.who.token)
        more = caller.connection.recv(size - len(caller.text), flags)
        caller.text += more
        if len(caller.text) < size and more:
            return False
        if not self.knows(caller.text):
            raise ConnectionError("not the token")
        if threading.active_count() > MOST_CHECKS:
            raise ConnectionError("the server has too many checks")
        self.release(caller)
        connection = socket.socket(fileno=caller.connection.detach())
        threading.Thread(target=self.work, args=(connection, caller.peer), daemon=True).start()
        return True

    def work(self, connection: socket.socket, peer: str) -> None:
        """Serve one connection to its end."""
        try:
            control = Control(connection)
            hello = control.hear()
            if hello["do"] == "data":
                self.keep((peer, str(hello["key"])), connection)
                return
            with connection:
                ServedCheck(self, control, peer).run(hello)
        except Exception:  # whatever it asks for ends this connection alone
            connection.close()

    def keep(self, key: tuple[str, str], connection: socket.socket) -> None:
        """Keep a data connection for the check that waits for it; close any other."""
        if self.waiting.get(key, connection) is None:
            self.waiting[key] = connection
        else:
            connection.close()


class ServedCheck:
    """The server's part of one check."""

    def __init__(self, server: PayloadServer, control: Control, peer: str) -> None:
        self.server = server
        self.control = control
        self.peer = peer

    def run(self, options: dict[str, object]) -> None:
        """Do what the client asks for, until it asks for the kernel's counters."""
        before = counters()
        while options["do"] != "counters":
            {"sizes": self.sizes, "udp": self.udp, "tcp": self.tcp}[str(options["do"])](options)
            options = self.control.hear()
        self.control.say(**counted(before))

    def socket_to(self, options: dict[str, object], join: bool) -> socket.socket:
        """Return a socket of UDP to the client's port."""
        family = self.control.connection.family
        sock = udp_socket(*self.server.here, family, join)
        sock.connect((self.peer, whole_number(options, "port", RANGES)))
        return sock

    def sizes(self, options: dict[str, object]) -> None:
        """Do the server's part of finding which packets the path carries."""
        family = self.control.connection.family
        with self.socket_to(options, False) as sock:
            self.control.say(ready=True)
            if options["direction"] == "forward":
                receive_sizes(sock, self.control, family)
            else:
                self.control.say(**send_sizes(sock, self.control, family))

    def udp(self, options: dict[str, object]) -> None:
        """Do the server's part of a round of datagrams."""
        segment = whole_number(options, "segment", RANGES)
        unit = whole_number(options, "unit", RANGES)
        messages = messages_of_udp(whole_number(options, "seed", RANGES), unit, segment)
        with self.socket_to(options, segment > 0) as sock:
            self.control.say(ready=True)
            _part(self.control, sock, messages, options)

    def tcp(self, options: dict[str, object]) -> None:
        """Do the server's part of a round over a connection of its own."""
        messages = messages_of_tcp(
            whole_number(options, "seed", RANGES), whole_number(options, "unit", RANGES)
        )
        waiting = self.server.waiting
        key = self.peer, str(options["key"])
        waiting[key] = None
        try:
            self.control.say(ready=True)
            until = time.monotonic() + STALL
            while waiting[key] is None and time.monotonic() < until:
                time.sleep(0.001)
        finally:
            data = waiting.pop(key)
        if data is None:
            raise ConnectionError("the client has made no data connection")
        with data:
            _part(self.control, data, messages, options)


def _part(
    control: Control,
    sock: socket.socket,
    messages: Messages,
    options: dict[str, object],
) -> None:
    """Do the server's part of one round: receive and report, or send and say how much."""
    udp = sock.type == socket.SOCK_DGRAM
    rate = decimal_number(options, "rate", RANGES)
    seconds = decimal_number(options, "seconds", RANGES)
    if options["direction"] == "forward":
        receive = receive_datagrams if udp else receive_messages
        control.say(**receive(sock, control, messages).shown())
        if not udp:
            control.hear()  # the client has counted; until then the connection stays, for its D-SACKs
            control.say(arrived=tcp_info(sock)[DATA_SEGS_IN])
        return
    if udp:
        segment = whole_number(options, "segment", RANGES)
        sent, amount = send_datagrams(sock, messages, seconds, segment, rate)
        control.say(sent=sent, bytes=amount)
        return
    connection = send_messages(sock, messages, seconds, rate)
    control.say(**connection._asdict())


# The client


class Client:
    """The end that asks for the rounds and sums their reports."""

    def __init__(self, address: str, port: int, rate: float, local: str | None) -> None:
        self.there = (address, port)
        self.rate = rate  # Mbit/s, 0 for no limit
        self.local = local
        self.family = family_of(address)
        self.control = Control(self.connect())
        self.unit = self.control.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        self.reports: dict[str, Report] = {}
        self.largest: dict[str, int] = {}  # bytes of a message in a datagram that is not fragmented
        self.seed = 0

    def connect(self) -> socket.socket:
        """Return a connection to the server, on which the token was sent."""
        source = (self.local, 0) if self.local else None
        sock = socket.create_connection(self.there, timeout=CONNECTED, source_address=source)
        token = token_line()
        sock.sendall(token + b" " * (len(token) % 2))  # see Control
        return sock

    def tcp(self, direction: str, report: Report) -> None:
        """Make one round over a new connection."""
        self.seed += 1
        key = f"{self.control.connection.getsockname()}-{self.seed}"
        options = {"key": key, "seconds": TCP_ROUND, "unit": self.unit, "seed": self.seed}
        self.control.say(do="tcp", direction=direction, rate=self.rate, **options)
        self.control.hear()
        began = time.monotonic()
        data = self.connect()
        report.counts["late"] += time.monotonic() - began > LATE
        with data:
            Control(data).say(do="data", key=key)
            messages = messages_of_tcp(self.seed, self.unit)
            if direction == "forward":
                sent = send_messages(data, messages, TCP_ROUND, self.rate)
                arrived = self.control.hear()
                self.control.say(do="segments")
                segments = int(str(self.control.hear()["arrived"]))
            else:
                arrived = receive_messages(data, self.control, messages).shown()
                reply = self.control.hear()
                sent = Sent(*(int(str(reply[name])) for name in Sent._fields))
                segments = tcp_info(data)[DATA_SEGS_IN]
        lost = segments_lost(sent.retransmitted, sent.segments, segments)
        report.add({**arrived, "sent": sent.messages, "segments_lost": lost})
        if not arrived["stalled"]:
            report.counts["missing"] += max(0, sent.messages - int(str(arrived["arrived"])))

    def udp(self, direction: str, report: Report) -> None:
        """Make one round of datagrams; in three of four the kernel cuts and joins them."""
        self.seed += 1
        batched = self.seed // KINDS % 4 != 3
        unit = self.unit + 12 - HEAD.size
        segment = max(0, min(unit, self.largest[direction])) if batched else 0
        options = {"seconds": UDP_ROUND, "unit": unit, "seed": self.seed, "segment": segment}
        options["rate"] = self.rate
        local = self.control.connection.getsockname()[0]
        messages = messages_of_udp(self.seed, unit, segment)
        with udp_socket(local, 0, self.family, batched) as sock:
            sock.connect(self.there)
            self.control.say(do="udp", direction=direction, port=sock.getsockname()[1], **options)
            self.control.hear()
            if direction == "forward":
                sent, _amount = send_datagrams(sock, messages, UDP_ROUND, segment, self.rate)
                self.control.say(sent=sent)
                arrived = self.control.hear()
            else:
                got = receive_datagrams(sock, self.control, messages)
                arrived = {**got.shown()}
                sent = got.counts["arrived"] + got.counts["missing"]
        report.add({**arrived, "sent": sent})

    def path_size(self, direction: str) -> dict[str, object]:
        """Return which packets the path carries in a direction."""
        local = self.control.connection.getsockname()[0]
        with udp_socket(local, 0, self.family, False) as sock:
            sock.connect(self.there)
            self.control.say(do="sizes", direction=direction, port=sock.getsockname()[1])
            self.control.hear()
            if direction == "forward":
                arrived = send_sizes(sock, self.control, self.family)
            else:
                receive_sizes(sock, self.control, self.family)
                arrived = self.control.hear()
        self.largest[direction] = int(str(arrived["largest"])) - HEADERS[self.family] - HEAD.size
        return arrived

    def check(self, seconds: float) -> None:
        """Make rounds of each kind in turn for some seconds, and each of them once at least. A stalled
        connection ends the rounds.
        """
        until = time.monotonic() + seconds
        kinds = [("tcp", self.tcp), ("udp", self.udp)]
        going_on = True
        while going_on:
            for name, make in kinds:
                for direction in ("forward", "reverse"):
                    report = self.reports.setdefault(f"{name}_{direction}", Report())
                    try:
                        make(direction, report)
                    except socket.timeout:  # the ends can speak no more
                        report.counts["stalled"] += 1
                        return
            stalled = any(report.counts["stalled"] for report in self.reports.values())
            going_on = time.monotonic() < until and not stalled


def check(
    address: str, port: int, seconds: float, rate: float, local: str | None
) -> dict[str, object]:
    """Return what was found, see :mod:`.result`."""
    there = (address, local, family_of(address))
    before = counters()
    began = time.monotonic()
    # While the client connects: on a dead path each of them takes a second.
    executor = concurrent.futures.ThreadPoolExecutor(1)
    small = executor.submit(echoed, *there, SMALL_PING)
    executor.shutdown(wait=False)
    try:
        client = Client(address, port, rate, local)
    except OSError as problem:
        raise OSError(f"{problem}{_said(pings(small.result(), *there))}") from problem
    error = None
    counts: dict[str, object] = {}
    sizes: dict[str, object] = {}
    try:
        for direction in ("forward", "reverse"):
            sizes[direction] = client.path_size(direction)
        client.check(seconds)
        client.control.say(do="counters")
        counts = client.control.hear()
    except (OSError, ValueError, KeyError) as problem:
        error = str(problem) or type(problem).__name__
    return {
        "elapsed": time.monotonic() - began,
        "mss": client.unit,
        "sizes": sizes,
        # Last, because a router's answer to a large ping makes the kernel learn the path's MTU.
        "pings": pings(small.result(), *there),
        "checks": {name: report.shown() for name, report in client.reports.items()},
        "counters": {"client": counted(before), "server": counts},
        "error": error,
    }


def _said(answered: dict[str, bool]) -> str:
    """Return in words which pings the other end answers that takes no connection."""
    return next((text for text, these in PINGS_SAID.items() if these == answered), "")


def main(argv: list[str]) -> None:
    """Run one end."""
    if argv[0] == "serve":
        allow_many_files()
        threading.stack_size(STACK)
        PayloadServer(argv[1], int(argv[2]), guests(sys.stdin.read(MOST_GUESTS))).run()
    require_token()
    local = argv[5] if len(argv) > 5 else None
    try:
        result = check(argv[1], int(argv[2]), float(argv[3]), float(argv[4]), local)
    except OSError as error:
        raise SystemExit(f"no payload server answers at {argv[1]} port {argv[2]}: {error}")
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
