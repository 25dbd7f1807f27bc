# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook report of the installed collection: which campaign, and where its results are."""

from __future__ import annotations

import shutil

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT

RECORDED = CHECKOUT / "tests/integration/targets/module_report/files/demo"
INVENTORY = """\
lab_nodes:
  hosts:
    node1:
    node2:
  vars:
    offload_lab_campaign_file: my_campaign.yml
"""


@pytest.fixture(name="measured")
def _measured(tmp_path):
    """The user's folder with a campaign file and what was measured for it."""
    (tmp_path / "my_campaign.yml").write_text("name: my_campaign\n")
    shutil.copytree(RECORDED, tmp_path / "results/my_campaign")
    (tmp_path / "my_hosts.yml").write_text(INVENTORY)
    return tmp_path


def test_a_campaign_file_of_the_users_folder(play, measured):
    status, output = play(
        "report", "-i", "my_hosts.yml", "-e", "offload_lab_campaign_file=my_campaign.yml"
    )
    assert status == 0, output
    assert (measured / "results/my_campaign/report.html").is_file()


@pytest.mark.nightly
def test_the_campaign_that_the_inventory_names(play, measured):
    status, output = play("report", "-i", "my_hosts.yml")
    assert status == 0, output
    assert f"Report: {measured}/results/my_campaign/report.html" in output


@pytest.mark.nightly
def test_without_an_inventory(play, measured):
    status, output = play("report", "-e", "offload_lab_report_folder=results/my_campaign")
    assert status == 0, output


@pytest.mark.nightly  # as test_wrong_inputs
def test_without_a_campaign(play, measured):
    status, output = play("report")
    assert status == 2
    assert "no campaign is given. Give offload_lab_campaign_file" in output


def test_a_question_to_the_analysis(play, measured):
    status, output = play("query", "-e", "offload_lab_report_folder=results/my_campaign")
    assert status == 2 and "make its report first" in output
    play("report", "-e", "offload_lab_report_folder=results/my_campaign")
    status, output = play("query", "-e", "offload_lab_report_folder=results/my_campaign")
    assert status == 0 and '"profile": "all_on"' in output and '"table": ' in output, output
    status, output = play(
        "query", "-e", "offload_lab_report_folder=results/my_campaign offload_lab_query=blocks"
    )
    assert status == 0 and '"msg": 6' in output, output
