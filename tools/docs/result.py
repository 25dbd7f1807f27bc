# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the code: the JSON Schema of analysis.json, and the tables of its keys and of the
kinds of settings in docs/data-format.md.

Run it to write both again: python tools/docs/result.py
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import typing
from pathlib import Path
from typing import Any, Iterable

from ansible_collections.offload.lab.plugins.module_utils._kinds.kinds import KINDS
from ansible_collections.offload.lab.plugins.plugin_utils._analysis import result
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.encode import (
    NAMES,
    form_of,
    keys_of,
)

CHECKOUT = Path(__file__).resolve().parents[2]
SCHEMA = CHECKOUT / "plugins/plugin_utils/_campaign/schemas/analysis.json"
PAGE = CHECKOUT / "docs/data-format.md"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
FIELD = re.compile(r"((?:^    # .*\n)*)^    (\w+): [^#\n]*(?:# (.*))?$", re.MULTILINE)


def schema_of(kind: Any, title: str) -> dict[str, Any]:
    """Return the JSON Schema of a record."""
    definitions: dict[str, Any] = {}
    top = _schema_of_type(kind, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **top,
        "$defs": definitions,
    }


def _schema_of_type(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    form, parts = form_of(kind)
    limits = kind.__metadata__[0] if typing.get_origin(kind) is typing.Annotated else {}
    if form == "union":
        return {"anyOf": [_schema_of_type(part, definitions) for part in parts]}
    if form == "record":
        return _reference(kind, definitions)
    if form == "list":
        return {"type": "array", "items": _schema_of_type(parts[0], definitions)}
    if form == "dict":
        return {"type": "object", "additionalProperties": _schema_of_type(parts[1], definitions)}
    if form == "any":
        return {}
    return {"type": NAMES[parts[0]], **limits}


def _reference(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the reference to a record's definition, which is added."""
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # it may hold itself
        kinds, required = keys_of(kind)
        definitions[name] = {
            "type": "object",
            "required": sorted(required),
            "additionalProperties": False,
            "properties": {key: _schema_of_type(part, definitions) for key, part in kinds.items()},
        }
    return {"$ref": f"#/$defs/{name}"}


def schema() -> str:
    """Return the JSON Schema of analysis.json, a definition a line."""
    document = schema_of(result.Analysis, "analysis.json of offload.lab")
    definitions = document.pop("$defs")
    lines = [
        f"{json.dumps(name)}: {json.dumps(definition)}" for name, definition in definitions.items()
    ]
    head = json.dumps(document)[:-1]
    return f'{head}, "$defs": {{\n' + ",\n".join(lines) + "\n}}\n"


def _comments(kind: Any) -> dict[str, str]:
    """Return the comment of each field of a dataclass, also of its bases' fields."""
    comments: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        for above, name, beside in FIELD.findall(inspect.getsource(base)):
            comment = beside or " ".join(re.findall(r"^    # (.*)$", above, re.MULTILINE))
            if comment:
                comments[name] = comment
    return comments


def _shape(hint: Any) -> str:
    """Return the keys of what a field holds, such as ``[{n, median}]``; nothing for a plain value."""
    if typing.get_origin(hint) is typing.Annotated:
        return ""
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    if dataclasses.is_dataclass(hint):
        return f"{{{', '.join(field.name for field in dataclasses.fields(hint))}}}"
    if typing.is_typeddict(hint):
        return f"{{{', '.join(typing.get_type_hints(hint))}}}"
    inner = _shape(parts[-1 if typing.get_origin(hint) is dict else 0]) if parts else ""
    if typing.get_origin(hint) is list and inner:
        return f"[{inner}]"
    return inner


def _choices(hint: Any) -> list[str]:
    """Return the texts that a field may be, where they are few."""
    for part in (hint, *typing.get_args(hint)):
        for limits in getattr(part, "__metadata__", ()):
            if "enum" in limits:
                return [f"`{text}`" for text in limits["enum"]]
    return []


def _row(field: dataclasses.Field[Any], hint: Any, comment: str) -> str:
    shape = _shape(hint)
    parts = [", ".join(_choices(hint)) or (f"`{shape}`" if 0 < len(shape) <= MOST else "")]
    content = ": ".join(filter(None, [*parts, comment.replace("None", "null")]))
    other = "absent, or " if field.default is None else "null, or "
    start = other if type(None) in typing.get_args(hint) else ""
    return f"| `{field.name}` | {start}{content} |"


MOST = 100  # characters of keys in a row; what has more has a table of its own


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def kinds() -> str:
    """Return the table of all kinds of settings."""
    lines = [
        "| kind | levels | `settings` by default | devices by default |",
        "| --- | --- | --- | --- |",
    ]
    for name, kind in KINDS.items():
        settings = _listed(kind.settings or ()) or "the factor's name"
        also = f" (also {_listed(kind.also)})" if kind.also else ""
        devices = _listed(kind.devices or ()) or "those on the paths"
        lines.append(f"| `{name}` | {kind.takes} | {settings}{also} | {devices} |")
    return "\n".join([*lines, ""])


def table(name: str) -> str:
    """Return the table of all kinds, or of a type's keys."""
    if name == "kinds":
        return kinds()
    kind = getattr(result, name)
    hints = typing.get_type_hints(kind, include_extras=True)
    comments = _comments(kind)
    rows = [
        _row(field, hints[field.name], comments.get(field.name, ""))
        for field in dataclasses.fields(kind)
    ]
    return "\n".join(["| key | content |", "| --- | --- |", *rows, ""])


def page() -> str:
    """Return docs/data-format.md with its tables."""
    return TABLE.sub(lambda match: match[1] + table(match[2]) + match[3], PAGE.read_text())


if __name__ == "__main__":
    SCHEMA.write_text(schema())
    PAGE.write_text(page())
