# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils.lab.device_settings import (
    all_devices,
    device_settings,
    visit_links,
)
from ansible_collections.offload.lab.plugins.plugin_utils.trials.evidence_paths import evidence_paths

DEVICES = {"underlay": [{"name": "underlay0"}],
           "tenant": [{"name": "tenant1-veth0", "netns": "tenant1"}, {"name": "tenant2-veth0", "netns": "tenant2"}],
           "host": [{"name": "host-veth0"}], "tunnel": [{"name": "vxlan0"}]}


def test_a_profile_on_the_devices_of_a_node():
    found = device_settings({"underlay": {"features": {"tso": False}, "channels": {"combined": 4}},
                             "tenant": {"features": {"gro": True}}}, DEVICES)
    assert found == [
        {"name": "underlay0", "netns": None, "features": {"tso": False}, "channels": {"combined": 4}},
        {"name": "tenant1-veth0", "netns": "tenant1", "features": {"gro": True}},
        {"name": "tenant2-veth0", "netns": "tenant2", "features": {"gro": True}}]


def test_what_is_not_of_ethtool_is_left_out():
    assert device_settings({"tunnel": {"csum": True}, "underlay": {"rps": {"cpus": "all"}}}, DEVICES) == []


def test_a_device_of_two_classes_is_set_once():
    settings = {"underlay": {"features": {"tso": False, "gro": True}}, "host": {"features": {"tso": True}}}
    found = device_settings(settings, {"underlay": [{"name": "eth0"}], "host": [{"name": "eth0", "netns": None}]})
    assert found == [{"name": "eth0", "netns": None, "features": {"tso": True, "gro": True}}]


def test_a_class_without_devices_is_said():
    with pytest.raises(InputError, match="class host: the node has no device of this class"):
        device_settings({"host": {"features": {"tso": False}}}, {"underlay": [{"name": "eth0"}]})


def test_all_devices_once():
    assert [device["name"] for device in all_devices(DEVICES)] == [
        "underlay0", "tenant1-veth0", "tenant2-veth0", "host-veth0", "vxlan0"]
    assert all_devices({"a": [{"name": "eth0"}], "b": [{"name": "eth0"}]}, ["a", "b", "c"]) == [
        {"name": "eth0", "netns": None}]


def test_the_tunnel_takes_its_part_of_the_mtu():
    mtus = {link["name"]: link["mtu"] for link in visit_links(DEVICES, 9000, 50)}
    assert mtus == {"underlay0": 9000, "tenant1-veth0": 8950, "tenant2-veth0": 8950, "host-veth0": 8950,
                    "vxlan0": 8950}


def test_where_to_look_for_evidence():
    client = {"devices": DEVICES, "endpoints": {
        "physical": {"netns": None, "address": "198.18.0.1"},
        "tenant_vxlan": {"netns": "tenant1", "address": "192.168.10.1",
                         "all": [{"netns": "tenant2", "address": "192.168.10.2"}]}}}
    server = {"devices": DEVICES, "endpoints": {
        "physical": {"netns": None, "address": "198.18.0.2"},
        "tenant_vxlan": {"netns": "tenant1", "address": "192.168.10.3"}}}
    ports = {"devices": dict(DEVICES, underlay=[{"name": "eth0"}, {"name": "eth1"}]), "endpoints": client["endpoints"]}
    assert evidence_paths(["physical"], ports, server)[0]["client_devices"] == [
        {"name": "eth0", "netns": None, "alike": True}, {"name": "eth1", "netns": None, "alike": True}]
    physical, tenant = evidence_paths(["physical", "tenant_vxlan"], client, server, 99)
    assert (physical["local_address"], physical["address"], physical["port"]) == ("198.18.0.1", "198.18.0.2", 99)
    assert physical["client_devices"] == physical["server_devices"] == [{"name": "underlay0", "netns": None}]
    assert (tenant["netns"], tenant["local_address"], tenant["address"]) == ("tenant2", "192.168.10.2", "192.168.10.3")
    assert [device["name"] for device in tenant["client_devices"]] == ["underlay0", "tenant2-veth0"]
    assert [device["name"] for device in tenant["server_devices"]] == ["underlay0", "tenant1-veth0"]
