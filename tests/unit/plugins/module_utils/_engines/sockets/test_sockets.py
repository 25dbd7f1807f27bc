# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine sockets: its commands, its output, and both of its ends on the loopback device."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, ParseError
from ansible_collections.offload.lab.plugins.module_utils._engines import engine, wire, workload
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import (
    engine_named,
    engine_that_started,
)
from ansible_collections.offload.lab.plugins.module_utils._engines.sockets import sockets, traffic
from ansible_collections.offload.lab.plugins.module_utils._host.waiting import wait_until
from ansible_collections.offload.lab.plugins.module_utils._load import run as load_run

END = {"netns": None, "local": "198.18.0.1", "address": "198.18.0.2", "port": 12865}
SCRIPT = ["python3", "-IS", "/proc/self/fd/198", "measure"]
TOKEN = "0123456789abcdef" * 2
STREAM = {
    "test": "UDP_STREAM",
    "length": 2,
    "elapsed": 2.0,
    "message_size": 1400,
    "client": {"user": 0.2, "system": 1.7, "wall": 2.0, "bytes": 500_000_000, "calls": 8000},
    "server": {"user": 0.1, "system": 0.9, "wall": 2.0, "bytes": 250_000_000, "calls": 4000},
    "parts": [[10.0, 11.0, 250_000_000], [11.0, 12.0, 250_000_000]],
}
LATENCY = {
    "min": 18.0,
    "mean": 30.0,
    "p50": 27.0,
    "p90": 39.0,
    "p99": 112.0,
    "p999": 2710.0,
    "max": 5358.0,
    "stddev": 9.0,
    "classes": {"950": 80, "1000": 20},
}
REQUESTS = {
    "test": "TCP_RR",
    "length": 2,
    "elapsed": 2.0,
    "transactions": 100,
    "lost": 0,
    "latency": LATENCY,
    "client": {"user": 0.2, "system": 0.3, "wall": 2.0},
    "server": {"user": 0.2, "system": 0.3, "wall": 0.0},
    "parts": [[10.0, 12.0, 100]],
}


def asked(count=1, **keys):
    """Return what the processes of a cell are asked for."""
    load = workload.checked({"engine": "sockets", "test": "TCP_STREAM", **keys})
    processes = []
    for line in workload.lines(load, [workload.endpoint(END)] * count):
        assert line.argv[:4] == SCRIPT
        processes.append(json.loads(line.argv[4]))
    return processes


def test_a_workload_becomes_what_a_process_is_asked_for():
    [stream] = asked(message_size="16K", duration=3, client_cpus=[1], congestion_control="cubic")
    assert stream == {
        "test": "TCP_STREAM",
        "address": "198.18.0.2",
        "local": "198.18.0.1",
        "port": 12869,
        "seconds": 3,
        "interim": 0.3,
        "message_size": 16384,
        "client_cpu": 1,
        "congestion_control": "cubic",
    }
    [datagrams] = asked(test="UDP_STREAM", udp_gro="false", rate_mbps=5)
    assert datagrams["udp_gro"] is False and datagrams["rate_mbps"] == 5
    assert [process["test"] for process in asked(bidirectional=True)] == [
        "TCP_STREAM",
        "TCP_MAERTS",
    ]


def test_requests_beside_streams_are_one_process():
    [process] = asked(
        engine=None, test="TCP_LOADED_RR", duration=6, streams=2, client_cpus=[0, 1, 2]
    )
    assert (process["test"], process["before"], process["request_size"], process["client_cpu"]) == (
        "TCP_LOADED_RR",
        3,
        1,
        0,
    )
    streams = [(task["test"], task["seconds"], task["client_cpu"]) for task in process["streams"]]
    assert streams == [("TCP_STREAM", 6, 1), ("TCP_STREAM", 6, 2)]
    load = workload.checked({"test": "TCP_LOADED_RR", "duration": 6})
    assert (load["engine"], load["warm_up"]) == ("sockets", 0)
    assert workload.seconds(load)[0] > 9


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"confidence": {"iterations_max": 3}}, "no confidence intervals"),
        ({"test": "UDP_STREAM", "message_size": 0}, "message_size"),
        (
            {"test": "TCP_LOADED_RR", "message_size": 5},
            "request_size and response_size for requests",
        ),
        ({"test": "TCP_LOADED_RR", "tenants": 2}, "of one tenant"),
        ({"test": "TCP_LOADED_RR", "warm_up": 1}, "a warm-up cannot be combined"),
        ({"test": "TCP_RR", "zero_copy": True}, "zero_copy for TCP_STREAM, TCP_MAERTS, UDP_STREAM"),
        ({"skip_rx_copy": True}, "sockets has no skip_rx_copy for TCP_STREAM.*Use engine iperf3"),
        ({"engine": "netperf", "udp_segment": True}, "netperf has no udp_segment.*Use.*sockets"),
        ({"engine": "payload", "test": "PAYLOAD", "udp_gro": True}, "payload has no udp_gro"),
    ],
)
def test_what_cannot_be_is_refused(keys, message):
    with pytest.raises(InputError, match=message):
        asked(**keys)


def test_a_stream_is_read():
    [row] = sockets.rows(json.dumps(STREAM))
    assert (row["throughput_sent_mbps"], row["throughput_mbps"]) == (2000.0, 1000.0)
    assert row["parts"] == [(10.0, 11.0, 2000.0), (11.0, 12.0, 2000.0)]
    assert row["engine_cpu"]["client"] == {"own": 0.1, "kernel": 0.85}
    assert row["receive_calls_per_s"] == 2000.0
    [reverse] = sockets.rows(json.dumps({**STREAM, "test": "TCP_MAERTS"}))
    assert (reverse["throughput_sent_mbps"], reverse["throughput_mbps"]) == (1000.0, 2000.0)
    assert reverse["receive_calls_per_s"] == 4000.0


def test_requests_are_read():
    [row] = sockets.rows(json.dumps({**REQUESTS, "unloaded": {**LATENCY, "p99": 50.0}}))
    assert (row["transactions_per_s"], row["throughput_mbps"]) == (50.0, None)
    assert row["latency_us"]["p999"] == 2710.0 and row["unloaded_us"]["p99"] == 50.0
    assert row["latency_classes"] == {950: 80, 1000: 20}
    assert row["engine_cpu"]["server"] is None
    streams = {**REQUESTS, "streams": [STREAM, STREAM]}
    later = {**STREAM, "parts": [[9.0, 11.0, 250_000_000], [11.0, 13.0, 250_000_000]]}
    stream = sockets.rows(json.dumps({**REQUESTS, "streams": [later]}))[1]
    assert stream["parts"] == [(10.0, 11.0, 1000.0), (11.0, 12.0, 1000.0)]
    assert [row["test"] for row in sockets.rows(json.dumps(streams))] == [
        "TCP_RR",
        *["UDP_STREAM"] * 2,
    ]
    spooled = {**REQUESTS, "beside": [STREAM, STREAM]}  # by an earlier version
    assert sockets.rows(json.dumps(spooled)) == sockets.rows(json.dumps(streams))
    assert engine_that_started(SCRIPT).rows(SCRIPT, json.dumps(REQUESTS))[0]["test"] == "TCP_RR"


@pytest.mark.parametrize("document", [STREAM, REQUESTS])
@pytest.mark.parametrize(
    "value", [None, -1, "1", True, [], {}, float("nan"), float("inf"), 1e300, [[1]], {"x": 1}]
)
def test_hostile_values_are_refused_or_read(document, value):
    texts = [json.dumps({**document, key: value}) for key in (*document, "streams")]
    for key in document:
        texts.append(json.dumps({name: value for name, value in document.items() if name != key}))
    for text in texts:
        try:
            [row] = sockets.rows(text)
        except ParseError:
            continue
        assert row["elapsed_s"] > 0


@given(st.integers(0, 400), st.text(max_size=4))
def test_torn_texts_are_refused_or_read(cut, more):
    text = json.dumps(REQUESTS)
    with contextlib.suppress(ParseError):
        [row] = sockets.rows(text[:cut] + more + text[cut + 1 :])
        assert row["transactions_per_s"] >= 0


def test_latencies_are_counted_exactly_enough():
    latencies = traffic.Latencies()
    for took in range(1000, 101_000, 100):  # ns
        latencies.counts[took >> traffic.STEP] += 1
    latencies.longer.append(100_000_000)
    summary = latencies.shown()
    assert summary["p50"] == pytest.approx(51, rel=0.01)
    assert summary["p99"] == pytest.approx(100, rel=0.01)
    assert summary["max"] == 100_000 and sum(summary["classes"].values()) == 1001
    assert traffic.Latencies().shown() is None
    assert traffic.OCTAVE == engine.CLASSES  # by which the classes of several streams are joined


@pytest.fixture(scope="module")
def server():
    """Run a server on the loopback device; give the endpoint."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ours = engine_named("sockets")
    argv = [sys.executable, "-c", ours.text(), *ours.serve("127.0.0.1", port)[3:]]
    with subprocess.Popen(argv, start_new_session=True, stdin=subprocess.PIPE) as process:
        process.stdin.write(json.dumps({"token": TOKEN, "peers": ["127.0.0.1"]}).encode())
        process.stdin.close()

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        assert wait_until(listens, alive=lambda: process.poll() is None)
        yield workload.endpoint({"address": "127.0.0.1", "port": port - ours.port_offset})
        process.kill()


def measured(end, **keys):
    """Return the rows of a cell of one second."""
    load = workload.checked({"engine": "sockets", "duration": 1, **keys})
    cell = load_run.run_cell(load, [end], token=TOKEN)
    assert cell["error"] is None
    rows = []
    for stream in cell["streams"]:
        rows += engine_that_started(stream["argv"]).rows(stream["argv"], stream["raw"])
    return rows


@pytest.mark.parametrize("test", ["TCP_STREAM", "TCP_MAERTS"])
def test_all_that_a_tcp_stream_sends_arrives(server, test):
    [row] = measured(server, test=test, message_size=5000)
    assert row["throughput_mbps"] > 10
    assert row["throughput_mbps"] == pytest.approx(row["throughput_sent_mbps"], rel=1e-3)
    assert sum((end - start) * rate for start, end, rate in row["parts"]) == pytest.approx(
        row["throughput_mbps"] * row["elapsed_s"], rel=0.01
    )


@pytest.mark.parametrize("cut", [True, False])
def test_datagrams_have_the_size_and_the_rate_asked_for(server, cut):
    [row] = measured(
        server, test="UDP_STREAM", message_size=200, rate_mbps=1, udp_segment=cut, udp_gro=cut
    )
    assert row["message_size"] == 200
    assert 0.3 < row["throughput_sent_mbps"] < 1.2  # a busy machine sends less
    assert row["throughput_mbps"] == pytest.approx(row["throughput_sent_mbps"], rel=0.05)


@pytest.mark.parametrize("test", ["TCP_STREAM", "TCP_MAERTS", "UDP_STREAM"])
def test_each_send_without_copying_completes(server, test):
    """The loopback device takes no pages of a sender, so the kernel copies, and says so."""
    [row] = measured(server, test=test, zero_copy=True)
    counts = row["zero_copy"]
    assert counts["calls"] == counts["completed"] == counts["copied"] > 100
    assert row["throughput_mbps"] > 10
    assert "zero_copy" not in measured(server, test=test)[0]


@pytest.mark.parametrize("test", ["TCP_RR", "UDP_RR", "TCP_CRR"])
def test_each_request_has_its_latency(server, test):
    [row] = measured(server, test=test, request_size=64, response_size=5000)
    latency = row["latency_us"]
    assert latency["min"] <= latency["p50"] <= latency["p99"] <= latency["p999"] <= latency["max"]
    assert sum(row["latency_classes"].values()) == round(
        row["transactions_per_s"] * row["elapsed_s"]
    )
    # One after the other: their times make up the second.
    assert latency["mean"] * row["transactions_per_s"] == pytest.approx(1e6, rel=0.1)


def test_requests_are_measured_without_and_beside_a_stream(server):
    requests, stream = measured(server, test="TCP_LOADED_RR")
    assert requests["unloaded_us"]["p50"] > 0 and requests["latency_us"]["p50"] > 0
    assert stream["throughput_mbps"] > 10
    ends = [(row["parts"][0][0], row["parts"][-1][1]) for row in (requests, stream)]
    # The stream had begun before, and went on; on a busy machine not quite.
    begun, ended = zip(*ends)
    assert min(ended) - max(begun) > 0.5 * (max(ended) - min(begun))


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"token": "f" * 32}, "the other end has closed the connection"),
        ({"token": ""}, "the variable OFFLOAD_LAB_TOKEN is missing"),
    ],
)
def test_a_client_without_the_token_is_not_served(server, keys, message):
    load = workload.checked({"engine": "sockets", "test": "TCP_RR", "duration": 1})
    assert message in load_run.run_cell(load, [server], **keys)["error"]


def test_a_server_says_what_it_cannot_do(server):
    request = {"test": "TCP_RR", "seconds": 1, "request_size": 1, "response_size": 1 << 40}
    with socket.create_connection(("127.0.0.1", server["port"] + 4)) as connection:
        connection.sendall(f"{TOKEN}\n{json.dumps(request)}\n".encode())
        reply = json.loads(connection.makefile().readline())
    assert reply == {"error": "response_size is not a number from 1 to 16777216"}


def test_a_server_that_is_not_there_is_said():
    load = workload.checked({"engine": "sockets", "test": "TCP_RR", "duration": 1})
    end = workload.endpoint({"address": "127.0.0.1", "port": 1})
    assert (
        "127.0.0.1 port 5: Connection refused"
        in load_run.run_cell(load, [end], token=TOKEN)["error"]
    )


def datagrams_taken_in(sends, joined):
    """Return what a receiver counts of (bytes, bytes of each datagram) that are sent to it."""
    receiver = traffic.udp_socket("127.0.0.1", 0, {})
    if joined:
        receiver.setsockopt(wire.SOL_UDP, wire.UDP_GRO, 1)
    with receiver, traffic.udp_socket("127.0.0.1", 0, {}) as sender:
        sender.connect(receiver.getsockname())
        for size, each in sends:
            sender.setsockopt(wire.SOL_UDP, wire.UDP_SEGMENT, each)
            sender.send(bytes(size))
        return traffic.receive_datagrams(receiver, lambda: True)


@pytest.mark.parametrize("joined, calls", [(True, 1), (False, 4)])
def test_datagrams_that_are_taken_in_together_keep_their_size(joined, calls):
    done = datagrams_taken_in([(400, 100)], joined)
    assert (done.amount, done.calls, done.datagram) == (400, calls, 100)


@pytest.mark.parametrize("joined", [True, False])
def test_datagrams_that_arrive_as_a_larger_one_are_found(joined):
    """As through a switch that does not cut what one call sends."""
    done = datagrams_taken_in([(100, 100), (6400, 6400)], joined)
    assert done.datagram == 6400
    assert traffic.merged(6400, done.datagram) is None
    merge_error = traffic.merged(100, done.datagram)
    assert merge_error.startswith("datagrams of 100 bytes arrived as one of 6400")


def test_a_record_of_an_older_version_is_known_again():
    argv = ["python3", "/proc/self/fd/198", "measure", "{}"]
    assert engine_that_started(argv).name == "sockets"
    assert engine_that_started([*SCRIPT, "{}"]).name == "sockets"
    check = ["python3", "/proc/self/fd/199", "check", "198.18.0.2", "12868", "2", "0"]
    assert engine_that_started(check).name == "payload"
    assert engine_that_started([check[0], "-IS", *check[1:]]).name == "payload"
