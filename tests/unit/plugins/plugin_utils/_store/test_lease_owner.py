# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import multiprocessing
import os
import stat

import pytest

from ansible_collections.offload.lab.plugins.action import dead_man_switch
from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError


def owner(folder):
    return dead_man_switch.completed({"campaign": "demo", "results": str(folder), "store": ""})


def test_a_results_folder_is_known_again_by_another_controller(tmp_path, monkeypatch):
    first = owner(tmp_path)
    assert first["campaign"] == "demo" and first["user"]
    monkeypatch.setattr(dead_man_switch.socket, "gethostname", lambda: "another-container")
    again = owner(tmp_path)
    assert again["id"] == first["id"]
    assert again["controller"] == "another-container"
    assert stat.S_IMODE(os.stat(tmp_path / dead_man_switch.NAME).st_mode) == 0o600


def test_two_folders_are_two_campaigns_whatever_their_paths(tmp_path):
    """Two engineers run the same campaign in folders of the same path on two controllers."""
    first = owner(tmp_path)["id"]
    os.rename(tmp_path / dead_man_switch.NAME, tmp_path / "of-the-other-controller")
    assert owner(tmp_path)["id"] != first


def ask(folder, answers):
    answers.put(dead_man_switch.folder_id(folder))


def test_workers_of_a_playbook_agree(tmp_path):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    workers = [context.Process(target=ask, args=(str(tmp_path), answers)) for _number in range(8)]
    for worker in workers:
        worker.start()
    ids = {answers.get(timeout=60) for _worker in workers}
    for worker in workers:
        worker.join()
    assert len(ids) == 1


def test_a_store_is_known_by_its_host_and_folder():
    owner = {"campaign": "demo", "results": "/runner/project/x", "store": "node1:/var/lib/store"}
    assert dead_man_switch.completed(owner)["id"] == "node1:/var/lib/store/demo"


def test_without_a_folder_it_is_the_playbook():
    owner = {"campaign": "apply"}
    assert dead_man_switch.completed(owner)["id"] == dead_man_switch.completed(owner)["id"]


@pytest.mark.parametrize("name", ["missing", "link"])
def test_a_folder_that_cannot_be_used_is_named(tmp_path, name, monkeypatch):
    monkeypatch.setattr(dead_man_switch, "PATIENCE_S", 0.1)
    folder = tmp_path / "missing"
    if name == "link":
        folder.mkdir()
        (folder / dead_man_switch.NAME).symlink_to(tmp_path / "nowhere")
    with pytest.raises(LabError, match="missing/.lease"):
        owner(folder)
    assert not os.path.exists(tmp_path / "nowhere")
