# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""iperf3 of Debian 12 and of Debian 13, each from its package in containers: the commands of the
engine, and what it reads in the output, compared with the kernel's count of bytes.
"""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._engines.door import (
    DIE_WITH_PARENT,
    iperf3_argv,
)
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import engine_named
from ansible_collections.offload.lab.tests.support import CHECKOUT, run

pytestmark = pytest.mark.nightly  # makes an image for each version
CLIENT = "systest-iperf3-c"
SERVER = "systest-iperf3-s"
ENDPOINT = {"local": "198.18.93.1", "address": "198.18.93.2", "port": 12865}
STREAMS = 2
FIRST_PORT = ENDPOINT["port"] + engine_named("iperf3").port_offset
# A server container for each port; a workload needs a port for each stream.
PORTS = tuple(range(FIRST_PORT, FIRST_PORT + STREAMS))
# bytes: of a frame, and with IPv4 and TCP with timestamps
ETHERNET = 14
HEADERS = 14 + 20 + 32
UDP_HEADERS = ETHERNET + 20 + 8
MSS = 1448
VERSIONS = {"bookworm": "3.12", "trixie": "3.18"}
OURS = {"CONTAINERS_CONF": str(CHECKOUT / "molecule/containers/containers.conf")}


class Containers:
    """iperf3 of one release of Debian between two namespaces that a veth joins."""

    def __init__(self, suite):
        self.image = f"localhost/offload-lab-iperf3:{suite}"
        self.engine = engine_named("iperf3")
        self.started = []

    def up(self):
        """Make the image, the namespaces and the servers."""
        run(["sh", "tests/integration/iperf3_image.sh", self.image])
        for name in (CLIENT, SERVER):
            run(["ip", "netns", "add", name])
        ends = "link add ol-i0 type veth peer name ol-i1 netns"
        run(["ip", "-n", CLIENT, *ends.split(), SERVER])
        places = ((CLIENT, "ol-i0", ENDPOINT["local"]), (SERVER, "ol-i1", ENDPOINT["address"]))
        for name, device, address in places:
            run(["ip", "-n", name, "address", "add", f"{address}/24", "dev", device])
            run(["ip", "-n", name, "link", "set", device, "up"])
        for port in PORTS:
            self.serve(port)

    def down(self):
        """Remove the servers and the namespaces."""
        for name in self.started:
            run(["podman", "rm", "--force", "--time", "0", name], rc=None, **OURS)
        for name in (CLIENT, SERVER):
            run(["ip", "netns", "del", name], rc=None)

    def argv(self, netns, *options):
        """Return what runs the image inside a namespace."""
        return ["podman", "run", *options, "--network", f"ns:/run/netns/{netns}", self.image]

    def serve(self, port):
        """Start a server, and wait until it listens."""
        name = f"offload-lab-iperf3-{port}"
        self.started.append(name)
        command = iperf3_argv(ENDPOINT["address"], port)[len(DIE_WITH_PARENT) :]
        run([*self.argv(SERVER, "--detach", "--name", name), *command], **OURS)
        deadline = time.monotonic() + 20
        while f":{port} " not in run(["ip", "netns", "exec", SERVER, "ss", "-Htln"]):
            assert time.monotonic() < deadline, f"no server at port {port}"
            time.sleep(0.1)

    def say(self, argv):
        """Run a client and return its output, also where iperf3 fails."""
        done = subprocess.run(
            [*self.argv(CLIENT, "--rm"), *argv],
            env={**os.environ, **OURS},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout

    def cell(self, **keys):
        """Run the processes of a cell simultaneously; return the rows of all of them."""
        load = workload.checked(
            {"engine": "iperf3", "test": "TCP_STREAM", "duration": 2, "interim": 0.5, **keys}
        )
        lines = workload.lines(load, [workload.endpoint(ENDPOINT)])
        with ThreadPoolExecutor(len(lines)) as pool:
            texts = list(pool.map(self.say, [line.argv for line in lines]))
        keep(self.image, keys, texts)
        rows = []
        for line, text in zip(lines, texts):
            rows += self.engine.rows(line.argv, text, finished=time.time())
        return rows


def keep(image, cell_keys, texts):
    """Write the outputs where OFFLOAD_LAB_KEEP names a folder: samples for the parser's tests."""
    folder = os.environ.get("OFFLOAD_LAB_KEEP")
    if not folder:
        return
    name_parts = [
        VERSIONS[image.rpartition(":")[2]],
        *(f"{key}={cell_keys[key]}" for key in sorted(cell_keys)),
    ]
    for number, text in enumerate(texts):
        (Path(folder) / f"{'-'.join(map(str, [*name_parts, number]))}.json").write_text(text)


def sent_bytes(end):
    """Return the bytes that a device has sent, with their Ethernet headers."""
    name, device = (CLIENT, "ol-i0") if end == "client" else (SERVER, "ol-i1")
    path = f"/sys/class/net/{device}/statistics/tx_bytes"
    return int(run(["ip", "netns", "exec", name, "cat", path]))


@pytest.fixture(scope="module", params=list(VERSIONS))
def iperf3(request, podman_required):
    containers = Containers(request.param)
    try:
        containers.up()
        yield containers
    finally:
        containers.down()


def payload(rows, test):
    """Return the bytes that the rows of a test say have arrived."""
    chosen = [row for row in rows if row["test"] == test]
    return sum(row["throughput_mbps"] * 1e6 / 8 * row["elapsed_s"] for row in chosen)


def counted(before, end, share):
    """Return the bytes of payload that a device has sent since, ``share`` of what it counts."""
    return (sent_bytes(end) - before) * share


TCP_SHARE = MSS / (MSS + HEADERS)


def test_the_version_is_the_release_s(iperf3):
    version = iperf3.say(["iperf3", "--version"])
    assert version.startswith(f"iperf {VERSIONS[iperf3.image.rpartition(':')[2]]} ")


@pytest.mark.parametrize(
    "options, streams",
    [
        ({}, 1),
        ({"streams": STREAMS}, STREAMS),
        ({"warm_up": 1}, 1),
        ({"rate_mbps": 200, "congestion_control": "reno", "send_socket": "256K"}, 1),
        ({"message_size": "4K", "client_cpus": [0], "server_cpus": [1]}, 1),
    ],
)
def test_what_a_stream_says_is_what_the_kernel_counts(iperf3, options, streams):
    before = sent_bytes("client")
    rows = iperf3.cell(**options)
    counted_share = counted(before, "client", TCP_SHARE)
    assert [row["test"] for row in rows] == ["TCP_STREAM"] * streams
    assert {row["mss"] for row in rows} == {MSS}
    # veth counts a packet of many segments with one header: the payload is up to 4 % more.
    assert 0.93 * counted_share < payload(rows, "TCP_STREAM") < 1.06 * counted_share
    for row in rows:
        ends = [end for _start, end, _rate in row["parts"]]
        covered = ends[-1] - row["parts"][0][0]
        assert len(ends) >= 3 and covered == pytest.approx(2 + options.get("warm_up", 0), abs=0.3)
        assert row["rtt_us"]["min"] <= row["rtt_us"]["mean"] <= row["rtt_us"]["max"]
        assert row["retransmits"] is not None
    if "rate_mbps" in options:
        assert rows[0]["throughput_mbps"] == pytest.approx(200, rel=0.1)


def test_both_directions(iperf3):
    before = {end: sent_bytes(end) for end in ("client", "server")}
    back = iperf3.cell(test="TCP_MAERTS")
    assert [row["test"] for row in back] == ["TCP_MAERTS"]
    counted_share = counted(before["server"], "server", TCP_SHARE)
    assert 0.93 * counted_share < payload(back, "TCP_MAERTS") < 1.06 * counted_share
    before = {end: sent_bytes(end) for end in ("client", "server")}
    both = iperf3.cell(bidirectional=True)
    assert sorted(row["test"] for row in both) == ["TCP_MAERTS", "TCP_STREAM"]
    for end, test in (("client", "TCP_STREAM"), ("server", "TCP_MAERTS")):
        counted_share = counted(before[end], end, TCP_SHARE)
        assert 0.9 * counted_share < payload(both, test) < 1.06 * counted_share


@pytest.mark.parametrize("rate", [100, None])
def test_datagrams(iperf3, rate):
    options = {"rate_mbps": rate} if rate else {}
    before = sent_bytes("client")
    [row] = iperf3.cell(test="UDP_STREAM", message_size=1400, **options)
    counted_share = counted(before, "client", 1400 / (1400 + UDP_HEADERS))
    sent = row["throughput_sent_mbps"] * 1e6 / 8 * row["elapsed_s"]
    assert sent == pytest.approx(counted_share, rel=0.05)
    assert 0 < row["throughput_mbps"] <= row["throughput_sent_mbps"] * 1.001
    assert row["message_size"] == 1400
    if rate:
        assert row["throughput_sent_mbps"] == pytest.approx(rate, rel=0.05)


def test_what_iperf3_refuses_is_said_in_its_words(iperf3):
    end = workload.endpoint(ENDPOINT)
    load = workload.checked({"engine": "iperf3", "test": "TCP_STREAM", "duration": 1})

    def complaint(port, **more):
        argv = iperf3.engine.argv(load, "TCP_STREAM", {**end, "port": port}, 0)
        text = iperf3.say([*argv, *more.get("options", ())])
        keep(iperf3.image, {"refused": port, **more}, [text])
        with pytest.raises(LabError):
            iperf3.engine.rows(argv, text)
        return iperf3.engine.complaint(text, "")

    nobody = ENDPOINT["port"] + 100
    assert "unable to connect to server" in complaint(nobody)
    message = complaint(ENDPOINT["port"], options=["-C", "nonsense"])
    assert "TCP_CONGESTION" in message or "congestion" in message


def test_a_server_has_one_client_at_a_time(iperf3):
    """So a second stream has a server of its own; who asks a busy one gets its answer in words."""
    argv = iperf3.engine.argv(
        workload.checked({"engine": "iperf3", "test": "TCP_STREAM", "duration": 3}),
        "TCP_STREAM",
        workload.endpoint(ENDPOINT),
        0,
    )
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(iperf3.say, argv)
        deadline = time.monotonic() + 10
        established = ["ip", "netns", "exec", SERVER, "ss", "-Htn", "state", "established"]
        while f":{PORTS[0]} " not in run(established):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        second = iperf3.say(argv)
        keep(iperf3.image, {"busy": 1}, [second])
        with pytest.raises(LabError, match="the server is busy"):
            iperf3.engine.rows(argv, second)
        assert iperf3.engine.rows(argv, first.result())[0]["throughput_mbps"] > 0
