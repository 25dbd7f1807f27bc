# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kind ovs: which keys can be set, and what becomes of a level."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds.ovs import KEYS, OVS
from ansible_collections.offload.lab.plugins.module_utils._ovs import switch_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.factors import settings_of
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.read_factors import read_factor

OURS = {"offload-lab": "switch"}
MARK = "offload-lab-set-max-idle"


def table(row):
    return [["map", list(value.items())] if isinstance(value, dict) else value for value in row]


def listing(other_config, external_ids, bridges=(("br-int", OURS),)):
    """Return what ovs-vsctl prints of a database."""
    root = {
        "headings": ["other_config", "external_ids"],
        "data": [table([other_config, external_ids])],
    }
    rows = {
        "headings": ["name", "external_ids"],
        "data": [table(bridge) for bridge in bridges],
    }
    return f"{json.dumps(root)}\n\n{json.dumps(rows)}\n"


class Reader:
    """Answers as a node with this database."""

    def __init__(self, text, reason=None):
        self.answer = text, reason

    def read_output(self, argv, netns):
        assert argv[0] == "ovs-vsctl" and netns is None
        return self.answer


def state(*arguments, **options):
    return OVS.read({"lo": ["max-idle"]}, None, Reader(listing(*arguments, **options)))["lo"]


def planned(now, **asked):
    return OVS.plan({"ovs": asked}, now, "lo", report_fixed=False)


def test_a_key_is_set_with_a_mark_and_removed_with_it():
    now = state({"userspace-tso-enable": "true"}, {"system-id": "x"})
    assert now["current"] == dict.fromkeys(KEYS, "unset")
    change = planned(now, **{"max-idle": 20000})["change"]
    assert change == {"max-idle": "20000"}
    [set_] = OVS.steps(change, "lo")
    assert set_[2:] == [
        "set",
        "Open_vSwitch",
        ".",
        'other_config:max-idle="20000"',
        f"external_ids:{MARK}=set",
    ]
    there = state({"max-idle": "20000"}, {MARK: "set"})
    assert there["current"]["max-idle"] == "20000"
    assert planned(there, **{"max-idle": "20000"})["change"] == {}
    back = planned(there, **{"max-idle": "unset"})["change"]
    [remove] = OVS.steps(back, "lo")
    root = ["remove", "Open_vSwitch", "."]
    assert remove[2:] == [*root, "other_config", "max-idle", "--", *root, "external_ids", MARK]
    assert OVS.kept(OVS.described(there))["max-idle"] == "20000"
    assert OVS.kept(OVS.described(now))["max-idle"] == "unset"


def test_a_key_of_somebody_else_is_left_alone():
    now = state({"max-idle": "9"}, {})
    with pytest.raises(InputError, match="'max-idle' cannot be set here.*somebody else has set it"):
        planned(now, **{"max-idle": "20000"})
    assert "max-idle" not in OVS.kept(OVS.described(now))
    assert planned(now, **{"flow-limit": 5})["change"] == {"flow-limit": "5"}


def test_open_vswitch_of_others_is_left_alone():
    now = state({}, {}, bridges=[("br-int", OURS), ("br-ex", {})])
    assert not now["supported"] and "br-ex" in now["reason"]
    [missing] = OVS.read({"lo": []}, None, Reader("", "no such program")).values()
    assert missing == {"supported": False, "reason": "no such program"}
    other = OVS.read({"eth0": []}, None, Reader("never read"))["eth0"]
    assert OVS.described(other) == {}


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"max-idle": "1 -- emer-reset"}, "is no value of Open vSwitch"),
        ({"hw-offload": "true"}, "is not a setting of ovs"),
        ({"max_idl": 1}, "Did you mean max-idle"),
    ],
)
def test_what_cannot_be_set(asked, message):
    with pytest.raises(InputError, match=message):
        planned(state({}, {}), **asked)


@given(st.text(max_size=200))
def test_another_text_is_unsupported(text):
    assert not OVS.read({"lo": []}, None, Reader(text))["lo"]["supported"]


def test_a_factor_of_a_campaign():
    entry = {"name": "max-idle", "kind": "ovs", "levels": ["unset", "30000"]}
    [factor] = read_factor(entry, {"sides": "both", "paths": ["tenant"]})
    assert factor["settings"] == ["max-idle"] and factor["devices"] == ["node"]
    settings = settings_of([factor], {"max-idle": "30000"})
    assert settings["client"] == {"node": {"ovs": {"max-idle": "30000"}}}


def test_the_switch_takes_its_keys_away():
    switch = {
        "db": True,
        "vswitchd": True,
        "ovs": {
            "root": {"external_ids": {MARK: "set"}, "other_config": {"max-idle": "1"}},
            "bridges": {},
            "ports": {},
        },
    }
    [step] = switch_plan.plan_absent(switch, "br-int", switch_plan.service_of())
    root = ["remove", "Open_vSwitch", "."]
    assert step.argv[-11:] == [*root, "other_config", "max-idle", "--", *root, "external_ids", MARK]
