# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each guard that can be provoked on one machine, provoked for real.

The others: tests/unit, test_guards.py.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.tests.support import run
from ansible_collections.offload.lab.tests.system.trial import (
    PHYSICAL,
    PLAIN,
    UNDERLAY,
    Meanwhile,
    address,
    door,
    guards,
    lost,
    measure,
    plain_netserver,
    stopped,
    token_of,
)

FIRST = network.NETSERVER_PORT + network.DATA_OFFSET
DATA_PORTS = f"{FIRST}-{FIRST + network.MOST_STREAMS - 1}"


def test_a_wrong_mtu_is_marked(lab, probe):
    lab.ask("offload.lab.link", "node1", devices=[{"name": "underlay0"}], mtu=1500)
    try:
        trial = measure(lab, probe, duration=1)
    finally:
        lab.ask("offload.lab.link", "node1", devices=[{"name": "underlay0"}], mtu=9000)
    assert "mss" in guards(trial), trial["marks"]
    assert trial["result"]["mss"] == 1448


def test_a_killed_stream_is_an_error_and_kept(lab, probe):
    with Meanwhile(lab, lambda pids: os.kill(pids[0], signal.SIGKILL), delay=0.5):
        trial = measure(lab, probe, streams=2)
    assert "of 2 streams" in trial["error"], trial["error"]
    assert len(trial["streams"]) == 2


def test_gro_toggled_in_mid_trial_is_marked(lab, probe):
    toggled = ["ethtool", "-K", "underlay0", "gro", "on"]
    try:
        with Meanwhile(lab, lambda _pids: lab.inside(2, *toggled), delay=0.5):
            trial = measure(lab, probe)
    finally:
        lab.inside(2, "ethtool", "-K", "underlay0", "gro", "off")
    assert [mark["reason"] for mark in trial["marks"] if mark["guard"] == "feature_changed"] == [
        "server: features of underlay0 changed during the trial"
    ]


def no_cpu_figures(trial):
    """Check the mark of a trial whose traffic came late: only figures of the traffic's own time
    count.
    """
    assert trial["error"] is None
    assert "cpu_window" in guards(trial), trial
    assert trial["cpu"]["traffic_share"] < 0.9
    assert "service_demand_us_per_kb" not in trial["cpu"]["ends"]["combined"]
    sent = int(re.search(r"LOCAL_BYTES_SENT=(\d+)", trial["streams"][0]["raw"]).group(1))
    result = trial["result"]
    assert result["throughput_mbps"] == pytest.approx(sent * 8 / 1e6 / result["window_s"], rel=0.1)


def test_a_connection_that_comes_late_is_marked_and_gives_no_cpu_figures(lab, probe):
    """The first packet of the data connection is lost; TCP tries again after a second, netperf's
    time runs.
    """

    def when_it_waits(_pids):
        while not lab.inside(1, "ss", "-Htn", "state", "syn-sent") and time.monotonic() < deadline:
            time.sleep(0.05)
        let_through()

    deadline = time.monotonic() + 30
    with lost(lab, "ipproto", "tcp", "dport", DATA_PORTS) as let_through, Meanwhile(
        lab, when_it_waits, delay=0
    ):
        no_cpu_figures(measure(lab, probe))


def test_a_netserver_that_answers_late_is_marked_and_gives_no_cpu_figures(lab, probe):
    """As after a lost packet of the control connection: netperf's time begins when ours is half
    over.
    """
    with plain_netserver(lab) as server, stopped(server) as go_on, Meanwhile(
        lab, lambda _pids: go_on(), delay=1
    ):
        no_cpu_figures(measure(lab, probe, end=PLAIN))


def test_streams_that_do_not_run_beside_each_other_are_marked(lab, probe):
    """Both wait for the netserver; one is held up for a second more."""

    def hold_up(pids):
        with stopped(pids[0]):
            go_on()
            time.sleep(1)

    with plain_netserver(lab) as server, stopped(server) as go_on, Meanwhile(lab, hold_up, delay=1):
        trial = measure(lab, probe, streams=2, end=PLAIN)
    assert trial["error"] is None
    assert "overlap" in guards(trial), trial["result"]
    assert trial["result"]["overlap"] < 0.9


def test_packets_that_one_cpu_takes_in_are_told(lab, probe):
    server = door(lab)
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(server, {0})
    os.sched_setaffinity(0, {0})  # what this test starts inherits it
    try:
        for _attempt in range(
            5
        ):  # the counters are the machine's, and another test may have traffic on another CPU
            trial = measure(lab, probe)
            reasons = [
                mark["reason"] for mark in trial["marks"] if mark["guard"] == "softirq_one_cpu"
            ]
            if reasons:
                break
    finally:
        os.sched_setaffinity(0, everywhere)
        os.sched_setaffinity(server, everywhere)
    assert len(everywhere) == 1 or (reasons and "CPU 0" in reasons[0]), trial["cpu"]


def test_retransmitted_segments_are_reported(lab, probe):
    shaper = [
        "tc",
        "qdisc",
        "add",
        "dev",
        "node2",
        "root",
        "tbf",
        "rate",
        "200mbit",
        "burst",
        "64kb",
        "limit",
        "64kb",
    ]
    run(["ip", "netns", "exec", f"{lab.name}-fabric", *shaper])
    try:
        trial = measure(lab, probe)
    finally:
        run(
            [
                "ip",
                "netns",
                "exec",
                f"{lab.name}-fabric",
                "tc",
                "qdisc",
                "del",
                "dev",
                "node2",
                "root",
            ]
        )
    assert "retransmits" in guards(trial), trial["result"]


@pytest.mark.nightly  # its process needs a CPU to itself: no other test at the same time
def test_what_the_engine_itself_limits_is_told_and_what_the_path_limits_is_not(lab, probe):
    """A byte a call: what its own code needs for a call is all the load is. On a slow path the same
    engine waits.
    """
    server = [{"address": PHYSICAL["address"], "port": network.NETSERVER_PORT + 4}]
    slow = ["dev", "node2", "root", "tbf", "rate", "200mbit", "burst", "256kb", "limit", "1mb"]
    qdisc = ["ip", "netns", "exec", f"{lab.name}-fabric", "tc", "qdisc"]
    lab.ask(
        "offload.lab.netserver",
        "node2",
        engine="sockets",
        servers=server,
        peers=[PHYSICAL["local"]],
    )
    try:
        for _attempt in range(5):  # what else runs on this machine may take the CPU from it
            tiny = measure(lab, probe, engine="sockets", message_size=1)
            if "engine_limit" in guards(tiny):
                break
        run([*qdisc, "add", *slow])
        try:
            whole_trial = measure(lab, probe, engine="sockets", message_size=65536)
            small = measure(lab, probe, engine="sockets", message_size=1400)
        finally:
            run([*qdisc, "del", *slow[:3]])
    finally:
        lab.ask("offload.lab.netserver", "node2", state="absent", servers=server)
    assert "engine_limit" in guards(tiny), tiny["result"]["engine_cpu"]
    assert not any(mark["excludes"] for mark in tiny["marks"] if mark["guard"] == "engine_limit")
    for trial in (whole_trial, small):
        print(trial["result"]["throughput_mbps"], trial["result"]["engine_cpu"])
        assert trial["error"] is None and 50 < trial["result"]["throughput_mbps"] < 220
        assert "engine_limit" not in guards(trial), trial["result"]["engine_cpu"]


@pytest.mark.nightly
def test_datagrams_that_the_switch_merges_fail(lab, probe):
    """The userspace datapath does not cut what one call sends, unless the tenant's kernel does."""
    ends = {"netns": "tenant1", "local": address(lab, 1, 1), "address": address(lab, 2, 1)}
    server = [{"netns": "tenant1", "address": ends["address"], "port": network.NETSERVER_PORT + 4}]
    load = {"test": "UDP_STREAM", "engine": "sockets", "message_size": 100, "duration": 1}
    cells = [
        {"id": str(cut), "path": "tenant_vxlan", "mtu": 9000, "endpoints": [ends], "workload": more}
        for cut, more in ((True, load), (False, {**load, "udp_segment": False}))
    ]
    lab.ask(
        "offload.lab.netserver", "node2", engine="sockets", servers=server, peers=[ends["local"]]
    )
    try:
        options = {"cells": cells, "probe": probe, "token": token_of(lab)}
        merged, whole_trial = lab.ask("offload.lab.visit", "node1", **options)["trials"]
    finally:
        lab.ask("offload.lab.netserver", "node2", state="absent", servers=server)
    assert "datagrams of 100 bytes arrived as one of 6400" in merged["error"]
    assert whole_trial["error"] is None and whole_trial["result"]["throughput_mbps"] > 0


def test_a_profile_that_was_not_taken_is_marked(lab, probe):
    """Segmentation needs the checksum: asked for without it, it stays inactive."""
    options = {"devices": [UNDERLAY], "features": {"tx": False, "tso": True}}
    try:
        report = lab.ask("offload.lab.ethtool", "node1", **options)["devices"]
        trial = measure(lab, probe, evidence={"settings": {"client": report}})
    finally:
        lab.ask(
            "offload.lab.ethtool", "node1", devices=[UNDERLAY], features={"tx": True, "tso": True}
        )
    assert "profile" in guards(trial), report


def test_a_tunnel_where_none_should_be_is_marked(lab, probe):
    """What the tenants' traffic shows on the underlay, given as traffic of the physical path."""
    ends = {"netns": "tenant1", "local_address": address(lab, 1, 1), "address": address(lab, 2, 1)}
    sampled = lab.ask(
        "offload.lab.evidence",
        "node1",
        probe=probe,
        token=token_of(lab),
        paths=[dict(ends, name="physical", client_devices=[UNDERLAY], server_devices=[UNDERLAY])],
    )["packets"]
    underlay = {"client": "underlay0", "server": "underlay0"}
    trial = measure(lab, probe, evidence={"packets": sampled, "underlay": underlay})
    assert "encapsulation" in guards(trial), sampled


def test_a_flood_of_which_nothing_arrives_is_marked(lab, probe):
    with lost(lab, "ipproto", "udp"):
        trial = measure(lab, probe, test="UDP_STREAM", message_size=1472)
    assert "nothing_received" in guards(trial), trial
    assert (
        measure(lab, probe, test="UDP_STREAM", message_size=1472)["result"]["throughput_mbps"] > 0
    )


def test_a_cpu_hog_is_told_by_its_cpu(lab, probe):
    hog = subprocess.Popen(
        ["timeout", "20", "taskset", "-c", "0", "sh", "-c", "while :; do :; done"]
    )
    try:
        trial = measure(lab, probe)
    finally:
        hog.terminate()
        hog.wait()
    reasons = [mark["reason"] for mark in trial["marks"] if mark["guard"] == "cpu_saturation"]
    assert reasons and "CPU 0" in reasons[0], trial["marks"]


def test_a_confidence_width_that_is_missed_is_marked(lab, probe):
    trial = measure(
        lab,
        probe,
        duration=1,
        confidence={"level": 99, "width_percent": 0.1, "iterations_min": 3, "iterations_max": 3},
    )
    assert "confidence" in guards(trial), trial["result"]
