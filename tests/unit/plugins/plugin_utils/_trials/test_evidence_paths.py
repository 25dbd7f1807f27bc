# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._paths.lab_paths import LAB
from ansible_collections.offload.lab.plugins.plugin_utils._paths.path import Path
from ansible_collections.offload.lab.plugins.plugin_utils._trials.evidence_paths import (
    crossed_devices,
    evidence_paths,
)

DEVICES = {
    "underlay": [{"name": "underlay0"}],
    "tenant": [
        {"name": "tenant1-veth0", "netns": "tenant1"},
        {"name": "tenant2-veth0", "netns": "tenant2"},
    ],
    "host": [{"name": "host-veth0"}],
    "tunnel": [{"name": "vxlan0"}],
}


def test_where_to_look_for_evidence():
    client = {
        "devices": DEVICES,
        "endpoints": {
            "physical": {"netns": None, "address": "198.18.0.1"},
            "tenant_vxlan": {
                "netns": "tenant1",
                "address": "192.168.10.1",
                "all": [{"netns": "tenant2", "address": "192.168.10.2"}],
            },
        },
    }
    server = {
        "devices": DEVICES,
        "endpoints": {
            "physical": {"netns": None, "address": "198.18.0.2"},
            "tenant_vxlan": {"netns": "tenant1", "address": "192.168.10.3"},
        },
    }
    ports = {
        "devices": dict(DEVICES, underlay=[{"name": "eth0"}, {"name": "eth1"}]),
        "endpoints": client["endpoints"],
    }
    assert evidence_paths(map(LAB.named, ["physical"]), ports, server)[0]["client_devices"] == [
        {"name": "eth0", "netns": None, "alike": True},
        {"name": "eth1", "netns": None, "alike": True},
    ]
    physical, tenant = evidence_paths(
        map(LAB.named, ["physical", "tenant_vxlan"]), client, server, 99
    )
    assert (physical["local_address"], physical["address"], physical["port"]) == (
        "198.18.0.1",
        "198.18.0.2",
        99,
    )
    assert (
        physical["client_devices"]
        == physical["server_devices"]
        == [{"name": "underlay0", "netns": None}]
    )
    assert (tenant["netns"], tenant["local_address"], tenant["address"]) == (
        "tenant2",
        "192.168.10.2",
        "192.168.10.3",
    )
    assert [device["name"] for device in tenant["client_devices"]] == ["underlay0", "tenant2-veth0"]
    assert [device["name"] for device in tenant["server_devices"]] == ["underlay0", "tenant1-veth0"]


def test_a_path_without_an_end_is_said():
    with pytest.raises(InputError, match="physical"):
        evidence_paths(
            [LAB.named("physical")],
            {"endpoints": {}, "devices": DEVICES},
            {"endpoints": {}, "devices": DEVICES},
        )


def test_a_host_that_forwards_is_met_by_all_but_what_leaves_by_the_uplink():
    ends = {"physical": {"netns": None, "address": "198.18.0.1"}}
    ends["tenant"] = {"netns": "tenant1", "address": "192.168.20.1"}
    node = {"endpoints": ends, "devices": DEVICES}
    between = {"underlay": [{"name": "eth0"}, {"name": "eth1"}]}
    physical, tenant = evidence_paths(
        map(LAB.named, ["physical", "tenant"]), node, node, forwarder=between
    )
    assert physical["forwarder_devices"] == [
        {"name": "eth0", "netns": None, "alike": True},
        {"name": "eth1", "netns": None, "alike": True},
    ]
    assert "forwarder_devices" not in tenant
    assert "forwarder_devices" not in evidence_paths(map(LAB.named, ["physical"]), node, node)[0]


def test_errors_are_read_in_every_namespace_that_a_path_of_ones_own_crosses():
    """A pod in a namespace of its own, in a node that is a container: three namespaces in a host."""
    node = {"end": {"netns": "pod", "address": "10.244.0.2"}, "devices": {}}
    own_path = Path("pods", ("underlay", "tenant", "tenant_port", "tunnel"), nodes={"a": node})
    devices = {
        "tenant": [{"name": "eth0", "netns": "pod"}],
        "tenant_port": [{"name": "veth1", "netns": "kind"}, {"name": "veth2"}],
        "tunnel": [{"name": "flannel.1", "netns": "kind"}],
    }
    crossed = crossed_devices([LAB.named("physical"), own_path], devices)
    assert [(device["name"], device["netns"]) for device in crossed] == [
        ("eth0", "pod"),
        ("veth1", "kind"),
        ("veth2", None),
        ("flannel.1", "kind"),
    ]
    assert crossed_devices([LAB.named("physical")], devices) == []
