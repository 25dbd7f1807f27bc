# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a template accepts at a launch, and how a job's variables reach Ansible.

The rules come from AWX 24.6.1: ``_accept_or_ignore_variables`` and ``_survey_element_validation``
of its ``awx/main/models/mixins.py``, ``safe_dump`` of its ``awx/main/utils/safe_yaml.py``.
"""

from __future__ import annotations

import json

import yaml

NUMBERS = {"integer": (int,), "float": (int, float)}
TEXTS = ("text", "textarea", "password")


class Accepted:
    """The variables of a launch that a template accepts, those that it ignores, and the errors."""

    def __init__(self, template, questions, answers):
        by_variable = {entry["variable"]: entry for entry in questions}
        self.errors = [error for entry in questions for error in question_errors(entry, answers)]
        open_to_all = template["ask_variables_on_launch"]
        fixed = json.loads(template.get("extra_vars") or "{}")
        self.variables = {k: v for k, v in answers.items() if open_to_all or k in by_variable}
        # A value that is the template's own is neither accepted nor ignored.
        self.ignored = {
            key: value
            for key, value in answers.items()
            if key not in self.variables and (key not in fixed or fixed[key] != value)
        }

    def refusal(self, label):
        """Return what a schedule is refused with, or None: it may hold no variable that is ignored."""
        errors = {}
        if self.errors:
            errors["variables_needed_to_start"] = self.errors
        if self.ignored:
            errors["extra_data"] = [
                f"Variables {', '.join(self.ignored)} are not allowed on launch. Check the Prompt on "
                f"Launch setting on the {label} to include Extra Variables."
            ]
        return errors or None


def question_errors(entry, answers):
    """Return the errors of the answer to one question of a survey."""
    name, kind = entry["variable"], entry["type"]
    if name not in answers:
        return [f"'{name}' value missing"] if entry["required"] else []
    value = answers[name]
    if kind in TEXTS:
        return _text_errors(entry, value)
    if kind in NUMBERS:
        return _number_errors(entry, value)
    return _choice_errors(entry, value)


def _text_errors(entry, value):
    name = entry["variable"]
    if not isinstance(value, str):
        return [f"Value {value} for '{name}' expected to be a string."]
    if entry.get("max") not in ("", None) and len(value) > int(entry["max"]):
        return [f"'{name}' value {value} is too large (must be no more than {entry['max']})."]
    return []


def _number_errors(entry, value):
    name = entry["variable"]
    if type(value) not in NUMBERS[entry["type"]]:
        kind = "an integer" if entry["type"] == "integer" else "a numeric type"
        return [f"Value {value} for '{name}' expected to be {kind}."]
    if entry.get("min") not in ("", None) and value < float(entry["min"]):
        return [f"'{name}' value {value} is too small (must be at least {entry['min']})."]
    if entry.get("max") not in ("", None) and value > float(entry["max"]):
        return [f"'{name}' value {value} is too large (must be no more than {entry['max']})."]
    return []


def _choice_errors(entry, value):
    name, choices = entry["variable"], entry["choices"]
    if isinstance(choices, str):
        choices = [choice for choice in choices.splitlines() if choice.strip()]
    if entry["type"] == "multiselect" and not isinstance(value, list):
        return [f"'{name}' value is expected to be a list."]
    answers = value if entry["type"] == "multiselect" else [value]
    return [
        f"Value {answer} for '{name}' expected to be one of {choices}."
        for answer in answers
        if answer not in choices
    ]


class UnsafeDumper(yaml.SafeDumper):
    """Writes every text as ``!unsafe``, which Ansible never evaluates."""

    def represent_data(self, value):
        if isinstance(value, str):
            return self.represent_scalar("!unsafe", value)
        return super().represent_data(value)


def variables_file(variables, trusted):
    """Return the file of extra variables: only what the template says itself may be a template."""
    dumpers = {
        key: yaml.SafeDumper if key in trusted and trusted[key] == value else UnsafeDumper
        for key, value in variables.items()
    }
    return "".join(
        yaml.dump({key: value}, Dumper=dumpers[key], default_flow_style=False)
        for key, value in variables.items()
    )
