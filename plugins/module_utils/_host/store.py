# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of a campaign in a results store: its files, which are replaced whole, and its record,
which grows.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Mapping, TypedDict

from .._base.errors import LabError
from . import files

TRIALS = "trials.jsonl"
LOCK = TRIALS + ".lock"
LEASE = 60.0  # seconds that a lock is valid
# The options of module results_store, of its part on the controller and of that in the store.
SPEC: dict[str, dict[str, Any]] = {
    "state": {
        "type": "str",
        "choices": ["fetched", "claimed", "pushed", "released"],
        "required": True,
    },
    "folder": {"type": "path"},
    "lock": {"type": "bool", "default": True},
    "lease": {"type": "float", "default": LEASE},
    "files": {"type": "list", "elements": "str"},
    "before": {"type": "dict", "default": {}},
    "max_minutes": {"type": "float", "default": 0},
    "only_between": {"type": "str", "default": ""},
    "temporary": {"type": "bool", "default": False},
    "results": {"type": "path"},
    "campaign": {"type": "dict"},
    "campaign_file": {"type": "path"},
    "overrides": {"type": "dict", "default": {}},
    "results_dir": {"type": "path", "default": "results"},
    "request": {"type": "dict", "default": {}},
}


class FileDigest(TypedDict):
    """What shows whether a file has changed."""

    size: int
    sha256: str


class Addition(TypedDict):
    """What is new in a record, and where it begins."""

    offset: int
    text: str


def lock_of(folder: str) -> str:
    """Return the path of the campaign's lock."""
    return os.path.join(folder, LOCK)


def digest(path: str, size: int | None = None) -> FileDigest:
    """Return the digest of a file, or of its first ``size`` bytes."""
    checksum = hashlib.sha256()
    read = 0
    with open(path, "rb") as stream:
        while size is None or read < size:
            part = stream.read(1 << 20 if size is None else min(1 << 20, size - read))
            if not part:
                break
            checksum.update(part)
            read += len(part)
    return {"size": read, "sha256": checksum.hexdigest()}


def listing(folder: str) -> dict[str, FileDigest]:
    """Return the files of a folder with their digests; a missing folder has none.

    A lock is no result.
    """
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = {name: os.path.join(folder, name) for name in names}
    return {name: digest(path) for name, path in paths.items() if _is_result(name, path)}


def _is_result(name: str, path: str) -> bool:
    passing = name.startswith(".") or name.endswith((".lock", ".new"))
    return os.path.isfile(path) and not os.path.islink(path) and not passing


def write(folder: str, append: Addition | None, replaced: Mapping[str, str]) -> None:
    """Append trials, ``{"offset", "text"}``, and replace the files of ``replaced``, ``{name: text}``."""
    files.make_results_folder(folder)
    for name, text in sorted(replaced.items()):
        files.write_result(os.path.join(folder, os.path.basename(name)), text)
    if append:
        path = os.path.join(folder, TRIALS)
        size = os.path.getsize(path) if os.path.exists(path) else 0
        if size != append["offset"]:
            raise LabError(
                f"the record of the store has {size} bytes, not {append['offset']}",
                path,
                "Something else wrote to it. Run the campaign again: it continues with the stored trials.",
            )
        with os.fdopen(files.append_descriptor(path), "ab") as stream:
            stream.write(append["text"].encode("utf-8", "surrogateescape"))
            stream.flush()
            os.fsync(stream.fileno())
