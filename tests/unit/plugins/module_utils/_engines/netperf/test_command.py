# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._engines.engine import streams_of
from ansible_collections.offload.lab.plugins.module_utils._engines.netperf import netperf

ENDS = [
    {
        "netns": None,
        "local": "198.18.0.1",
        "address": "198.18.0.2",
        "port": 12865,
        "data_port": 12870,
    }
]


def options(keys, test=None, end=None):
    """Return the command line without the list of selectors, as one text."""
    load = workload.checked(keys)
    line = netperf.stream_argv(load, test or load["test"], end or ENDS[0])
    return " ".join(line[: line.index("-k")])


@pytest.mark.parametrize(
    "keys, expected",
    [
        ({"test": "TCP_STREAM", "duration": 0.25}, "-t TCP_STREAM -l 5 -f m -c -C -D 0.05 --"),
        ({"test": "TCP_STREAM", "duration": "5"}, "-t TCP_STREAM -l 5 -f m -c -C -D 0.5 --"),
        ({"test": "tcp_stream", "cpu": "false", "interim": 0}, "-t TCP_STREAM -l 10 -f m --"),
        ({"test": "TCP_STREAM", "streams": 2}, "-D 1 --"),
        ({"test": "TCP_STREAM", "streams": 2, "duration": 5}, "-D 0.5 --"),
        ({"test": "TCP_STREAM", "streams": 8}, "-l 10 -f m -c -C -D 1 --"),
        ({"test": "TCP_STREAM", "streams": 9}, "-l 14 -f m -c -C -s 1 -D 1 --"),
        ({"test": "TCP_STREAM", "streams": 9, "warm_up": 0}, "-l 10 -f m -c -C -s 1 -D 1 --"),
        ({"test": "TCP_STREAM", "streams": 9, "interim": 0}, "-l 10 -f m -c -C -s 1 --"),
        ({"test": "TCP_STREAM", "duration": 5, "warm_up": "2"}, "-l 7 -f m -c -C -D 0.5 --"),
        ({"test": "UDP_STREAM", "streams": 9}, "-l 10 -f m -c -C -s 1 -D 1 --"),
        ({"test": "TCP_RR", "tenants": 101}, "-l 14 -c -C -s 2 -D 1 --"),
        ({"test": "TCP_MAERTS", "streams": 100}, "-f m -c -C -D 1 --"),
        ({"test": "TCP_STREAM", "streams": 100, "bidirectional": True}, "-f m -c -C -D 1 --"),
        (
            {"test": "TCP_STREAM", "streams": 100, "confidence": {"iterations_max": 6}},
            "-i 6,3 -I 99,5 -c -C --",
        ),
        (
            {
                "test": "TCP_STREAM",
                "message_size": "16K",
                "receive_size": 1000,
                "send_socket": "1M",
                "recv_socket": 2000,
            },
            "-f m -c -C -D 1 -- -s 1048576 -S 2000 -m 16384, -M ,1000",
        ),
        (
            {
                "test": "TCP_MAERTS",
                "message_size": "16K",
                "receive_size": 1000,
                "send_socket": "1M",
                "recv_socket": 2000,
            },
            "-f m -c -C -D 1 -- -S 1048576 -s 2000 -m ,16384 -M 1000,",
        ),
        (
            {"test": "UDP_STREAM", "message_size": 1400, "interim": "0.5"},
            "-c -C -D 0.5 -- -m 1400, -R 1",
        ),
        ({"test": "TCP_RR"}, "-t TCP_RR -l 10 -c -C -D 1 -- -r 1,1"),
        ({"test": "UDP_RR", "request_size": 64, "response_size": "1K"}, "-- -r 64,1024"),
        ({"test": "TCP_CRR", "message_size": None}, "-- -r 1,1"),
        (
            {
                "test": "TCP_STREAM",
                "confidence": {"iterations_max": 6, "level": 95, "width_percent": 2.5},
            },
            "-l 10 -f m -i 6,3 -I 95,2.5 -c -C --",
        ),
        ({"test": "TCP_STREAM", "confidence": {"iterations_max": 6}}, "-i 6,3 -I 99,5 "),
    ],
)
def test_options(keys, expected):
    assert (options(keys) + " ").endswith(expected.rstrip() + " ") or expected in options(
        keys
    ) + " "


def test_addresses_and_port():
    line = options({"test": "TCP_STREAM"})
    assert line.startswith("netperf -H 198.18.0.2,4 -L 198.18.0.1,4 -p 12865 ")
    six = workload.endpoint({"address": "fd00:0::2", "port": "99"})
    assert options({"test": "TCP_STREAM"}, end=six).startswith("netperf -H fd00::2,6 -p 99 ")


def test_each_stream_has_a_data_port_of_its_own():
    load = workload.checked({"test": "TCP_STREAM", "streams": 2})
    ports = [
        netperf.stream_argv(load, test, end, number)[-3]
        for number, (test, end) in enumerate(streams_of(load, ENDS))
    ]
    assert ports == [",12870", ",12871"]


def test_streams_are_bound_to_the_cpus_by_turns():
    load = workload.checked(
        {"test": "TCP_STREAM", "streams": 3, "client_cpus": [2, "4"], "server_cpus": [7]}
    )
    lines = [
        netperf.stream_argv(load, test, end, number)
        for number, (test, end) in enumerate(streams_of(load, ENDS))
    ]
    assert [line[line.index("-T") + 1] for line in lines] == ["2,7", "4,7", "2,7"]
    assert "-T 3, " in options({"test": "TCP_RR", "client_cpus": [3]})
    with pytest.raises(InputError, match="server_cpus"):
        workload.checked({"test": "TCP_RR", "server_cpus": [-1]})


def test_percentiles_are_asked_of_transactions_only():
    for test in netperf.STREAM_TESTS + netperf.RR_TESTS:
        selectors = netperf.stream_argv(workload.checked({"test": test}), test, ENDS[0])[-1].split(
            ","
        )
        assert ("P99_LATENCY" in selectors) == (test in netperf.RR_TESTS)
        assert {
            "THROUGHPUT",
            "REMOTE_RECV_THROUGHPUT",
            "TRANSPORT_MSS",
            "CONFIDENCE_ITERATION",
        } <= set(selectors)


def test_streams_are_dealt_to_tenants():
    ends = [dict(ENDS[0], netns=f"tenant{number}") for number in (1, 2, 3)]

    def dealt(**keys):
        load = workload.checked(dict(keys, test="TCP_STREAM"))
        return [(test, end["netns"][-1]) for test, end in streams_of(load, ends)]

    assert dealt() == [("TCP_STREAM", "1")]
    assert dealt(streams=2) == [("TCP_STREAM", "1")] * 2
    assert [end for _test, end in dealt(streams=5, tenants=3)] == ["1", "2", "3", "1", "2"]
    assert [end for _test, end in dealt(tenants=3)] == ["1", "2", "3"]
    assert dealt(bidirectional="yes") == [("TCP_STREAM", "1"), ("TCP_MAERTS", "1")]
    with pytest.raises(InputError, match="3 endpoints, fewer than the 4 tenants"):
        dealt(tenants=4)


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"test": "FOO"}, "unknown netperf test"),
        ({"test": "-t"}, "unknown netperf test"),
        ({}, "unknown netperf test"),
        ([], "not a mapping"),
        ({"test": "TCP_RR", "extra": 1}, "unknown key 'extra'"),
        ({"test": "TCP_CRR", "duration": 0.5}, "for 1 s at least"),
        ({"test": "TCP_MAERTS", "duration": 0.25}, "for 1 s at least"),
        ({"test": "UDP_STREAM", "duration": 0.5}, "for 1 s at least"),
        ({"test": "TCP_STREAM", "duration": 0.25, "streams": 9}, "for 1 s at least"),
        ({"test": "TCP_RR", "duration": 0.25, "interim": 0}, "for 1 s at least"),
        ({"test": "TCP_RR", "duration": 0}, "not between 1 and 86400"),
        ({"test": "TCP_RR", "duration": 0.7}, "not a whole number"),
        ({"test": "TCP_RR", "duration": "0.7"}, "not a whole number"),
        ({"test": "TCP_RR", "duration": True}, "not a whole number"),
        ({"test": "TCP_RR", "duration": "1; reboot"}, "not a whole number"),
        ({"test": "TCP_RR", "streams": 1001}, "not between 1 and 1000"),
        ({"test": "TCP_RR", "message_size": 1}, "message_size: cannot be combined with TCP_RR"),
        (
            {"test": "TCP_STREAM", "request_size": 1},
            "request_size: cannot be combined with TCP_STREAM",
        ),
        ({"test": "TCP_STREAM", "message_size": "-1"}, "not a size in bytes"),
        ({"test": "TCP_STREAM", "message_size": "1,2"}, "not a size in bytes"),
        ({"test": "TCP_STREAM", "message_size": 0}, "not between 1 and"),
        ({"test": "UDP_STREAM", "message_size": 65508}, "do not fit a UDP datagram"),
        (
            {"test": "UDP_STREAM", "bidirectional": True},
            "only TCP_STREAM can run in both directions",
        ),
        ({"test": "TCP_STREAM", "name": "../x"}, "not a name"),
        ({"test": "TCP_STREAM", "cpu": "perhaps"}, "neither on nor off"),
        ({"test": "TCP_STREAM", "confidence": {"level": 97}}, "95 and 99 only"),
        (
            {"test": "TCP_STREAM", "confidence": {"iterations_min": 5, "iterations_max": 4}},
            "larger than iterations_max",
        ),
        ({"test": "TCP_STREAM", "confidence": {"width_percent": "nan"}}, "not a number"),
        (
            {"test": "TCP_STREAM", "confidence": {"iterations_max": 5}, "interim": 1},
            "cannot be combined with confidence",
        ),
        (
            {"test": "TCP_STREAM", "confidence": {"iterations_max": 5}, "warm_up": 1},
            "a warm-up cannot be combined with",
        ),
        ({"test": "UDP_STREAM", "warm_up": 1}, "a warm-up cannot be combined with"),
        ({"test": "TCP_STREAM", "interim": 0, "warm_up": 1}, "a warm-up cannot be combined with"),
        ({"test": "TCP_STREAM", "warm_up": 601}, "warm_up"),
    ],
)
def test_wrong_workloads(keys, message):
    with pytest.raises(InputError, match=message):
        workload.checked(keys)


@pytest.mark.parametrize(
    "keys, message",
    [
        ({}, "not an IP address"),
        ({"address": "example.org"}, "not an IP address"),
        ({"address": "-K"}, "not an IP address"),
        ({"address": 3232235777}, "not between|not an IP address"),
        ({"address": "198.18.0.2", "netns": "../../etc"}, "not a usable name"),
        ({"address": "198.18.0.2", "netns": "-K"}, "not a usable name"),
        ({"address": "198.18.0.2", "netns": "a\n"}, "not a usable name"),
        ({"address": "198.18.0.2", "port": 0}, "not between 1 and 65535"),
        ({"address": "198.18.0.2", "local": "fd00::1"}, "one address is IPv4 and the other IPv6"),
    ],
)
def test_wrong_endpoints(keys, message):
    with pytest.raises(InputError, match=message):
        workload.endpoint(keys)


def test_times():
    load = workload.checked({"test": "TCP_STREAM", "duration": 10})
    expected, longest = workload.seconds(load)
    assert 10 < expected < 11 and longest > 25
    assert (
        workload.seconds(workload.checked({"test": "TCP_STREAM", "duration": 10, "streams": 100}))[
            0
        ]
        > 12
    )
    load = workload.checked(
        {"test": "TCP_STREAM", "duration": 10, "confidence": {"iterations_max": 10}}
    )
    assert workload.seconds(load)[0] > 30 and workload.seconds(load)[1] > 130
