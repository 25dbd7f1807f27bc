# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""issue.md: what is broken, in at most 40 lines that name no host."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.encode import read_analysis
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import (
    Analysis,
    PayloadFindings,
)
from ansible_collections.offload.lab.plugins.plugin_utils._report import plain
from ansible_collections.offload.lab.plugins.plugin_utils._report.issue import MOST_LINES, issue
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.tests import report_golden
from ansible_collections.offload.lab.tests.security import lies

NODES = {"client": {"node1"}, "server": {"node2"}}


@pytest.fixture(name="broken", scope="module")
def _broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    report_golden.broken_hop(folder)
    make_report(str(folder))
    plan = json.loads((folder / "plan.json").read_text())
    return plan, read_analysis(Analysis, str(folder)).payload


def test_it_keeps_to_its_lines_with_many_paths_and_devices(broken):
    plan, payload = broken
    [row, *_rest] = payload.paths
    rows = [replace(row, path=f"path{number}") for number in range(9)]
    manifest = report_golden.pods_manifest()
    for node in manifest["nodes"].values():
        devices = node["before"]["devices"]
        many = [f"flannel.{number}" for number in range(1, 30)]
        devices.update(dict.fromkeys(many, devices["flannel.1"]))
        node["before"]["classes"]["tunnel"] = many
    text = plain.issue_text(issue(plan, replace(payload, paths=rows), manifest, NODES))
    assert len(text.splitlines()) <= MOST_LINES
    assert "6 more paths: see report.md." in text
    assert "node1" not in text and "node2" not in text


def test_nothing_is_reported_where_nothing_is_broken(broken):
    plan, payload = broken
    rows = [replace(row, verdict="lossy") for row in payload.paths]
    assert issue(plan, PayloadFindings(paths=rows), None, NODES) is None


def test_the_title_of_what_no_offload_explains_is_a_sentence(broken):
    plan, payload = broken
    rows = [replace(row, verdict="broken without", hops=[], off=[]) for row in payload.paths]
    issue_text = issue(plan, PayloadFindings(paths=rows), None, NODES)
    assert issue_text.title.startswith(
        "Payload is broken without these offloads too, over physical"
    )
    assert "How to reproduce it: send payload" in plain.issue_text(issue_text)


def test_without_a_manifest_it_says_what_the_trials_say(broken):
    plan, payload = broken
    text = plain.issue_text(issue(plan, payload, None, {}))
    assert "in 16 of 16 trials" in text and "ethtool -K" not in text


@pytest.mark.parametrize("lie", lies.LIES)
def test_a_lying_node_adds_no_markup_no_line_and_no_command(broken, lie):
    plan, payload = broken
    text = lies.LIES[lie]
    manifest = copy.deepcopy(report_golden.pods_manifest())
    node = manifest["nodes"]["node1"]["before"]
    node["host"]["kernel"] = text
    node["ovs"]["version"] = text
    device = node["devices"]["flannel.1"]
    device["driver"] = dict.fromkeys(device["driver"], text)
    device["features"][text] = {"active": True, "fixed": False}
    node["devices"][text] = device
    node["classes"]["tunnel"] = [text, "flannel.1"]
    written = plain.issue_text(issue(plan, payload, manifest, NODES))
    assert not lies.wrong_text(written) and not lies.wrong_markdown(_outside_of_code(written))
    commands = [line for line in written.splitlines() if line.startswith("ethtool -K")]
    assert commands == ["ethtool -K flannel.1 tx on  # client; off cures"]
    assert written.count("```") == 4 and len(written.splitlines()) <= MOST_LINES


def _outside_of_code(text):
    return "".join(text.split("```")[::2])


def test_it_goes_with_the_fault(tmp_path):
    report_golden.broken(tmp_path)
    report_texts = make_report(str(tmp_path))
    assert report_texts["files"]["issue.md"] == str(tmp_path / "issue.md")
    record = tmp_path / "trials.jsonl"
    record.write_text(record.read_text().replace('"wrong": 3', '"wrong": 0'))
    report_texts = make_report(str(tmp_path))
    assert report_texts["changed"] and "issue.md" not in report_texts["files"]
    assert not (tmp_path / "issue.md").exists()


def test_an_issue_is_no_way_to_another_file(tmp_path):
    """A link that somebody put in its place is replaced, or removed, and not followed."""
    report_golden.on_off(tmp_path)
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / "issue.md").symlink_to(other)
    make_report(str(tmp_path))
    assert other.read_text() == "kept" and not (tmp_path / "issue.md").is_symlink()
