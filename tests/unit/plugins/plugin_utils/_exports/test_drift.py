# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from xml.etree import ElementTree

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter.drift import drift

ROW = {"kind": "features", "name": "rx-gro-list", "applied": True, "now": False}
LOST = {"kind": "rps", "name": "rx-7", "applied": "f", "now": None}
HOSTS = {
    "node1": {
        "since": 1763769600.0,
        "age_s": 5 * 86400 + 7,
        "rebooted": True,
        "devices": [
            {"device": "eth1", "settings": 12, "missing": False, "drifted": [ROW, LOST]},
            {
                "device": "t1/veth0",
                "settings": 2,
                "missing": True,
                "drifted": [],
            },
        ],
    },
    "node2": {
        "since": 1763769600.0,
        "age_s": 60.0,
        "rebooted": False,
        "devices": [
            {
                "device": "eth1",
                "settings": 3,
                "missing": False,
                "drifted": [],
                "programs": {"xdp": "theirs"},
            }
        ],
    },
    "node3": {"since": None, "age_s": None, "rebooted": False, "devices": []},
    "node4": {"unreachable": True, "msg": "no route"},
}


def test_text():
    assert drift(HOSTS).splitlines() == [
        "node1: 4 of 14 settings are no longer as they were applied on 2025-11-22 "
        "(5 days ago; the host was rebooted since)",
        "  eth1 features rx-gro-list: applied on, is off",
        "  eth1 rps rx-7: applied f, is not there",
        "  t1/veth0: the device is not there",
        "node2: all 3 settings are as they were applied on 2025-11-22 (today)",
        "  eth1: a BPF program of others, theirs, is attached (xdp)",
        "node3: nothing was applied",
        "node4: could not be read",
    ]


def test_junit_fails_where_a_setting_is_gone_or_a_host_is_not_read():
    root = ElementTree.fromstring(drift(HOSTS, "junit"))
    suites = {suite.get("name"): suite for suite in root}
    counts = {name: (suite.get("tests"), suite.get("failures")) for name, suite in suites.items()}
    assert counts == {
        "node1": ("2", "2"),
        "node2": ("1", "0"),
        "node3": ("1", "0"),
        "node4": ("1", "1"),
    }
    message = suites["node1"].find("testcase[@name='eth1']/failure").get("message")
    assert message == (
        "eth1 features rx-gro-list: applied on, is off; eth1 rps rx-7: applied f, is not there"
    )


def test_openmetrics():
    lines = drift(HOSTS, "openmetrics").splitlines()
    assert 'offload_lab_drifted_settings{host="node1",device="eth1"} 2' in lines
    assert 'offload_lab_drifted_settings{host="node1",device="t1/veth0"} 2' in lines
    assert 'offload_lab_applied_settings{host="node2",device="eth1"} 3' in lines
    assert 'offload_lab_host_read{host="node4"} 0' in lines
    assert 'offload_lab_applied_timestamp_seconds{host="node1"} 1763769600.0' in lines
    assert not any('host="node3",' in line for line in lines)
    assert lines[-1] == "# EOF"


def test_an_unknown_form():
    with pytest.raises(AnsibleFilterError, match="Use text, junit, openmetrics"):
        drift(HOSTS, "html")
