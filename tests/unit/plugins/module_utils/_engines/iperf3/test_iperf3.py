# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine iperf3: its commands, and the JSON that 3.12 (Debian 12) and 3.18 (Debian 13) printed on
a veth of MTU 1500.

``OFFLOAD_LAB_KEEP=FOLDER pytest tests/integration/test_iperf3_versions.py`` writes such texts.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import (
    InputError,
    LabError,
    ParseError,
)
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import (
    engine_named,
    engine_that_started,
)
from ansible_collections.offload.lab.plugins.module_utils._engines.iperf3 import iperf3

SAMPLES = Path(__file__).parent / "samples"
END = {"netns": None, "local": "198.18.0.1", "address": "198.18.0.2", "port": 12865}
VERSIONS = ("3.12", "3.18")


def text(name, version):
    return (SAMPLES / f"{name}-{version}.json").read_text()


def commands(ends=1, **keys):
    """Return the command lines of a cell, as texts."""
    load = workload.checked({"engine": "iperf3", "test": "TCP_STREAM", **keys})
    endpoints = [workload.endpoint(dict(END, netns=f"tenant{number}")) for number in range(ends)]
    return [" ".join(line.argv) for line in workload.lines(load, endpoints)]


@pytest.mark.parametrize(
    "keys, options",
    [
        ({}, "-p 13870 -J -t 10 -B 198.18.0.1 -i 1"),
        ({"duration": 2, "warm_up": 3}, "-p 13870 -J -t 5 -B 198.18.0.1 -i 0.2"),
        ({"interim": 0}, "-p 13870 -J -t 10 -B 198.18.0.1 -i 0"),
        ({"test": "TCP_MAERTS"}, "-p 13870 -J -t 10 -B 198.18.0.1 -i 1 -R"),
        ({"bidirectional": True}, "-p 13870 -J -t 10 -B 198.18.0.1 -i 1 --bidir"),
        (
            {"test": "UDP_STREAM", "message_size": 1400, "rate_mbps": 200},
            "-p 13870 -J -t 10 -B 198.18.0.1 -i 1 -u -b 200M -l 1400",
        ),
        ({"test": "UDP_STREAM"}, "-p 13870 -J -t 10 -B 198.18.0.1 -i 1 -u -b 0M"),
        (
            {"send_socket": "64K", "congestion_control": "cubic", "client_cpus": [1]},
            "-p 13870 -J -t 10 -B 198.18.0.1 -i 1 -w 65536 -C cubic -A 1",
        ),
        ({"server_cpus": [3]}, "-p 13870 -J -t 10 -B 198.18.0.1 -i 1 -A ,3"),
        (
            {"zero_copy": True, "skip_rx_copy": True, "mptcp": True},
            "-p 13870 -J -t 10 -B 198.18.0.1 -i 1 --zerocopy --skip-rx-copy --mptcp",
        ),
        ({"mptcp": False, "udp_gro": False}, "-p 13870 -J -t 10 -B 198.18.0.1 -i 1"),
        (
            {"test": "UDP_STREAM", "udp_segment": True, "udp_gro": True},
            "-p 13870 -J -t 10 -B 198.18.0.1 -i 1 -u -b 0M --gsro",
        ),
    ],
)
def test_a_workload_becomes_options(keys, options):
    assert commands(**keys) == [f"iperf3 -c 198.18.0.2 {options}"]


def test_each_stream_of_an_address_has_a_server_of_its_own():
    """A server serves one client at a time."""
    lines = commands(ends=2, streams=4, tenants=2)
    assert [line.split("-p ")[1][:5] for line in lines] == ["13870", "13870", "13871", "13871"]
    load = {"engine": "iperf3", "test": "TCP_STREAM", "streams": 5, "tenants": 2}
    assert workload.servers_each([load, {"test": "TCP_RR"}]) == {"iperf3": 3, "netperf": 1}


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"test": "TCP_RR"}, "iperf3 has no test TCP_RR.*Use netperf"),
        ({"confidence": {"iterations_max": 3}}, "no confidence intervals"),
        ({"interim": 0.05}, "no interim results within 0.1 s"),
        ({"message_size": 1, "receive_size": 2}, "one size for message_size and receive_size"),
        ({"congestion_control": "-Z"}, "not the name of an algorithm"),
        ({"rate_mbps": 0}, "rate_mbps"),
        ({"udp_gro": True}, "iperf3 has udp_gro for UDP_STREAM only"),
        ({"test": "TCP_MAERTS", "zero_copy": True}, "has zero_copy for TCP_STREAM only"),
        ({"bidirectional": True, "zero_copy": True}, "zero_copy for one direction only"),
        (
            {"test": "UDP_STREAM", "udp_gro": True, "udp_segment": False},
            "one option for udp_segment and udp_gro",
        ),
        (
            {"test": "UDP_STREAM", "udp_gro": True, "skip_rx_copy": True},
            "ignores skip_rx_copy with udp_gro",
        ),
        ({"engine": "iperf2"}, "'iperf2': unknown engine.*netperf, iperf3, payload"),
    ],
)
def test_what_it_cannot_make_is_refused(keys, message):
    with pytest.raises(InputError, match=message):
        commands(**keys)


def test_netperf_has_no_rate():
    with pytest.raises(InputError, match="netperf has no rate_mbps"):
        workload.checked({"test": "UDP_STREAM", "rate_mbps": 10})


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stream_is_read(version):
    document = json.loads(text("tcp", version))
    [row] = iperf3.rows(text("tcp", version), finished=1000.0)
    received = document["end"]["sum_received"]["bits_per_second"]
    assert row["test"] == "TCP_STREAM" and row["length"] == 1
    assert row["throughput_mbps"] == pytest.approx(received / 1e6)
    assert row["mss"] == 1448
    assert row["retransmits"] == document["end"]["sum_sent"]["retransmits"]
    assert row["rtt_us"]["min"] <= row["rtt_us"]["mean"] <= row["rtt_us"]["max"]
    assert [round(end - start, 1) for start, end, _rate in row["parts"]] == [0.5, 0.5]
    assert row["parts"][-1][1] == pytest.approx(1000.0)
    # The parts are what was sent; what they leave out is none.
    mean = sum((end - start) * rate for start, end, rate in row["parts"]) / row["elapsed_s"]
    assert mean == pytest.approx(row["throughput_sent_mbps"], rel=0.01)


@pytest.mark.parametrize("version", VERSIONS)
def test_directions_are_told_apart(version):
    assert [row["test"] for row in iperf3.rows(text("reverse", version))] == ["TCP_MAERTS"]
    both = iperf3.rows(text("bidirectional", version))
    end = json.loads(text("bidirectional", version))["end"]
    assert [row["test"] for row in both] == ["TCP_STREAM", "TCP_MAERTS"]
    assert [row["throughput_mbps"] for row in both] == [
        pytest.approx(end["sum_received"]["bits_per_second"] / 1e6),
        pytest.approx(end["sum_received_bidir_reverse"]["bits_per_second"] / 1e6),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_datagrams_that_were_lost_are_not_counted(version):
    [row] = iperf3.rows(text("udp", version))
    assert row["test"] == "UDP_STREAM" and row["message_size"] == 1400
    assert row["throughput_sent_mbps"] == pytest.approx(100, rel=0.01)
    assert row["throughput_mbps"] <= row["throughput_sent_mbps"]
    document = json.loads(text("udp", version))
    lost = document["end"]["sum"]["lost_percent"]
    for name in ("sum_sent", "sum_received"):  # as before 3.7
        del document["end"][name]
    [old] = iperf3.rows(json.dumps(document))
    assert old["throughput_mbps"] == pytest.approx(old["throughput_sent_mbps"] * (1 - lost / 100))


@pytest.mark.parametrize("version", VERSIONS)
def test_of_a_flood_what_arrived_is_the_throughput(version):
    [row] = iperf3.rows(text("flooded", version))
    sums = json.loads(text("flooded", version))["end"]
    assert row["throughput_mbps"] == pytest.approx(sums["sum_received"]["bits_per_second"] / 1e6)
    assert row["throughput_sent_mbps"] == pytest.approx(sums["sum_sent"]["bits_per_second"] / 1e6)
    assert row["throughput_mbps"] < row["throughput_sent_mbps"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rate_a_window_and_an_algorithm(version):
    [row] = iperf3.rows(text("paced", version))
    assert row["throughput_mbps"] == pytest.approx(200, rel=0.02)
    assert row["send_socket_size"] == 2 * 256 * 1024  # Linux doubles what is asked for


@pytest.mark.parametrize("version", VERSIONS)
def test_seconds_that_iperf3_omits_are_left_out(version):
    [row] = iperf3.rows(text("parallel", version))
    shown = json.loads(text("parallel", version))["intervals"]
    assert len(shown) > len(row["parts"]) >= 1
    assert all(0 <= start < end <= 1.01 for start, end, _rate in row["parts"])


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_is_what_iperf3_says(version):
    refused = text("refused", version)
    with pytest.raises(LabError, match="iperf3 says: unable to connect to server"):
        iperf3.rows(refused)
    engine = engine_named("iperf3")
    assert engine.complaint(refused, "").startswith("iperf3 says: unable to connect")
    assert engine.complaint("", "iperf3: no such option\n") == "iperf3: no such option"
    with pytest.raises(LabError, match="the server is busy running a test"):
        iperf3.rows(text("busy", version))
    assert engine_that_started(["iperf3", "-c", "198.18.0.2"]) is engine


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", "null", "{}", '{"start": {}}', "[" * 100000, '{"start": 1}']
)
def test_another_text_is_refused(broken):
    with pytest.raises(ParseError):
        iperf3.rows(broken)


@given(st.data())
def test_a_damaged_text_gives_rows_or_our_error(data):
    name = data.draw(st.sampled_from(["tcp", "bidirectional", "udp"]))
    whole_text = text(name, data.draw(st.sampled_from(VERSIONS)))
    start = data.draw(st.integers(0, len(whole_text)))
    end = data.draw(st.integers(start, min(len(whole_text), start + 40)))
    damaged = whole_text[:start] + data.draw(st.text(max_size=8)) + whole_text[end:]
    try:
        rows = iperf3.rows(damaged, finished=1.0)
    except LabError:
        return
    assert all(row["throughput_mbps"] >= 0 for row in rows)
