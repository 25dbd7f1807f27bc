# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter.all_devices import FilterModule as AllDevices
from ansible_collections.offload.lab.plugins.filter.device_settings import FilterModule as DeviceSettings
from ansible_collections.offload.lab.plugins.filter.endpoint_list import FilterModule as EndpointList
from ansible_collections.offload.lab.plugins.filter.evidence_paths import FilterModule as EvidencePaths
from ansible_collections.offload.lab.plugins.filter.visit_links import FilterModule as VisitLinks

FILTERS = {}
for plugin in (AllDevices, DeviceSettings, EndpointList, EvidencePaths, VisitLinks):
    FILTERS.update(plugin().filters())
UNDERLAY = {"underlay": [{"name": "eth0"}]}
ENDS = {"endpoints": {"physical": {"address": "198.18.0.1"}}, "devices": UNDERLAY}


@pytest.mark.parametrize("name, values, expected", [
    ("all_devices", (UNDERLAY,), [{"name": "eth0", "netns": None}]),
    ("device_settings", ({"underlay": {"features": {"tso": True}}}, UNDERLAY),
     [{"name": "eth0", "netns": None, "features": {"tso": True}}]),
    ("visit_links", (UNDERLAY, 9000, 50), [{"name": "eth0", "netns": None, "mtu": 9000}]),
    ("endpoint_list", ({"a": {"address": "198.18.0.1"}, "b": {"address": "x", "all": [
        {"address": "198.18.0.1", "netns": None}, {"address": "192.168.10.1", "netns": "tenant1"}]}}, 99),
     [{"netns": None, "address": "198.18.0.1", "port": 99},
      {"netns": "tenant1", "address": "192.168.10.1", "port": 99}]),
])
def test_filter(name, values, expected):
    assert FILTERS[name](*values) == expected


def test_evidence_paths():
    assert FILTERS["evidence_paths"](["physical"], ENDS, ENDS)[0]["client_devices"] == [{"name": "eth0", "netns": None}]


@pytest.mark.parametrize("name, values", [
    ("all_devices", ("eth0",)), ("all_devices", ({"underlay": ["eth0"]},)),
    ("device_settings", ({"underlay": 1}, UNDERLAY)),
    ("device_settings", ({"tenant": {"features": {"a": 1}}}, UNDERLAY)),
    ("visit_links", (None, 9000, 50)), ("endpoint_list", ("x",)), ("endpoint_list", ({"a": {}},)),
    ("evidence_paths", (["physical"], {}, ENDS)), ("evidence_paths", (["physical"], None, None)),
])
def test_wrong_input_is_one_message(name, values):
    with pytest.raises(AnsibleFilterError, match="offload.lab." + name):
        FILTERS[name](*values)
