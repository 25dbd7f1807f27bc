# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the JSON files of a results folder, check them against their schemas, and clean their texts.

Other users may write to the folder. Each document fits the types of ``nouns.py``, or an error names
the file and the key. Code checks the visits and their cells, not a schema: a plan may have a million.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...module_utils._base.errors import InputError
from .._store.manifest import FILE as MANIFEST
from .._store.manifest import Manifest
from .._untrusted.texts import LONGEST, clean_all, is_strict
from .schema import validate

PLAN = "plan"
RESTORE = "Restore the file, or move the folder away."
# Keys of a visit and of a cell: whether a key is required, and its types.
VISIT: dict[str, tuple[bool, tuple[type, ...]]] = {
    "block": (True, (int,)),
    "visit": (True, (int,)),
    "mtu": (True, (int, type(None))),
    "profile": (True, (str,)),
    "repeat": (True, (bool, type(None))),
    "cells": (True, (list,)),
    "seconds": (False, (int, float, type(None))),
    "part": (False, (str,)),
    "again": (False, (bool,)),
}
CELL: dict[str, tuple[bool, tuple[type, ...]]] = {
    "id": (True, (str,)),
    "cell": (True, (int,)),
    "path": (True, (str, type(None))),
    "workload": (True, (str,)),
    "pair": (False, (str,)),
    "trial": (False, (int,)),
    "again": (False, (str,)),
}
Names = Mapping[str, Collection[str | None]]  # {key of a visit or cell: allowed names}


def read_json(path: str, what: str, remedy: str = RESTORE) -> Any:
    """Return the content of a JSON file, or None where there is no file."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"the {what} cannot be read ({error.strerror})", path, "Check its permissions."
        )
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not JSON: {str(error)[:200]}", path, remedy)


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Raise InputError where the block cannot write a file."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"the file cannot be written ({error.strerror})",
            path,
            "Give a folder you may write to.",
        )


def read_part(path: str, what: str, schema: int) -> Any:
    """Return a plan, or a decision in a file of an earlier version; None where there is no file.

    ``what`` is a definition of schemas/plan.json.
    """
    document = read_json(path, what)
    return None if document is None else checked_part(document, path, what, schema)


def checked_part(document: Any, path: str, what: str, schema: int) -> Any:
    """Return the document of a file, checked and with clean texts; ``what`` as in :func:`read_part`."""
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise InputError(
            f"this is not a {what} of schema {schema}",
            path,
            "Use the version of offload.lab that wrote it.",
        )
    texts = {key: value for key, value in document.items() if key != "visits"}
    document = {**document, **clean_all(texts, path)}
    validate(document, PLAN, path, what)
    _check_visits(document.get("visits", ()), _names(document, what), f"{path}: visits")
    for number, part in enumerate(document.get("rounds", ()) if what == "search" else ()):
        _check_visits(part["visits"], {}, f"{path}: rounds[{number}].visits")
    return document


def read_manifest(folder: str) -> Manifest | None:
    """Return the manifest of a results folder, or None where there is none."""
    path = os.path.join(folder, MANIFEST)
    document: Any = read_json(
        path, "manifest", "Restore the file, or remove it to go on without it."
    )
    if document is None:
        return None
    document = clean_all(document, path)
    validate(document, "manifest", path)
    checked: Manifest = document
    return checked


def _names(document: Mapping[str, Any], what: str) -> Names:
    """Return the names that visits and cells may have; only a plan lists paths and workloads."""
    profiles: Names = {"profile": document.get("profiles", ())}
    if what != PLAN:
        return profiles
    workloads = [load["name"] for load in document["workloads"]]
    if document.get("verify"):
        workloads.append(document["verify"]["name"])
    return {**profiles, "path": document["paths"], "workload": workloads}


def _check_visits(visits: Any, names: Names, where: str) -> None:
    """Raise InputError for the first wrong key of a visit or cell."""
    for number, visit in enumerate(visits):
        problem = _problem(visit, VISIT, names)
        if problem:
            raise InputError(problem[1], f"{where}[{number}]{problem[0]}", RESTORE)
        for position, cell in enumerate(visit["cells"]):
            problem = _problem(cell, CELL, names)
            if problem:
                cell_key = f"{where}[{number}].cells[{position}]{problem[0]}"
                raise InputError(problem[1], cell_key, RESTORE)


def _problem(
    item: Any, keys: Mapping[str, tuple[bool, tuple[type, ...]]], names: Names
) -> tuple[str, str] | None:
    """Return the first wrong key of a visit or cell, and the problem; None where it is right."""
    if not isinstance(item, dict):
        return "", "it is not a mapping"
    for key, (required, kinds) in keys.items():
        if key not in item:
            if required:
                return "", f"{key!r} is a required property"
            continue
        value = item[key]
        if type(value) not in kinds:
            return f".{key}", f"{json.dumps(value)[:80]} cannot be used"
        if type(value) is str and not _is_name(value, names.get(key)):
            return f".{key}", f"{json.dumps(value)[:80]} is no name of this campaign"
    return None


def _is_name(text: str, names: Collection[str | None] | None) -> bool:
    if names is not None:
        return text in names
    return len(text) <= LONGEST and is_strict(text)
