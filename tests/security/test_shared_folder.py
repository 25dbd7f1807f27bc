# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody else may write to the results folder: the controller overwrites none of its own files
through links that it finds there.
"""

from __future__ import annotations

import os

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import files, lease, store
from ansible_collections.offload.lab.plugins.module_utils._host.files import write_changed
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import write_plan
from ansible_collections.offload.lab.plugins.plugin_utils._report import report
from ansible_collections.offload.lab.plugins.plugin_utils._store import manifest, results_store
from ansible_collections.offload.lab.plugins.plugin_utils._trials.records import Records
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic

TEXT = "a file of root\n"
CONDITIONS = {"host": {}, "links": {}, "ovs": {}, "devices": {}, "kernel_log": []}


def plan(folder):
    write_plan(f"{folder}/plan.json", {"schema": 1})


def a_manifest(folder):
    manifest.keep(folder, "x", "node1", "before", CONDITIONS)


def documents(folder):
    write_changed(folder, {"comparison.md": "text"})


def stored(folder):
    store.write(folder, None, {"plan.json": "{}"})


def repaired(folder):
    with open(f"{folder}/trials.jsonl", "w", encoding="utf-8") as stream:
        stream.write("torn")
    Records(f"{folder}/trials.jsonl")


WRITERS = {
    "plan.json": plan,
    "manifest.json": a_manifest,
    "comparison.md": documents,
    "trials.jsonl": repaired,
}


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "shadow"
    path.write_text(TEXT)
    return path


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.mark.parametrize("name", WRITERS)
def test_a_planted_link_at_the_new_name_is_not_followed(folder, target, name):
    """The fixed name of earlier versions, NAME.new."""
    (folder / f"{name}.new").symlink_to(target)
    WRITERS[name](str(folder))
    assert target.read_text() == TEXT and (folder / name).is_file()


@pytest.mark.parametrize("name", ["plan.json", "manifest.json", "comparison.md"])
def test_a_planted_link_at_the_name_is_replaced(folder, target, name):
    (folder / name).symlink_to(target)
    WRITERS[name](str(folder))
    assert target.read_text() == TEXT and not (folder / name).is_symlink()


def test_the_new_name_cannot_be_guessed(folder, monkeypatch):
    names = set()
    real = os.rename

    def rename(source, *args, **kwargs):
        names.add(source)
        real(source, *args, **kwargs)

    monkeypatch.setattr(os, "rename", rename)
    for number in range(4):
        files.write(str(folder / "a"), str(number))
    assert len(names) == 4


@pytest.mark.parametrize("name", ["trials.jsonl", "trials.jsonl.damaged"])
def test_the_record_is_not_appended_through_a_link(folder, target, name):
    (folder / "trials.jsonl").write_text("torn")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    with pytest.raises(LabError, match="the record cannot be written"):
        Records(str(folder / "trials.jsonl"))
    assert target.read_text() == TEXT


def test_the_record_of_a_store_is_not_appended_through_a_link(folder, target):
    (folder / "trials.jsonl").symlink_to(target)
    with pytest.raises(OSError, match="symbolic"):
        store.write(str(folder), {"offset": len(TEXT), "text": "x"}, {})
    stored(str(folder))
    assert target.read_text() == TEXT


def test_a_link_in_a_store_is_no_result(folder, target):
    """Its content would go to the controller, which asks as root."""
    (folder / "plan.json").symlink_to(target)
    (folder / "manifest.json").write_text("{}")
    assert list(store.listing(str(folder))) == ["manifest.json"]


def test_a_link_in_a_results_folder_is_neither_stored_nor_shown(folder, target):
    (folder / "plan.json").symlink_to(target)
    (folder / "trials.jsonl").symlink_to(target)
    (folder / "manifest.json").write_text("{}")
    assert results_store.news(str(folder), {}) == {"append": None, "whole": {"manifest.json": "{}"}}
    for name in ("plan.json", "trials.jsonl", "manifest.json"):
        (folder / name).unlink()
    planned = synthetic.make_plan(1, blocks=2)
    synthetic.write(str(folder), planned, synthetic.make_trials(planned), None)
    (folder / "report.md").symlink_to(target)
    assert report.make_report(str(folder))["diff"]["before"] == ""
    assert target.read_text() == TEXT


def test_a_lock_is_not_taken_through_a_link(folder, target):
    (folder / "lock").symlink_to(target)
    owner = {"host": "a", "pid": 1, "started": 1, "kernel": []}
    with pytest.raises(OSError, match="symbolic"):
        lease.take(str(folder / "lock"), owner, 60)
    assert target.read_text() == TEXT


def test_a_folder_in_the_place_of_the_reports_own_is_refused(folder, target, monkeypatch):
    """Whoever may write to the results folder may rename the one that the report is made in."""
    planned = synthetic.make_plan(1, blocks=2)
    synthetic.write(str(folder), planned, synthetic.make_trials(planned), None)
    mkdtemp = report.tempfile.mkdtemp

    def swapped(**options):
        path = mkdtemp(**options)
        os.rename(path, f"{path}-moved")
        os.mkdir(path, 0o755)
        os.symlink(target, f"{path}/trials.csv")
        return path

    monkeypatch.setattr(report.tempfile, "mkdtemp", swapped)
    with pytest.raises(LabError, match="somebody else"):
        report.make_report(str(folder))
    assert target.read_text() == TEXT
