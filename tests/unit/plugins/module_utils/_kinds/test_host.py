# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of the whole host: set, set again, restored, on a folder that stands for /proc/sys."""

from __future__ import annotations

import pytest

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
from ansible_collections.offload.lab.plugins.module_utils._kinds.kinds import HOST_KINDS
from ansible_collections.offload.lab.plugins.module_utils._restore import settings
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.factors import (
    read_factor,
    settings_of,
)

CAMPAIGN = {"sides": "both", "paths": ["physical"]}


@pytest.fixture
def sysctls(tmp_path, monkeypatch):
    """Give a folder with the files of all kinds of the host, each 0."""
    monkeypatch.setattr(host, "FOLDER", str(tmp_path))
    for kind in HOST_KINDS:
        file = tmp_path / kind.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("0\n")
    return tmp_path


def set_(check_mode=False, report_fixed=False, **kinds):
    return change(parse_devices([{"name": "lo", **kinds}]), check_mode, report_fixed)["lo"]


@pytest.mark.parametrize("kind", HOST_KINDS, ids=lambda kind: kind.name)
def test_set_again_and_restored(sysctls, kind):
    file, setting = sysctls / kind.file, kind.settings[0]
    settings = {kind.group: {setting: 64}}
    kept = info.host_item()
    in_check_mode = set_(check_mode=True, **settings)
    assert (in_check_mode["steps"], file.read_text()) == ([["tee", str(file), "64"]], "0\n")
    done = set_(**settings)
    assert file.read_text().strip() == "64"
    assert done == in_check_mode
    assert done["before"] == {kind.group: {setting: 0}} and done["after"] == settings
    assert set_(**settings)["steps"] == []
    change(parse_devices([kept]), False, True)
    assert file.read_text().strip() == "0"
    assert info.host_item() == kept


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


def test_a_unit_sets_it_at_the_boot():
    assert BUSY_POLL.shell({"us": 50}, "lo") == ["echo 50 >/proc/sys/net/core/busy_poll"]
