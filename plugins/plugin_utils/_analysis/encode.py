# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dataclasses as JSON, and back. A field with its default is not in the file.

Reading checks the types, since other programs may write to a results folder.
"""

from __future__ import annotations

import functools
import os
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from ...module_utils._base.errors import InputError
from .._campaign.stored import read_json
from .._untrusted.texts import clean_all

T = TypeVar("T")
NAMES: dict[type, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
    list: "array",
    dict: "object",
}
FORMS = {
    Union: "union",
    types.UnionType: "union",
    list: "list",
    tuple: "list",
    Sequence: "list",
    dict: "dict",
    Mapping: "dict",
}
REMEDY = "Make the report of the campaign again."


def encoded(value: Any) -> dict[str, Any]:
    """Return a dataclass as a dictionary, one level of it: the argument ``default`` of json.dumps."""
    values = vars(value)
    return {
        name: values[name]
        for name, default in _fields(value.__class__)
        if values[name] is not default
    }


@functools.lru_cache(maxsize=None)
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return the names and defaults of a dataclass's fields; there may be many of one class."""
    return tuple((field.name, field.default) for field in fields(kind))


def read_analysis(kind: type[T], folder: str) -> T | None:
    """Return what a results folder's analysis.json says, None where there is none; ``kind`` has the
    keys that are wanted.
    """
    path = os.path.join(folder, "analysis.json")
    document = read_json(path, "analysis", REMEDY)
    return None if document is None else decoded(kind, clean_all(document, path), path)


@functools.lru_cache(maxsize=None)
def keys_of(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the types of the keys of a dataclass or a TypedDict, and which of them must be there."""
    hints = typing.get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        hints_of_fields = {field.name: hints[field.name] for field in fields(kind)}
        return hints_of_fields, frozenset(
            entry.name for entry in fields(kind) if entry.default is MISSING
        )
    return hints, frozenset(kind.__required_keys__)


def decoded(kind: type[T], value: Any, where: str) -> T:
    """Return what a JSON document says as a value of this type; ``where`` names it in errors."""
    result: T = _decoded(kind, value, where)
    return result


def _decoded(kind: Any, value: Any, where: str) -> Any:
    form, parts = form_of(kind)
    if form == "any":
        return value
    if form == "union":
        return _decoded(_fitting(parts, value), value, where)
    if form == "record":
        return _record(kind, value, where)
    if form == "list":
        rows = _of(list, value, where)
        return [_decoded(parts[0], row, f"{where}[{index}]") for index, row in enumerate(rows)]
    if form == "dict":
        rows = _of(dict, value, where)
        return {name: _decoded(parts[1], row, f"{where}.{name}") for name, row in rows.items()}
    return _of(parts[0], value, where)


def form_of(kind: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the form of a type and its arguments."""
    if get_origin(kind) is Annotated:
        return form_of(get_args(kind)[0])
    if kind is Any:
        return "any", ()
    if is_dataclass(kind) or typing.is_typeddict(kind):
        return "record", ()
    form = FORMS.get(get_origin(kind), "plain")
    return form, get_args(kind) or (kind,)


def _fitting(kinds: Sequence[Any], value: Any) -> Any:
    """Return the kind that a value is of: of records the first whose keys it has."""
    if value is None and type(None) in kinds:
        return type(None)
    others = [kind for kind in kinds if kind is not type(None)]
    if isinstance(value, dict):
        for kind in others:
            if form_of(kind)[0] == "record" and keys_of(kind)[1] <= value.keys():
                return kind
    return others[-1]


def _record(kind: Any, value: Any, where: str) -> Any:
    kinds, required = keys_of(kind)
    document = _of(dict, value, where)
    missing = required - document.keys()
    if missing:
        raise InputError(
            f"this is not a whole part: {sorted(missing)[0]} is missing", where, REMEDY
        )
    decoded = {
        name: _decoded(kinds[name], row, f"{where}.{name}")
        for name, row in document.items()
        if name in kinds
    }
    return kind(**decoded)


def _of(kind: type, value: Any, where: str) -> Any:
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise InputError(f"this is not a value of type {NAMES[kind]}", where, REMEDY)
    return value
