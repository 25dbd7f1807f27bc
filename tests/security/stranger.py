# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody who attacks a server: ``stranger.py ATTACK ADDRESS PORT SECONDS [TOKEN]``. It imports nothing of
ours, so that it runs in any namespace, and prints how many bytes the server has sent to it.

Each attack ends after its seconds, and makes a bounded number of connections. With a token the
attacker is one of the campaign's own peers that has been broken into.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import struct
import sys
import time

MOST = 2000  # connections at the same time
HUGE = 4_000_000_000
RST = struct.pack("ii", 1, 0)  # struct linger: the end of a connection is a reset

RR = {"test": "TCP_RR", "seconds": 9, "request_size": 1, "response_size": 1}
CRR = {**RR, "test": "TCP_CRR"}
ROUND = {"do": "udp", "direction": "reverse", "seconds": 1, "unit": 1448, "seed": 1, "segment": 0}
LINES = [
    b"[" * 30_000,
    b'{"a":' * 30_000,
    b"9" * 100_000,
    b"x" * 1_000_000,
    b"\n" * 1000,
    b"null",
    b"\xff\xfe\x00",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    *(
        json.dumps(line).encode()
        for line in (
            [],
            {},
            {"test": []},
            {"do": "data", "key": "x", "token": "x"},
            {"do": "data", "key": [[[]]]},
            {"do": []},
            {**RR, "request_size": HUGE},
            {**RR, "request_size": 1 << 30},
            {**CRR, "request_size": HUGE},
            {**CRR, "response_size": 10**18},
            {**CRR, "response_size": 10**30},
            {**RR, "congestion_control": "dctcp"},
            {**RR, "congestion_control": "x" * 900},
            {**RR, "server_cpu": -1},
            {"test": "TCP_MAERTS", "seconds": 1e12},
            {"test": "TCP_MAERTS", "seconds": float("inf"), "message_size": HUGE},
            {"test": "UDP_STREAM", "seconds": 9, "from_port": 0},
            {"test": "UDP_RR", "seconds": 9, "from_port": 9, "response_size": 10**30},
            {**ROUND, "seconds": float("inf"), "port": 9},
            {**ROUND, "seconds": 1e300, "port": 9, "seed": 10**30},
            {**ROUND, "unit": -1, "port": 9},
            {**ROUND, "do": "sizes", "port": 9},
            {**ROUND, "do": "tcp", "key": "x", "token": "x"},
            {"op": "give_up"},
            {"op": "give_up", "token": "x"},
            {"op": "sample", "seconds": 1e12, "devices": [{"name": "lo"}], "proof": "x"},
        )
    ),
]


class Stranger:
    """Who attacks one server for some seconds."""

    def __init__(self, address: str, port: int, seconds: float, token: str) -> None:
        self.there = (address, port)
        self.until = time.monotonic() + seconds
        self.token = token.encode() + b"\n" if token else b""
        self.received = 0

    def goes_on(self) -> bool:
        return time.monotonic() < self.until

    def connect(self) -> socket.socket:
        """Return a connection, with the token where there is one."""
        connection = socket.create_connection(self.there, 1)
        if self.token:
            connection.sendall(self.token)
        return connection

    def listen(self, connection: socket.socket, seconds: float) -> None:
        """Take what the server sends."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            connection.settimeout(max(0.01, until - time.monotonic()))
            got = len(connection.recv(1 << 20))
            self.received += got
            if not got:
                return

    def lines(self) -> None:
        """Say what no client says, and listen for a moment."""
        while self.goes_on():
            for line in LINES:
                with contextlib.suppress(OSError), self.connect() as connection:
                    connection.sendall(line + b"\n")
                    self.listen(connection, 0.1)

    def sizes(self) -> None:
        """Ask for a huge request, and send as much of it as the server takes."""
        while self.goes_on():
            with contextlib.suppress(OSError), self.connect() as connection:
                connection.sendall(json.dumps({**RR, "request_size": HUGE}).encode() + b"\n")
                for _part in range(400):
                    connection.sendall(bytes(1 << 20))

    def endless(self) -> None:
        """Ask for a stream that never ends."""
        for line in ({"test": "TCP_MAERTS", "seconds": 1e12}, {**ROUND, "seconds": 1e12}):
            with contextlib.suppress(OSError), socket.socket(
                socket.AF_INET, socket.SOCK_DGRAM
            ) as sock, self.connect() as connection:
                sock.bind((connection.getsockname()[0], 0))
                sock.connect(self.there)
                request_line = {**line, "port": sock.getsockname()[1]}
                connection.sendall(json.dumps(request_line).encode() + b"\n!")
                with contextlib.suppress(OSError):
                    self.listen(connection, 0.5)
                self.listen(sock, 0.5)

    def kept(self, text: bytes, count: int) -> list[socket.socket]:
        """Return connections that have said a text."""
        connections = []
        for _number in range(count):
            with contextlib.suppress(OSError):
                connection = self.connect()
                connections.append(connection)
                connection.setblocking(False)
                connection.send(text)
        return connections

    def idle(self) -> None:
        """Hold connections, and say nothing."""
        connections = self.kept(b"", MOST)
        while self.goes_on() and connections:
            time.sleep(0.1)

    def slow(self) -> None:
        """Hold connections, and say a byte now and then."""
        connections = self.kept(b'{"do"', MOST // 4)
        while self.goes_on() and connections:
            time.sleep(0.2)
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.send(b" ")

    def kept_data(self) -> None:
        """Hold connections that say that they are for data."""
        connections = self.kept(b'{"do": "data", "token": "x", "key": "x"}\n', MOST // 4)
        while self.goes_on() and connections:
            time.sleep(0.1)

    def unread(self) -> None:
        """Begin short flows of a large answer, and read none."""
        request_line = json.dumps({**CRR, "response_size": 1 << 24}).encode() + b"\n"
        connections = self.kept(request_line, 1)
        time.sleep(0.2)
        connections += self.kept(b"\0", MOST // 4)
        while self.goes_on() and connections:
            time.sleep(0.1)

    def hang_ups(self) -> None:
        """Connect and reset, with and without a word."""
        while self.goes_on():
            for text in (b"", b"\0", b'{"do', json.dumps(RR).encode() + b"\n"):
                with contextlib.suppress(OSError), self.connect() as connection:
                    connection.send(text)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)

    def noise(self) -> None:
        """Say random bytes."""
        while self.goes_on():
            with contextlib.suppress(OSError), self.connect() as connection:
                connection.sendall(os.urandom(5000))
                self.listen(connection, 0.01)


ATTACKS = {
    name: value
    for name, value in vars(Stranger).items()
    if not name.startswith("_") and name not in ("goes_on", "connect", "listen", "kept")
}


def main(attack: str, address: str, port: str, seconds: str, token: str = "") -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    stranger = Stranger(address, int(port), float(seconds), token)
    ATTACKS[attack](stranger)
    print(stranger.received)


if __name__ == "__main__":
    main(*sys.argv[1:])
