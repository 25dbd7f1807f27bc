# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._trials import guards


def window(**fields):
    return {"combined": True, "ends": {"combined": dict({"window_s": 1.0}, **fields)}}


# guard, trial, expected by the lab, does the mark exclude?
CASES = [
    ("mss", {"result": {"mss": 1398}}, {"mss": 8898}, True),
    (
        "retransmits",
        {"result": {"mss": 1448, "retransmits": 5000, "throughput_mbps": 1000.0, "elapsed_s": 1.0}},
        {},
        False,
    ),
    ("nothing_received", {"result": {"throughput_mbps": 0.0, "elapsed_s": 1.0}}, {}, True),
    ("confidence", {"result": {"confidence_met": False}}, {}, True),
    ("steal", {"cpu": window(percent={"steal": 5.0})}, {}, True),
    ("steal", {"cpu": window(percent={"steal": 1.0})}, {"steal_limit": 0}, True),
    ("throttle", {"cpu": window(throttled=3)}, {}, True),
    ("checksum_errors", {"damage": {"server": {"counters": {"TcpInCsumErrors": 1}}}}, {}, False),
    (
        "checksum_vouched",
        {"evidence": {"packets": {"server": {"eth0": {"checksums": {"vouched": 9}}}}}},
        {},
        False,
    ),
    ("device_errors", {"damage": {"server": {"counters": {"eth0 rx_errors": 1}}}}, {}, False),
    ("drops", {"damage": {"client": {"counters": {"softnet_dropped": 99}}}}, {}, False),
    ("timeouts", {"damage": {"client": {"counters": {"TcpExtTCPTimeouts": 9}}}}, {}, False),
    ("kernel_log", {"damage": {"client": {"alarms": ["eth0: hw csum failure"]}}}, {}, False),
    ("cpu_saturation", {"cpu": window(busy_percent={0: 20.0, 1: 99.0})}, {}, False),
    (
        "engine_limit",
        {"result": {"engine_cpu": {"client": {"own": 0.2, "kernel": 0.78}, "server": None}}},
        {},
        False,
    ),
    (
        "zero_copy",
        {"result": {"zero_copy": {"calls": 9, "completed": 9, "copied": 9}}},
        {},
        False,
    ),
    (
        "zero_copy",
        {"result": {"zero_copy": {"calls": 9, "completed": 8, "copied": 0}}},
        {},
        False,
    ),
    (
        "counting",
        {"cpu": window(window_s=1.0), "crossed": {"client": {"cost_s": 0.02}}},
        {},
        False,
    ),
    ("line_rate", {"result": {"throughput_mbps": 9410.0}}, {"speed_mbps": 10000}, False),
    ("softirq_one_cpu", {"cpu": window(softirqs={"NET_RX": {0: 1, 1: 999}})}, {}, False),
    ("overlap", {"result": {"overlap": 0.5}}, {}, True),
    ("cpu_window", {"cpu": dict(window(), traffic_share=0.02)}, {}, False),
    ("clock", {"cpu": dict(window(), clock_error_s=0.2)}, {}, True),
    ("clock_jump", {"clock_jump_s": -3600.0}, {}, True),
    ("interrupted", {"interrupted": "10.244.3.5 did not answer for 1.4 s"}, {}, True),
    ("server_gone", {"server": "node2", "server_answers": False}, {}, True),
    ("program_changed", {"cpu": dict(window(), programs_changed={"server": ["eth0"]})}, {}, True),
    ("feature_changed", {"cpu": dict(window(), features_changed={"server": ["eth0"]})}, {}, True),
    (
        "profile",
        {"evidence": {"settings": {"client": {"eth0": {"not_honoured": {"rx-gro": True}}}}}},
        {},
        True,
    ),
    ("encapsulation", {"evidence": {"underlay": {"client": {"vnis": []}}}}, {"vnis": [10]}, True),
    ("encapsulation", {"evidence": {"underlay": {"client": {"vnis": [10]}}}}, {"vnis": []}, True),
]
QUIET = {
    "result": {
        "mss": 8898,
        "retransmits": 3,
        "throughput_mbps": 9000.0,
        "elapsed_s": 1.0,
        "confidence_met": True,
        "overlap": 0.99,
        "zero_copy": {"calls": 9, "completed": 9, "copied": 0},
        "engine_cpu": {
            "client": {"own": 0.2, "kernel": 0.69},  # it waits, too
            "server": {"own": 0.05, "kernel": 0.94},  # the kernel does nearly all
        },
    },
    "cpu": dict(
        window(
            percent={"steal": 0.1},
            busy_percent={0: 50.0},
            softirqs={"NET_RX": {0: 40, 1: 60}},
            throttled=0,
        ),
        clock_error_s=0.0001,
        traffic_share=0.99,
        features_changed={},
    ),
    "evidence": {
        "settings": {"client": {"eth0": {"not_honoured": {}}}},
        "underlay": {"client": {"vnis": [10]}},
    },
}


@pytest.mark.parametrize("guard, trial, expected, excludes", CASES)
def test_each_guard_finds_its_mark(guard, trial, expected, excludes):
    marks = guards.marks_of(trial, expected)
    assert [mark["guard"] for mark in marks] == [guard]
    assert marks[0]["excludes"] is excludes
    assert guards.excluded({"marks": marks}) is excludes
    assert marks[0]["reason"]


def test_a_campaign_may_let_more_steal_pass():
    assert guards.marks_of({"cpu": window(percent={"steal": 5.0})}, {"steal_limit": 10}) == []


def stolen_ticks(ticks, seconds):
    """Return a trial on two CPUs in which the hypervisor took ``ticks`` of the kernel's clock."""
    cpus = {"0": {"steal": 0.01 * ticks}, "1": {"steal": 0.0}}
    stolen = window(
        window_s=seconds, cpus=cpus, percent={"steal": 100 * 0.01 * ticks / (2 * seconds)}
    )
    return {"cpu": stolen}


def test_one_tick_is_not_enough_to_refuse_a_short_trial():
    single_tick = stolen_ticks(1, 0.24)
    assert guards.marks_of(single_tick, {"steal_limit": 2.0}) == []
    assert guards.marks_of(single_tick, {"steal_limit": 0})  # the campaign lets nothing pass
    assert guards.marks_of(stolen_ticks(2, 0.24), {"steal_limit": 2.0})
    assert guards.marks_of(stolen_ticks(2, 1.0), {"steal_limit": 2.0}) == []


@pytest.mark.parametrize(
    "test, seconds, measured, marked",
    [
        ("TCP_STREAM", 0.5, True, False),
        ("TCP_STREAM", 0.4, True, True),  # the streams ran together for too short a time
        ("TCP_STREAM", 0.5, False, True),  # rates are of all the time of each stream
        ("UDP_STREAM", 0.5, True, True),
    ],
)
def test_streams_that_began_one_after_the_other_count_from_the_last(
    test, seconds, measured, marked
):
    result = {"overlap": 0.7, "window_s": seconds, "window_measured": measured}
    trial = {"workload": {"test": test, "duration": 0.5}, "result": result}
    assert [mark["guard"] for mark in guards.marks_of(trial, {})] == ["overlap"] * marked


def test_a_good_trial_has_no_mark():
    assert guards.marks_of(QUIET, {"mss": 8898, "speed_mbps": 25000, "vnis": [10]}) == []


@pytest.mark.parametrize(
    "trial",
    [{}, {"result": None, "cpu": None, "evidence": None}, {"result": {}, "cpu": {"ends": {}}}],
)
def test_guards_without_data_say_nothing(trial):
    assert guards.marks_of(trial, {}) == []


def test_every_guard_has_a_case():
    assert {case[0] for case in CASES} >= {
        "mss",
        "retransmits",
        "confidence",
        "steal",
        "throttle",
        "overlap",
        "clock",
    }
    assert len({case[0] for case in CASES}) == len(guards.GUARDS)


@pytest.mark.parametrize(
    "names, error, spoilt",
    [
        (["steal"], None, True),
        (["throttle", "clock", "clock_jump", "server_gone"], None, True),
        ([], None, False),
        (["steal", "nothing_received"], None, False),
        (["mss"], None, False),
        (["steal"], "netperf failed", False),
        (["steal", "retransmits"], None, True),
    ],
)
def test_what_the_machine_spoilt_is_not_an_outcome_of_the_profile(names, error, spoilt):
    marks = [guards.mark(name, "why", excludes=name != "retransmits") for name in names]
    assert guards.spoilt({"marks": marks, "error": error}) is spoilt


def of_profile(profile, *percents):
    return [{"profile": profile, "cpu": window(percent={"steal": percent})} for percent in percents]


def test_the_steal_limit_follows_the_machine():
    quiet = guards.UsualSteal(of_profile("off", *[0.0, 0.1] * 6))
    assert quiet.limit("off") == guards.STEAL_PERCENT
    shared = guards.UsualSteal(of_profile("off", *[4.0] * 6) + of_profile("on", *[6.0] * 6))
    assert (shared.limit("off"), shared.limit("on"), shared.limit("new")) == (8.0, 12.0, 10.0)
    assert (
        guards.UsualSteal(of_profile("off", 9.0, 9.0)).limit("off") == guards.STEAL_PERCENT
    )  # too few to be usual
    assert guards.stolen({}) is None
    unequal = guards.UsualSteal(of_profile("off", *[4.0] * 9) + of_profile("on", *[0.0] * 6))
    assert (unequal.limit("off"), unequal.limit("on")) == (8.0, guards.STEAL_PERCENT)


def test_the_steal_limit_favours_no_profile():
    """A profile that needs twice the CPU loses twice as much: the same moments are refused to both."""
    generator = random.Random(4)
    usual = guards.UsualSteal()
    refused = {"low": 0, "high": 0}
    kept = {"low": [], "high": []}
    for _trial in range(4000):
        profile = generator.choice(["low", "high"])
        moment = 3 * generator.lognormvariate(0, 0.5)
        moment *= 6 if generator.random() < 0.25 else 1  # others come and go
        trial = of_profile(profile, moment * {"low": 1, "high": 2}[profile])[0]
        if guards.marks_of(trial, {"steal_limit": usual.limit(profile)}):
            refused[profile] += 1
        else:
            kept[profile].append(moment)
        usual.add(trial)
    assert abs(refused["low"] - refused["high"]) < 100 and refused["low"] > 200
    means = [sum(moments) / len(moments) for moments in kept.values()]
    assert abs(means[0] / means[1] - 1) < 0.05
