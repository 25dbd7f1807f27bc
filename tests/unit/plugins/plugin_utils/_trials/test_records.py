# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.plugin_utils._trials import records as trials_records
from ansible_collections.offload.lab.plugins.plugin_utils._trials.records import (
    Records,
    decode,
    encode,
    read,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
# The reader checks the keys that it knows.
TRIALS = st.dictionaries(st.text().map("more {}".format), JSON).map(
    lambda extra: {**extra, "id": "a"}
)
TMP = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)


def trial(number, **more):
    return {
        "id": f"c{number}",
        "pair": "node1-node2",
        "result": {"throughput_mbps": 9410.25},
        **more,
    }


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "results" / "trials.jsonl")


def written(path, *numbers):
    records = Records(path)
    for number in numbers:
        records.append(trial(number))
    return records


def test_what_is_appended_is_read(path):
    written(path, 1, 2)
    written(path, 3)
    assert read(path) == ([trial(1), trial(2), trial(3)], [])


def test_every_trial_is_synced_before_append_returns(path, monkeypatch):
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    )
    written(path, 1, 2)
    assert synced.count(path) == 2
    assert os.path.dirname(path) in synced  # the new file's name is on the disk too


def test_a_trial_is_never_recorded_twice(path):
    records = written(path, 1)
    with pytest.raises(LabError, match="recorded already"):
        records.append(trial(1))
    records.append(dict(trial(1), pair="node3-node4"))
    assert len(read(path)[0]) == 2


def test_a_trial_recorded_by_somebody_else_meanwhile_is_seen(path):
    first = Records(path)
    second = Records(path)
    first.append(trial(1))
    with pytest.raises(LabError, match="recorded already"):
        second.append(trial(1))
    second.append(trial(2))
    assert [row["id"] for row in read(path)[0]] == ["c1", "c2"]


def test_a_torn_last_line_is_set_aside_and_said(path):
    written(path, 1, 2)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(encode(trial(3))[:40])
    records = Records(path)
    assert len(records.repaired) == 1 and "line 3" in records.repaired[0]
    records.append(trial(3))
    assert read(path) == ([trial(1), trial(2), trial(3)], [])
    with open(path + ".damaged", encoding="utf-8") as stream:
        assert stream.read() == encode(trial(3))[:40] + "\n"


def test_a_whole_last_line_without_its_end_is_torn_too(path):
    written(path, 1)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(encode(trial(2)).rstrip("\n"))
    assert read(path)[1] == ["line 2: the last line is torn"]
    assert Records(path).known == {("node1-node2", "c1"): False}


def test_a_flipped_bit_is_found(path):
    written(path, 1, 2, 3)
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    offset = text.index("9410.25", text.index("c2"))
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text[:offset] + "8" + text[offset + 1 :])
    assert read(path) == (
        [trial(1), trial(3)],
        ["line 2: the line was changed after it was written"],
    )


def test_a_line_that_is_there_twice_counts_once(path):
    written(path, 1)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(encode(trial(1)))
    assert read(path) == ([trial(1)], ["line 2: trial c1 is in line 1 already"])


def test_reading_alone_changes_nothing(path):
    written(path, 1)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write("torn")
    before = os.stat(path)
    read(path)
    Records(path, dry=True)
    assert os.stat(path).st_mtime_ns == before.st_mtime_ns
    assert sorted(os.listdir(os.path.dirname(path))) == ["trials.jsonl"]


def test_nothing_recorded(path):
    assert read(path) == ([], [])
    Records(path, dry=True)
    assert not os.path.exists(os.path.dirname(path))


def test_lines_without_a_check_are_taken(path):
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(trial(1)) + "\n\n")
    assert read(path) == ([trial(1)], [])


def test_orjson_and_json_read_the_same(monkeypatch):
    record = dict(
        trial(1), text="\ud800 \u20ac \x00", numbers=[0.1 + 0.2, 1e-320, -0.0, 2**63, None, True]
    )
    lines = [
        trials_records.encode(record),
        trials_records.encode(trial(2, raw="MIGRATED TCP STREAM TEST\n" * 50)),
    ]
    assert trials_records.fast_loads, "orjson is in requirements/controller.in"
    fast = [trials_records.decode(line.rstrip("\n")) for line in lines]
    monkeypatch.setattr(trials_records, "fast_loads", None)
    assert repr(fast) == repr([trials_records.decode(line.rstrip("\n")) for line in lines])


def test_a_full_disk_leaves_no_half_line(path, monkeypatch):
    records = written(path, 1)
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:10]))
    with pytest.raises(LabError, match="No space left on device"):
        records.append(trial(2))
    monkeypatch.undo()
    assert read(path) == ([trial(1)], [])
    records.append(trial(2))
    assert read(path)[0] == [trial(1), trial(2)]


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="record cannot be"):
        Records(str(tmp_path / "file" / "trials.jsonl"))


@given(TRIALS)
def test_what_is_encoded_is_decoded(record):
    line = encode(record)
    assert line.count("\n") == 1
    assert decode(line[:-1]) == record


@given(st.text())
def test_any_line_is_a_record_or_an_error(text):
    try:
        assert isinstance(decode(text)["id"], str)
    except ValueError as error:
        assert str(error)


@TMP
@given(content=st.binary(max_size=300))
def test_any_file_is_read_and_repaired(tmp_path, content):
    path = tmp_path / "trials.jsonl"
    for extra in path.parent.glob("*"):
        extra.unlink()
    path.write_bytes(content)
    good, bad = read(str(path))
    records = Records(str(path))
    assert len(records.repaired) == len(bad)
    records.append({"id": "new", "pair": "p"}) if ("p", "new") not in records.known else None
    after, problems = read(str(path))
    assert problems == [] and after[: len(good)] == good


@TMP
@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_no_flipped_bit_goes_unnoticed(tmp_path, place, bit):
    line = bytearray(encode(trial(1)).encode())
    place %= len(line)
    line[place] ^= 1 << bit
    path = tmp_path / "trials.jsonl"
    path.write_bytes(bytes(line))
    good, _bad = read(str(path))
    # What lost its check by the flip reads as a record with a strange key: it is still the same
    # trial.
    assert good in ([], [trial(1)]) or set(good[0]) - set(trial(1))


def test_the_module_names_no_other_key():
    assert trials_records.key_of({"id": "x"}) == ("", "x")


def test_a_later_task_reads_only_what_came_after_the_earlier_one(path, tmp_path, monkeypatch):
    memory = str(tmp_path)
    first = Records(path, memory=memory)
    first.append(trial(1, profile="off", mtu=9000, block=1, visit=1, started=5.0))
    Records(path, memory=memory)
    written(path, 2)
    read_again = []
    real = trials_records.decode
    monkeypatch.setattr(
        trials_records, "decode", lambda line: read_again.append(line) or real(line)
    )
    third = Records(path, memory=memory)
    assert [json.loads(line)["id"] for line in read_again] == ["c2"]
    assert set(third.known) == {("node1-node2", "c1"), ("node1-node2", "c2")}
    assert third.starts == {(9000, 1, 1): 5.0}
    with pytest.raises(LabError, match="recorded already"):
        third.append(trial(1))
    assert Records(path).known == Records(path, dry=True, memory=memory).known == third.known


def test_a_torn_line_is_set_aside_with_a_memory_too(path, tmp_path):
    memory = str(tmp_path)
    written(path, 1)
    Records(path, memory=memory)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(encode(trial(2)) + encode(trial(3))[:40])
    assert set(Records(path, dry=True, memory=memory).known) == {
        ("node1-node2", "c1"),
        ("node1-node2", "c2"),
    }
    repaired = Records(path, memory=memory)
    assert "line 3" in repaired.repaired[0]
    repaired.append(trial(3))
    assert Records(path, memory=memory).known == Records(path).known
    assert read(path) == ([trial(1), trial(2), trial(3)], [])


def test_another_file_of_the_same_name_is_read_from_its_start(path, tmp_path):
    memory = str(tmp_path)
    written(path, 1, 2)
    Records(path, memory=memory)
    kept = tmp_path / "kept"
    os.rename(path, kept)
    written(path, 7)
    assert set(Records(path, memory=memory).known) == {("node1-node2", "c7")}


def test_a_record_that_became_shorter_is_read_from_its_start(path, tmp_path):
    memory = str(tmp_path)
    written(path, 1, 2)
    assert len(Records(path, memory=memory).known) == 2
    os.truncate(path, len(encode(trial(1))))
    assert set(Records(path, memory=memory).known) == {("node1-node2", "c1")}
    os.truncate(path, 0)
    assert Records(path, memory=memory).known == {}


def test_a_duplicate_of_a_line_that_is_not_read_again_is_found(path, tmp_path):
    memory = str(tmp_path)
    written(path, 1)
    Records(path, memory=memory)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(encode(trial(1)))
    assert "line 2: trial c1 is in line 1 already" in Records(path, memory=memory).repaired[0]
