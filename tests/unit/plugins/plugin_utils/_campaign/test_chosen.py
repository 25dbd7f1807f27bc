# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which campaign file a relative path means, and what is said when there is none."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    checked_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.chosen import (
    chosen_campaign,
    find_file,
    search_folders,
)


@pytest.fixture(name="project")
def _project(tmp_path, monkeypatch):
    """A project with playbooks/campaigns/demo.yml, and another folder in which the user stands."""
    (tmp_path / "project/playbooks/campaigns").mkdir(parents=True)
    (tmp_path / "project/playbooks/campaigns/demo.yml").write_text("name: shipped\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def find(project, path):
    return find_file(path, search_folders(str(project / "project/playbooks")))


def test_the_folder_of_the_user_comes_first(project):
    (project / "here/campaigns").mkdir()
    (project / "here/campaigns/demo.yml").write_text("name: mine\n")
    assert find(project, "campaigns/demo.yml") == str(project / "here/campaigns/demo.yml")


@pytest.mark.parametrize("path", ["campaigns/demo.yml", "playbooks/campaigns/demo.yml"])
def test_a_campaign_of_the_project(project, path):
    assert find(project, path) == str(project / "project/playbooks/campaigns/demo.yml")


def test_no_file_names_the_places(project):
    with pytest.raises(
        InputError,
        match=r"no such campaign file. Create one of these files, or give another path: .*/here/my.yml, ",
    ):
        find(project, "my.yml")


def test_one_of_the_two(project):
    demo = str(project / "project/playbooks/campaigns/demo.yml")
    assert chosen_campaign(None, demo, [""]) == ({"name": "shipped"}, demo)
    assert chosen_campaign({"name": "a"}, "", [""]) == ({"name": "a"}, "campaign")
    with pytest.raises(InputError, match="no campaign is given. Give offload_lab_campaign_file"):
        chosen_campaign({}, None, [""])
    with pytest.raises(InputError, match="Leave out one"):
        chosen_campaign({"name": "a"}, demo, [""])


OWN = {
    "classes": ["tunnel"],
    "vni": 1,
    "port": 8472,
    "mtu": 1450,
    "nodes": {"node1": {"end": {"netns": "pod", "address": "10.244.1.5"}, "devices": {}}},
}


@pytest.mark.parametrize(
    "keys, paths, mtus",
    [
        ({}, ["pods"], [1500]),
        ({"mtus": [9000]}, ["pods"], [9000]),
        ({"paths": ["physical"]}, ["physical"], [1500]),
    ],
)
def test_paths_and_mtu_that_a_campaign_does_not_name_are_those_that_are_there(keys, paths, mtus):
    options = {"campaign": {"name": "mine", **keys}, "campaign_file": None, "overrides": {}}
    options["own_paths"] = {"pods": OWN}
    campaign = checked_campaign(options, [""], ["node1", "node2"], 1500).campaign
    assert (campaign["paths"], campaign["mtus"]) == (paths, mtus)


def test_in_a_lab_the_paths_are_those_of_every_campaign():
    options = {"campaign": {"name": "mine"}, "campaign_file": None, "overrides": {}}
    assert checked_campaign(options, [""], []).campaign["paths"] == ["physical", "tenant_vxlan"]


def test_what_cannot_be_overridden_is_said():
    options = {"campaign": {"name": "mine"}, "campaign_file": None, "overrides": {"colour": "red"}}
    with pytest.raises(InputError, match="'colour' cannot be overridden. Use name, seed, "):
        checked_campaign(options, [""], [])
