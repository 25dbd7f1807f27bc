# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""trials.csv: its rows, and the process that writes it."""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host.processes import started_at
from ansible_collections.offload.lab.plugins.plugin_utils._exports import csv_file
from ansible_collections.offload.lab.plugins.plugin_utils._trials.records import encode
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic


@pytest.fixture
def records():
    return list(
        synthetic.make_trials(synthetic.make_plan(1, blocks=2, paths=("physical",)), cpus=4)
    )


def test_row_of_csv(records):
    trial = dict(
        records[0], marks=[{"guard": "mss", "reason": "8940, not 8898", "excludes": False}]
    )
    trial["cpu"]["ends"]["client"]["percent"] = {
        "user": 1.0,
        "nice": 0.5,
        "system": 2.25,
        "softirq": 3.0,
        "idle": 93.0,
    }
    row = dict(zip(csv_file.COLUMNS, csv_file.csv_row(trial)))
    assert len(csv_file.csv_row(trial)) == len(csv_file.COLUMNS) == len(set(csv_file.COLUMNS))
    assert (
        row["client_user_percent"],
        row["client_system_percent"],
        row["client_irq_percent"],
    ) == (1.5, 2.25, 0.0)
    assert (
        row["combined_user_percent"] is None
        and row["left_out"] == 0
        and row["marks"] == "mss: 8940, not 8898"
    )
    assert row["workload"] == trial["workload"]["name"] and row["duration"] == 1


@pytest.fixture
def record(records, tmp_path):
    path = tmp_path / "trials.jsonl"
    path.write_text("".join(encode(trial) for trial in records) + "torn")
    return path


def test_every_good_trial_is_a_row(record, records, tmp_path):
    with csv_file.digested(record, tmp_path / "trials.csv", "all_off") as digested:
        assert digested().trials == len(records)
    with open(tmp_path / "trials.csv", newline="", encoding="utf-8") as stream:
        assert [row["id"] for row in csv.DictReader(stream)] == [trial["id"] for trial in records]


def test_what_cannot_be_written_is_an_error_here(record, tmp_path):
    with pytest.raises(FileNotFoundError), csv_file.digested(
        record, tmp_path / "missing" / "trials.csv", "all_off"
    ) as digested:
        digested()


def test_a_writer_that_is_killed_is_said(record, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, "stream_records", lambda *_args: os._exit(9))
    with pytest.raises(LabError, match="was ended"), csv_file.digested(
        record, tmp_path / "trials.csv", "all_off"
    ) as digested:
        digested()


def test_an_error_of_the_analysis_ends_the_writer(record, tmp_path):
    with pytest.raises(ZeroDivisionError), csv_file.digested(
        record, tmp_path / "trials.csv", "all_off"
    ):
        raise ZeroDivisionError
    assert multiprocessing.active_children() == []


def test_a_report_that_is_killed_leaves_no_writer(record, tmp_path, monkeypatch):
    """The writer has more to send than a pipe holds, and nobody reads it."""
    monkeypatch.setattr(csv_file, "digest_of", lambda *_args: "x" * 10_000_000)
    parent = os.fork()
    if not parent:
        with csv_file.digested(record, tmp_path / "trials.csv", "all_off"):
            (tmp_path / "writer").write_text(str(multiprocessing.active_children()[0].pid))
            signal.pause()
    deadline = time.monotonic() + 60
    while not (tmp_path / "writer").exists() or not (tmp_path / "writer").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    writer = int((tmp_path / "writer").read_text())
    while time.monotonic() < deadline and started_at(writer):
        time.sleep(0.01)
    assert not started_at(writer)
