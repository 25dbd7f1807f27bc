# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door in front of netserver and iperf3, which do not check who connects to them.

A node runs this file alone, ``ADDRESS PORT COUNT PROGRAM``, so it imports nothing of ours. Its standard
input is one JSON object: the ``token``, and the addresses ``peers`` that may connect. A client is
admitted while it holds a connection on which it has sent the token. For an admitted client the door
starts the program: a netserver for each control connection, which gets the open socket, or one
iperf3 that listens in the door's place. Packets of a test do not pass the door.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import ipaddress
import itertools
import json
import os
import selectors
import shutil
import signal
import socket
import struct
import sys
import time
from typing import Any, NoReturn

OPEN = "open"  # the answer to the token, and the algorithms of TCP that a program here may set
ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
MOST_DATA = 128 << 20  # bytes of an iperf3: it serves one stream, and takes what clients send
MOST_BYTES = 1 << 20  # of standard input
TOKEN_BYTES = range(16, 129)
FIRST = frozenset(b"0123456789abcdef")  # of a token; a request of netperf begins with a zero byte
PATIENCE = 15.0  # s for the token, or for the first request: 400 clients that start together keep CPUs busy
GRACE = 5.0  # s that a program may go on after its client has left
MOST_WAITING = 1024  # connections that have not shown what they are; then the oldest makes room
RESET = struct.pack("ii", 1, 0)  # a connection is closed by a reset
MOST_ADMITTED = 2048
MOST_PROGRAMS = 2048
TICK = 0.5  # s
SHORT_TICK = 0.01  # s, while a program begins to listen
KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),  # s
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),  # s
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)


def refuse(reason: str) -> NoReturn:
    """End: nobody has said who may connect."""
    sys.stderr.write(f"standard input does not say who may connect: {reason}\n")
    sys.exit(2)


def guests(text: str) -> tuple[bytes, frozenset[str]]:
    """Return the token and the addresses of standard input."""
    try:
        document = json.loads(text)
        token = document["token"]
        peers = frozenset(plain_address(peer) for peer in document["peers"])
        if not FIRST.issuperset(token.encode()) or len(token) not in TOKEN_BYTES or not peers:
            refuse("the token is no hexadecimal number, or there is no address")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        refuse(repr(error))
    return token.encode(), peers


def plain_address(text: str) -> str:
    """Return an address as the kernel shows it, without a scope."""
    return str(ipaddress.ip_address(text.partition("%")[0]))


def answer() -> bytes:
    """Return the answer to the right token."""
    try:
        with open(ALLOWED) as stream:
            return f"{OPEN} {stream.read().strip()}\n".encode()
    except OSError:
        return f"{OPEN}\n".encode()


def bound(address: str, port: int) -> socket.socket:
    """Return a socket that is bound, and does not listen. OSError: another socket listens there."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def listening(address: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    listener = bound(address, port)
    try:
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def is_held(address: str, port: int) -> bool:
    """Return whether a process listens at the address and port. It does not get in its way."""
    try:
        bound(address, port).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False


class DoorCaller:
    """A connection to the door."""

    def __init__(self, connection: socket.socket, peer: str, port: int) -> None:
        self.connection = connection
        self.peer = peer
        self.port = port
        self.text = b""
        self.deadline = time.monotonic() + PATIENCE


class EngineDoor:
    """Admits clients, and starts their programs."""

    def __init__(self, address: str, ports: range, token: bytes, peers: frozenset[str]) -> None:
        self.address = address
        self.token = token
        self.peers = peers
        self.selector = selectors.DefaultSelector()
        self.waiting: dict[DoorCaller, None] = {}  # the oldest first
        self.admitted: set[DoorCaller] = set()
        self.programs: dict[int, str] = {}  # the peer of each process that was started
        self.left: dict[str, float] = {}  # when a peer's last admission ended
        for port in ports:
            self.listen(port)

    def listen(self, port: int) -> None:
        self.selector.register(listening(self.address, port), selectors.EVENT_READ, port)

    def serve(self) -> None:
        """Serve until this process is killed."""
        while True:
            for key, _events in self.selector.select(self.tick()):
                if isinstance(key.data, DoorCaller):
                    self.hear(key.data)
                else:
                    self.accept(key.fileobj, key.data)

    def accept(self, listener: Any, port: int) -> None:
        try:
            connection, remote = listener.accept()
        except OSError:  # it has hung up, or no more files may be open
            time.sleep(SHORT_TICK)
            return
        peer = plain_address(remote[0])
        if peer not in self.peers:
            connection.close()
            return
        if len(self.waiting) >= MOST_WAITING:
            self.turn_away(next(iter(self.waiting)))
        for level, name, value in KEEP_ALIVE:
            connection.setsockopt(level, name, value)
        connection.setblocking(False)
        caller = DoorCaller(connection, peer, port)
        self.waiting[caller] = None
        self.selector.register(connection, selectors.EVENT_READ, caller)

    def hear(self, caller: DoorCaller) -> None:
        """Read what a caller sends: a token, or the first request for a program."""
        if caller not in self.waiting and caller not in self.admitted:  # it was turned away since
            return
        try:
            first = caller.connection.recv(1, socket.MSG_PEEK)
            if not first or caller in self.admitted:  # it has left, or says more than the token
                self.drop(caller)
            elif first[0] in FIRST or caller.text:
                self.hear_token(caller)
            elif self.is_admitted(caller.peer):
                self.hand_over(caller)
            else:
                self.drop(caller)
        except OSError:
            self.drop(caller)

    def hear_token(self, caller: DoorCaller) -> None:
        caller.text += caller.connection.recv(TOKEN_BYTES.stop + 1 - len(caller.text))
        if b"\n" not in caller.text:
            if len(caller.text) > TOKEN_BYTES.stop:
                self.drop(caller)
            return
        right = hmac.compare_digest(caller.text, self.token + b"\n")
        if not right or len(self.admitted) >= MOST_ADMITTED:
            self.drop(caller)
            return
        del self.waiting[caller]
        self.admitted.add(caller)
        self.admit(caller)

    def is_admitted(self, peer: str) -> bool:
        return any(caller.peer == peer for caller in self.admitted)

    def forget(self, caller: DoorCaller) -> None:
        """Leave a connection alone that another process has now."""
        self.selector.unregister(caller.connection)
        self.waiting.pop(caller, None)
        self.admitted.discard(caller)
        caller.connection.close()

    def turn_away(self, caller: DoorCaller) -> None:
        """Reset a connection, so that a client asks again."""
        caller.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.drop(caller)

    def drop(self, caller: DoorCaller) -> None:
        """Close a connection; with the last of an admitted client its programs end soon."""
        was_admitted = caller in self.admitted
        self.forget(caller)
        if was_admitted and not self.is_admitted(caller.peer):
            self.left[caller.peer] = time.monotonic()

    def tick(self) -> float:
        """Do what is due, and return how long the door may wait then."""
        now = time.monotonic()
        late = itertools.takewhile(lambda caller: now > caller.deadline, self.waiting)
        for caller in list(late):
            self.drop(caller)
        self.reap()
        for peer, since in list(self.left.items()):
            if self.is_admitted(peer):
                del self.left[peer]
            elif now - since > GRACE:
                del self.left[peer]
                self.end_programs(peer)
        return TICK

    def end_programs(self, peer: str) -> None:
        for process, owner in self.programs.items():
            if owner == peer:
                kill(process)

    def reap(self) -> None:
        for process in list(self.programs):
            if os.waitpid(process, os.WNOHANG)[0]:
                del self.programs[process]

    def admit(self, caller: DoorCaller) -> None:
        raise NotImplementedError

    def hand_over(self, caller: DoorCaller) -> None:
        raise NotImplementedError


def kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def start(argv: list[str], connection: socket.socket | None) -> int:
    """Start a program, whose standard input is the connection; return its process."""
    silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    actions: list[Any] = [*silent]
    if connection:
        connection.setblocking(True)
        actions.append((os.POSIX_SPAWN_DUP2, connection.fileno(), 0))
    path = shutil.which(argv[0])
    if path is None:
        raise FileNotFoundError(errno.ENOENT, "there is no such program", argv[0])
    # Python ignores SIGPIPE, and a program would inherit that.
    return os.posix_spawn(
        path, argv, os.environ, file_actions=actions, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
    )


class NetserverDoor(EngineDoor):
    """Each control connection of an admitted client gets a netserver, as inetd would start it."""

    def admit(self, caller: DoorCaller) -> None:
        caller.connection.send(answer())

    def hand_over(self, caller: DoorCaller) -> None:
        if len(self.programs) < MOST_PROGRAMS:
            process = start(["netserver", "-N"], caller.connection)
            self.programs[process] = caller.peer
        self.forget(caller)


def iperf3_argv(address: str, port: int) -> list[str]:
    """Return the command line of a server, which serves one client at a time and ends with us."""
    limited = ["prlimit", f"--data={MOST_DATA}", "--"]
    return [*DIE_WITH_PARENT, *limited, "iperf3", "-s", "-B", address, "-p", str(port)]


class Iperf3Door(EngineDoor):
    """While a client is admitted at a port, iperf3 listens there, and the door does not."""

    def __init__(self, *arguments: Any) -> None:
        self.starting: set[DoorCaller] = set()  # whose iperf3 does not listen yet
        self.processes: dict[int, int] = {}  # by port
        self.closed: set[int] = set()  # ports at which neither listens
        super().__init__(*arguments)

    def hand_over(self, caller: DoorCaller) -> None:
        self.drop(caller)

    def close_port(self, port: int) -> bool:
        """Stop listening at a port; return whether the door did."""
        for key in list(self.selector.get_map().values()):
            if key.data == port:
                self.selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
                return True
        return False

    def admit(self, caller: DoorCaller) -> None:
        if not self.close_port(caller.port):  # another client is admitted
            self.admitted.discard(caller)
            self.drop(caller)
            return
        process = start(iperf3_argv(self.address, caller.port), None)
        self.programs[process] = caller.peer
        self.processes[caller.port] = process
        self.starting.add(caller)

    def drop(self, caller: DoorCaller) -> None:
        self.starting.discard(caller)
        if caller in self.admitted:
            self.end(self.processes.pop(caller.port, 0))
            self.closed.add(caller.port)
            self.listen_again()
        self.forget(caller)

    def end(self, process: int) -> None:
        if self.programs.pop(process, None):
            kill(process)
            os.waitpid(process, 0)

    def listen_again(self) -> None:
        for port in list(self.closed):
            with contextlib.suppress(OSError):
                self.listen(port)
                self.closed.discard(port)

    def tick(self) -> float:
        super().tick()
        self.listen_again()
        for caller in list(self.starting):
            if is_held(self.address, caller.port):
                self.starting.discard(caller)
                with contextlib.suppress(OSError):
                    caller.connection.send(answer())
            elif self.processes[caller.port] not in self.programs:  # it could not listen
                self.turn_away(caller)
        return SHORT_TICK if self.starting or self.closed else TICK


DOORS = {"netserver": NetserverDoor, "iperf3": Iperf3Door}


def main() -> None:
    address, port, count, program = sys.argv[1:]
    with open("/proc/self/comm", "w") as name:  # what ps shows
        name.write(f"{program}-door")
    token, peers = guests(sys.stdin.read(MOST_BYTES))
    ports = range(int(port), int(port) + int(count))
    DOORS[program](address, ports, token, peers).serve()


if __name__ == "__main__":
    main()
