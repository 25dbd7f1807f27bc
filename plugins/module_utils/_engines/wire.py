# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scripts of engines sockets and payload share: lines of JSON between the ends, and the
server's door.

A node runs this file and the engine's ``traffic.py`` as one script, see :func:`.script.text_of`.
Both have one namespace there, so no name is defined in both. Neither imports another file of ours.
The probe's server has the same door.
"""

from __future__ import annotations

import collections
import hmac
import json
import os
import re
import resource
import select
import socket
import struct
import sys
import time
from typing import Any, Mapping, NamedTuple, Tuple

Ranges = Mapping[str, Tuple[float, float]]  # by key the least and the most
TOKEN_VARIABLE = "OFFLOAD_LAB_TOKEN"
NUMBER = struct.Struct("=I")
LARGEST_DATAGRAM = 65507  # bytes that IPv4 carries in a UDP datagram
# linux/udp.h
SOL_UDP = 17
UDP_SEGMENT = 103
UDP_GRO = 104
LINE = 4096  # bytes of a line between the ends
DEPTH = 32  # brackets in a line
PAUSE = 0.02  # s that the door waits where the kernel has no memory or descriptors for another connection
BEAT = 0.25  # s between two sweeps, and the most that is waited for one connection
CAREFUL = 10.0  # s in which no connection is waited for, since one has waited
TO_SPEAK = 5.0  # s for a connection to show the token and say what it wants
MOST_CALLERS = 2048
FILES = 4096  # descriptors of the server, where its limit allows them
TOKEN = re.compile(r"[A-Za-z0-9]{16,128}\Z")
MOST_GUESTS = 1 << 20  # characters of standard input


# Lines between the ends


def object_of(text: bytes) -> dict[str, object]:
    """Return the object of a line; raise ValueError for any other text."""
    if text.count(b"[") + text.count(b"{") > DEPTH:
        raise ValueError("a line has too many brackets")
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("a line is not an object")
    return value


def whole_number(options: Mapping[str, object], key: str, ranges: Ranges) -> int:
    """Return a whole number that a client asks for; raise ValueError where it is out of its range."""
    return int(_number(options.get(key), key, ranges[key], (int,)))


def decimal_number(options: Mapping[str, object], key: str, ranges: Ranges) -> float:
    """Return a number that a client asks for; raise ValueError where it is out of its range."""
    return float(_number(options.get(key), key, ranges[key], (int, float)))


def _number(value: Any, key: str, bounds: tuple[float, float], kinds: tuple[type, ...]) -> float:
    least, most = bounds
    if type(value) not in kinds or not least <= value <= most:
        raise ValueError(f"{key} is not a number from {least} to {most}")
    return value


def family_of(address: str) -> socket.AddressFamily:
    """Return the family of an address."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def fill(connection: socket.socket, buffer: memoryview) -> int:
    """Read until the buffer is full or the other end closes; return how many bytes arrived."""
    have = 0
    while have < len(buffer):
        got = connection.recv_into(buffer[have:])
        if not got:
            break
        have += got
    return have


def token_line() -> bytes:
    """Return the line with which a client shows its token."""
    return os.environ[TOKEN_VARIABLE].encode() + b"\n"


def require_token() -> None:
    """End a client to which nobody has given a token."""
    if TOKEN_VARIABLE not in os.environ:
        raise SystemExit(f"the variable {TOKEN_VARIABLE} is missing")


# The server's door


class Guests(NamedTuple):
    """Who may use a server."""

    token: bytes  # the first line of a connection
    peers: frozenset[str]


def guests(text: str) -> Guests:
    """Return who may use the server, of ``{"token": "...", "peers": ["192.0.2.1"]}``."""
    try:
        document = json.loads(text)
        peers = frozenset(map(_plain_address, document["peers"]))
        if not TOKEN.match(document["token"]) or not peers:
            raise ValueError("the token is too short, or there are no peers")
        return Guests(document["token"].encode() + b"\n", peers)
    except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        sys.stderr.write(f"standard input does not say who may connect: {error}\n")
        raise SystemExit(2)


def _plain_address(address: str) -> str:
    """Return an address as the kernel writes it."""
    family = family_of(address)
    return socket.inet_ntop(family, socket.inet_pton(family, address.partition("%")[0]))


class Caller:
    """A connection that the listening process has not given away yet."""

    until = 0.0
    text = b""
    trusted = False  # it has shown the token
    waits_for = select.EPOLLIN
    got = 0  # bytes
    sent = 0

    def __init__(self, connection: socket.socket, peer: str) -> None:
        self.connection = connection
        self.peer = peer


class Door:
    """Accepts connections, and gives away those that come from a peer and show the token.

    All others cost a bounded time and memory. While one waits, no call waits for another.
    """

    def __init__(self, address: str, port: int, who: Guests, most: int = MOST_CALLERS) -> None:
        self.here = (address, port)
        self.who = who
        self.most = most  # connections that wait; the oldest of an address goes first
        self.peers = who.peers
        self.callers: dict[int, Caller] = {}  # by descriptor, the oldest first
        self.due = 0.0
        self.careful = 0.0  # until when a call waits for many connections, not for one
        self.listener = socket.socket(family_of(address), socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):  # accepted sockets have it, too
            beat = struct.pack("ll", 0, int(BEAT * 1e6))
            self.listener.setsockopt(socket.SOL_SOCKET, option, beat)
        self.listener.bind(self.here)
        self.listener.listen(1024)
        self.poll = select.epoll()

    def shut(self) -> None:
        """Close the door in this process."""
        self.poll.close()
        self.listener.close()

    def run(self) -> None:
        """Serve for ever."""
        while True:
            self.step()

    def step(self) -> None:
        """Serve for a beat, or one connection."""
        try:
            if time.monotonic() >= self.due:
                self.sweep()
            if self.careful:
                self.turn()
            else:
                self.accept(0)
        except Exception:  # no input ends the server
            time.sleep(PAUSE)

    def turn(self) -> None:
        """Serve those who have come or said something."""
        for descriptor, _event in self.poll.poll(BEAT):
            caller = self.callers.get(descriptor)
            if caller:
                self.attend(caller, socket.MSG_DONTWAIT)
            elif descriptor == self.listener.fileno():
                self.accept(socket.MSG_DONTWAIT)

    def sweep(self) -> None:
        """Close the connections that have had their time."""
        now = time.monotonic()
        self.due = now + BEAT
        for caller in list(self.callers.values()):
            if caller.until < now:
                self.close(caller)
        if self.careful and self.careful < now and not self.callers:
            self.careful = 0.0
            self.poll.unregister(self.listener)

    def accept(self, flags: int) -> None:
        """Let in one connection."""
        try:
            connection, address = self.listener.accept()
        except BlockingIOError:  # nobody has come
            return
        except OSError:  # no descriptor or memory is left
            self.make_room()
            time.sleep(PAUSE)
            return
        peer = address[0]
        if not self.peers or peer in self.peers or peer.partition("%")[0] in self.peers:
            try:
                self.admit(connection, peer, flags)
            except Exception:  # it has gone already
                connection.close()
        else:
            connection.close()

    def admit(self, connection: socket.socket, peer: str, flags: int) -> None:
        """Begin with a connection of a peer."""
        self.attend(Caller(connection, peer), flags)

    def make_room(self) -> None:
        """Close the oldest connection of the address that has most of those that wait."""
        counts = collections.Counter(caller.peer for caller in self.callers.values())
        for peer, _count in counts.most_common(1):
            self.close(next(waiting for waiting in self.callers.values() if waiting.peer == peer))

    def attend(self, caller: Caller, flags: int) -> None:
        """Do what a connection asks for; where it has not said all of that, wait for more."""
        try:
            done = self.hear(caller, flags)
        except BlockingIOError:
            done = False
        except Exception:  # whatever it says ends this connection alone
            done = True
        descriptor = caller.connection.fileno()
        if done:
            self.close(caller)
        elif descriptor in self.callers:
            self.poll.modify(descriptor, caller.waits_for)
        else:
            self.keep_waiting(caller)

    def keep_waiting(self, caller: Caller) -> None:
        """Wait for what a connection has not said yet."""
        if len(self.callers) >= self.most:
            self.make_room()
        if not self.careful:
            self.poll.register(self.listener, select.EPOLLIN)
        now = time.monotonic()
        self.careful = now + CAREFUL
        caller.until = now + TO_SPEAK
        self.callers[caller.connection.fileno()] = caller
        self.poll.register(caller.connection, caller.waits_for)

    def release(self, caller: Caller) -> None:
        """Forget a connection that somebody else goes on with."""
        descriptor = caller.connection.fileno()
        if self.callers.pop(descriptor, None):
            self.poll.unregister(descriptor)

    def close(self, caller: Caller) -> None:
        """Forget a connection, and close it here."""
        self.release(caller)
        caller.connection.close()

    def knows(self, token: bytes) -> bool:
        """Return whether a line is the token."""
        return hmac.compare_digest(token, self.who.token)

    def hear(self, caller: Caller, flags: int) -> bool:
        """Hear a connection; return whether the listening process has done with it."""
        raise NotImplementedError


def allow_many_files() -> None:
    """Raise the limit of open files as far as the server may need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
