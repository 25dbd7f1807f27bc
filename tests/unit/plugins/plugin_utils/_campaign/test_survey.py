# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The surveys of AWX: its own rules for a spec, and that they ask for what the schema of a campaign
has.
"""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    campaign_schema,
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.chosen import (
    OVERRIDES,
    override,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.survey import (
    PREFIX,
    question,
    survey,
)
from ansible_collections.offload.lab.tests.support import CHECKOUT

# Of awx/api/views (JobTemplateSurveySpec): the types, and the type of a default.
AWX_TYPES = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    "multiselect": str,
    "integer": int,
    "float": float,
}
# What a survey does not ask for, because an answer is no single value or it belongs to the file.
NOT_ASKED = {
    "engine",
    "profiles",
    "control",
    "pairs",
    "concurrent",
    "untestable",
    "study",
    "steal_limit",
    "matters",
    "trials",
    "goal",
    "until",
    "control_visits",
    "verify",
}
ANSWERS = {"text": "20 min", "textarea": "tso, gso", "integer": 7, "float": 1.5}


def check_by_the_rules_of_awx(spec):
    """Raise AssertionError where AWX would answer with 400."""
    assert isinstance(spec["name"], str)
    assert isinstance(spec["description"], str)
    assert isinstance(spec["spec"], list)
    assert spec["spec"]
    assert len({question_entry["variable"] for question_entry in spec["spec"]}) == len(spec["spec"])
    for question_entry in spec["spec"]:
        assert question_entry["type"] in AWX_TYPES
        assert isinstance(question_entry["required"], bool)
        assert question_entry["question_name"]
        assert question_entry["variable"].isidentifier()
        assert all(
            isinstance(question_entry[limit], int) and not isinstance(question_entry[limit], bool)
            for limit in ("min", "max")
        )
        assert question_entry["min"] <= question_entry["max"]
        assert question_entry["default"] == "" or isinstance(
            question_entry["default"], AWX_TYPES[question_entry["type"]]
        )
        if question_entry["type"] in ("multiplechoice", "multiselect"):
            assert question_entry["choices"]
            assert all(isinstance(choice, str) for choice in question_entry["choices"])
        json.dumps(question_entry)


def test_awx_takes_the_survey():
    check_by_the_rules_of_awx(survey())


def test_each_key_of_the_schema_is_asked_for_or_left_out_on_purpose():
    assert set(campaign_schema()["properties"]) == set(OVERRIDES) | NOT_ASKED
    questions = yaml.load(
        (CHECKOUT / "playbooks/vars/awx.yml").read_text().replace("!unsafe", ""), yaml.SafeLoader
    )
    assert questions["offload_lab_awx_overrides"] == {
        key: f"{{{{ {PREFIX}{key} | default('') }}}}" for key in OVERRIDES
    }


@pytest.mark.parametrize("key", OVERRIDES)
def test_limits_and_choices_are_those_of_the_schema(key):
    question_entry = question(key, campaign_schema())
    node = campaign_schema()["properties"][key]
    for limit, name in (("min", "minimum"), ("max", "maximum")):
        if name in node:
            assert question_entry[limit] == node[name]
    choices = node.get("enum") or node.get("items", {}).get("enum")
    if choices:
        assert question_entry["choices"] == choices


@pytest.mark.parametrize("key", OVERRIDES)
def test_an_answer_is_a_campaigns_value_and_none_changes_nothing(key):
    question_entry = question(key, campaign_schema())
    answer = (
        question_entry["choices"][0]
        if question_entry["choices"]
        else ANSWERS[question_entry["type"]]
    )
    if key == "mtus":
        answer = "9000, 1500"
    if key == "name":
        answer = "mine"
    if key == "duration":
        answer = "5"
    if key == "design":
        answer = "on_off"
    if question_entry["type"] == "multiselect":
        answer = "\n".join(question_entry["choices"][:2])
    # An engine that can be limited.
    assert read_campaign(override({"name": "x", "engine": "iperf3"}, {key: answer}))
    assert override({"name": "x"}, {key: ""}) == {"name": "x"}


@pytest.mark.parametrize(
    "answer",
    [
        "physical\ntenant_vxlan",
        "physical, tenant_vxlan",
        "['physical', 'tenant_vxlan']",
        ["physical", "tenant_vxlan"],
    ],
)
def test_a_multiselect_arrives_in_each_form_that_awx_gives_it(answer):
    assert override({}, {"paths": answer})["paths"] == ["physical", "tenant_vxlan"]


def test_a_key_that_is_none_is_one_message():
    with pytest.raises(InputError, match="a campaign has no such key"):
        survey(["block"])
