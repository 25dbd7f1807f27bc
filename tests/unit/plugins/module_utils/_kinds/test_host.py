# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of the whole host: set, set again, restored, on a folder that stands for /proc/sys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds import host, info
from ansible_collections.offload.lab.plugins.module_utils._kinds.change import change
from ansible_collections.offload.lab.plugins.module_utils._kinds.devices import (
    devices_of_classes,
    parse_devices,
)
from ansible_collections.offload.lab.plugins.module_utils._kinds.host import (
    BUSY_POLL,
    RPS_SOCK_FLOW_ENTRIES,
)
from ansible_collections.offload.lab.plugins.module_utils._kinds.kinds import HOST_KINDS, KINDS
from ansible_collections.offload.lab.plugins.module_utils._restore import settings
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.factors import settings_of
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.read_factors import read_factor

CAMPAIGN = {"sides": "both", "paths": ["physical"]}
# By kind: what its file has, what is set, and what is written.
EXAMPLES = {
    "default_qdisc": ("pfifo_fast", "fq", "fq"),
    "tcp_congestion_control": ("cubic", "bbr", "bbr"),
    "tcp_rmem": ("4096\t131072\t33554432", 4194304, "4096 131072 4194304"),
    "tcp_wmem": ("4096\t16384\t4194304", 65536, "4096 16384 65536"),
}


def example(kind):
    return EXAMPLES.get(kind.name, ("1", 64, "64"))


@pytest.fixture
def sysctls(tmp_path, monkeypatch):
    """Give a folder with the files of all kinds of the host."""
    monkeypatch.setattr(host, "FOLDER", str(tmp_path))
    for kind in HOST_KINDS:
        file = tmp_path / kind.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(example(kind)[0] + "\n")
    return tmp_path


def set_(check_mode=False, report_fixed=False, **kinds):
    return change(parse_devices([{"name": "lo", **kinds}]), check_mode, report_fixed)["lo"]


@pytest.mark.parametrize("kind", HOST_KINDS, ids=lambda kind: kind.name)
def test_set_again_and_restored(sysctls, kind):
    file, setting = sysctls / kind.file, kind.settings[0]
    there, value, written = example(kind)
    settings = {kind.group: {setting: value}}
    kept = info.host_item()
    in_check_mode = set_(check_mode=True, **settings)
    assert in_check_mode["steps"] == [["tee", str(file), *written.split()]]
    assert file.read_text().strip() == there
    done = set_(**settings)
    assert file.read_text().strip() == written
    assert done == in_check_mode
    assert done["before"] == {kind.group: {setting: kind.from_text(there)[setting]}}
    assert done["after"] == settings
    assert set_(**settings)["steps"] == []
    change(parse_devices([kept]), False, True)
    assert file.read_text().split() == there.split()
    assert info.host_item() == kept


@given(st.text())
def test_any_text_is_a_state(text):
    for kind in HOST_KINDS:
        state = kind.state(text, None)
        assert state["supported"] or "no value of this kind" in state["reason"]
        for name, value in state.get("current", {}).items():
            assert kind.checked(name, value, state, "lo") == value


@given(st.lists(st.integers(1, 2**31 - 1), min_size=3, max_size=3))
def test_three_numbers_are_written_as_they_are_read(numbers):
    kind = KINDS["tcp_rmem"]
    state = kind.state("\t".join(map(str, numbers)), None)
    [(_path, text)] = kind.writes(state["current"], "lo")
    assert kind.from_text(text) == state["current"]


def test_a_boot_leaves_the_other_numbers():
    assert KINDS["tcp_rmem"].shell({"max": 65536}, "lo") == [
        "read -r min default max </proc/sys/net/ipv4/tcp_rmem"
        ' && echo "$min $default 65536" >/proc/sys/net/ipv4/tcp_rmem'
    ]


@pytest.mark.parametrize("name", ["tcp_rmem", "tcp_congestion_control"])
def test_a_setting_of_a_namespace_does_not_reach_tenants(name):
    entry = {"name": name, "levels": ["1", "2"]}
    assert read_factor(entry, {**CAMPAIGN, "paths": ["physical_vxlan"]})
    with pytest.raises(InputError, match="does not reach tenants"):
        read_factor(entry, {**CAMPAIGN, "paths": ["physical", "tenant_vxlan"]})


@pytest.mark.parametrize(
    "name, value",
    [("default_qdisc", "../fq"), ("default_qdisc", 1), ("tcp_congestion_control", "a b")],
)
def test_names(sysctls, name, value):
    kind = KINDS[name]
    with pytest.raises(InputError, match="at most 15 letters"):
        set_(**{kind.group: {kind.settings[0]: value}})
    with pytest.raises(ValueError, match="at most 15 letters"):
        kind.value(str(value) + "/")


def test_the_host_is_kept_only_where_it_is_asked_for(sysctls, monkeypatch):
    """What others set on the host stays theirs where the campaign does not vary it."""
    device = {"name": "eth1", "netns": None}
    monkeypatch.setattr(settings, "read", lambda _options: {"eth1": device})
    monkeypatch.setattr(settings, "restore_item", dict)
    assert settings.read_settings(["eth1"], "error") == [device]
    assert settings.read_settings(["eth1", "lo"], "error") == [device, info.host_item()]
    assert settings.read_settings([{"name": "lo"}], "error") == [info.host_item()]


def test_a_factor_sets_the_hosts_of_both_ends(sysctls):
    [factor] = read_factor({"name": "busy_poll", "levels": [0, 50]}, CAMPAIGN)
    set_there = settings_of([factor], {"busy_poll": "50"})
    assert set_there == dict.fromkeys(("client", "server"), {"node": {"busy_poll": {"us": 50}}})
    items = devices_of_classes(set_there["client"], {"underlay": [{"name": "eth1"}]})
    assert items == [{"name": "lo", "netns": None, "busy_poll": {"us": 50}}]


def test_where_the_sysctl_is_not_there(sysctls):
    (sysctls / BUSY_POLL.file).unlink()
    [reported] = set_(report_fixed=True, busy_poll={"us": 50})["fixed"].values()
    assert "busy_poll is not there: the kernel lacks it" in reported["us"]["reason"]
    with pytest.raises(InputError, match="cannot be set here"):
        set_(busy_poll={"us": 50})
    assert "busy_poll" not in info.host_item()


def test_another_device_is_no_host():
    state = BUSY_POLL.read({"eth0": ["us"], "lo": ["us"]}, "tenant1", None)
    assert {entry["reason"] for entry in state.values()} == {host.NOT_A_HOST}
    assert BUSY_POLL.described(state["eth0"]) == {}


def test_values(sysctls):
    with pytest.raises(ValueError, match="power of two"):
        RPS_SOCK_FLOW_ENTRIES.value("3000")
    with pytest.raises(InputError, match="is not a power of two"):
        set_(rps_sock_flow_entries={"flows": 3000})
    with pytest.raises(InputError, match="busy_poll us"):
        set_(busy_poll={"us": -1})
    with pytest.raises(InputError, match="not between 1 and"):
        set_(netdev_max_backlog={"packets": 0})


def test_a_unit_sets_it_at_the_boot():
    assert BUSY_POLL.shell({"us": 50}, "lo") == ["echo 50 >/proc/sys/net/core/busy_poll"]
