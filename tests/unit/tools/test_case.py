# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make case: what it writes for each case is a campaign, and a case that there is not is refused."""

from __future__ import annotations

import importlib.util
import json
import os

import pytest
import yaml

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._known_cases.known_cases import (
    known_cases,
)
from ansible_collections.offload.lab.tests.support import CHECKOUT

SPEC = importlib.util.spec_from_file_location("case", CHECKOUT / "tools/case.py")
case_tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(case_tool)
PLAYED = [case for case in known_cases() if case.fault]


def test_fourteen_are_played():
    assert len(PLAYED) >= 14


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case.name)
def test_a_case(case, tmp_path, capsys):
    case_tool.write(case.name, tmp_path / "cases")
    assert capsys.readouterr().out == f"{case.fault}\n"
    written = yaml.safe_load((tmp_path / f"cases/{case.name}.yml").read_text())
    plan = make_plan(read_campaign(written), "2026-01-05T00:00:00Z")
    factors = [factor["name"] for factor in plan["factors"]]
    assert {"all_on", "all_off"} <= set(plan["profiles"])
    assert set(case.settings) & set(factors)  # what is to blame is varied
    lab = yaml.safe_load((tmp_path / f"cases/{case.name}-lab.yml").read_text())
    assert bool(lab) == bool(case.encapsulations)


def test_a_case_that_there_is_not(tmp_path):
    with pytest.raises(SystemExit, match="No case 'calico-1' that is played. Give CASE= one of: "):
        case_tool.write("calico-1", tmp_path)


def analysed(folder, off, confirmed):
    folder.mkdir()
    cure = {"off": dict.fromkeys(off, "off"), "confirmed": confirmed}
    (folder / "analysis.json").write_text(json.dumps({"payload": {"cure": cure, "paths": []}}))


def test_the_cure_of_the_newest_campaign_is_shown(tmp_path, capsys):
    analysed(tmp_path / "calico-4727", ["tx"], False)
    with pytest.raises(SystemExit, match="calico-4727: no cure is confirmed: tx off"):
        case_tool.show_cure("calico-4727", tmp_path)
    os.utime(tmp_path / "calico-4727/analysis.json", (0, 0))
    analysed(tmp_path / "calico-4727-again", ["tx-checksum-ip-generic_at_client_underlay"], True)
    case_tool.show_cure("calico-4727", tmp_path)
    assert "in fresh trials: tx-checksum-ip-generic_at_client_" in capsys.readouterr().out


def test_another_cure_than_the_reported_one_fails(tmp_path):
    analysed(tmp_path / "calico-9433", ["gro"], True)
    with pytest.raises(SystemExit, match="the cure gro off is not the reported one: tx"):
        case_tool.show_cure("calico-9433", tmp_path)
