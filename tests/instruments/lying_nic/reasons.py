# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why packets do not arrive: each lie of the lying card and five faults of a path, and the reasons that
a trial and ``look`` name for them. It needs root.

``python -m …lying_nic.reasons [RUNS [CLEAN_RUNS [NAME…]]]`` prints a row for each fault: how often the
reasons were right. A drop is the whole kernel's: other tests on the machine can spoil a run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ansible_collections.offload.lab.plugins.module_utils._host.netns import inside
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import in_thread
from ansible_collections.offload.lab.plugins.module_utils._nodes.faults import HONEST, KINDS
from ansible_collections.offload.lab.plugins.module_utils._observe import (
    drop_places,
    errors_seen,
    tracepoints,
)
from ansible_collections.offload.lab.plugins.plugin_utils._across import traffic
from ansible_collections.offload.lab.plugins.plugin_utils._trials import damage, drop_reasons
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import (
    SERVER,
    VETH,
    Nodes,
)

NAMES = ("why0", "why1")  # a tracepoint knows no namespace: other tests have devices lie0, too
MTU = 1500
PORT = 5354
SIZE = 1400  # bytes of a datagram
DATAGRAMS = 40
SEGMENTS = 40  # of a call whose datagrams the device cuts
STREAM = 1_000_000  # bytes
PATIENCE = 0.3  # s with a stream of TCP
UDP_SEGMENT, SO_RCVBUFFORCE = 103, 33
BUFFER = 1 << 23
RING = 16  # packets
OTHER_SOURCE = "198.51.100.1"
RULE = "table ip t { chain c { type filter hook input priority 0; udp dport 5354 drop; }; }"
CHECKSUMS = frozenset({"TCP_CSUM", "UDP_CSUM"})
TOO_LONG = "received_too_long"


class Fault(NamedTuple):
    """A fault, the right reasons of a trial, and the reasons that look adds."""

    name: str
    nic: str
    reasons: frozenset[str] = frozenset()
    by_look: frozenset[str] = frozenset()
    prepare: Callable[[Nodes], None] = lambda _nodes: None
    source: str = "192.0.2.1"
    reads: bool = True  # the receiver reads what arrives


# The kernel drops no packet for these lies, except where a checksum or a length shows them: the content
# is wrong, or packets are missing on the wire. No reason is right then.
OF_LIES = {
    "bit_flipped_late": CHECKSUMS,
    "checksum_short": CHECKSUMS,
    "checksum_unfilled": CHECKSUMS,
    "length_wrong": frozenset({"PKT_TOO_SMALL"}),
}
BY_LOOK = {  # two datagrams as one are above the MTU, too
    "merged": frozenset({TOO_LONG}),
    "uncut": frozenset({TOO_LONG}),
}
STRUCK = {"uncut": "uncut:1:tso", "merged": "merged:1:udp", "length_wrong": "length_wrong:0.5:udp"}


def of_lies() -> list[Fault]:
    """Return a fault for each lie."""
    return [
        Fault(
            name,
            STRUCK.get(name, f"{name}:0.3"),
            OF_LIES.get(name, frozenset()),
            BY_LOOK.get(name, frozenset()),
        )
        for name in KINDS
    ]


def _rule(nodes: Nodes) -> None:
    argv = ["ip", "netns", "exec", nodes.spaces[1], "nft", "-f", "-"]
    subprocess.run(argv, input=RULE, text=True, check=True)


def _stopped_card(nodes: Nodes) -> None:
    """Let the ring of the device be full: nothing reads it, and no neighbour is asked for meanwhile."""
    nodes.inside(0, "ip", "neigh", "change", SERVER, "dev", NAMES[0], "nud", "permanent")
    nodes.inside(0, "ip", "link", "set", NAMES[0], "txqueuelen", str(RING))
    nodes.inside(0, "tc", "qdisc", "replace", "dev", NAMES[0], "root", "noqueue")
    os.kill(nodes.processes[0], signal.SIGSTOP)


def _reverse_path_filter(nodes: Nodes) -> None:
    for name in ("all", NAMES[1]):
        nodes.inside(1, "sysctl", "-qw", f"net.ipv4.conf.{name}.rp_filter=1")
    nodes.inside(0, "ip", "addr", "add", f"{OTHER_SOURCE}/32", "dev", "lo")


def _smaller_mtu(nodes: Nodes) -> None:
    nodes.inside(1, "ip", "link", "set", NAMES[1], "mtu", "1300")


def of_paths() -> list[Fault]:
    """Return the faults of a path that has an honest card, or none."""
    return [
        Fault("nftables", VETH, frozenset({"NETFILTER_DROP"}), prepare=_rule),
        Fault("full ring", HONEST, frozenset({"FULL_RING"}), prepare=_stopped_card),
        Fault(
            "rp_filter",
            VETH,
            frozenset({"IP_RPFILTER"}),
            prepare=_reverse_path_filter,
            source=OTHER_SOURCE,
        ),
        Fault("wrong MTU", VETH, by_look=frozenset({"NOT_SPECIFIED"}), prepare=_smaller_mtu),
        Fault("full socket buffer", VETH, frozenset({"SOCKET_RCVBUFF"}), reads=False),
    ]


def clean() -> list[Fault]:
    """Return paths without a fault."""
    return [Fault("clean veth", VETH), Fault("clean card", HONEST)]


# The traffic of a run


@contextlib.contextmanager
def receiving(nodes: Nodes, reads: bool) -> Iterator[None]:
    """Receive at the second node: datagrams, and one connection."""
    with inside(nodes.spaces[1]):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener = socket.create_server((SERVER, PORT))
    datagrams.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER if reads else 1)
    datagrams.bind((SERVER, PORT))

    def receive() -> None:
        with contextlib.suppress(OSError), listener.accept()[0] as connection:
            connection.settimeout(PATIENCE)
            while connection.recv(1 << 20):
                pass

    thread = in_thread(receive)
    try:
        yield
    finally:
        datagrams.settimeout(PATIENCE if reads else 0)
        with contextlib.suppress(OSError):
            while reads:
                datagrams.recv(1 << 16)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()
        datagrams.close()


def send(nodes: Nodes, source: str) -> None:
    """Send datagrams, a call whose datagrams the device cuts, and a stream, from the first node."""
    with inside(nodes.spaces[0]):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with sender, stream:
        sender.bind((source, 0))
        with contextlib.suppress(OSError):
            for _number in range(DATAGRAMS):
                sender.sendto(b"x" * SIZE, (SERVER, PORT))
            sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
            sender.sendto(b"x" * SIZE * SEGMENTS, (SERVER, PORT))
        stream.settimeout(PATIENCE)
        stream.bind((source, 0))
        with contextlib.suppress(OSError):
            stream.connect((SERVER, PORT))
            stream.sendall(b"x" * STREAM)
            stream.shutdown(socket.SHUT_WR)
            stream.recv(1)


# What is named of a run


class Named(NamedTuple):
    """The reasons that were named."""

    by_trial: frozenset[str]
    by_look: frozenset[str]


def counters(nodes: Nodes) -> dict[str, dict[str, int]]:
    """Return the counters of the second end, as a trial reads them."""
    device = {"name": NAMES[1], "netns": nodes.spaces[1]}
    return {"errors": {**errors_seen.read([device]), **drop_places.read()}}


def enough(drops: list[drop_reasons.Lost]) -> frozenset[str]:
    """Return the reasons that look names: a path loses some packets now and then."""
    return frozenset(
        drop.reason
        for drop in drops
        if drop.meaning.kind != drop_reasons.PATH or drop.packets >= traffic.FEWEST_DROPS
    )


def _of_trial(
    before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]
) -> frozenset[str]:
    damaged = damage.damage_of({"server": [before, after]})
    drops = drop_reasons.dropped_of({"server": "node2", "damage": damaged})
    rows = []
    for key, count in drops.items():
        _node, reason, place = key.rsplit(" ", 2)
        rows.append({"reason": reason, "place": place, "count": count})
    return enough(drop_reasons.lost(rows))


def _of_look(traced: tracepoints.Traced) -> frozenset[str]:
    """Return what look adds: trials leave drops without the kernel's reason out, a host has many."""
    (counts,) = traced["devices"].values()
    unnamed = [drop for drop in traced["drops"] if drop["reason"] in drop_reasons.UNNAMED]
    found = enough(drop_reasons.lost(unnamed))
    return found | {TOO_LONG} if counts.get(TOO_LONG) else found


def run_once(nodes: Nodes, fault: Fault) -> Named:
    """Send over a path, and return the reasons that are named."""
    tracing = tracepoints.Tracing([tracepoints.TracedDevice(NAMES[1], nodes.spaces[1], MTU)])
    try:
        before = counters(nodes)
        tracing.begin()
        with receiving(nodes, fault.reads):
            send(nodes, fault.source)
        tracing.end()
        return Named(_of_trial(before, counters(nodes)), _of_look(tracing.counted()))
    finally:
        tracing.close()


def runs_of(fault: Fault, runs: int) -> Iterator[Named]:
    """Yield what is named in each of some runs over one path."""
    drop_places.read()  # it counts from the first reading on
    with Nodes(fault.nic, "ol-why") as nodes:
        nodes.rename(NAMES)
        nodes.inside(0, "ping", "-c", "3", "-i", "0.2", "-W", "2", SERVER)
        fault.prepare(nodes)
        for _run in range(runs):
            yield run_once(nodes, fault)


def is_right(fault: Fault, named: Named) -> bool:
    """Return whether exactly the right reasons were named."""
    return named == Named(fault.reasons, fault.by_look)


def in_words(named: Named) -> str:
    """Return the reasons that were named."""
    return " ".join(sorted(named.by_trial | named.by_look)) or "none"


def row(fault: Fault, runs: int) -> int:
    """Print the row of a fault; return how many runs were right."""
    named = Counter(runs_of(fault, runs))
    right = sum(count for each, count in named.items() if is_right(fault, each))
    answers = ", ".join(f"{in_words(each)}: {count}" for each, count in named.most_common())
    print(f"| {fault.name} | {fault.nic} | {answers} | right in {right} of {runs} |", flush=True)
    return right


def main(runs: int = 20, clean_runs: int = 200, *names: str) -> None:
    """Print a row for each fault."""
    for fault in [*of_lies(), *of_paths()]:
        if not names or fault.name in names:
            row(fault, runs)
    for path in clean():
        if not names or path.name in names:
            row(path, clean_runs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
