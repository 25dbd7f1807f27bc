# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command of the user: set, set again, restored; what is refused, and what is never run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._kinds.change import change
from ansible_collections.offload.lab.plugins.module_utils._kinds.command_levels import (
    VALUE,
    Allowed,
    definition,
    filled,
    levels_of,
    with_commands,
)
from ansible_collections.offload.lab.plugins.module_utils._kinds.devices import (
    devices_of_classes,
    parse_devices,
)
from ansible_collections.offload.lab.plugins.module_utils._kinds.kept_devices import kept_devices
from ansible_collections.offload.lab.plugins.module_utils._restore import (
    applied,
    restore,
    settings,
    snapshot,
)

WRITE = """#!/bin/sh
printf '%s' "$2" >"$1"
"""


class Knob:
    """A file that is read and written by two programs of root's, in a folder of root's."""

    def __init__(self, folder):
        self.file = folder / "knob"
        self.file.write_text("first\n")
        self.program = folder / "write"
        self.program.write_text(WRITE)
        self.program.chmod(0o755)
        self.definition = {
            "set": [str(self.program), str(self.file), "{value}"],
            "read": ["cat", str(self.file)],
            "levels": {"small": "10", "large": 99},
        }

    def settings(self, level, **more):
        allowed = Allowed("node1", {"knob": {**self.definition, **more}}, ["node1"])
        return with_commands({"node": {"command": {"knob": level}}}, allowed)

    def devices(self, level, **more):
        return devices_of_classes(self.settings(level, **more), {})

    def set(self, level, check_mode=False, report_fixed=False, **more):
        devices = parse_devices(self.devices(level, **more))
        return change(devices, check_mode, report_fixed)["lo"]

    def kept(self, **more):
        return settings.read_settings(self.devices("small", **more), "error")[-1]


@pytest.fixture
def knob(tmp_path):
    return Knob(tmp_path)


def test_set_again_and_restored(knob, tmp_path):
    kept = knob.kept()
    path = str(tmp_path / "snapshot.json")
    snapshot.write(
        path, {**snapshot.empty(), "devices": [{"name": "lo", "command": kept["command"]}]}
    )
    in_check_mode = knob.set("small", check_mode=True)
    assert knob.file.read_text() == "first\n"
    assert in_check_mode["steps"] == [[str(knob.program), str(knob.file), "10"]]
    done = knob.set("small")
    assert knob.file.read_text() == "10"
    assert done == in_check_mode
    assert done["before"] == {"command": {"knob": "first"}}
    assert done["after"] == {"command": {"knob": "10"}}
    assert knob.set("small")["steps"] == []
    restored = restore.restore(path)
    assert restored["commands"] == [[str(knob.program), str(knob.file), "first"]]
    assert knob.file.read_text() == "first"


def test_a_restore_runs_what_the_controller_gave_when_the_snapshot_was_written(knob, tmp_path):
    path = str(tmp_path / "snapshot.json")
    before = snapshot.merge(None, [knob.kept()], {})
    snapshot.write(path, before)
    knob.set("small")
    knob.definition["set"] = ["touch", str(tmp_path / "other"), "{value}"]
    again = snapshot.merge(snapshot.read(path), [knob.kept()], {})
    assert again["devices"][-1]["command"] == before["devices"][-1]["command"]
    restore.restore(path)
    assert knob.file.read_text() == "first"
    assert not (tmp_path / "other").exists()


def test_a_snapshot_gets_the_commands_that_it_lacks(knob):
    host = {"name": "lo", "netns": None, "busy_poll": {"us": 0}}
    merged = snapshot.merge({**snapshot.empty(), "devices": [host]}, [knob.kept()], {})
    [item] = merged["devices"]
    assert item["busy_poll"] == {"us": 0}
    assert item["command"]["knob"]["value"] == "first"


def test_restore_and_unset_have_their_own_arguments(knob, tmp_path):
    knob.file.write_text("")
    more = {
        "unset": ["rm", str(knob.file)],
        "restore": [str(knob.program), str(knob.file), "={value}"],
    }
    kept = knob.kept(**more)
    knob.set("large", **more)
    assert knob.file.read_text() == "99"
    change(parse_devices([kept]), False, True)
    assert not knob.file.exists()
    knob.file.write_text("first")
    kept = knob.kept(**more)
    knob.set("large", **more)
    change(parse_devices([kept]), False, True)
    assert knob.file.read_text() == "=first"


def test_a_pattern_finds_the_value(knob):
    knob.file.write_text("mtu 5 qlen 7\n")
    assert knob.kept(match="qlen ([0-9]+)")["command"]["knob"]["value"] == "7"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "prints no value"),
        ("a\n$(reboot)", "cannot be a value"),
        ("x" * 300, "cannot be a value"),
    ],
)
def test_what_could_not_be_restored_is_refused(knob, text, why):
    knob.file.write_text(text)
    with pytest.raises(InputError, match=why):
        settings.check_commands([knob.kept()])
    with pytest.raises(InputError, match=why):
        knob.set("small")
    report = knob.set("small", report_fixed=True)
    assert why in report["fixed"]["command"]["knob"]["reason"]
    assert report["steps"] == []
    assert knob.file.read_text() == text


def test_a_read_that_fails_is_refused(knob):
    knob.file.unlink()
    with pytest.raises(
        InputError, match="command knob: the command could not be restored.*No such file"
    ):
        settings.check_commands([knob.kept()])


def test_a_kept_command_is_restored_where_it_can_no_longer_be_read(knob):
    kept = knob.kept()
    knob.file.unlink()
    change(parse_devices([kept]), False, True)
    assert knob.file.read_text() == "first"


def test_a_program_that_others_can_change_is_never_run(knob, tmp_path):
    kept = knob.kept()
    knob.set("small")
    knob.program.chmod(0o777)
    with pytest.raises(InputError, match="not root alone may change"):
        knob.set("large")
    path = str(tmp_path / "snapshot.json")
    snapshot.write(path, {**snapshot.empty(), "devices": [kept]})
    with pytest.raises(LabError, match="not everything could be restored.*not root alone"):
        restore.restore(path)
    assert knob.file.read_text() == "10"


def test_a_snapshot_that_others_can_change_runs_nothing(knob, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    path = str(folder / "snapshot.json")
    snapshot.write(path, {**snapshot.empty(), "devices": [knob.kept()]})
    knob.set("small")
    folder.chmod(0o777)
    with pytest.raises(LabError, match="names commands, which are not run"):
        restore.restore(path)
    assert "names commands, which are not run" in restore.restore_parts(path)[0]
    assert knob.file.read_text() == "10"
    (folder / "snapshot.json").unlink()
    with pytest.raises(LabError, match="names commands, which are not run"):
        snapshot.write(path, {**snapshot.empty(), "devices": [knob.kept()]})


def test_drift_shows_values_without_commands(knob):
    before = snapshot.merge(None, [knob.kept()], {})
    knob.set("small")
    now = [knob.kept()]
    changed = applied.originals(before, now)
    recorded = applied.settings_now(changed["devices"], now)
    assert applied.drift(recorded, now)[0]["drifted"] == []
    knob.file.write_text("other")
    now = settings.read_settings(settings.places(recorded), "error")
    [row] = applied.drift(recorded, now)[0]["drifted"]
    assert row == {"kind": "command", "name": "knob", "applied": "10", "now": "other"}


@pytest.mark.parametrize(
    ("hosts", "commands", "level", "why"),
    [
        ([], True, "small", "not allowed on this host.*offload_lab_allow_commands"),
        (["node2"], True, "small", "not allowed on this host"),
        (["node1"], False, "small", "offload_lab_commands does not have it"),
        (["node1"], True, "huge", "'huge' is none of its levels, small, large"),
    ],
)
def test_a_host_allows_and_defines_what_it_runs(knob, hosts, commands, level, why):
    defined = {"knob": knob.definition} if commands else {}
    with pytest.raises(InputError, match=why):
        with_commands({"node": {"command": {"knob": level}}}, Allowed("node1", defined, hosts))


@pytest.mark.parametrize(
    ("change_of", "why"),
    [
        ({"levels": None}, "not a mapping of names"),
        ({"set": "sysctl -w x={value}"}, "not a list of arguments"),
        ({"set": ["sysctl", "-w", "x=1"]}, "no argument has {value}"),
        ({"restore": ["sysctl", "-w", "x=1"]}, "no argument has {value}"),
        ({"read": None}, "read: is no command: None is not a list"),
        ({"shell": "x"}, "unknown key"),
        ({"match": "x"}, "not a pattern with one group"),
        ({"levels": {"a": "1;reboot"}}, "cannot be a value"),
        ({"set": ["x", {"a": 1}, "{value}"]}, "not a text"),
    ],
)
def test_a_wrong_definition_is_one_message(knob, change_of, why):
    with pytest.raises(InputError, match=why):
        definition({**knob.definition, **change_of}, "node1: command knob")
        levels_of({**knob.definition, **change_of}, "node1: command knob")


def test_a_snapshot_keeps_every_device_and_its_commands(knob):
    classes = {"underlay": [{"name": "eth1"}], "tenant": [{"name": "v0", "netns": "t1"}]}
    allowed = Allowed("node1", {"knob": knob.definition}, ["node1"])
    profile = {
        "tenant": {"command": {"knob": "small"}},
        "host_port": {"command": {"knob": "small"}},
    }
    items = kept_devices(classes, [{}, profile, {"node": {}}], allowed)
    assert [item["name"] for item in items] == ["eth1", "v0", "lo"]
    assert [name for item in items for name in item.get("command", {})] == ["knob"]
    assert items[1]["netns"] == "t1"
    assert json.loads(json.dumps(items)) == items


@given(st.text(max_size=40))
def test_a_value_is_one_argument_that_no_program_takes_for_more(text):
    if VALUE.match(text):
        assert not set(text) & set("\n\t;|&$`<>(){}[]'\"\\*?!#~^\0")
        try:
            assert filled(["x", "{value}", "a={value}"], text, "lo")[2] == f"a={text}"
        except InputError:
            assert text.startswith("-")
