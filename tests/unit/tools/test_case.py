# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make case: what it writes for each case is a campaign, and a case that there is not is refused."""

from __future__ import annotations

import importlib.util

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


def test_twelve_are_played():
    assert len(PLAYED) >= 12


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case.name)
def test_a_case(case, tmp_path, capsys):
    case_tool.main(case.name, tmp_path / "cases")
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
        case_tool.main("calico-1", tmp_path)
