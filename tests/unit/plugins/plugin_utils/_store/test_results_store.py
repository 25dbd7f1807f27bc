# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._host import store
from ansible_collections.offload.lab.plugins.plugin_utils._store import results_store

AWX = {
    "JOB_ID": "41",
    "AWX_HOST": "https://awx.example.org",
    "AWX_ISOLATED_DATA_DIR": "/runner/artifacts/41",
}


@pytest.fixture(name="job")
def _job(tmp_path):
    (tmp_path / "job").mkdir()
    return tmp_path / "job"


@pytest.fixture(name="kept")
def _kept(tmp_path):
    return tmp_path / "store"


def push(job, kept, files=None):
    news = results_store.news(str(job), store.listing(str(kept)) if files is None else files)
    store.write(str(kept), news["append"], news["whole"])
    return news


def test_only_what_is_new_is_sent(job, kept):
    (job / "plan.json").write_text("{}")
    (job / "trials.jsonl").write_text("one\n")
    assert push(job, kept) == {
        "append": {"offset": 0, "text": "one\n"},
        "whole": {"plan.json": "{}"},
    }
    with open(job / "trials.jsonl", "a", encoding="utf-8") as stream:
        stream.write("two\n")
    assert push(job, kept) == {"append": {"offset": 4, "text": "two\n"}, "whole": {}}
    assert push(job, kept) == {"append": None, "whole": {}}
    assert (kept / "trials.jsonl").read_text() == "one\ntwo\n"


def test_a_repaired_record_replaces_the_stores(job, kept):
    (job / "trials.jsonl").write_text("torn\none\n")
    push(job, kept)
    (job / "trials.jsonl").write_text("one\ntwo\n")
    push(job, kept)
    assert (kept / "trials.jsonl").read_text() == "one\ntwo\n"


def test_bytes_that_are_no_text_arrive_as_they_are(job, kept):
    (job / "trials.jsonl").write_bytes(b"\xff\x00torn")
    push(job, kept)
    assert (kept / "trials.jsonl").read_bytes() == b"\xff\x00torn"


def test_a_store_that_somebody_else_wrote_to_is_not_appended_to(job, kept):
    (job / "trials.jsonl").write_text("one\n")
    push(job, kept)
    listing = store.listing(str(kept))
    (kept / "trials.jsonl").write_text("one\nanother\n")
    (job / "trials.jsonl").write_text("one\ntwo\n")
    with pytest.raises(LabError, match="the record of the store has 12 bytes, not 4"):
        push(job, kept, listing)


def test_what_the_folder_lacks_is_fetched(job, kept):
    kept.mkdir()
    for name in ("plan.json", "trials.jsonl", "report.html"):
        (kept / name).write_text("one\n")
    files = store.listing(str(kept))
    assert results_store.to_fetch(str(job), files) == ["plan.json", "trials.jsonl"]
    (job / "plan.json").write_text("one\n")
    (job / "trials.jsonl").write_text("one\ntwo\n")  # an earlier job here could not push it
    assert results_store.to_fetch(str(job), files) == []
    (job / "trials.jsonl").write_text("two\n")
    assert results_store.to_fetch(str(job), files) == ["trials.jsonl"]


def test_a_lock_is_no_result(kept):
    kept.mkdir()
    (kept / "trials.jsonl.lock").write_text("{}")
    assert store.listing(str(kept)) == {}
    assert store.listing(str(kept / "missing")) == {}


@pytest.mark.parametrize("folder", ["/runner/project/results", "/tmp/results", "/root/results"])
def test_a_folder_that_goes_with_the_job_is_refused_with_the_remedy(folder, monkeypatch):
    monkeypatch.setattr(
        results_store.os.path, "ismount", lambda path: path in ("/", "/runner", "/srv/shared")
    )
    with pytest.raises(
        InputError, match="AWX removes this folder with its job. Set offload_lab_results_host"
    ):
        results_store.refuse_temporary(folder, AWX)
    results_store.refuse_temporary("/srv/shared/results", AWX)
    results_store.refuse_temporary(folder, {})


def test_how_far_a_campaign_is(job):
    assert results_store.standing(str(job)) == {"campaign": "job", "planned": 0, "recorded": 0}
    (job / "plan.json").write_text(json.dumps({"visits": [{"cells": [1, 2]}, {"cells": [3]}]}))
    (job / "trials.jsonl").write_text("1\n2\n")
    assert results_store.standing(str(job)) == {"campaign": "job", "planned": 3, "recorded": 2}
