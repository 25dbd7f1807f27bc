# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._host.runner import run
from ansible_collections.offload.lab.plugins.module_utils._kinds import sysfs
from ansible_collections.offload.lab.plugins.module_utils._kinds.kinds import (
    DEVICE_KINDS,
    KINDS,
    SYSFS_FILES,
)

FILES = {
    "threaded": "0",
    "gro_flush_timeout": "0",
    "napi_defer_hard_irqs": "0",
    "queues/rx-0/rps_cpus": "0",
    "queues/rx-0/rps_flow_cnt": "0",
    "queues/rx-1/rps_flow_cnt": "4096",
}


def plan(group, settings, report_fixed=False, files=None):
    kind = DEVICE_KINDS[group]
    state = kind.state(FILES if files is None else files, None)
    return kind.plan({group: settings}, state, "eth0", report_fixed)


def test_one_command_lists_the_files_of_all_kinds(tmp_path, monkeypatch):
    monkeypatch.setattr(sysfs, "FOLDER", str(tmp_path))
    for path, text in {**FILES, "mtu": "1500", "queues/rx-0/other": "1"}.items():
        file = tmp_path / "eth0" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    argv = sysfs.listing(["eth0", "gone0"], SYSFS_FILES)
    assert sysfs.parse_listing(run(argv, check=False).out) == {"eth0": FILES}


@given(st.text())
def test_any_text_is_a_listing(text):
    for files in sysfs.parse_listing(f"/sys/class/net/{text}\n{text}").values():
        for kind in DEVICE_KINDS.values():
            if isinstance(kind, sysfs.Sysfs):
                assert kind.state(files, None)["supported"] in (True, False)


@pytest.mark.parametrize(
    "group, settings, writes",
    [
        ("threaded", {"napi": True}, [("threaded", "1")]),
        ("threaded", {"napi": "off"}, []),
        ("gro_flush_timeout", {"ns": 20000}, [("gro_flush_timeout", "20000")]),
        ("gro_flush_timeout", {"ns": "0"}, []),
        ("napi_defer_hard_irqs", {"polls": 2}, [("napi_defer_hard_irqs", "2")]),
        ("rfs", {"flows": 4096}, [("queues/rx-0/rps_flow_cnt", "4096")]),
        ("rfs", {"rx-1": 0}, [("queues/rx-1/rps_flow_cnt", "0")]),
    ],
)
def test_what_is_written(group, settings, writes):
    change = plan(group, settings)["change"]
    assert DEVICE_KINDS[group].writes(change, "eth0") == [
        (f"/sys/class/net/eth0/{path}", text) for path, text in writes
    ]


@pytest.mark.parametrize(
    "group, settings, message",
    [
        ("threaded", {"napi": "maybe"}, "threaded napi"),
        ("threaded", {"threads": True}, "'threads' is not a setting of threaded"),
        ("gro_flush_timeout", {"ns": -1}, "not between 0 and"),
        ("gro_flush_timeout", {"ns": "auto"}, "not a whole number"),
        ("napi_defer_hard_irqs", {"polls": 2**31}, "not between 0 and"),
        ("rfs", {"flows": 1000}, "not a power of two"),
    ],
)
def test_wrong_values(group, settings, message):
    with pytest.raises(InputError, match=message):
        plan(group, settings)


@pytest.mark.parametrize("group", ["threaded", "gro_flush_timeout", "napi_defer_hard_irqs", "rfs"])
def test_what_a_kernel_lacks_is_unsupported(group):
    (setting,) = DEVICE_KINDS[group].settings
    reason = DEVICE_KINDS[group].lacks
    with pytest.raises(InputError, match="cannot be set here"):
        plan(group, {setting: 1}, files={})
    assert plan(group, {setting: 1}, True, {})["fixed"] == {setting: {"asked": 1, "reason": reason}}


def test_a_value_that_is_not_understood_is_left_alone():
    files = {"threaded": "2"}
    assert DEVICE_KINDS["threaded"].state(files, None)["supported"] is False
    assert plan("threaded", {"napi": True}, True, files)["change"] == {}


@pytest.mark.parametrize(
    "kind, level, value",
    [("threaded", "on", True), ("gro_flush_timeout", "20000", 20000), ("rfs", "4096", 4096)],
)
def test_levels_of_a_campaign(kind, level, value):
    assert KINDS[kind].value(level) == value


@pytest.mark.parametrize(
    "kind, level", [("threaded", "2"), ("gro_flush_timeout", "-1"), ("rfs", "1000")]
)
def test_wrong_levels_of_a_campaign(kind, level):
    with pytest.raises(ValueError):
        KINDS[kind].value(level)


def test_what_is_written_at_boot():
    assert DEVICE_KINDS["threaded"].shell({"napi": True}, "eth0") == [
        "echo 1 >/sys/class/net/eth0/threaded"
    ]
