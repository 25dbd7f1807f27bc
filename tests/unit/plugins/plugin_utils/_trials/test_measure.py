# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._load.spec import SPEC
from ansible_collections.offload.lab.plugins.plugin_utils._store import campaign_lock
from ansible_collections.offload.lab.plugins.plugin_utils._trials.measure import Measurement
from ansible_collections.offload.lab.plugins.plugin_utils._trials.records import read
from ansible_collections.offload.lab.tests.instruments.simulation.synthetic import make_plan

RAW = "THROUGHPUT=9410.25\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=1.00\n"
PATHS = {
    "client": {"physical": {"address": "198.18.0.1"}},
    "server": {"physical": {"address": "198.18.0.2"}},
}


class Controller:
    """A results folder with a plan, and tasks of module visit on it."""

    def __init__(self, folder):
        self.folder = folder
        self.said = []
        self.warned = []
        self.plan = make_plan(
            1, blocks=2, paths=["physical"], workloads=["tcp_stream", "udp_stream"]
        )
        (folder / "plan.json").write_text(json.dumps(self.plan))

    def task(self, dry=False, **options):
        defaults = {name: spec.get("default") for name, spec in SPEC.items()}
        arguments = dict(
            defaults, client="node1", server="node2", record=str(self.folder / "trials.jsonl")
        )
        arguments.update(
            {"plan": str(self.folder / "plan.json"), "endpoints": PATHS}
            if "cells" not in options
            else {}
        )
        return Measurement(dict(arguments, **options), self.said.append, self.warned.append, dry)

    def recorded(self):
        return [trial["id"] for trial in read(str(self.folder / "trials.jsonl"))[0]]


@pytest.fixture
def controller(tmp_path):
    return Controller(tmp_path)


def answered(cells, **more):
    rows = [
        {
            "id": cell["id"],
            "pair": cell["pair"],
            "started": 1.0,
            "finished": 2.0,
            "error": None,
            "streams": [
                {
                    "netns": None,
                    "argv": ["netperf", "-t", cell["workload"]["test"]],
                    "rc": 0,
                    "raw": RAW,
                    "stderr": "",
                    "started": 1.0,
                    "finished": 2.0,
                }
            ],
        }
        for cell in cells
    ]
    return dict({"cells": rows, "left": {}, "spooled": None}, **more)


def test_a_visit_is_recorded_and_shown(controller):
    work = controller.task(block=1, visit=1)
    (chunk,) = work.chunks()
    assert len(chunk) == 2
    assert work.record(answered(chunk, spooled="demo-k.jsonl")) == ["demo-k.jsonl"]
    assert controller.recorded() == [cell["id"] for cell in chunk]
    summary = work.summary()
    assert summary["changed"] is True
    assert [
        summary[count] for count in ("measured", "failed_trials", "skipped_trials", "collected")
    ] == [2, 0, 0, 0]
    assert "trials" not in summary
    assert controller.said[0].startswith("node1-node2: block 1/2 visit 1/2 [")
    assert controller.said[0] == summary["progress"]
    assert "cells 2/2, tcp_stream on physical 9.41 Gbit/s" in summary["progress"]


def test_a_task_measures_as_many_chunks_as_it_is_asked_for(controller):
    whole_task = controller.task(block=1, visit=1, chunk_seconds=1)
    piece = controller.task(block=1, visit=1, chunk_seconds=1, chunks=1)
    assert piece.chunks() == whole_task.chunks()[:1]
    piece.record(answered(piece.chunks()[0]))
    assert controller.task(block=1, visit=1, chunk_seconds=1).chunks() == whole_task.chunks()[1:]


def test_what_was_seen_before_the_first_cell_is_kept_with_every_trial(controller):
    evidence_before = {"physical": {"TCP_STREAM": {"error": "netperf ended early"}}}
    work = controller.task(
        block=1, visit=1, evidence={"settings": {}, "underlay": {}}, chunk_seconds=1
    )
    first, second = work.chunks()
    work.record(answered(first, packets=evidence_before, sampled_s=0.7))
    work.record(answered(second))
    assert work.seen == evidence_before and work.summary()["sampled_s"] == 0.7
    streams = [trial for trial in work.trials if trial["workload"]["test"] == "TCP_STREAM"]
    assert len(work.trials) == 2 and [trial["evidence"]["error"] for trial in streams] == [
        "netperf ended early"
    ]


def test_what_is_recorded_is_not_measured_again(controller):
    work = controller.task(block=1, visit=1)
    (chunk,) = work.chunks()
    work.record(answered(chunk[:1]))
    again = controller.task(block=1, visit=1)
    assert [[cell["id"] for cell in part] for part in again.chunks()] == [[chunk[1]["id"]]]
    assert again.summary()["skipped_trials"] == 1
    again.record(answered(chunk[1:]))
    done = controller.task(block=1, visit=1)
    assert done.chunks() == [] and done.summary()["changed"] is False


def test_what_an_earlier_controller_left_is_recorded_once(controller):
    first = controller.task(block=1, visit=1)
    (chunk,) = first.chunks()
    first.record(answered(chunk[:1]))
    later = controller.task(collect=True)
    spooled = {"x-1.jsonl": answered(chunk)["cells"]}
    assert later.record({"left": spooled, "cells": []}) == ["x-1.jsonl"]
    assert later.collected == 1
    assert controller.recorded() == [cell["id"] for cell in chunk]
    trials = read(str(controller.folder / "trials.jsonl"))[0]
    assert {(trial["block"], trial["visit"], trial["profile"]) for trial in trials} == {
        (1, 1, controller.plan["visits"][0]["profile"])
    }
    assert later.record({"left": spooled, "cells": []}) == ["x-1.jsonl"] and later.collected == 1


def test_what_is_not_of_this_plan_is_left_out_and_said(controller):
    work = controller.task(collect=True)
    rows = answered([{"id": "strange", "pair": None, "workload": {"test": "TCP_STREAM"}}])["cells"]
    assert work.record({"left": {"x.jsonl": rows}, "cells": []}) == ["x.jsonl"]
    assert controller.recorded() == [] and "strange" in controller.warned[0]


def test_another_pair_measures_the_same_cells(controller):
    work = controller.task(block=1, visit=1)
    work.record(answered(work.chunks()[0]))
    other = controller.task(block=1, visit=1, client="node3", server="node4")
    assert len(other.chunks()[0]) == 2
    assert other.key == work.key and other.chunk_name(other.cells) != work.chunk_name(work.cells)


def test_another_folder_or_plan_has_other_chunks(controller, tmp_path):
    key = controller.task(collect=True).key
    assert controller.task(collect=True).key == key
    assert controller.task(collect=True, record=str(tmp_path / "b" / "trials.jsonl")).key != key
    (tmp_path / "plan.json").write_text(json.dumps(dict(controller.plan, created="later")))
    assert controller.task(collect=True).key != key


def test_a_plain_list_of_cells(controller):
    cells = [
        {
            "id": "a:b+c",
            "workload": {"test": "TCP_STREAM", "duration": "1"},
            "endpoints": [{"address": "198.18.0.2"}],
        }
    ]
    work = controller.task(cells=cells, record=None)
    assert work.reach(work.cells, False) == [
        {"netns": None, "local": None, "address": "198.18.0.2", "port": 12865, "data_port": 12870}
    ]
    work.record(answered(work.chunks()[0]))
    summary = work.summary()
    assert summary["trials"][0]["result"]["throughput_mbps"] == 9410.25
    assert work.chunk_name(work.cells) == "node1-node2-a_b_c"


def test_what_the_machine_spoilt_is_measured_again_when_the_visit_is_made(controller):
    work = controller.task(block=1, visit=2)
    answer = answered(work.chunks()[0])
    answer["cells"][0]["clock_jump_s"] = 2.0
    assert work.chunks_again() == []  # the visit's own cells come first
    work.record(answer)
    [chunk] = work.chunks_again()
    assert [cell["id"] for cell in chunk] == [answer["cells"][0]["id"] + "-again"]
    # Two visits a block: the fourth measures the second again.
    assert [cell["visit"] for cell in chunk] == [4]
    work.record(answered(chunk))
    assert "measured again" in controller.said[-1]
    assert work.summary()["measured"] == len(answer["cells"]) + 1
    recorded = read(str(controller.folder / "trials.jsonl"))[0]
    assert recorded[-1]["again"] == answer["cells"][0]["id"]
    assert [trial[key] for key in ("block", "profile", "path") for trial in recorded[-1:]] == [
        recorded[0][key] for key in ("block", "profile", "path")
    ]
    later = controller.task(block=1, visit=2)
    assert later.chunks() == [] and later.chunks_again() == []


def test_a_visit_that_was_broken_off_before_that_goes_on_with_it(controller):
    work = controller.task(block=1, visit=2)
    answer = answered(work.chunks()[0])
    answer["cells"][1]["clock_jump_s"] = 2.0
    work.record(answer)
    later = controller.task(block=1, visit=2)
    assert later.chunks() == []
    [chunk] = later.chunks_again()
    assert [cell["id"] for cell in chunk] == [answer["cells"][1]["id"] + "-again"]


def test_trials_of_a_confirmation_say_so(controller):
    decided = dict(controller.plan["visits"][0], block=3, part="confirm")
    decided["cells"] = [dict(cell, id="confirm-" + cell["id"]) for cell in decided["cells"]]
    (controller.folder / "confirmation.json").write_text(
        json.dumps(
            {
                "schema": 1,
                "campaign": controller.plan["name"],
                "control": controller.plan["control"],
                "blocks": [3],
                "profiles": controller.plan["profiles"],
                "visits": [decided],
            }
        )
    )
    work = controller.task(block=3, visit=1)
    work.record(answered(work.chunks()[0]))
    assert [trial["part"] for trial in read(str(controller.folder / "trials.jsonl"))[0]] == [
        "confirm",
        "confirm",
    ]
    assert controller.said[0].startswith("node1-node2: block 3/3 visit 1/1 [")


def test_failed_trials_are_counted(controller):
    work = controller.task(block=1, visit=1)
    answer = answered(work.chunks()[0])
    answer["cells"][0]["error"] = "did not end within 17 s"
    work.record(answer)
    assert work.summary()["failed_trials"] == 1
    assert work.summary()["errors"] == [answer["cells"][0]["id"] + ": did not end within 17 s"]


def test_only_a_plan_that_begins_is_tried_out_first(controller):
    assert controller.task(block=1, visit=1).reach([], False) == []
    assert controller.task(endpoints=None).reach([], True) == []
    assert [end["address"] for end in controller.task().reach([], True)] == ["198.18.0.2"]


def test_a_dry_run_writes_nothing(controller):
    controller.task(dry=True, block=1, visit=1)
    assert sorted(path.name for path in controller.folder.iterdir()) == ["plan.json"]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"plan": "/nowhere/plan.json"}, "there is no such plan"),
        ({"block": 9, "visit": 1}, "block 9 visit 1: the plan has no such visit"),
        ({"block": 1, "visit": 1, "mtu": 1500}, "no such visit"),
        (
            {"block": 1, "visit": 1, "endpoints": {"client": {}, "server": {}}},
            "path physical: the client has no endpoint",
        ),
    ],
)
def test_wrong_input(controller, options, message):
    with pytest.raises(InputError, match=message):
        controller.task(**options)


def test_the_mtu_is_needed_where_there_are_several(controller):
    plan = dict(
        controller.plan,
        visits=controller.plan["visits"] + [dict(controller.plan["visits"][0], mtu=1500)],
    )
    (controller.folder / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(InputError, match="Give 'mtu' too"):
        controller.task(block=1, visit=1)
    assert controller.task(block=1, visit=1, mtu=1500).visit["mtu"] == 1500


def test_a_damaged_record_is_said(controller):
    (controller.folder / "trials.jsonl").write_text('{"id": "torn')
    controller.task(collect=True)
    assert "kept in" in controller.warned[0]


def test_a_second_controller_is_refused(controller, monkeypatch):
    controller.task(collect=True)
    owner = {"host": "other", "pid": 1, "started": 0, "kernel": ["other", 0]}
    monkeypatch.setattr(campaign_lock, "controller", lambda: owner)
    with pytest.raises(LabError, match="another controller measures this campaign"):
        controller.task(collect=True)
