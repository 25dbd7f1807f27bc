# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's tracepoints name why packets are dropped, and count what a device is left to do: real
drops, and real streams, between two network namespaces.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host.netns import inside
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import in_thread
from ansible_collections.offload.lab.plugins.module_utils._observe import (
    crossing,
    drop_places,
    errors_seen,
    tracefs,
    tracepoints,
)
from ansible_collections.offload.lab.plugins.module_utils._observe.tracepoints import TracedDevice
from ansible_collections.offload.lab.plugins.plugin_utils._trials import damage
from ansible_collections.offload.lab.plugins.plugin_utils._trials.drop_reasons import dropped_of
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import (
    DEVICES,
    VETH,
    Nodes,
)

pytestmark = pytest.mark.usefixtures("root_required")
SENT = 20
PORT = 5353
SERVER = "192.0.2.2"
NOBODY = 65534
NAMES = ("trace0", "trace1")  # a tracepoint knows no namespace: other tests have devices lie0, too
TRIES = 3  # a drop is the whole machine's, and others may work on it
STREAM = 6_000_000  # bytes


@contextlib.contextmanager
def counted(devices=()):
    """Give a dictionary that has what was counted, once the block has ended."""
    tracing = tracepoints.Tracing(devices)
    counts = {}
    try:
        tracing.begin()
        yield counts
        tracing.end()
        counts.update(tracing.counted())
    finally:
        tracing.close()


def watched(nodes, mtu=1500):
    return [TracedDevice(name, space, mtu) for name, space in zip(NAMES, nodes.spaces)]


@pytest.fixture
def nodes():
    with Nodes(VETH, "ol-trace") as pair:
        pair.rename(NAMES)
        pair.inside(0, "ping", "-c", "1", "-W", "2", SERVER)
        yield pair


def send(nodes, size=100, source="192.0.2.1"):
    """Send datagrams from the first node."""
    with inside(nodes.spaces[0]), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind((source, 0))
        for _number in range(SENT):
            sender.sendto(b"x" * size, (SERVER, PORT))


def receiver(nodes, family=socket.SOCK_DGRAM):
    with inside(nodes.spaces[1]):
        sock = socket.socket(socket.AF_INET, family)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((SERVER, PORT))
        return sock


def dropped(nodes, reason, after=None, **options):
    """Return how many of the datagrams were dropped for a reason, and where; the fewest of some tries,
    and all the places.
    """
    counts_of_tries, places = [], set()
    for _try in range(TRIES):
        with counted() as counts:
            send(nodes, **options)
            if after:
                after()
        drops = [drop for drop in counts["drops"] if drop["reason"] == reason]
        counts_of_tries.append(sum(drop["count"] for drop in drops))
        places.update(drop["place"] for drop in drops)
    return min(counts_of_tries), places


def test_a_rule_of_nftables(nodes):
    rule = "table ip t { chain c { type filter hook input priority 0; udp dport 5353 drop; }; }"
    subprocess.run(
        ["ip", "netns", "exec", nodes.spaces[1], "nft", "-f", "-"],
        input=rule,
        text=True,
        check=True,
    )
    count, places = dropped(nodes, "NETFILTER_DROP")
    assert count == SENT and places <= {"nf_hook_slow", "nft_do_chain"}  # since Linux 6.9


def test_a_full_socket_buffer(nodes):
    with receiver(nodes) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        send(nodes, size=1400)  # fills it
        assert dropped(nodes, "SOCKET_RCVBUFF", size=1400)[0] == SENT


def test_a_path_whose_other_end_has_a_smaller_mtu(nodes):
    nodes.inside(1, "ip", "link", "set", NAMES[1], "mtu", "1300")
    count, places = dropped(nodes, "NOT_SPECIFIED", size=1400)
    assert count >= SENT and places & {"__dev_forward_skb2", "__dev_forward_skb", "veth_xmit"}


def test_the_reverse_path_filter(nodes):
    for name in ("all", NAMES[1]):
        nodes.inside(1, "sysctl", "-qw", f"net.ipv4.conf.{name}.rp_filter=1")
    nodes.inside(0, "ip", "addr", "add", "198.51.100.1/32", "dev", "lo")
    assert dropped(nodes, "IP_RPFILTER", source="198.51.100.1")[0] == SENT


def test_a_card_that_leaves_checksums_unfilled():
    with Nodes("checksum_unfilled:1:tx", "ol-trace") as nodes, receiver(nodes) as sock:
        sock.settimeout(1)

        def receive_nothing():
            with pytest.raises(socket.timeout):
                sock.recv(100)

        nodes.inside(0, "ping", "-c", "1", "-W", "2", SERVER)
        server = [{"name": DEVICES[1], "netns": nodes.spaces[1]}]
        before = errors_seen.read(server)["UdpInCsumErrors"]
        assert dropped(nodes, "UDP_CSUM", after=receive_nothing)[0] == SENT
        # The counter of the namespace has the same: others' drops are known by it.
        assert errors_seen.read(server)["UdpInCsumErrors"] - before == SENT * TRIES


def test_what_a_trial_records_of_drops(nodes):
    drop_places.read()  # it begins with the first reading
    nodes.inside(1, "sysctl", "-qw", f"net.ipv4.conf.{NAMES[1]}.rp_filter=1")
    nodes.inside(0, "ip", "addr", "add", "198.51.100.1/32", "dev", "lo")
    send(nodes, source="198.51.100.1")
    counters = drop_places.read()
    names = [name for name in counters if name.startswith("drop_reason IP_RPFILTER ip_")]
    assert sum(counters[name] for name in names) >= SENT
    send(nodes, source="198.51.100.1")
    assert sum(drop_places.read()[name] for name in names) >= 2 * SENT


def test_a_name_that_two_namespaces_have(nodes):
    nodes.inside(1, "ip", "link", "add", NAMES[0], "type", "veth", "peer", "more")
    assert tracepoints.namesakes(NAMES) == {NAMES[0]: 2, NAMES[1]: 1}


def test_a_process_that_may_not_count_reports_it_in_one_sentence(nodes):
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            tracepoints.Tracing()
        except LabError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as stream:
        answer = stream.read()
    os.waitpid(process, 0)
    assert answer.startswith("the kernel's tracepoints cannot be counted: ") and "\n" not in answer


def links(pattern):
    """Return what the links of processes and threads name, such as their open files."""
    names = set()
    for path in pathlib.Path("/proc").glob(pattern):
        with contextlib.suppress(OSError):
            names.add(os.readlink(path))
    return names


@contextlib.contextmanager
def killed_process(work):
    """Run ``work`` in a process; give its number when it says so, and kill it at the end of the block."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            work(lambda: os.write(writing, b"ready"))
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb", buffering=0) as stream:
        assert stream.read(5) == b"ready"
    yield process
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def test_a_forked_process_reads_a_ring_of_its_own():
    drop_places.read()
    for _fork in range(5):
        process = os.fork()
        if not process:
            drop_places.read()
            drop_places.read()
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0


def test_a_counting_process_that_is_killed_leaves_no_event(nodes):
    def count(report):
        drop_places.read()
        counting = crossing.Crossing([{"name": NAMES[0], "netns": nodes.spaces[0]}])
        counting.begin()
        report()

    with killed_process(count) as process:
        assert "anon_inode:[perf_event]" in links(f"{process}/fd/*")
        # Events end with the last process that has them open.
        children = pathlib.Path("/proc").glob(f"{process}/task/*/children")
        assert [path.read_text() for path in children] == ["", ""]  # of both threads
    assert not pathlib.Path("/proc", str(process)).exists()


def test_a_process_that_is_killed_while_it_has_tracefs_mounted_leaves_no_mount(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tracefs, "PLACE", str(tmp_path))

    def read_formats(report):
        def wait(_names):
            report()
            time.sleep(60)

        monkeypatch.setattr(tracefs, "_read", wait)
        tracefs.formats([tracepoints.START_XMIT])

    with killed_process(read_formats) as process:
        mounts = [
            path.read_text() for path in pathlib.Path("/proc").glob(f"{process}/task/*/mounts")
        ]
        assert any(f"tracefs {tmp_path} tracefs" in text for text in mounts)
        assert str(tmp_path) not in pathlib.Path("/proc/self/mounts").read_text()
        made = links(f"{process}/task/*/ns/mnt") - links("self/ns/mnt")
        assert len(made) == 1
    assert not made & links("[0-9]*/task/*/ns/mnt")


def stream(nodes):
    """Send a stream of TCP from the first node."""
    with receiver(nodes, socket.SOCK_STREAM) as listener:
        listener.listen(1)
        with inside(nodes.spaces[0]):
            sender = socket.create_connection((SERVER, PORT))
        connection = listener.accept()[0]
    with sender, connection:
        thread = in_thread(sender.sendall, b"x" * STREAM)
        waiting = STREAM
        while waiting:
            waiting -= len(connection.recv(1 << 20))
        thread.join()


def test_what_the_device_cuts_and_checksums_and_what_gro_merges(nodes):
    client, server = (f"{space}/{name}" for space, name in zip(nodes.spaces, NAMES))
    devices = watched(nodes)
    with counted(devices) as counts:
        stream(nodes)
    sent = counts["devices"][client]
    assert sent["cut"] == sent["cut_tcp"] > 50 and sent["cut_tunnel"] == 0
    assert counts["segments"][client] * sent["cut"] > 10 * sent["sent_full"]
    assert sent["sent"] - 5 <= sent["checksum_left"] <= sent["sent"]
    assert counts["devices"][server]["received"] == sent["sent"]

    nodes.inside(0, "ethtool", "-K", NAMES[0], "tso", "off")
    nodes.inside(1, "ethtool", "-K", NAMES[1], "gro", "on")
    with counted(devices) as counts:
        stream(nodes)
    assert counts["devices"][client]["cut"] == 0
    assert counts["devices"][client]["sent_full"] > STREAM / 1500
    assert counts["devices"][server]["into_gro_full"] > STREAM / 1500
    assert counts["devices"][server]["received"] < counts["devices"][server]["into_gro"] / 4

    nodes.inside(0, "ethtool", "-K", NAMES[0], "tx", "off")
    with counted(devices) as counts:
        stream(nodes)
    assert counts["devices"][client]["checksum_left"] == 0


def test_a_card_that_hands_super_packets_over_uncut():
    with Nodes("uncut:1:tso", "ol-trace") as nodes:
        for number, name in enumerate(DEVICES):
            nodes.inside(number, "ip", "link", "set", name, "mtu", "1500")
        far = TracedDevice(DEVICES[1], nodes.spaces[1], 1500)
        with counted([far]) as counts:
            stream(nodes)
        assert counts["devices"][f"{far.netns}/{far.name}"]["received_too_long"] > 50
        nodes.ethtool("tso", "off")
        with counted([far]) as counts:
            stream(nodes)
        assert counts["devices"][f"{far.netns}/{far.name}"]["received_too_long"] == 0


def counters_of(space, name):
    return {**errors_seen.read([{"name": name, "netns": space}]), **drop_places.read()}


def test_wrong_checksums_of_another_namespace_are_not_blamed(nodes):
    drop_places.read()
    with Nodes("checksum_unfilled:1:tx", "ol-other") as other, receiver(other) as sock:
        sock.settimeout(1)
        other.inside(0, "ping", "-c", "1", "-W", "2", SERVER)
        ends = {"client": (nodes.spaces[1], NAMES[1]), "server": (other.spaces[1], DEVICES[1])}
        before = {end: {"errors": counters_of(*where)} for end, where in ends.items()}
        send(other)
        stream(nodes)
        with pytest.raises(socket.timeout):
            sock.recv(100)
        watched_ends = {
            end: [before[end], {"errors": counters_of(*where)}] for end, where in ends.items()
        }
    damaged = damage.damage_of(watched_ends)
    assert any("UDP_CSUM" in name for name in damaged["client"]["counters"])
    drops = dropped_of({"client": "clean", "server": "lying", "damage": damaged})
    blamed = {key.split()[0]: count for key, count in drops.items() if "CSUM" in key}
    assert blamed == {"lying": SENT}
