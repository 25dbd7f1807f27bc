# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of the lab's plan: strings as a survey gives them, and errors that name the filter."""
from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.offload.lab.plugins.filter import (
    lab_devices,
    lab_duplicates,
    lab_endpoints,
    tenant_plan,
    tunnel_plan,
    tunnel_ports,
)


def use(module, name, *words):
    return module.FilterModule().filters()[name](*words)


def test_tenant_plan():
    assert use(tenant_plan, "tenant_plan", "1", "2", "2", "192.168.10.0/24")[0]["addresses"] == ["192.168.10.2/24"]
    with pytest.raises(AnsibleFilterError, match="offload.lab.tenant_plan: .*254 addresses"):
        use(tenant_plan, "tenant_plan", 300, 1, 1, "192.168.10.0/24")
    with pytest.raises(AnsibleFilterError, match="offload.lab.tenant_plan"):
        use(tenant_plan, "tenant_plan", "many", 1, 1, "192.168.10.0/24")


TENANTS = [{"name": "a", "addresses": ["10.0.0.1/8"]}]


def test_lab_endpoints():
    ends = use(lab_endpoints, "lab_endpoints", TENANTS, "198.18.0.1", "8950", "8950")
    assert ends["tenant_vxlan"]["netns"] == "a"
    assert use(lab_duplicates, "lab_duplicates", [ends]) == []
    assert use(lab_duplicates, "lab_duplicates", [ends, ends]) == ["10.0.0.1", "198.18.0.1"]


@pytest.mark.parametrize(("tenants", "mtu", "words"), [
    (TENANTS, 8951, "a: an MTU of 8951 does not fit. Use 68 to 8950 bytes. That is what the tunnel leaves"),
    (TENANTS + [{"name": "b", "addresses": ["10.0.0.1/8"]}], 8950, "b: its address 10.0.0.1 is also that of a"),
    (TENANTS + [{"name": "b", "addresses": ["10.1.0.1/16"]}], 8950, "overlaps"),
    ([{"name": "-a", "addresses": []}], 8950, "not a usable name"),
])
def test_wrong_tenants(tenants, mtu, words):
    with pytest.raises(AnsibleFilterError, match="offload.lab.lab_endpoints: .*" + words):
        use(lab_endpoints, "lab_endpoints", tenants, "198.18.0.1", mtu, 8950)


def test_lab_devices():
    assert use(lab_devices, "lab_devices", TENANTS, "eth1", "netdev")["tunnel"] == [{"name": "vxlan0"}]


def test_tunnel_plan():
    hosts = {"a": {"offload_lab_underlay_address": "198.18.0.1", "offload_lab_more_ports": [
        {"device": "eth2", "address": "198.18.1.1"}]}, "b": {"offload_lab_underlay_address": "198.18.0.2"}, "c": {}}
    found = use(tunnel_plan, "tunnel_plan", ["a", "b"], "a", hosts, "10")
    assert [(tunnel["vni"], tunnel["remotes"]) for tunnel in found] == [(10, ["198.18.0.2"])]
    with pytest.raises(AnsibleFilterError, match="offload.lab.tunnel_plan: c: "):
        use(tunnel_plan, "tunnel_plan", ["a", "c"], "a", hosts, 10)
    with pytest.raises(AnsibleFilterError, match="offload.lab.tunnel_plan: b: it has 1 ports, a has 2"):
        tunnel_plan.tunnel_plan(["a", "b"], "a", hosts, 10, per_port=True)


def test_tunnel_ports():
    tunnel = {"name": "vxlan0", "vni": 10, "local": "198.18.0.1", "remotes": ["198.18.0.2"], "tag": None}
    assert use(tunnel_ports, "tunnel_ports", [tunnel], "system", "4789")[0]["options"]["key"] == 10
    with pytest.raises(AnsibleFilterError, match="offload.lab.tunnel_ports"):
        use(tunnel_ports, "tunnel_ports", [], "auto")
