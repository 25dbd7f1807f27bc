# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The netperf parser on recorded outputs: values read off by hand, and the logs of the studies."""

from __future__ import annotations

import csv

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._netperf_logs.parse import (
    parse_netperf,
)
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

COLUMNS = {
    "elapsed_s": "elapsed",
    "local_cpu_percent": "local_cpu_pct",
    "remote_cpu_percent": "remote_cpu_pct",
    "local_service_demand": "local_sd",
    "remote_service_demand": "remote_sd",
}
ROW = (
    "elapsed_s",
    "throughput_mbps",
    "local_cpu_percent",
    "remote_cpu_percent",
    "local_service_demand",
    "remote_service_demand",
)
UNITS = {"10^6bits/sec": "10^6bits/s", "MBytes/sec": "MBytes/s", "per sec": "Trans/s"}
CONFIDENCE = {"na": None, "yes": True, "no": False}


def expectations():
    with open(corpus_dir() / "netperf_expected.tsv", encoding="utf-8") as table:
        return list(csv.DictReader(table, delimiter="\t"))


def parse_file(name):
    return parse_netperf((corpus_dir() / name).read_text(encoding="utf-8", errors="replace"))


def number(text):
    """What the parser is to give for a number read off: None where none was printed, or -1.00, that
    is not measured.
    """
    return None if text in ("na", "none", "-1.00", "-1.000") else float(text)


def udp_row(run, row):
    """The first row of UDP_STREAM is what was sent, the second what arrived."""
    return run["throughput_sent_mbps"] if row == 1 else run["throughput"]


def test_values_read_off_by_hand():
    checked = 0
    for want in expectations():
        runs = parse_file(want["file"])
        row = int(want["row"])
        if row == 0:
            assert all(run["error"] and run["throughput"] is None for run in runs), want
            continue
        udp = want["test"] == "UDP_STREAM" and not want["file"].startswith("netperf/pkb")
        run = runs[0] if udp else runs[row - 1]
        assert run["error"] is None, want
        assert run["test"] == (None if want["test"] == "unknown" else want["test"]), want
        assert (udp_row(run, row) if udp else run["throughput"]) == number(want["throughput"]), want
        unit = None if want["unit_as_printed"] in ("none", "unknown") else want["unit_as_printed"]
        assert run["throughput_unit"] == unit, want
        assert UNITS.get(unit, unit) == (None if want["unit"] == "unknown" else want["unit"]), want
        for key, column in COLUMNS.items():
            assert run[key] == number(want[column]), (column, want)
        assert run["confidence_met"] is CONFIDENCE[want["confidence_met"]], want
        checked += 1
    assert checked >= 45


def test_every_recorded_run_is_a_run_or_an_error():
    runs = {path.name: parse_file(path) for path in sorted((corpus_dir() / "netperf").iterdir())}
    empty = {name for name, streams in runs.items() if not streams}
    # The first is the summary of a wrapper, the second was made from an output by another program.
    assert empty == {"copilot_test2-multi.txt", "yardstick_sample.json"}
    for name, streams in runs.items():
        for run in streams:
            assert (run["throughput"] is None) == (run["error"] is not None), name


@pytest.mark.slow
def test_recorded_runs_that_are_cut_give_no_other_number():
    cuts = 0
    for path in sorted((corpus_dir() / "netperf").iterdir()):
        text = path.read_text(encoding="utf-8", errors="replace")
        throughputs = {run["throughput"] for run in parse_netperf(text)} | {None}
        for end in range(7, min(len(text), 9000), 13):
            assert {run["throughput"] for run in parse_netperf(text[:end])} <= throughputs, (
                path.name,
                text[:end][-200:],
            )
            cuts += 1
    assert cuts > 5000


@pytest.fixture
def study():
    def parse(number):
        path = next((corpus_dir().parent / "studies").glob(f"{number:03}_*"), None)
        if path is None:
            pytest.skip(f"no study {number:03} next to the recorded outputs")
        return path.read_text(encoding="utf-8"), parse_netperf(path.read_text(encoding="utf-8"))

    return parse


def test_log_of_study_003(study):
    text, runs = study(3)
    assert len(runs) == text.count("TEST from") == 10
    lines = text.split("\n")
    for run in runs:
        after = lines[run["line"] :]
        row = next(line.split() for line in after if line.split() and line.split()[0].isdigit())
        sizes = [run["recv_socket_size"], run["send_socket_size"], run["message_size"]]
        assert (
            run["error"] is None and run["test"] == "TCP_STREAM" and run["confidence_met"] is False
        )
        assert sizes == [int(word) for word in row[:3]]
        assert [run[key] for key in ROW] == [float(word) for word in row[3:]]
        widths = [line for line in after[:8] if line.startswith("!!!") and "%" in line]
        assert list(run["confidence_width"].values()) == [
            float(line.rsplit(":", 1)[1].strip(" %")) for line in widths
        ]


def test_log_of_study_004_with_one_run_broken_off(study):
    _text, runs = study(4)
    assert [run["throughput_mbps"] for run in runs] == [
        3919.03,
        None,
        2205.32,
        2254.21,
        649.39,
        399.66,
    ]
    broken = runs.pop(1)
    assert (
        "truncated" in broken["error"]
        and broken["test"] == "TCP_STREAM"
        and broken["confidence_met"] is None
    )
    assert all(
        broken[key] is None
        for key in ("throughput", "elapsed_s", "local_cpu_percent", "message_size")
    )
    assert [run["confidence_met"] for run in runs] == [False, False, True, False, False]
    assert [run["local_service_demand"] for run in runs] == [0.574, 1.398, 1.240, 3.200, 14.942]
    assert runs[-1]["confidence_width"] == {
        "throughput": 77.405,
        "local_cpu": 64.518,
        "remote_cpu": 65.019,
    }
    assert runs[2]["confidence_width"] == {} and runs[2]["confidence_limit"] == 2.5
