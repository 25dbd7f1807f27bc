# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that reproduce.sh runs at each node: a check of the payload, and the way back.

It imports nothing of ours, because the script has its text. Standard input gives one command a line,
standard output one answer a line. When standard input ends, when this process dies or after LIMIT
seconds, the process that started first restores the features and ends. The text has no single quote:
the script hands it to a shell between two of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import ipaddress
import itertools
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from typing import Any, Callable, Iterator

LIMIT = 120  # s
STALL = 3.0  # s without progress
SETTLED = 0.2  # s after which a device acts as it was set
LATE = 0.2  # s in which the last datagrams may still arrive
FEWEST = 3  # lost segments or datagrams; a queue that overflows now and then loses fewer
FEWEST_CHECKSUMS = 2
NOBODY = 65534
STARTED = "started"  # what a trial says first
BUFFER = 1 << 21
SIOCETHTOOL, GFEATURES, SFEATURES, SIOCGIFFLAGS, RUNNING = 0x8946, 0x3A, 0x3B, 0x8913, 0x40
LIBC = ctypes.CDLL(None, use_errno=True)

# Both ends know all bytes: random ones, and zeros and ones, which have the checksums 0x0000 and 0xffff.
NOISE = random.Random(9).getrandbits(8 * 190001).to_bytes(190001, "big")
POOL = NOISE[:60000] + bytes(4096) + NOISE[60000:120000] + b"\xff" * 4096 + NOISE[120000:]
ENDLESS = POOL + POOL[:65536]


class TroubleError(Exception):
    """What is wrong with a trial."""


# The features of a device, as masks of the kernel: no name of ethtool is needed to restore them.


def enter(netns: str) -> None:
    """Enter a network namespace; "-" is the one of the process."""
    if netns != "-":
        with open(f"/run/netns/{netns}") as file:
            if LIBC.setns(file.fileno(), 0):
                raise OSError(ctypes.get_errno(), f"cannot enter {netns}")


class Device:
    """A device whose features are restored."""

    def __init__(self, netns: str, name: str) -> None:
        with open("/proc/self/ns/net") as home:
            enter(netns)
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            LIBC.setns(home.fileno(), 0)
        self.name = name
        self.before = self.features()
        self.was_running = self.is_running()

    def ask(self, request: bytes) -> bytes:
        """Return the answer of ioctl SIOCETHTOOL."""
        buffer = ctypes.create_string_buffer(request, len(request))
        place = ctypes.addressof(buffer)
        fcntl.ioctl(self.socket, SIOCETHTOOL, struct.pack("16sP16x", self.name.encode(), place))
        return buffer.raw

    def features(self) -> list[tuple[int, ...]]:
        """Return masks of 32 features: changeable, requested, active, never changed."""
        raw = self.ask(struct.pack("2I", GFEATURES, 8) + bytes(8 * 16))
        count = struct.unpack_from("I", raw, 4)[0]
        return list(struct.iter_unpack("4I", raw[8 : 8 + 16 * count]))

    def restore(self) -> bool:
        """Request what was requested before; return whether all features are as before."""
        blocks = [
            struct.pack("2I", mask[0] & ~mask[3] & 0xFFFFFFFF, mask[1]) for mask in self.before
        ]
        self.ask(struct.pack("2I", SFEATURES, len(blocks)) + b"".join(blocks))
        return self.features() == self.before

    def is_running(self) -> bool:
        """Return whether the device has a carrier."""
        request = struct.pack("16sH22x", self.name.encode(), 0)
        answer = fcntl.ioctl(self.socket, SIOCGIFFLAGS, request)
        return bool(struct.unpack_from("H", answer, 16)[0] & RUNNING)


def restored(devices: list[Device]) -> str:
    """Restore devices, three times at most; return in words what came of it."""
    failed: dict[str, str] = {}
    for device in devices:
        for pause in (0, 1, 2):
            time.sleep(pause)
            try:
                if device.restore():
                    failed.pop(device.name, None)
                    break
                failed[device.name] = "something else changes it"
            except OSError as error:
                failed[device.name] = str(error)
    return f"NOT restored: {failed}" if failed else "restored"


# A trial: one end sends bytes that the other end knows.


class Trial:
    """One end of one trial."""

    def __init__(self, path: list[str], words: list[str], shell: socket.socket) -> None:
        _netns, self.here, self.there, port, token, self.opens = path
        kind, self.role, seconds, least, rate = words
        self.protocol = kind[:3]
        self.seconds, self.least, self.rate = float(seconds), int(least), float(rate)
        self.port, self.token, self.shell = int(port), token.encode(), shell
        self.family = socket.AF_INET6 if ":" in self.there else socket.AF_INET
        self.checksums = checksum_errors()
        self.began = time.monotonic()
        self.wrong = 0
        self.example = ""

    def run(self) -> str:
        """Return what came of the trial."""
        sock = MEET[self.protocol](self)
        self.began = time.monotonic()
        sock.settimeout(STALL)
        try:
            return PARTS[self.protocol, self.role](self, sock)
        except socket.timeout:
            raise TroubleError("the connection stalled")

    def goes_on(self, amount: int) -> bool:
        """Return whether the trial lasts, when the rate in Mbit/s allows to send on; 0 allows all."""
        if self.rate:
            time.sleep(max(0.0, self.began + amount * 8 / self.rate / 1e6 - time.monotonic()))
        return time.monotonic() < self.began + self.seconds

    def differs(self, data: bytes, expected: bytes, where: str) -> None:
        """Count what arrived wrong, and describe the first."""
        self.wrong += 1
        if not self.example:
            pairs = enumerate(zip(data, expected))
            offset = next((index for index, pair in pairs if pair[0] != pair[1]), len(data))
            self.example = f"the first in {where}, {offset} bytes on"

    def said(self) -> list[int]:
        """Return what the sender counted, as the shell passes it on."""
        return list(map(int, self.shell.recv(256).split()))

    def judged(self, sent: str, short: int, lost: int) -> str:
        """Return the verdict of the receiver."""
        errors = checksum_errors() - self.checksums
        if self.wrong:
            raise TroubleError(f"wrong content {self.wrong} times in {sent}, {self.example}")
        if errors >= FEWEST_CHECKSUMS:
            raise TroubleError(f"{errors} packets arrived with wrong checksums")
        if short > 0:
            raise TroubleError(f"{short} of {sent} did not arrive")
        if lost >= FEWEST:
            raise TroubleError(f"{lost} packets were lost, of {sent}")
        return f"clean {sent} arrived as sent"


MEET: dict[str, Callable[[Trial], socket.socket]] = {}  # what opens the socket, by protocol
PARTS: dict[tuple[str, str], Callable[[Trial, socket.socket], str]] = {}  # by protocol and role


def sizes(unit: int, least: int, most: int) -> Iterator[int]:
    """Return endless sizes of messages: those at which offloads go wrong lie around multiples of
    unit, what a packet carries. The ones above it come most often.
    """
    edges = {1, 2, 3, 7, 8, 31, 32, 33, 64, 127, 128, 129, 255, 256, 257, least, most}
    edges.update((500, 1000, 1400))
    for packets in (1, 2, 3, 4, 5, 8, 16, 17, 32, 44):
        edges.update(packets * unit + more for more in (-12, -1, 0, 1, 12))
    kept = sorted(size for size in edges if least <= size <= most)
    kept += [size for size in kept if size > unit] * 3
    random.Random(least).shuffle(kept)
    return itertools.cycle(kept)


def checksum_errors() -> int:
    """Return how many packets this network namespace refused for their checksums."""
    total = 0
    with open("/proc/self/net/snmp") as file:
        lines = file.read().splitlines()
    for names, values in zip(lines[::2], lines[1::2]):
        table = dict(zip(names.split(), values.split()))
        if names.startswith(("Tcp:", "Udp:")):
            total += int(table.get("InCsumErrors", 0))
    with contextlib.suppress(OSError), open("/proc/self/net/snmp6") as file:  # without IPv6
        total += sum(int(line.split()[1]) for line in file if line.startswith("Udp6InCsum"))
    return total


def become_nobody() -> None:
    """Give up root for good, and end with the parent."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    LIBC.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


# tcp: HOST1 connects, and the connection begins with the token of this run. Then one end sends an
# endless text.
TCP_INFO = {"unacked": 24, "again": 100, "in": 152, "out": 156, "duplicates": 216}  # linux/tcp.h


def meet_tcp(trial: Trial) -> socket.socket:
    """Return the connection of the trial."""
    sock = socket.socket(trial.family)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((trial.here, 0 if trial.opens == "yes" else trial.port))
    become_nobody()
    if trial.opens == "yes":
        trial.shell.sendall(STARTED.encode())
        sock.settimeout(STALL)
        sock.connect((trial.there, trial.port))
        sock.sendall(trial.token)
        return sock
    sock.listen(8)
    trial.shell.sendall(STARTED.encode())
    while time.monotonic() < trial.began + STALL:
        sock.settimeout(STALL)
        connection, address = sock.accept()
        connection.settimeout(1)
        with contextlib.suppress(OSError):
            token = connection.recv(len(trial.token), socket.MSG_WAITALL)
            if address[0] == trial.there and token == trial.token:
                return connection
        connection.close()
    raise TroubleError("no connection came")


def tcp_info(sock: socket.socket, name: str) -> int:
    """Return a number of the kernel about a connection."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256).ljust(256, b"\0")
    return int(struct.unpack_from("I", info, TCP_INFO[name])[0])


def send_tcp(trial: Trial, sock: socket.socket) -> str:
    """Send messages. With a small buffer TCP sends each alone, in the second half it joins them."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    offset = 0
    for size in sizes(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG), trial.least, 65536):
        if not trial.goes_on(offset):
            break
        if time.monotonic() > trial.began + trial.seconds / 2:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        start = offset % len(POOL)
        sock.sendall(ENDLESS[start : start + size])
        offset += size
    sock.shutdown(socket.SHUT_WR)
    until = time.monotonic() + STALL
    while tcp_info(sock, "unacked") and time.monotonic() < until:
        time.sleep(0.01)
    if tcp_info(sock, "unacked"):
        raise TroubleError("the connection stalled")
    time.sleep(LATE)  # the receiver reports its last duplicates
    again = max(0, tcp_info(sock, "again") - tcp_info(sock, "duplicates"))
    return "sent {} {} {}".format(offset, again, tcp_info(sock, "out"))


def receive_tcp(trial: Trial, sock: socket.socket) -> str:
    """Compare all bytes that arrive."""
    offset = 0
    for data in iter(lambda: sock.recv(65536), b""):
        if time.monotonic() > trial.began + trial.seconds + STALL:
            raise TroubleError("the connection stalled")
        start = offset % len(POOL)
        if not ENDLESS.startswith(data, start):
            trial.differs(data, ENDLESS[start:], f"byte {offset}")
        offset += len(data)
    sent, again, left = trial.said()
    # TCP retransmits a segment that is only late, too; it is not lost.
    lost = min(again, max(0, left - tcp_info(sock, "in")))
    return trial.judged(f"{sent} bytes", sent - offset, lost)


MEET["tcp"] = meet_tcp
PARTS["tcp", "send"] = send_tcp
PARTS["tcp", "receive"] = receive_tcp


# udp: each datagram has its number, its size and whether it is to be acknowledged.
HEAD = struct.Struct("!IHH")
ACK = struct.Struct("!I")
WINDOW = 32768  # bytes; then the receiver acknowledges, so no buffer overflows
BATCHES = (1, 2, 3, 4, 8, 16)  # datagrams that the kernel cuts out of one call (UDP_SEGMENT)
SOL_UDP, UDP_SEGMENT, UDP_GRO, SO_RCVBUFFORCE = 17, 103, 104, 33
IP_MTU = {
    socket.AF_INET: (socket.IPPROTO_IP, 14, 28),
    socket.AF_INET6: (socket.IPPROTO_IPV6, 24, 48),
}


def meet_udp(trial: Trial) -> socket.socket:
    """Return a socket that hears the other end alone."""
    sock = socket.socket(trial.family, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    sock.setsockopt(SOL_UDP, UDP_GRO, 1)
    sock.bind((trial.here, trial.port))
    sock.connect((trial.there, trial.port))
    become_nobody()
    trial.shell.sendall(STARTED.encode())
    return sock


def content(number: int, size: int) -> bytes:
    """Return the content of a datagram."""
    start = number * 7919 % len(POOL)
    return ENDLESS[start : start + size]


def send_udp(trial: Trial, sock: socket.socket) -> str:
    """Send datagrams; the kernel cuts batches of one size out of one call."""
    level, option, headers = IP_MTU[trial.family]
    unit = sock.getsockopt(level, option) - headers - HEAD.size
    number = amount = ahead = 0
    messages = sizes(unit, trial.least, max(unit, trial.least))
    for size, together in zip(messages, itertools.cycle(BATCHES)):
        if not trial.goes_on(amount):
            break
        batch = max(1, min(together, 24576 // size)) if 128 < size <= unit else 1
        amount += batch * size
        ahead += batch * max(size, 512)
        last = number + batch - 1
        ask = ahead > WINDOW
        numbers = range(number, last + 1)
        heads = [HEAD.pack(each, size, ask and each == last) for each in numbers]
        parts = [head + content(each, size) for head, each in zip(heads, numbers)]
        send_batch(sock, parts)
        number = last + 1
        if ask:
            ahead = 0
            wait_for_answer(sock, last)
    return f"sent {number} 0 0"


def send_batch(sock: socket.socket, parts: list[bytes]) -> None:
    """Send datagrams of one size in one call; one by one where the kernel cuts none."""
    cut = [(SOL_UDP, UDP_SEGMENT, struct.pack("H", len(parts[0])))] if len(parts) > 1 else []
    try:
        sock.sendmsg(parts, cut)
    except OSError:  # or the error of an earlier one, which is reported once
        for part in parts:
            with contextlib.suppress(ConnectionRefusedError):
                sock.send(part)


def wait_for_answer(sock: socket.socket, number: int) -> None:
    """Wait until the receiver has acknowledged a datagram; it may be lost."""
    while select.select([sock], [], [], 0.1)[0]:
        with contextlib.suppress(ConnectionRefusedError):
            answer = sock.recv(64)
            if len(answer) == ACK.size and ACK.unpack(answer)[0] >= number:
                return


def receive_udp(trial: Trial, sock: socket.socket) -> str:
    """Compare datagrams until the shell says how many were sent, and no more come."""
    arrived: set[int] = set()
    while sock in select.select([sock, trial.shell], [], [], STALL + trial.seconds)[0]:
        see_datagrams(trial, sock, arrived)
    while select.select([sock], [], [], LATE)[0]:
        see_datagrams(trial, sock, arrived)
    sent = trial.said()[0]
    return trial.judged(f"{sent} datagrams", 0, sent - len(arrived))


def see_datagrams(trial: Trial, sock: socket.socket, arrived: set[int]) -> None:
    """Compare and acknowledge the datagrams of one call; UDP_GRO joins several."""
    try:
        joined, notes, _flags, _address = sock.recvmsg(65536, 64)
    except ConnectionRefusedError:  # of an answer to an end that has gone
        return
    cut = [struct.unpack("i", value[:4])[0] for *_what, value in notes] or [max(1, len(joined))]
    for start in range(0, len(joined), cut[0]):
        data = joined[start : start + cut[0]]
        number, size, ask = HEAD.unpack_from(data.ljust(HEAD.size, b"\0"))
        arrived.add(number)
        if data[HEAD.size :] != content(number, size):
            trial.differs(data[HEAD.size :], content(number, size), f"a datagram of {size} bytes")
        if ask:
            sock.send(ACK.pack(number))


MEET["udp"] = meet_udp
PARTS["udp", "send"] = send_udp
PARTS["udp", "receive"] = receive_udp


# The commands of the shell


def next_line() -> list[str]:
    """Return the words of the next line of standard input; end where there is none."""
    text = b""
    while not text.endswith(b"\n"):
        byte = os.read(0, 1)  # no more: a child goes on reading here
        if not byte:
            os._exit(0)
        text += byte
    return text.decode().split()


def say(text: str) -> None:
    """Answer one line."""
    os.write(1, " ".join(text.split()).encode("ascii", "replace") + b"\n")


class Node:
    """Obeys the commands of the shell."""

    def __init__(self, devices: list[Device]) -> None:
        self.devices = devices
        self.path: list[str] = []
        self.trial: Any = None

    def obey(self) -> None:
        """Obey until standard input ends."""
        while True:
            command, *words = next_line()
            try:
                say({"path": self.set_path, "set": self.set_features, "begin": self.begin,
                     "end": self.end, "versions": self.versions}[command](words))  # fmt: skip
            except Exception as error:
                say(f"error {type(error).__name__}: {error}")

    def set_path(self, words: list[str]) -> str:
        """Remember namespace, own and other address, port, token, and whether this end connects."""
        netns, here, there, port, token, opens = words
        if not 0 < int(port) < 65536 or not re.fullmatch("[0-9a-f]{32}", token):
            raise ValueError("not a port or a token")
        here, there = (str(ipaddress.ip_address(address)) for address in (here, there))
        self.path = [netns, here, there, port, token, opens]
        return "ok"

    def set_features(self, words: list[str]) -> str:
        """Set features: NETNS DEVICE FEATURE on|off, again and again; return what is active then."""
        for netns, device, feature, value in zip(*[iter(words)] * 4):
            inside = [] if netns == "-" else ["ip", "netns", "exec", netns]
            argv = [*inside, "ethtool", "-K", device, feature, value]
            subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        until = time.monotonic() + 10
        while any(one.was_running and not one.is_running() for one in self.devices):
            if time.monotonic() > until:
                raise TimeoutError("a device has no carrier")
            time.sleep(0.1)
        time.sleep(SETTLED)
        masks = itertools.chain.from_iterable(one.features() for one in self.devices)
        return "active " + ".".join(f"{mask[2]:x}" for mask in masks)

    def begin(self, options: list[str]) -> str:
        """Begin a trial in a process of its own: KIND send|receive SECONDS LEAST RATE."""
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            try:
                signal.alarm(LIMIT // 4)
                ours.close()
                theirs.sendall(f"\n{self.outcome(options, theirs)}".encode())
            finally:
                os._exit(0)  # whatever was raised, this process obeys no command
        theirs.close()
        self.trial = ours
        ours.settimeout(LIMIT // 4)
        begun = ours.recv(7).decode()
        if begun != STARTED:
            raise OSError(f"{begun}{self.end([])}".strip())
        return begun

    def outcome(self, options: list[str], shell: socket.socket) -> str:
        """Return what came of a trial, in its own process."""
        try:
            enter(self.path[0])
            return Trial(self.path, options, shell).run()
        except TroubleError as trouble:
            return f"trouble {trouble}"
        except Exception as error:
            return f"trouble {type(error).__name__}: {error}"

    def end(self, words: list[str]) -> str:
        """Give the trial what the sender counted, and return what came of it."""
        if words:
            with contextlib.suppress(OSError):  # it has ended already
                self.trial.sendall(" ".join(words).encode())
        answer = b""
        with contextlib.suppress(ConnectionResetError):  # it did not read what the sender counted
            for part in iter(lambda: self.trial.recv(4096), b""):
                answer += part
        self.trial.close()
        os.wait()
        return answer.decode().strip() or "error the process of the trial was ended"

    def versions(self, words: list[str]) -> str:
        """Print kernel, driver and changeable features of devices: NETNS DEVICE, again and again."""
        say(f"uname -r: {os.uname().release}")
        for netns, device in dict.fromkeys(zip(words[::2], words[1::2])):
            inside = [] if netns == "-" else ["ip", "netns", "exec", netns]
            for option in ("-i", "-k"):
                argv = [*inside, "ethtool", option, device]
                shown = subprocess.run(argv, stdout=subprocess.PIPE, check=False).stdout.decode()
                say(f"ethtool {option} {device}")
                for line in shown.splitlines()[option == "-k" :]:
                    if "[fixed]" not in line:
                        say(line)
        return "."


def finish(devices: list[Device]) -> None:
    """Restore, and say what came of it."""
    result = restored(devices)
    with contextlib.suppress(OSError):  # nobody listens any more
        say(result)


def finish_alone(devices: list[Device]) -> None:
    """Restore in place of the process that waits: it was killed."""
    time.sleep(SETTLED)  # an ethtool that has just started ends first
    finish(devices)
    os._exit(0)


def main() -> None:
    """Obey in a child, and restore when it has ended, however it did."""
    say(f"pid {os.getpid()}")
    names = next_line()
    ended = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    for number in ended:
        signal.signal(number, signal.SIG_IGN)
    try:
        devices = [Device(netns, name) for netns, name in zip(names[::2], names[1::2])]
    except OSError as error:
        say(f"error {error}")
        sys.exit(2)
    child = os.fork()
    if child == 0:
        for number in ended:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, lambda *_signal: finish_alone(devices))
        LIBC.prctl(1, signal.SIGUSR1, 0, 0, 0)  # PR_SET_PDEATHSIG
        signal.alarm(LIMIT)
        say("ready")
        Node(devices).obey()
    os.waitpid(child, 0)
    finish(devices)


if __name__ == "__main__":
    main()
