# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the survey of an AWX job template from the campaign's schema, so the two cannot differ.

A question without an answer does not change the campaign.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...module_utils._base.errors import InputError
from .campaign_file import campaign_schema
from .chosen import OVERRIDES
from .workloads import PRESETS

PREFIX = "offload_lab_survey_"
LARGEST = 2**31 - 1  # of a number whose schema has no maximum
LONGEST_TEXT = 1024  # characters of an answer

LONGEST_NAME = 64  # characters of a campaign's name

# Questions that are no keys of a campaign: (title, help text, longest answer).
OTHERS = {
    "recommended_of": (
        "Campaign",
        "Give the name of the campaign whose report recommends it.",
        LONGEST_NAME,
    ),
    "bundled": (
        "Campaign",
        "Give the name of the campaign to share.",
        LONGEST_NAME,
    ),
    "campaigns": (
        "Campaigns",
        "Give the names of campaigns in the results, separated by commas. compare takes the first as the baseline.",
        LONGEST_TEXT,
    ),
}

Question = dict[str, Any]
Schema = dict[str, Any]


def _resolved(node: Schema, schema: Schema) -> Schema:
    """Return the definition that a node of the schema refers to, or the node."""
    return dict(schema["$defs"][node["$ref"].rsplit("/", 1)[1]]) if "$ref" in node else node


def _type_of(node: Schema) -> dict[str, object]:
    """Return the type, the limits and the choices of the question for a node of the schema."""
    choices = node.get("enum") or next(
        (part["enum"] for part in node.get("anyOf", []) if "enum" in part), None
    )
    if choices:
        return {"type": "multiplechoice", "choices": choices}
    if node.get("items", {}).get("enum"):
        return {"type": "multiselect", "choices": node["items"]["enum"]}
    if node.get("type") in ("integer", "number"):
        kind = "integer" if node["type"] == "integer" else "float"
        limits = {"min": node.get("minimum", 0), "max": node.get("maximum", LARGEST)}
        return {"type": kind, **{name: int(limit) for name, limit in limits.items()}}
    return {"type": "textarea" if node.get("type") == "array" else "text", "max": LONGEST_TEXT}


def _other(key: str) -> Question:
    """Return a question of :data:`OTHERS`."""
    name, help_text, longest = OTHERS[key]
    return {
        "question_name": name,
        "question_description": help_text,
        "variable": PREFIX + key,
        "required": False,
        "type": "text",
        "min": 0,
        "max": longest,
        "default": "",
        "choices": [],
    }


def question(key: str, schema: Schema) -> Question:
    """Return the question of a key of the campaign, or of :data:`OTHERS`."""
    if key in OTHERS:
        return _other(key)
    if key not in schema["properties"]:
        allowed = ", ".join((*OVERRIDES, *OTHERS))
        raise InputError("a campaign has no such key", key, f"Use {allowed}.")
    node = _resolved(schema["properties"][key], schema)
    kind = (
        {"type": "multiselect", "choices": list(PRESETS)} if key == "workloads" else _type_of(node)
    )
    help_text = node["description"]
    if kind["type"] == "textarea":
        help_text += " Separate them with commas, or write one a line."
    elif kind["type"] == "multiplechoice":
        help_text = help_text.replace(", or a list such as [tx, rx] to vary each separately", "")
    return {
        "question_name": key.replace("_", " ").capitalize(),
        "question_description": f"{help_text} Leave it empty to keep the value of the campaign.",
        "variable": PREFIX + key,
        "required": False,
        "min": 0,
        "max": LONGEST_TEXT,
        "default": "",
        "choices": [],
        **kind,
    }


def survey(keys: Iterable[str] = OVERRIDES) -> dict[str, object]:
    """Return the survey spec that asks these questions."""
    schema = campaign_schema()
    return {"name": "", "description": "", "spec": [question(key, schema) for key in keys]}
