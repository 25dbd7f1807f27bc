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
from ...module_utils._engines import workload
from .._paths.lab_paths import LAB, Paths
from .._untrusted.texts import clean

SCHEMAS = os.path.join(os.path.dirname(__file__), "schemas")
MOST_BITS = 63  # of a whole number


def load_schema(name: str, known: Paths = LAB) -> dict[str, Any]:
    """Return the JSON Schema ``schemas/<name>.json``.

    The schema of a campaign gets the names of the known paths and the keys of workloads.
    """
    with open(os.path.join(SCHEMAS, name + ".json"), encoding="utf-8") as stream:
        schema = dict(json.load(stream))
    if name == "campaign":
        paths = list(known.by_name)
        items = {"enum": paths, "description": f"Use {', '.join(paths[:-1])} or {paths[-1]}."}
        schema["properties"]["paths"]["items"] = items
        schema["$defs"].update(workload.definitions())
        schema["properties"]["engine"] = workload.KEYS["engine"].schema
    return schema


def validate(
    document: object, name: str, where: str, definition: str = "", known: Paths = LAB
) -> None:
    """Raise :class:`InputError` for the first value of ``document`` that a schema refuses.

    ``definition`` names a definition of the schema; without it the whole schema applies.
    """
    _refuse_numbers(document, where)
    error = _jsonschema(where).exceptions.best_match(_errors(document, name, definition, known))
    if error:
        raise InputError(
            _what(error), _place(where, error.absolute_path), error.schema.get("description")
        )


def trouble_in(document: object, name: str) -> str:
    """Return the first error of a document, with its key; empty where there is none.

    Missing and unknown keys are no errors: another version may have written the document.
    """
    for error in _errors(document, name):
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


def _errors(document: object, name: str, definition: str = "", known: Paths = LAB) -> Any:
    schema = load_schema(name, known)
    if definition:
        schema["$ref"] = f"#/$defs/{definition}"
    return _jsonschema(name).Draft202012Validator(schema).iter_errors(document)


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
