# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._load import spool

HOLDER = """
import sys, time
from ansible_collections.offload.lab.plugins.module_utils._load import spool
chunk = spool.Chunk(sys.argv[1], "demo-1", "k1")
chunk.append({"id": "c1"})
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "spool")


@pytest.fixture
def holder(folder):
    """A module that still measures: it holds its chunk and has finished one cell."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path)),
    )
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def names(files):
    return dict(
        (os.path.basename(path), [row["id"] for row in rows]) for path, rows in files.items()
    )


def write(folder, campaign, chunk, *ids):
    opened = spool.Chunk(folder, campaign, chunk)
    for name in ids:
        opened.append({"id": name})
    os.close(opened.descriptor)


def test_finished_cells_are_collected_until_they_are_removed(folder):
    write(folder, "demo-1", "k1", "a", "b")
    write(folder, "demo-1", "k2", "c")
    write(folder, "demo-2", "k1", "x")
    expected = {"demo-1-k1.jsonl": ["a", "b"], "demo-1-k2.jsonl": ["c"]}
    assert names(spool.collect(folder, "demo-1")) == expected
    assert names(spool.collect(folder, "demo-1")) == expected


def test_nothing_spooled(folder):
    assert spool.collect(folder, "demo-1") == {}
    assert not os.path.exists(folder)


def test_only_root_reads_it(folder):
    write(folder, "demo-1", "k1", "a")
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert os.stat(os.path.join(folder, "demo-1-k1.jsonl")).st_mode & 0o777 == 0o600


def test_every_cell_is_synced(folder, monkeypatch):
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda number: synced.append(os.readlink(f"/proc/self/fd/{number}"))
    )
    write(folder, "demo-1", "k1", "a", "b")
    assert (
        synced
        == [os.path.join(folder, "demo-1-k1.jsonl"), folder]
        + [os.path.join(folder, "demo-1-k1.jsonl")] * 2
    )


@pytest.mark.parametrize(
    "tail", ['{"id": "to', '{"id": "torn"}', "\0\0\0\0", "[1]\n", "null\n", '{"id": "x"\n']
)
def test_a_torn_line_is_not_a_cell(folder, tail):
    write(folder, "demo-1", "k1", "a")
    with open(os.path.join(folder, "demo-1-k1.jsonl"), "a") as stream:
        stream.write(tail)
    assert names(spool.collect(folder, "demo-1")) == {"demo-1-k1.jsonl": ["a"]}


def test_a_chunk_that_still_runs_is_ended_and_its_cells_are_kept(folder, holder):
    assert names(spool.collect(folder, "demo-1")) == {"demo-1-k1.jsonl": ["c1"]}
    assert holder.wait(10) == -9


def test_a_pid_that_is_somebody_elses_is_not_ended(folder, holder):
    """The header names a process that is not the holder, as after a reuse of the pid."""
    path = os.path.join(folder, "demo-1-k1.jsonl")
    other = subprocess.Popen(["sleep", "60"])
    try:
        with open(path, "w") as stream:
            stream.write(json.dumps({"pid": other.pid, "started": 1}) + "\n")
        with pytest.raises(LabError, match="another measurement of this campaign still runs"):
            spool._end_module(path, patience=0.2)
        assert other.poll() is None and holder.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize(
    "campaign, chunk",
    [("../x", "k"), ("x", "../k"), ("-x", "k"), ("x*", "k"), ("", "k"), ("x" * 65, "k")],
)
def test_names_stay_in_the_folder(folder, campaign, chunk):
    with pytest.raises(InputError, match="not a name"):
        spool.Chunk(folder, campaign, chunk)
