# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines.netperf.netperf import stream_row
from ansible_collections.offload.lab.plugins.module_utils._engines.sockets import traffic
from ansible_collections.offload.lab.plugins.plugin_utils._trials import streams


def stream(started, finished):
    return {"started": started, "finished": finished}


def row(mbps=None, elapsed=10.0, interim=(), length=0.0, **more):
    run = dict(
        {
            "test": "TCP_STREAM",
            "throughput_mbps": mbps,
            "throughput_sent_mbps": mbps,
            "elapsed_s": elapsed,
            "transactions_per_s": None,
            "interim": list(interim),
            "selectors": {},
        },
        **more,
    )
    return stream_row(run, run["test"], length)


def parts(start, rates, seconds=1.0, unit="10^6bits/s"):
    return [
        {
            "throughput": rate,
            "unit": unit,
            "seconds": seconds,
            "ending_at": start + seconds * number,
        }
        for number, rate in enumerate(rates, 1)
    ]


@pytest.mark.parametrize(
    "stream_rows, expected",
    [
        (row(1.0, elapsed=8.0), (102.0, 110.0)),  # netperf set up for two seconds
        (row(1.0, elapsed=None), (100.0, 110.0)),
        (row(1.0, elapsed=12.0), (100.0, 110.0)),
        (row(1.0, elapsed=3.0, selectors={"CONFIDENCE_ITERATION": 3}), (100.0, 110.0)),
        (row(1.0, interim=parts(101.0, [1, 2, 3])), (101.0, 104.0)),
        (
            row(1.0, interim=parts(101.0, [0, 0.1, 2, 3])),
            (103.0, 105.0),
        ),  # its connection came two seconds late
        (
            row(1.0, interim=parts(101.0, [1, 0, 0])),
            (101.0, 104.0),
        ),  # it stood still later: that is what it achieved
        (row(0.0, interim=parts(101.0, [0, 0])), (101.0, 103.0)),
    ],
)
def test_when_a_stream_ran(stream_rows, expected):
    assert streams.window(stream(100.0, 110.0), stream_rows) == pytest.approx(expected)


def test_a_stream_that_becomes_slow_runs_to_its_end_all_the_same():
    slow = row(100.0, elapsed=10.5, length=10, interim=parts(0.0, [400, 400]))
    assert streams.interims(slow)[2:] == [(2.0, 10.0, pytest.approx((1050 - 800) / 8))]
    assert streams.window(stream(0, 10), slow) == (0.0, 10.0)
    ended = row(400.0, elapsed=2.05, length=2.05, interim=parts(0.0, [400, 400]))
    assert len(streams.interims(ended)) == 2 and streams.interims(row(1.0, length=10)) == []


@pytest.mark.parametrize(
    "stream_rows, rate",
    [
        ({"test": "TCP_RR", "transactions_per_s": 300.0}, 200.0),
        ({"test": "UDP_STREAM", "throughput_mbps": 0.0, "throughput_sent_mbps": 300.0}, 200.0),
        ({"throughput_mbps": 100.0}, 0.0),  # rounding
    ],
)
def test_the_rest_is_in_the_unit_of_the_parts(stream_rows, rate):
    assert (
        streams.interims(row(elapsed=2.0, length=2, interim=parts(0.0, [400]), **stream_rows))[1][2]
        == rate
    )


@pytest.mark.parametrize(
    "stream_rows, expected",
    [
        (row(1.0, elapsed=8.0), (104.0, 110.0)),
        (row(1.0, interim=parts(101.0, [1, 2, 3])), (103.0, 104.0)),
        (
            row(1.0, interim=parts(101.0, [0, 2, 3])),
            (103.0, 104.0),
        ),  # its connection came late, and still in the warm-up
        (row(1.0, interim=parts(101.0, [0, 0, 0, 3])), (104.0, 105.0)),  # it came later than that
        (row(1.0, interim=parts(101.0, [1])), (103.0, 102.0)),
    ],
)
def test_a_warm_up_is_not_counted(stream_rows, expected):
    assert streams.window(stream(100.0, 110.0), stream_rows, 2) == pytest.approx(expected)


def test_rates_are_those_after_the_warm_up():
    rows = [
        row(250.0, interim=parts(0.0, [0, 100, 300, 300])),
        row(450.0, interim=parts(0.0, [900, 500, 100, 100])),
    ]
    summary = streams.summarise([stream(0, 4)] * 2, rows, 2)
    assert summary["stream_mbps"] == [300, 100] and summary["throughput_mbps"] == 400
    assert (
        summary["overlap"],
        summary["window_start"],
        summary["window_s"],
        summary["warm_up_s"],
    ) == (
        1.0,
        2.0,
        2.0,
        2,
    )
    alone = streams.summarise([stream(0, 4)], rows[:1], 2)
    assert (alone["throughput_mbps"], alone["window_start"], alone["overlap"]) == (300, 2.0, None)


@pytest.mark.parametrize(
    "windows, expected",
    [
        ([(0, 10)], (0, 10, 1.0)),
        ([(0, 10), (1, 10)], (1, 10, 0.9)),
        ([(0, 10), (0, 4)], (0, 4, 0.4)),
        ([(0, 4), (6, 10)], (6, 4, 0.0)),
        ([(5, 5)], (5, 5, 0.0)),
    ],
)
def test_overlap(windows, expected):
    assert streams.common(windows) == pytest.approx(expected)


def test_one_stream_is_what_netperf_says():
    result = streams.summarise(
        [stream(0, 10)],
        [
            row(
                9410.5,
                elapsed=10.0,
                throughput_sent_mbps=9411.0,
                local_cpu_percent=40.0,
                remote_cpu_percent=50.0,
                local_service_demand=1.5,
                remote_service_demand=2.0,
                confidence_met=True,
                confidence_width={"throughput": 2.1},
                message_size=16384,
                send_socket_size=4096,
                recv_socket_size=8192,
                selectors={
                    "TRANSPORT_MSS": 8948,
                    "LOCAL_TRANSPORT_RETRANS": 3,
                    "REMOTE_TRANSPORT_RETRANS": 0,
                    "CONFIDENCE_ITERATION": 5,
                },
            )
        ],
    )
    assert result == {
        "throughput_mbps": 9410.5,
        "throughput_sent_mbps": 9411.0,
        "transactions_per_s": None,
        "overlap": None,
        "window_start": 0,
        "window_s": 10,
        "warm_up_s": 0,
        "window_measured": False,
        "stream_mbps": None,
        "elapsed_s": 10.0,
        "local_cpu_percent": 40.0,
        "remote_cpu_percent": 50.0,
        "local_service_demand": 1.5,
        "remote_service_demand": 2.0,
        "confidence_met": True,
        "confidence_width": {"throughput": 2.1},
        "iterations": 5,
        "mss": 8948,
        "retransmits": 3,
        "latency_us": None,
        "message_size": 16384,
        "send_socket_size": 4096,
        "recv_socket_size": 8192,
    }


def test_a_connection_that_came_late_has_the_rate_of_its_traffic():
    late = streams.summarise(
        [stream(0, 2)], [row(1500.0, elapsed=2.0, interim=parts(0.0, [0.1, 3000.0]))]
    )
    assert (late["throughput_mbps"], late["window_start"], late["window_s"]) == (3000.0, 1.0, 1.0)
    flood = streams.summarise(
        [stream(0, 2)], [row(0.0, test="UDP_STREAM", interim=parts(0.0, [0.1, 3000.0]))]
    )
    assert flood["throughput_mbps"] == 0.0  # nothing of it arrived


def test_netperfs_minus_one_is_not_known():
    result = streams.summarise(
        [stream(0, 1)],
        [
            row(
                1.0,
                selectors={
                    "TRANSPORT_MSS": -1,
                    "LOCAL_TRANSPORT_RETRANS": -1,
                    "REMOTE_TRANSPORT_RETRANS": -1,
                },
            )
        ],
    )
    assert result["mss"] is None and result["retransmits"] is None


def test_means_are_added_without_interim_results():
    result = streams.summarise([stream(0, 10), stream(1, 11)], [row(3000.0), row(2000.0)])
    assert result["throughput_mbps"] == 5000.0
    assert result["overlap"] == pytest.approx(0.9)
    assert result["window_start"] == 1 and result["window_s"] == 9
    assert result["stream_mbps"] == [3000.0, 2000.0]


def test_the_whole_host_is_billed_to_nobody():
    rows = [row(1.0, local_service_demand=4.0, local_cpu_percent=80.0) for _number in range(4)]
    result = streams.summarise([stream(0, 10)] * 4, rows)
    assert result["local_service_demand"] is None
    assert result["local_cpu_percent"] == 80.0


def test_only_the_time_of_all_streams_counts():
    """The first stream runs alone for two seconds, at twice the speed."""
    early = row(1333.0, interim=parts(0.0, [2000, 2000, 1000, 1000, 1000, 1000]))
    late = row(1000.0, interim=parts(2.0, [1000, 1000, 1000, 1000]))
    result = streams.summarise([stream(0, 6), stream(2, 6)], [early, late])
    assert result["throughput_mbps"] == pytest.approx(2000.0)
    assert result["overlap"] == pytest.approx(4 / 6)


def test_a_part_of_an_interval_counts_by_its_length():
    early = row(0.0, interim=parts(0.0, [1000, 3000]))
    late = row(0.0, interim=parts(0.5, [500, 500, 500]))
    result = streams.summarise([stream(0, 2), stream(0.5, 3.5)], [early, late])
    assert result["stream_mbps"] == pytest.approx([(0.5 * 1000 + 3000) / 1.5, 500.0])


def test_streams_that_never_ran_together_have_their_means_and_no_overlap():
    result = streams.summarise([stream(0, 10), stream(20, 30)], [row(3.0), row(4.0)])
    assert result["overlap"] == 0.0 and result["window_s"] == 0.0
    assert result["throughput_mbps"] == 7.0


def test_interim_results_of_udp_count_what_was_sent():
    rows = [row(800.0, test="UDP_STREAM", interim=parts(0.0, [1000, 1000])) for _number in range(2)]
    assert streams.summarise([stream(0, 2)] * 2, rows)["throughput_mbps"] == 1600.0


def test_both_ways():
    rows = [row(3000.0), row(2000.0, test="TCP_MAERTS")]
    result = streams.summarise([stream(0, 10)] * 2, rows)
    assert (result["throughput_mbps"], result["forward_mbps"], result["reverse_mbps"]) == (
        5000.0,
        3000.0,
        2000.0,
    )


def transactions(rate, interim=(), **latencies):
    selectors = {f"{name.upper()}_LATENCY": value for name, value in latencies.items()}
    return row(None, test="TCP_RR", transactions_per_s=rate, interim=interim, selectors=selectors)


def test_latencies_of_one_stream():
    result = streams.summarise(
        [stream(0, 1)],
        [transactions(100.0, min=1, mean=10.5, p50=9, p90=20, p99=30, max=99, stddev=2.5)],
    )
    assert result["latency_us"] == {
        "min": 1,
        "mean": 10.5,
        "p50": 9,
        "p90": 20,
        "p99": 30,
        "max": 99,
        "stddev": 2.5,
    }
    assert result["throughput_mbps"] is None and result["transactions_per_s"] == 100.0


def test_percentiles_are_never_joined():
    result = streams.summarise(
        [stream(0, 1)] * 2,
        [
            transactions(300.0, min=1, mean=10.0, p99=30, max=99),
            transactions(100.0, min=2, mean=20.0, p99=50, max=90),
        ],
    )
    assert result["latency_us"] == {"min": 1, "max": 99, "mean": 12.5}
    assert result["transactions_per_s"] == 400.0


def asking(rate, classes, **latencies):
    """Return the row of requests whose latencies are counted by class."""
    counted = {**transactions(rate, **latencies), "latency_classes": classes}
    return {**counted, "engine_cpu": {"client": {"own": rate / 1000, "kernel": 0.5}}}


def test_percentiles_of_counted_latencies_are_joined():
    """Class 640 begins at 2^10 ns, class 704 at 2^11 ns."""
    rows = [asking(300.0, {640: 600}, mean=1.0), asking(100.0, {640: 190, 704: 10}, mean=1.0)]
    latency = streams.summarise([stream(0, 1)] * 2, rows)["latency_us"]
    assert latency["p50"] == latency["p90"] == pytest.approx(1.024, rel=0.01)
    assert latency["p99"] == latency["p999"] == pytest.approx(2.048, rel=0.01)


def test_requests_beside_a_stream():
    loaded = {**asking(300.0, {640: 600}, p99=30), "unloaded_us": {"p99": 10}}
    beside = {**row(900.0), "engine_cpu": {"client": {"own": 0.1, "kernel": 0.85}}}
    result = streams.summarise([stream(0, 1)] * 2, [loaded, beside])
    assert (result["throughput_mbps"], result["transactions_per_s"]) == (900.0, 300.0)
    assert (result["latency_us"]["p99"], result["unloaded_us"]["p99"]) == (30, 10)
    assert result["engine_cpu"] == {"client": {"own": 0.1, "kernel": 0.85}, "server": None}


def test_receive_calls_are_those_of_all_streams_where_each_says_them():
    rows = [{**row(900.0), "receive_calls_per_s": 100.0}, {**row(100.0), "receive_calls_per_s": 20}]
    result = streams.summarise([stream(0, 1)] * 2, rows)
    assert result["receive_calls_per_s"] == 120.0
    assert "receive_calls_per_s" not in streams.summarise([stream(0, 1)] * 2, [rows[0], row(1.0)])


def test_sends_without_copying_are_summed():
    counts = {"calls": 10, "completed": 9, "copied": 4}
    rows = [{**row(900.0), "zero_copy": counts}, {**row(100.0), "zero_copy": counts}]
    result = streams.summarise([stream(0, 1)] * 2, rows)
    assert result["zero_copy"] == {"calls": 20, "completed": 18, "copied": 8}
    assert "zero_copy" not in streams.summarise([stream(0, 1)] * 2, [rows[0], row(1.0)])


def test_transactions_inside_the_window():
    early = transactions(0.0, parts(0.0, [200, 100], unit="Trans/s"))
    late = transactions(0.0, parts(1.0, [100], unit="Trans/s"))
    assert streams.summarise([stream(0, 2), stream(1, 2)], [early, late])[
        "transactions_per_s"
    ] == pytest.approx(200.0)


@pytest.mark.parametrize(
    "met, expected",
    [
        ([True, True], True),
        ([True, False], False),
        ([None, None], None),
        ([True, None], None),
        ([None, False], False),
    ],
)
def test_confidence_of_all_streams(met, expected):
    rows = [
        row(1.0, confidence_met=value, confidence_width={"throughput": width, "local_cpu": None})
        for value, width in zip(met, (2.0, 3.0))
    ]
    result = streams.summarise([stream(0, 1)] * 2, rows)
    assert result["confidence_met"] is expected
    assert result["confidence_width"] == {"throughput": 3.0}


def test_the_percentiles_are_those_that_engine_sockets_counts():
    assert [name for name, _share in traffic.PERCENTILES] == list(streams.PERCENTILES)
