# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils import _snapshot
from ansible_collections.offload.lab.plugins.module_utils._errors import InputError, LabError

LO = {"name": "lo", "netns": None, "features_wanted": {"rx-gro": True}}
GONE = {"name": "no-such-dev", "netns": None, "features_wanted": {}}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "var" / "snapshot.json")


def test_what_is_kept_is_never_replaced():
    first = _snapshot.merge(None, [LO], {"a": 1})
    second = _snapshot.merge(first, [dict(LO, features_wanted={"rx-gro": False}), GONE], {"a": 2, "b": 3})
    assert second["devices"] == [LO, GONE]
    assert second["other"] == {"a": 1, "b": 3}
    assert _snapshot.merge(second, [LO], {}) == second


def test_the_same_name_in_another_namespace_is_another_device():
    merged = _snapshot.merge(None, [GONE, dict(GONE, netns="t1")], {})
    assert [_snapshot.key_of(device) for device in merged["devices"]] == ["no-such-dev", "t1/no-such-dev"]


def test_the_mtu_of_what_is_there():
    assert _snapshot.merge(None, [LO, GONE], {})["links"] == [{"name": "lo", "netns": None, "mtu": 65536}]
    assert _snapshot.exists(LO) and not _snapshot.exists(GONE) and not _snapshot.exists(dict(LO, netns="no-such-ns"))


def test_written_read_and_removed(path):
    assert _snapshot.read(path) is None
    kept = _snapshot.merge(None, [LO], {})
    _snapshot.write(path, kept)
    assert _snapshot.read(path) == kept
    assert os.listdir(os.path.dirname(path)) == ["snapshot.json"]
    _snapshot.remove(path)
    assert not os.path.exists(os.path.dirname(path))


def test_it_is_on_the_disk_before_it_has_its_name(path, monkeypatch):
    order = []
    monkeypatch.setattr(os, "fsync", lambda number: order.append(os.readlink("/proc/self/fd/{0}".format(number))))
    rename = os.rename
    monkeypatch.setattr(os, "rename", lambda old, new: (order.append("rename"), rename(old, new)))
    _snapshot.write(path, _snapshot.merge(None, [LO], {}))
    assert order == [path + ".new", "rename", os.path.dirname(path)]


def test_others_keep_their_files(path):
    _snapshot.write(path, _snapshot.merge(None, [], {}))
    chunk = os.path.join(os.path.dirname(path), "spool", "demo-1.jsonl")
    os.mkdir(os.path.dirname(chunk))
    open(chunk, "w").close()
    _snapshot.remove(path)
    assert os.path.exists(chunk) and not os.path.exists(path)


def test_empty_folders_go_with_it(path):
    _snapshot.write(path, _snapshot.merge(None, [], {}))
    os.mkdir(os.path.join(os.path.dirname(path), "spool"))
    _snapshot.remove(path)
    assert not os.path.exists(os.path.dirname(path))


@given(st.text())
def test_any_file_is_a_snapshot_or_an_error(text):
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    good = isinstance(found, dict) and found.get("schema") == 1
    with open("/dev/shm/offload-lab-test-{0}".format(os.getpid()), "w", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
    try:
        assert _snapshot.read(stream.name) == found and good
    except LabError as error:
        assert not good and "snapshot" in str(error)
    finally:
        os.unlink(stream.name)


@pytest.mark.parametrize("device", [{}, {"name": 1}, "eth0", None])
def test_a_device_without_a_name(device):
    with pytest.raises(InputError, match="not a device with its settings"):
        _snapshot.check_devices([device])
