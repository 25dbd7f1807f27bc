# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""decisions.jsonl: a line for each decision, and the files of earlier versions."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import decisions
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    read_interim,
    read_search,
    write_interim,
    write_search,
)

PLAN = {"name": "x"}
SEARCH = {"schema": 1, "campaign": "x", "rounds": [], "ended": None, "nominees": []}


def look(block):
    return {"block": block, "alpha": 0.01, "settled": [], "answered": False, "open": {}}


def search_round(number):
    standing = {"visits": 1, "best": None, "gain": None, "low": None, "high": None, "sure": 0.0}
    return {"round": number, "profiles": {}, "visits": [], "standing": standing}


def lines(folder):
    return [json.loads(line) for line in (folder / decisions.FILE).read_text().splitlines()]


def test_each_decision_is_a_line_and_earlier_ones_stay(tmp_path):
    folder = str(tmp_path)
    write_interim(folder, PLAN, [look(7)])
    before = (tmp_path / decisions.FILE).read_bytes()
    write_search(folder, {**SEARCH, "rounds": [search_round(1)]})
    write_interim(folder, PLAN, [look(7), look(9)])
    ended = {**SEARCH, "rounds": [search_round(1), search_round(2)], "ended": "visits"}
    write_search(folder, ended)
    assert (tmp_path / decisions.FILE).read_bytes().startswith(before)
    assert [line["part"] for line in lines(tmp_path)] == ["looks", "search", "looks", "search"]
    assert [len(line.get("made", line.get("rounds"))) for line in lines(tmp_path)] == [1, 1, 1, 1]
    assert read_interim(folder) == [look(7), look(9)]
    assert read_search(folder) == ended


def test_a_decision_is_on_the_disk_before_it_acts(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    )
    write_interim(str(tmp_path), PLAN, [look(7)])
    assert str(tmp_path / decisions.FILE) in synced and str(tmp_path) in synced


def test_a_torn_line_was_not_decided_and_is_replaced(tmp_path):
    write_interim(str(tmp_path), PLAN, [look(7)])
    whole = (tmp_path / decisions.FILE).read_bytes()
    for end in range(1, len(whole)):
        (tmp_path / decisions.FILE).write_bytes(whole + whole[:end])
        assert read_interim(str(tmp_path)) == [look(7)]
    write_interim(str(tmp_path), PLAN, [look(7), look(9)])
    assert read_interim(str(tmp_path)) == [look(7), look(9)]


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    write_interim(str(tmp_path), PLAN, [look(7)])
    complete = (tmp_path / decisions.FILE).read_bytes()
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:10]))
    with pytest.raises(InputError, match="No space left on device"):
        write_interim(str(tmp_path), PLAN, [look(7), look(9)])
    assert (tmp_path / decisions.FILE).read_bytes() == complete


def test_the_files_of_an_earlier_version_are_read_and_go_on_as_lines(tmp_path):
    folder = str(tmp_path)
    earlier = {"schema": 1, "campaign": "x", "made": [look(7)]}
    (tmp_path / "looks.json").write_text(json.dumps(earlier))
    (tmp_path / "search.json").write_text(json.dumps(SEARCH))
    assert read_interim(folder) == [look(7)] and read_search(folder) == SEARCH
    write_interim(folder, PLAN, [look(7), look(9)])
    assert lines(tmp_path)[0]["made"] == [look(7), look(9)]
    assert read_interim(folder) == [look(7), look(9)] and read_search(folder) == SEARCH
    assert json.loads((tmp_path / "looks.json").read_text()) == earlier


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: this is not JSON"),
        ("3", "line 1: this is not a decision"),
        (
            '{"part": "looks", "schema": 1, "campaign": "x", "made": 3}',
            "this is not a list of decisions",
        ),
        ('{"part": "looks", "schema": 9, "campaign": "x", "made": []}', "of schema 1"),
        ('{"part": "looks", "schema": 1, "campaign": "x", "made": [{}]}', r"decisions.jsonl: "),
    ],
)
def test_a_line_that_is_none_is_refused_by_its_place(tmp_path, text, message):
    (tmp_path / decisions.FILE).write_text(f"{text}\n")
    with pytest.raises(InputError, match=message):
        read_interim(str(tmp_path))


def test_a_part_that_this_version_does_not_know_is_no_error(tmp_path):
    write_interim(str(tmp_path), PLAN, [look(7)])
    with (tmp_path / decisions.FILE).open("a") as stream:
        stream.write('{"part": "later"}\n')
    assert read_interim(str(tmp_path)) == [look(7)]
