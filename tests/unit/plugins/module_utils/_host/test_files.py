# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.offload.lab.plugins.module_utils._host import files


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "a/b.json"
    for text in ("one", b"two"):
        files.write(str(path), text)
    assert path.read_text() == "two" and mode(path) == 0o644
    assert os.listdir(path.parent) == ["b.json"]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "b.json"
    files.write(str(path), "old")
    monkeypatch.setattr(os, "fsync", lambda _descriptor: os.stat("/nowhere"))
    with pytest.raises(FileNotFoundError):
        files.write(str(path), "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["b.json"]


def test_new_files_that_a_killed_process_left_are_removed(tmp_path):
    old, fresh = tmp_path / ".b.json.00ff.new", tmp_path / ".b.json.11ff.new"
    other = tmp_path / ".c.json.00ff.new"
    for path in (old, fresh, other):
        path.write_text("")
    for path in (old, other):
        os.utime(path, (1, 1))
    files.write(str(tmp_path / "b.json"), "text")
    assert sorted(os.listdir(tmp_path)) == [fresh.name, other.name, "b.json"]


def test_a_results_folder_is_for_its_owner_and_group(tmp_path):
    path = tmp_path / "results/demo/plan.json"
    files.write_result(str(path), "{}")
    assert [mode(folder) for folder in (path.parent, path.parent.parent)] == [0o750, 0o750]
    assert mode(path) == 0o640
    os.close(files.append_descriptor(str(path.parent / "trials.jsonl")))
    assert mode(path.parent / "trials.jsonl") == 0o640


@pytest.mark.parametrize(
    ("folder", "umask", "expected"),
    [(0o755, 0o022, 0o644), (0o700, 0o022, 0o600), (0o2770, 0o007, 0o660), (0o777, 0, 0o664)],
)
def test_files_follow_a_results_folder_that_is_there(tmp_path, folder, umask, expected):
    os.chmod(tmp_path, folder)
    os.umask(umask)
    files.write_result(str(tmp_path / "plan.json"), "{}")
    assert mode(tmp_path) == folder and mode(tmp_path / "plan.json") == expected


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(NotADirectoryError):
        files.write_result(str(tmp_path / "a/b/plan.json"), "{}")
