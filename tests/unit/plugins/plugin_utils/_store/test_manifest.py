# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import threading

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._store.manifest import keep


def conditions(kernel):
    return {"host": {"kernel": kernel}, "links": {}, "ovs": {}, "devices": {}, "kernel_log": []}


def kept(folder):
    return json.loads((folder / "manifest.json").read_text())


def test_each_node_before_and_after(tmp_path):
    for node, part in (("b", "before"), ("a", "before"), ("a", "after")):
        assert keep(str(tmp_path / "x"), "x", node, part, conditions(f"{node} {part}"))
    assert kept(tmp_path / "x") == {
        "schema": 1,
        "campaign": "x",
        "nodes": {
            "a": {"before": conditions("a before"), "after": conditions("a after")},
            "b": {"before": conditions("b before")},
        },
    }
    assert not keep(str(tmp_path / "x"), "x", "b", "before", conditions("b before"))


def test_a_campaign_that_goes_on_begins_anew(tmp_path):
    for part in ("before", "after", "before"):
        keep(str(tmp_path), "x", "a", part, conditions("1"))
    assert kept(tmp_path)["nodes"] == {"a": {"before": conditions("1")}}
    (tmp_path / "manifest.json").write_text("{")
    keep(str(tmp_path), "x", "b", "before", conditions("1"))
    assert list(kept(tmp_path)["nodes"]) == ["b"]


def test_nodes_that_write_at_the_same_time_lose_nothing(tmp_path):
    names = [f"node{number}" for number in range(12)]
    threads = [
        threading.Thread(target=keep, args=(str(tmp_path), "x", name, "before", conditions(name)))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kept(tmp_path)["nodes"]) == sorted(names)


def test_texts_of_a_node_are_clean_when_they_are_kept(tmp_path):
    odd = {"host": {"kernel": "6.1\n{{ lookup('pipe', 'id') }}\x1b[2J"}, "links": {"e{{": {}}}
    keep(str(tmp_path), "x", "a", "before", {**conditions(""), **odd})
    text = (tmp_path / "manifest.json").read_text()
    assert kept(tmp_path)["nodes"]["a"]["before"]["host"] == {
        "kernel": "6.1 { { lookup('pipe', 'id') }}\\u001b[2J"
    }
    assert "{{" not in text and "e{ {" in text


def test_a_node_cannot_make_two_names_one(tmp_path):
    with pytest.raises(InputError, match="two names differ"):
        keep(str(tmp_path), "x", "a", "before", {**conditions(""), "links": {"e\n": {}, "e ": {}}})


def test_a_folder_that_is_a_file_is_said(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match="the folder cannot be opened"):
        keep(str(tmp_path / "x"), "x", "a", "before", conditions("1"))
