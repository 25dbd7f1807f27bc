# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import ParseError
from ansible_collections.offload.lab.plugins.plugin_utils._trials import cpu

STAT = "cpu  30 0 30 940 0 0 0 0 0 0\ncpu0 10 0 20 470 0 0 5 0 0 0\ncpu1 20 0 10 470 0 0 0 0 0 0\nintr 5 4\n"
LATER = (
    "cpu  60 0 60 1080 0 0 0 0 0 0\ncpu0 60 0 70 470 0 0 5 0 0 0\ncpu1 20 0 10 560 5 0 0 5 0 0\n"
)
SOFTIRQS = "            CPU0       CPU1\n  NET_TX:      1      2\n  NET_RX:    100    200\n"
SOFTIRQS_LATER = "            CPU0       CPU1\n  NET_TX:      1      3\n  NET_RX:   1100    200\n"


def snap(boot_id, time, stat, softirqs):
    return {"boot_id": boot_id, "time": time, "stat": stat, "softirqs": softirqs, "hertz": 100}


def ends(client="a", server="b"):
    return {
        "client": [snap(client, 10.0, STAT, SOFTIRQS), snap(client, 11.0, LATER, SOFTIRQS_LATER)],
        "server": [snap(server, 10.0, STAT, SOFTIRQS), snap(server, 11.0, LATER, SOFTIRQS_LATER)],
        "clock_error_s": 0.0001,
        "clock_offset_s": 0.0,
    }


def test_stat_has_every_cpu_and_no_summary_row():
    assert cpu.parse_stat(STAT)[1]["user"] == 20
    assert sorted(cpu.parse_stat(STAT)) == [0, 1]


def test_old_kernels_have_fewer_columns():
    assert cpu.parse_stat("cpu0 1 2 3 4\n")[0]["steal"] == 0


@pytest.mark.parametrize("text, line", [("cpu0 1 2\n", 1), ("x\ncpu0 1 2 3 x\n", 2)])
def test_a_cut_stat_row_is_an_error_with_its_line(text, line):
    with pytest.raises(ParseError) as caught:
        cpu.parse_stat(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "text", ["   CPU0  ...  CPU63\n  HI: 1 ... 0\n", "  CPU0 CPU1\n NET_RX: 1\n"]
)
def test_elided_softirqs_are_an_error(text):
    with pytest.raises(ParseError):
        cpu.parse_softirqs(text)


def test_window_of_one_end():
    window = cpu.end_window(*ends()["client"])
    assert window["busy_s"] == pytest.approx(1.0)
    assert window["busy_percent"][0] == pytest.approx(100.0)
    assert window["busy_percent"][1] == pytest.approx(0.0)
    assert window["softirqs"] == {"NET_RX": {0: 1000, 1: 0}, "NET_TX": {0: 0, 1: 1}}
    assert sum(window["percent"].values()) == pytest.approx(100.0)


def test_a_cpu_that_is_never_idle_is_busy_all_of_the_time_that_it_is_given():
    before = {"time": 0.0, "softirqs": ""}
    after = {"time": 1.0, "softirqs": ""}
    row = "cpu0 {0} 0 0 0 0 0 0 {1} 0 0\n"
    window = cpu.end_window(
        dict(before, stat=row.format(0, 0)), dict(after, stat=row.format(80, 20))
    )
    assert window["busy_percent"] == {0: 100.0} and window["percent"]["steal"] == 20.0
    gone = cpu.end_window(dict(before, stat=row.format(0, 0)), dict(after, stat=row.format(0, 100)))
    assert gone["busy_percent"] == {}


def test_counters_that_go_backwards_or_cpus_that_vanish_give_no_negative_time():
    assert cpu.cpu_seconds(cpu.parse_stat(LATER), cpu.parse_stat(STAT))[0]["user"] == 0
    assert cpu.cpu_seconds(cpu.parse_stat(LATER), {}) == {}


def test_ends_with_one_kernel_are_combined_and_reported_once():
    field = cpu.cpu_of_trial(ends("a", "a"), {"throughput_mbps": 8.192})
    assert field["combined"] is True
    assert list(field["ends"]) == ["combined"]
    # 8.192 Mbit/s are 1000 KB/s; 1 s of CPU for 1000 KB are 1000 us/KB.
    assert field["ends"]["combined"]["service_demand_us_per_kb"] == pytest.approx(1000)


def test_ends_with_two_kernels_stay_apart():
    field = cpu.cpu_of_trial(ends("a", "b"), {"transactions_per_s": 500.0, "throughput_mbps": None})
    assert sorted(field["ends"]) == ["client", "server"]
    assert field["ends"]["server"]["service_demand_us_per_transaction"] == pytest.approx(2000)


@pytest.mark.parametrize(
    "start, length, share", [(0.05, 1.0, 0.95), (0.0, 5.0, 1.0), (1.0, 1.0, 0.0), (0.25, 0.5, 0.5)]
)
def test_cpu_is_charged_only_with_traffic_of_its_own_time(start, length, share):
    pairs = ends("a", "a")
    begin = pairs["client"][0]["time"]
    seconds = pairs["client"][1]["time"] - pairs["client"][0]["time"]
    result = {
        "throughput_mbps": 8.192,
        "window_measured": True,
        "window_start": begin + start * seconds,
        "window_s": length * seconds,
    }
    field = cpu.cpu_of_trial(pairs, result)
    assert field["traffic_share"] == pytest.approx(share)
    assert ("service_demand_us_per_kb" in field["ends"]["combined"]) == (share >= 0.9)
    assert cpu.cpu_of_trial(pairs, dict(result, window_measured=False))["traffic_share"] is None


def test_nothing_moved_gives_no_service_demand():
    assert cpu.service_demand(1.0, 0.0, 1.0) is None


@given(st.text())
def test_any_text_gives_rows_or_the_typed_error(text):
    for parse in (cpu.parse_stat, cpu.parse_softirqs):
        try:
            assert isinstance(parse(text), dict)
        except ParseError as error:
            assert error.line >= 1


@given(
    st.lists(
        st.sampled_from(
            ["cpu0 1 2 3 4 5", "cpu 1", "CPU0 CPU1", "NET_RX: 1 2", "NET_RX:", "cpu² 1 2 3 4"]
        )
    )
)
def test_rows_in_any_order_give_rows_or_the_typed_error(rows):
    for parse in (cpu.parse_stat, cpu.parse_softirqs):
        try:
            parse("\n".join(rows))
        except ParseError as error:
            assert 1 <= error.line <= len(rows)


def test_a_forwarder_is_an_end_of_its_own_unless_all_are_one_kernel():
    between = {
        "forwarder": [snap("c", 10.0, STAT, SOFTIRQS), snap("c", 11.0, LATER, SOFTIRQS_LATER)]
    }
    cpu_found = cpu.cpu_of_trial({**ends(), **between}, {"throughput_mbps": 1000.0})
    assert (
        list(cpu_found["ends"]) == ["client", "server", "forwarder"] and not cpu_found["combined"]
    )
    assert cpu_found["ends"]["forwarder"]["service_demand_us_per_kb"] > 0
    two = cpu.cpu_of_trial({**ends("c", "c"), **between}, {"throughput_mbps": 1000.0})
    assert list(two["ends"]) == ["combined"]
    apart = cpu.cpu_of_trial({**ends("c", "b"), **between}, {"throughput_mbps": 1000.0})
    assert list(apart["ends"]) == ["client", "server", "forwarder"]
