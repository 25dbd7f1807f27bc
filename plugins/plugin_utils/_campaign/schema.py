# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents checked against the JSON schemas of this folder. Each error names the key."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Iterable
from typing import Any

from ...module_utils._base.errors import InputError, LabError
from .._untrusted.texts import clean

SCHEMAS = os.path.join(os.path.dirname(__file__), "schemas")
MOST_BITS = 63  # of a whole number


def load_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema ``schemas/<name>.json``."""
    with open(os.path.join(SCHEMAS, name + ".json"), encoding="utf-8") as stream:
        return dict(json.load(stream))


def validate(document: object, name: str, where: str, definition: str = "") -> None:
    """Raise :class:`InputError` for the first value of ``document`` that a schema refuses.

    ``definition`` names a definition of the schema; without it the whole schema applies.
    """
    schema = load_schema(name)
    if definition:
        schema["$ref"] = f"#/$defs/{definition}"
    validate_by(document, schema, where)


def validate_by(document: object, schema: dict[str, Any], where: str) -> None:
    """Raise :class:`InputError` for the first value of ``document`` that this JSON Schema refuses."""
    _refuse_numbers(document, where)
    error = _jsonschema(where).exceptions.best_match(_errors(document, schema, where))
    if error:
        raise InputError(
            _what(error), _place(where, error.absolute_path), error.schema.get("description")
        )


def trouble_in(document: object, name: str) -> str:
    """Return the first error of a document, with its key; empty where there is none.

    Missing and unknown keys are no errors: another version may have written the document.
    """
    for error in _errors(document, load_schema(name), name):
        if error.validator not in ("required", "additionalProperties"):
            return f"{_place('', error.absolute_path).removeprefix(': ')}: {_what(error)}"
    return ""


def _jsonschema(where: str) -> Any:
    try:
        import jsonschema  # noqa: PLC0415
    except ImportError:
        raise LabError(
            "the Python package jsonschema is missing on the controller",
            where,
            "Install it with: pip install jsonschema",
        )
    return jsonschema


def _errors(document: object, schema: dict[str, Any], where: str) -> Any:
    return _jsonschema(where).Draft202012Validator(schema).iter_errors(document)


def _refuse_numbers(document: object, where: str) -> None:
    """Raise InputError for infinity, NaN, and whole numbers of more than 63 bits.

    YAML reads 1:59:59 as a number of base 60. Python prints no number of more than 4300 digits.
    """
    unchecked: list[Any] = [document]
    while unchecked:
        value = unchecked.pop()
        if isinstance(value, dict):
            unchecked += [*value, *value.values()]
        elif isinstance(value, list):
            unchecked += value
        elif isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise InputError(
                f"a whole number of about {value.bit_length() * 3 // 10} digits cannot be used",
                where,
                "Quote it if it is a text: YAML reads 1:59:59 as a number.",
            )
        elif isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{value} cannot be used", where, "Give a finite number.")


def _what(error: Any) -> str:
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        allowed = error.schema.get("properties", {})
        unknown = sorted(str(key) for key in error.instance if key not in allowed)[0]
        close = difflib.get_close_matches(unknown, allowed, n=1)
        return f"unknown key {unknown!r}" + (f", did you mean {close[0]!r}?" if close else "")
    if error.validator == "required":
        return error.message
    value = json.dumps(error.instance, default=str)
    return f"{value if len(value) <= 80 else value[:77] + '...'} cannot be used"


def _place(where: str, path: Iterable[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"{where}: {clean(text).lstrip('.')}" if text else where
