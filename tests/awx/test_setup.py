# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx_setup.yml and awx_teardown.yml with the modules of awx.awx, against a small AWX."""

from __future__ import annotations

import re

import pytest

CONFIGURATION = {"url": "https://example.org", "headers": {}, "http_method": "POST"}
MORE = {
    "offload_lab_awx_schedule": "DTSTART:20260101T030000Z RRULE:FREQ=WEEKLY;INTERVAL=1",
    "offload_lab_awx_compare": ["old", "new"],
    "offload_lab_awx_notification": {"type": "webhook", "configuration": CONFIGURATION},
}
WORKFLOW = [
    "apply",
    "approve_apply",
    "approve_measure",
    "lab",
    "measure_1",
    "plan",
    "recommends",
    "report",
    "restore",
    "teardown",
]


def changed(output):
    return int(re.search(r"changed=(\d+)", output).group(1))


@pytest.mark.nightly  # tests/lint/test_awx_setup runs the set-up and the teardown against a stub
def test_set_up_twice_then_teardown(site):
    """The second set-up changes nothing; the teardown leaves what may be others'."""
    before = site.objects()
    assert changed(site.play("awx_setup", **MORE)) == 11
    objects_after = site.objects()
    nodes = {name for kind, name in objects_after if kind == "workflow_job_template_node"}
    identifiers = [
        row["identifier"] for row in site.api.store.objects["workflow_job_template_node"].values()
    ]
    assert sorted(identifiers) == WORKFLOW, nodes
    assert changed(site.play("awx_setup", **MORE)) == 0
    assert site.objects() == objects_after
    site.play("awx_teardown", **MORE)
    remaining = {row for row in site.objects() - before if row[0] != "project_update"}
    assert remaining == {
        ("organization", "Offload lab"),
        ("execution_environment", "offload.lab"),
    }
    site.play("awx_teardown", offload_lab_awx_image_remove=True)
    assert ("execution_environment", "offload.lab") not in site.objects()


@pytest.mark.nightly
def test_a_sync_that_failed_is_told_once_with_its_cause(site):
    wrong = {"offload_lab_awx_project_url": "/nowhere/at/all"}
    for _time in range(2):
        output = site.play("awx_setup", rc=2, **wrong)
        assert "AWX could not sync the project from /nowhere/at/all" in output
        assert "does not exist" in output
        assert "Playbook not found" not in output
    # The address is put right: the set-up goes through.
    site.play("awx_setup")
    site.play("awx_teardown")
