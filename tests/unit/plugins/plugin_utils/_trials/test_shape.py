# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import json
import shutil

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._across.campaigns import (
    read_campaign_folder,
)
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.plugins.plugin_utils._trials import records, shape
from ansible_collections.offload.lab.tests.support import CHECKOUT

RECORDED = CHECKOUT / "tests/unit/recorded/demo"
TRIALS = [json.loads(line) for line in (RECORDED / "trials.jsonl").read_text().splitlines()]


def put(folder, trials):
    (folder / "trials.jsonl").write_text("".join(map(records.encode, trials)))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "a\n"),
        ("id", "{{ x }}"),
        ("campaign", 3),
        ("pair", "<b>"),
        ("client", 3.5),
        ("server", "a\x00"),
        ("forwarder", "a;b"),
        ("path", "=1+1\x1b"),
        ("profile", "x" * 5000),
        ("part", "$(id)"),
        ("again", 0),
        ("block", "1"),
        ("visit", 1.5),
        ("cell", True),
        ("mtu", "9000"),
        ("workload", []),
        ("error", {"a": 1}),
        ("marks", "x"),
        ("marks", [1]),
        ("marks", [{"guard": "mss", "reason": 1}]),
    ],
)
def test_a_line_that_is_no_trial_is_bad_and_named(tmp_path, key, value):
    put(tmp_path, [TRIALS[0], {**TRIALS[1], key: value}])
    good, problems = records.read(str(tmp_path / "trials.jsonl"))
    assert [trial["id"] for trial in good] == [TRIALS[0]["id"]]
    assert problems == [f"line 2: its {key} cannot be used"]


@pytest.mark.parametrize("value", [["node1"], {"a": 1}])
def test_a_list_is_no_name(tmp_path, value):
    put(tmp_path, [{**TRIALS[1], "client": value}])
    _good, problems = records.read(str(tmp_path / "trials.jsonl"))
    assert problems == ["line 1: its names cannot be used"]


@pytest.mark.parametrize("key", shape.OF_WORKLOAD)
def test_so_is_the_name_of_a_workload(tmp_path, key):
    workload = {**TRIALS[1]["workload"], key: "{% x %}"}
    put(tmp_path, [{**TRIALS[1], "workload": workload}])
    _good, problems = records.read(str(tmp_path / "trials.jsonl"))
    assert problems == [f"line 1: its workload.{key} cannot be used"]


def test_texts_of_nodes_are_clean(tmp_path):
    odd = "no\n{{ x }}\x1b"
    trial = {
        **TRIALS[1],
        "error": odd,
        "marks": [{"guard": "mss", "reason": odd, "excludes": True}],
        "result": {"payload": {"error": odd}},
    }
    put(tmp_path, [trial])
    [read] = records.read(str(tmp_path / "trials.jsonl"))[0]
    clean = "no { { x }}\\u001b"
    assert (
        read["error"] == read["marks"][0]["reason"] == read["result"]["payload"]["error"] == clean
    )


def test_they_are_clean_when_they_are_recorded(tmp_path):
    path = tmp_path / "trials.jsonl"
    records.Records(str(path)).append({**copy.deepcopy(TRIALS[0]), "error": "{{ x }}"})
    assert json.loads(path.read_text())["error"] == "{ { x }}"


def test_the_raw_output_stays_raw(tmp_path):
    stream = {**TRIALS[0]["streams"][0], "raw": "{{ x }}\x1b\n"}
    put(tmp_path, [{**TRIALS[0], "streams": [stream]}])
    [read] = records.read(str(tmp_path / "trials.jsonl"))[0]
    assert read["streams"][0]["raw"] == stream["raw"]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (("cpu", "ends", "combined", "percent"), r"cpu\.ends\.combined\.percent"),
        (("result", "latency_us"), r"result\.latency_us"),
        (("result", "throughput_mbps"), r"result\.throughput_mbps"),
        (("started",), "started"),
        (("evidence",), "evidence"),
    ],
)
def test_a_number_that_is_none_is_named(tmp_path, value, key):
    folder = shutil.copytree(RECORDED, tmp_path / "demo")
    trials = copy.deepcopy(TRIALS)
    item = trials[3]
    for name in value[:-1]:
        item = item[name]
    item[value[-1]] = ["x"]
    put(folder, trials)
    compare = value[0] in ("cpu", "result")  # it reads no more
    for make in (make_report, read_campaign_folder) if compare else (make_report,):
        with pytest.raises(InputError, match=f"trials.jsonl: trial {trials[3]['id']}: {key}"):
            make(str(folder), False)


def test_an_error_of_ours_stays_one(tmp_path):
    put(tmp_path, TRIALS[:2])
    path = str(tmp_path / "trials.jsonl")
    with pytest.raises(ZeroDivisionError), shape.explained(path, records.stream_records(path, [])):
        raise ZeroDivisionError


def test_recorded_trials_of_earlier_versions_fit():
    for trial in TRIALS:
        before = copy.deepcopy(trial)
        shape.check(trial)
        assert trial == before
