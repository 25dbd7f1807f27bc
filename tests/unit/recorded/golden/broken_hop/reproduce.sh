#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Reproduce a fault of an offload without Ansible: the payload arrived wrong,
# over path physical at MTU 9000. It breaks with
#     HOST1: tx-checksum-ip-generic of flannel.1 on
# Written by offload.lab from campaign golden.
#
#     sh reproduce.sh HOST1 HOST2      over ssh
#     sh reproduce.sh --namespaces     on this machine alone, as root: for a fault that needs no card
#
# HOST1 and HOST2 need Python 3.8 or later as python3, ethtool and iproute2, and a user that is root or may use sudo without a password.
# The script sets the features to BROKEN and to CURED in random order, sends known bytes and compares what arrives.
# Exit status: 0 not reproduced, 1 reproduced, 2 could not run. The features are restored in any case: at the end,
# at Ctrl-C, and when the script or its connection is killed.
set -u

KINDS=tcp_forward  # forward is from HOST1 to HOST2
LEAST=1449  # bytes of the smallest message
RATE=0  # Mbit/s, 0 for no limit
PAIRS=6  # of trials, at most
SECONDS_EACH=1.5  # of a trial
PORT=12868  # of TCP and UDP, at both ends
LAYERS=vxlan  # of --namespaces
WHY_NOT=''
MTU=9000
# Features: NETNS DEVICE FEATURE VALUE, several times. The namespace - is the one of the host.
NETNS1=cni-node1
ADDRESS1=10.244.1.5
DEVICES1='- flannel.1'
BROKEN1='- flannel.1 tx-checksum-ip-generic on'
CURED1='- flannel.1 tx-checksum-ip-generic off'
NETNS2=cni-node2
ADDRESS2=10.244.2.5
DEVICES2=''
BROKEN2=''
CURED2=''
if [ "${1-}" = --namespaces ]; then
    NETNS1=-
    ADDRESS1=198.51.100.1
    DEVICES1='- vxlan0'
    BROKEN1='- vxlan0 tx-checksum-ip-generic on'
    CURED1='- vxlan0 tx-checksum-ip-generic off'
    NETNS2=-
    ADDRESS2=198.51.100.2
    DEVICES2=''
    BROKEN2=''
    CURED2=''
fi
SEVERAL=no
TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

say() { printf '%s\n' "$*"; }
fail() { say "Could not run: $*" >&2; exit 2; }

# The two nodes: each runs PROGRAM (below), which obeys a line at a time, and restores when the lines end.

# shellcheck disable=SC2016 # the shell at the other end expands it
AS_ROOT='[ "$(id -u)" = 0 ] || sudo="sudo -n"; exec $sudo python3 -I -c'

node() { # HOST; - is a new namespace of this machine
    case $1 in
        -) exec unshare --net python3 -I -c "$PROGRAM" ;;
        *) exec ssh -o BatchMode=yes -o ServerAliveInterval=5 -- "$1" "$AS_ROOT '$PROGRAM'" ;;
    esac
}

start() { # HOST1 HOST2
    trap '' PIPE
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    pipes=$(mktemp -d) || fail "there is no folder for pipes"
    mkfifo "$pipes/to1" "$pipes/from1" "$pipes/to2" "$pipes/from2" || fail "there are no pipes"
    node "$1" <"$pipes/to1" >"$pipes/from1" &
    node "$2" <"$pipes/to2" >"$pipes/from2" &
    exec 3>"$pipes/to1" 4<"$pipes/from1" 5>"$pipes/to2" 6<"$pipes/from2"
    rm -r "$pipes"
    trap stop EXIT
    hear 1 || fail "python3, 3.8 or later, does not start as root at node 1"
    pid1=${answer#pid }
    hear 2 || fail "python3, 3.8 or later, does not start as root at node 2"
    pid2=${answer#pid }
}

# shellcheck disable=SC2329 # by the trap
stop() { # end both nodes, and wait until they have restored
    status=$?
    trap '' INT TERM HUP
    exec 3>&- 5>&-
    for node in 1 2; do
        last=
        while hear "$node"; do last=$answer; done
        say "node $node: ${last:-it has ended before}"
        [ "$last" = restored ] || status=2
    done
    exit "$status"
}

hear() { # read a line of a node into answer, without control characters
    case $1 in 1) read -r answer <&4 ;; *) read -r answer <&6 ;; esac || return 1
    answer=$(printf %s "$answer" | tr -cd '\40-\176')
}

ask() { # NODE COMMAND...; what it answers is in answer
    asked=$1
    shift
    case $asked in 1) say "$*" >&3 ;; *) say "$*" >&5 ;; esac 2>/dev/null
    hear "$asked" || fail "node $asked does not answer"
    case $answer in
        error*) fail "node $asked: ${answer#error }" ;;
        *restored*) fail "node $asked was ended; its features: $answer" ;;
    esac
}

# The trials

set_features() { # broken or cured; what is active then is in active
    case $1 in
        broken) ask 1 set "$BROKEN1"; active=$answer; ask 2 set "$BROKEN2" ;;
        *) ask 1 set "$CURED1"; active=$answer; ask 2 set "$CURED2" ;;
    esac
    active="$active $answer"
}

trial() { # one trial of each kind, until one is in trouble; the result is in answer
    for kind in $KINDS; do
        case $kind in *_forward) sender=1 one=send two=receive ;; *) sender=2 one=receive two=send ;; esac
        # The end that waits is the first: the server of TCP, the receiver of UDP.
        [ "$kind" != udp_reverse ] || ask 1 begin "$kind" "$one" "$SECONDS_EACH" "$LEAST" "$RATE"
        ask 2 begin "$kind" "$two" "$SECONDS_EACH" "$LEAST" "$RATE"
        [ "$kind" = udp_reverse ] || ask 1 begin "$kind" "$one" "$SECONDS_EACH" "$LEAST" "$RATE"
        ask "$sender" end
        case $answer in "sent "*) sent=${answer#sent } trouble= ;; *) sent="0 0 0" trouble=$answer ;; esac
        case $sent in *[!0-9\ ]*) fail "not numbers: $sent" ;; esac
        ask "$((3 - sender))" end "$sent"
        answer=${trouble:-$answer}
        case $answer in clean*) ;; *) break ;; esac
    done
}

is_shown() { [ "$((broken - cured))" -ge 4 ] && [ "$broken" -ge "$((cured * 3))" ]; }

is_before() { [ "$(($(date +%s) - began))" -lt "$1" ]; } # SECONDS after the first trial began

compare() { # pairs of trials in random order; more pairs if more are in trouble when broken
    most=$PAIRS pairs=0 broken=0 cured=0 when_broken='' when_cured=''
    began=$(date +%s)
    say "features  trial        result"
    while [ "$pairs" -lt "$most" ] && { [ "$pairs" -lt 4 ] || is_before 40; } && ! is_shown; do
        for setting in $(shuf -e broken cured); do
            set_features "$setting"
            trial
            printf '%-9s %-12s %s\n' "$setting" "$kind" "$answer"
            case $setting in broken) when_broken=$active ;; *) when_cured=$active ;; esac
            case $setting-$answer in
                *-clean*) ;;
                broken-*) broken=$((broken + 1)) ;;
                *) cured=$((cured + 1)) ;;
            esac
        done
        pairs=$((pairs + 1))
        [ "$broken" -le "$cured" ] || most=$((PAIRS * 2))
        [ "$when_broken" != "$when_cured" ] || fail "the devices do not take the features: nothing changed"
    done
}

narrow() { # which of several features is enough: NODE NETNS DEVICE FEATURE VALUE...
    at=$1
    shift
    while [ "$#" -ge 4 ] && is_before 50; do
        set_features broken
        ask "$at" set "$1 $2 $3 $4"
        trial
        printf '%-9s %-12s %s\n' "node $at" "$2" "only $3 $4: $answer"
        shift 4
    done
}

versions() { # NODE DEVICES
    ask "$1" versions "$2"
    say "node $1: $answer"
    while hear "$1" && [ "$answer" != . ]; do say "$answer"; done
}

run() {
    ask 1 path "$NETNS1" "$ADDRESS1" "$ADDRESS2" "$PORT" "$TOKEN" yes
    ask 2 path "$NETNS2" "$ADDRESS2" "$ADDRESS1" "$PORT" "$TOKEN" no
    compare
    # shellcheck disable=SC2086 # words
    if is_shown && [ "$SEVERAL" = yes ]; then narrow 1 $CURED1; narrow 2 $CURED2; fi
    versions 1 "$DEVICES1"
    versions 2 "$DEVICES2"
    counts="$broken of $pairs trials in trouble with the features broken, $cured of $pairs with them cured"
    if is_shown; then say "Reproduced: $counts."; exit 1; fi
    if [ "$cured" = "$pairs" ]; then fail "the path is in trouble with either setting: $counts."; fi
    say "Not reproduced: $counts."
    exit 0
}

# Namespaces: a veth pair between two, and on top of it what the path has

network() { # NODE OTHER PID
    case $3 in '' | *[!0-9]*) fail "not a process: $3" ;; esac
    inside="nsenter --net=/proc/$3/ns/net ip"
    $inside link set lo up
    $inside addr add "192.0.2.$1/24" dev eth0
    $inside link set eth0 up
    [ "$LAYERS" = none ] && return
    $inside link add vxlan0 type vxlan id 10 dstport 4789 local "192.0.2.$1" remote "192.0.2.$2" dev eth0
    $inside link set vxlan0 up mtu "$((MTU - 50))"
    [ "$LAYERS" = vxlan ] && { $inside addr add "198.51.100.$1/24" dev vxlan0; return; }
    $inside link add br0 type bridge
    $inside link add tenant0 mtu "$((MTU - 50))" type veth peer name port0 mtu "$((MTU - 50))"
    $inside link set vxlan0 master br0
    $inside link set port0 up master br0
    $inside link set br0 up
    $inside link set tenant0 up
    $inside addr add "198.51.100.$1/24" dev tenant0
}

PROGRAM=$(cat <<'END'
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
END
)

case $#-${1-} in
    1---namespaces)
        [ "$LAYERS" != card ] || fail "$WHY_NOT"
        start - -
        exec 7<"/proc/$pid1/ns/net" 8<"/proc/$pid2/ns/net" # both stay until both nodes have restored
        ip link add eth0 netns "$pid1" mtu "$MTU" type veth peer name eth0 mtu "$MTU" netns "$pid2" || fail "no veth"
        network 1 2 "$pid1"
        network 2 1 "$pid2"
        ;;
    2--* | 2-) fail "usage: sh $0 HOST1 HOST2, or sh $0 --namespaces" ;;
    2-*) start "$1" "$2" ;;
    *) fail "usage: sh $0 HOST1 HOST2, or sh $0 --namespaces" ;;
esac
ask 1 "$DEVICES1"
ask 2 "$DEVICES2"
run
