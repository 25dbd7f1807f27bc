# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""decisions.jsonl: the decisions of a campaign as it runs. Each one is a line, appended and synced.

A line names its part: ``looks`` (interim tests), ``spending``, ``search`` or ``confirmation``. Its lists
of :data:`GROWING` extend the lists of earlier lines. All other keys replace the keys of earlier lines.
Earlier versions wrote a JSON file for each part: it counts until this file has a line of the part.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from typing import Any

from ...module_utils._base.errors import InputError
from ...module_utils._host import files
from .stored import RESTORE, checked_part, read_part, writing

FILE = "decisions.jsonl"
GROWING = ("made", "rounds")


def read_decided(folder: str, part: str, schema: int) -> Any:
    """Return the decisions of a part as one document, or None where there is none."""
    path = os.path.join(folder, FILE)
    document = _joined(path, part)
    if document is None:
        return read_part(os.path.join(folder, f"{part}.json"), part, schema)
    return checked_part(document, path, part, schema)


def append_decided(folder: str, part: str, document: Mapping[str, object]) -> None:
    """Append the new decisions of a part, and sync the file."""
    path = os.path.join(folder, FILE)
    earlier = _joined(path, part) or {}
    line = {"part": part, **document}
    for key in GROWING:
        if key in document:
            line[key] = _items(document, key, path)[len(_items(earlier, key, path)) :]
    with writing(path):
        _append(path, f"{json.dumps(line)}\n")


def _append(path: str, line: str) -> None:
    descriptor = files.append_descriptor(path)
    try:
        size = len(_complete_lines(path))
        os.ftruncate(descriptor, size)  # a crash may have cut off the last line
        if os.write(descriptor, line.encode()) != len(line.encode()):
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    files.sync_folder(os.path.dirname(os.path.abspath(path)))


def _complete_lines(path: str) -> bytes:
    """Return a file up to its last line end; a missing file is empty."""
    try:
        with open(path, "rb") as stream:
            content = stream.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(
            f"the decisions cannot be read ({error.strerror})", path, "Check its permissions."
        )
    return content[: content.rfind(b"\n") + 1]


def _joined(path: str, part: str) -> dict[str, object] | None:
    """Return the lines of a part as one document, or None where there is none."""
    document: dict[str, object] | None = None
    for number, text in enumerate(_complete_lines(path).splitlines(), 1):
        line = _line(text, f"{path} line {number}")
        if line.pop("part", None) != part:
            continue
        for key in GROWING:
            if key in line:
                line[key] = [*_items(document or {}, key, path), *_items(line, key, path)]
        document = line
    return document


def _items(document: Mapping[str, object], key: str, path: str) -> list[object]:
    """Return the list at a key of :data:`GROWING`; it is empty without the key."""
    items = document.get(key, [])
    if not isinstance(items, list):
        raise InputError("this is not a list of decisions", path, RESTORE)
    return items


def _line(text: bytes, where: str) -> dict[str, object]:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not JSON: {str(error)[:200]}", where, RESTORE)
    if not isinstance(line, dict):
        raise InputError("this is not a decision", where, RESTORE)
    return line
