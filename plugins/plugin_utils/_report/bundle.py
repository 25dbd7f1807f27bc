# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One archive of a campaign to share: pseudonyms in place of names, and a report that is made of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import tempfile
from typing import NamedTuple, TypedDict

from ...module_utils._base.errors import InputError, LabError
from ...module_utils._host import files
from .._campaign import interim, plan_file, spending
from .._campaign.decisions import append_decided, read_decided
from .._campaign.stored import read_json, read_manifest
from .._exports.pseudonyms import Anonymous
from .._trials.records import stream_records
from .report import make_report

ARCHIVE = "bundle.tar.gz"
CHECKSUM = "bundle.tar.gz.sha256"
NAMES = "bundle.names.json"  # stays here: it has the originals
LISTED = "REPLACED.txt"
INSIDE = "bundle"  # the folder in the archive
# What a campaign decided as it ran, and the schema of each part.
PARTS = {
    plan_file.CONFIRMATION: plan_file.DECISION_SCHEMA,
    plan_file.SEARCH: plan_file.DECISION_SCHEMA,
    plan_file.INTERIM: interim.SCHEMA,
    plan_file.SPENDING: spending.SCHEMA,
}


class Bundle(NamedTuple):
    """What there is to write."""

    archive: bytes
    checksum: str
    names: str  # JSON
    replaced: dict[str, int]  # texts by kind
    files: list[str]


def bundle_of(folder: str) -> Bundle:
    """Return the archive of the campaign in a results folder; the folder is only read."""
    plan = plan_file.read_plan(os.path.join(folder, "plan.json"))
    if plan is None:
        raise InputError(
            "there is no plan.json",
            folder,
            "Give the folder of one campaign, such as results/demo.",
        )
    hidden = Anonymous(plan, read_manifest(folder))
    with tempfile.TemporaryDirectory(prefix="offload-lab-bundle-") as copy:
        _write_copy(folder, copy, hidden)
        make_report(copy)
        _write(copy, LISTED, hidden.names.listed())
        names = sorted(name for name in os.listdir(copy) if not name.startswith("."))
        contents = {name: _read(copy, name) for name in names}
    _refuse_left(contents, hidden)
    archive = _packed(contents)
    digest = hashlib.sha256(archive).hexdigest()
    return Bundle(
        archive=archive,
        checksum=f"{digest}  {ARCHIVE}\n",
        names=json.dumps(hidden.names.given, indent=1, sort_keys=True) + "\n",
        replaced={kind: len(texts) for kind, texts in hidden.names.given.items()},
        files=names,
    )


def _write_copy(folder: str, copy: str, hidden: Anonymous) -> None:
    """Write plan, manifest, decisions and trials with pseudonyms into an empty folder."""
    record = os.path.join(folder, "trials.jsonl")
    if not os.path.exists(record):
        raise InputError(
            "there is no trials.jsonl",
            folder,
            "Run the campaign first: nothing has been measured yet.",
        )
    for trial in stream_records(record, []):
        hidden.see(trial)
    for name in ("plan.json", "manifest.json"):
        document = read_json(os.path.join(folder, name), name)
        if document is not None:
            _write(copy, name, json.dumps(hidden.document(document)))
    for part, schema in PARTS.items():
        decided = read_decided(folder, part, schema)
        if decided is not None:
            append_decided(copy, part, hidden.document(decided))
    with open(os.path.join(copy, "trials.jsonl"), "w", encoding="utf-8") as stream:
        for trial in stream_records(record, []):
            stream.write(json.dumps(hidden.document(trial)) + "\n")


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
        stream.write(text)


def _read(folder: str, name: str) -> bytes:
    with open(os.path.join(folder, name), "rb") as stream:
        return stream.read()


def _refuse_left(contents: dict[str, bytes], hidden: Anonymous) -> None:
    """Raise LabError where a name that was to be replaced is still in a file."""
    for name, content in contents.items():
        left = hidden.left(content.decode())
        if left:
            raise LabError(
                f"{name} of the archive would still have the name {left[0]!r}",
                ARCHIVE,
                "Rename it, if it is a word that reports have; nothing was written.",
            )


def _packed(contents: dict[str, bytes]) -> bytes:
    """Return an archive with these files; the same files give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"{INSIDE}/{name}")
            entry.size = len(content)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


class WrittenBundle(TypedDict):
    """What module bundle returns."""

    changed: bool
    archive: str
    checksum_file: str
    names: str
    replaced: dict[str, int]
    files: list[str]


def write_bundle(folder: str, output: str, check: bool) -> WrittenBundle:
    """Write archive, checksum and names into a folder; return what the module returns."""
    bundle = bundle_of(folder)
    documents: dict[str, str | bytes] = {
        ARCHIVE: bundle.archive,
        CHECKSUM: bundle.checksum,
        NAMES: bundle.names,
    }
    changed = [name for name, content in documents.items() if _differs(output, name, content)]
    for name in [] if check else changed:
        files.write_result(os.path.join(output, name), documents[name])
    return {
        "changed": bool(changed),
        "archive": os.path.join(output, ARCHIVE),
        "checksum_file": os.path.join(output, CHECKSUM),
        "names": os.path.join(output, NAMES),
        "replaced": bundle.replaced,
        "files": bundle.files,
    }


def _differs(folder: str, name: str, content: str | bytes) -> bool:
    path = os.path.join(folder, name)
    wanted = content.encode() if isinstance(content, str) else content
    return not os.path.isfile(path) or _read(folder, name) != wanted
