# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._base.network import key_of
from ansible_collections.offload.lab.plugins.module_utils._restore import identity, snapshot

LO = {"name": "lo", "netns": None, "features_wanted": {"rx-gro": True}}
GONE = {"name": "no-such-dev", "netns": None, "features_wanted": {}}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "var" / "snapshot.json")


def test_what_is_kept_is_never_replaced():
    first = snapshot.merge(None, [LO], {"a": 1})
    second = snapshot.merge(
        first, [dict(LO, features_wanted={"rx-gro": False}), GONE], {"a": 2, "b": 3}
    )
    assert identity.plain(second["devices"]) == [LO, GONE]
    assert second["other"] == {"a": 1, "b": 3}
    assert snapshot.merge(second, [LO], {}) == second


def test_the_same_name_in_another_namespace_is_another_device():
    merged = snapshot.merge(None, [GONE, dict(GONE, netns="t1")], {})
    assert [key_of(device) for device in merged["devices"]] == ["no-such-dev", "t1/no-such-dev"]


def test_the_mtu_of_what_is_there():
    assert identity.plain([snapshot.link_of(LO)]) == [{"name": "lo", "netns": None, "mtu": 65536}]
    assert snapshot.merge(None, [LO, GONE], {})["links"] == []  # lo stands for the host
    assert (
        snapshot.exists(LO)
        and not snapshot.exists(GONE)
        and not snapshot.exists(dict(LO, netns="no-such-ns"))
    )


def test_written_read_and_removed(path):
    assert snapshot.read(path) is None
    kept = snapshot.merge(None, [LO], {})
    snapshot.write(path, kept)
    assert snapshot.read(path) == kept
    assert os.listdir(os.path.dirname(path)) == ["snapshot.json"]
    snapshot.remove(path)
    assert not os.path.exists(os.path.dirname(path))


def test_it_is_on_the_disk_before_it_has_its_name(path, monkeypatch):
    order = []
    monkeypatch.setattr(
        os, "fsync", lambda number: order.append(os.readlink(f"/proc/self/fd/{number}"))
    )
    rename = os.rename
    monkeypatch.setattr(
        os, "rename", lambda *names, **folders: (order.append("rename"), rename(*names, **folders))
    )
    snapshot.write(path, snapshot.merge(None, [LO], {}))
    assert order[1:] == ["rename", os.path.dirname(path)]
    assert re.fullmatch(re.escape(os.path.dirname(path)) + r"/\.snapshot\.json\.\w+\.new", order[0])


def test_others_keep_their_files(path):
    snapshot.write(path, snapshot.merge(None, [], {}))
    chunk = os.path.join(os.path.dirname(path), "spool", "demo-1.jsonl")
    os.mkdir(os.path.dirname(chunk))
    open(chunk, "w").close()
    snapshot.remove(path)
    assert os.path.exists(chunk) and not os.path.exists(path)


def test_empty_folders_go_with_it(path):
    snapshot.write(path, snapshot.merge(None, [], {}))
    os.mkdir(os.path.join(os.path.dirname(path), "spool"))
    snapshot.remove(path)
    assert not os.path.exists(os.path.dirname(path))


@given(st.text())
def test_any_file_is_a_snapshot_or_an_error(text):
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    good = isinstance(document, dict) and document.get("schema") in (1, 2)
    with open(
        f"/dev/shm/offload-lab-test-{os.getpid()}", "w", encoding="utf-8", errors="replace"
    ) as stream:
        stream.write(text)
    try:
        assert snapshot.read(stream.name) == document and good
    except LabError as error:
        assert not good and "snapshot" in str(error)
    finally:
        os.unlink(stream.name)
