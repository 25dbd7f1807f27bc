# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    campaign_schema,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.schema import (
    SCHEMAS,
)
from ansible_collections.offload.lab.plugins.plugin_utils._paths.lab_paths import (
    LAB,
    LAB_PATHS,
    TENANT,
    USUAL_TENANT_PATH,
    add_forwarded,
    path_of,
    paths_on,
)
from ansible_collections.offload.lab.tests.support import CHECKOUT


def test_a_campaign_may_name_the_paths_of_the_table():
    written = json.loads(Path(SCHEMAS, "campaign.json").read_text())["properties"]["paths"]
    paths = campaign_schema()["properties"]["paths"]
    assert paths == written and paths["items"]["enum"] == list(LAB.by_name)
    assert all(
        path in paths["description"] and path in paths["items"]["description"]
        for path in LAB.by_name
    )


def test_a_tenant_that_is_a_host_may_have_each_path_of_tenants():
    specs = yaml.safe_load((CHECKOUT / "roles/common/meta/argument_specs.yml").read_text())
    option = specs["argument_specs"]["main"]["options"]["offload_lab_tenant_path"]
    assert option["choices"] == [
        path.name for path in LAB_PATHS if not path.like and TENANT in path.devices
    ]
    assert option["default"] == USUAL_TENANT_PATH


def test_which_path_a_tenant_is_the_end_of():
    tenants = [{"namespace": False}, {"flat": True}, {"linux_bridge": True}, {}]
    assert [path_of(tenant) for tenant in tenants] == [
        "physical_vxlan",
        "tenant",
        "tenant_bridge_vxlan",
        "tenant_vxlan",
    ]


def test_what_packets_meet():
    assert LAB.classes(["tenant", "physical_vxlan"]) == ["underlay", "tenant", "host"]
    plain = [path for path in [*LAB.by_name, "imported"] if not LAB.named(path).tunnelled]
    assert plain == ["physical", "tenant", "routed", "imported"]
    for path in LAB.by_name:
        tunnel = LAB.named(path).encapsulation.name
        assert path.endswith(f"_{tunnel}") or tunnel == "none"


def test_what_gives_a_node_an_end_of_a_path():
    assert paths_on({}) == {"physical", "physical_vxlan", "tenant_vxlan"}
    other = {"offload_lab_tenant_count": "0", "offload_lab_host_network": ""}
    assert paths_on(other) == {"physical"}
    more = {"offload_lab_uplink_device": "eth2", "offload_lab_bridged_network": "192.168.30.0/24"}
    assert paths_on({**other, **more}) == {"physical", "tenant", "tenant_bridge_vxlan"}


@pytest.mark.parametrize("tunnel", ["geneve", "gre"])
def test_a_lab_has_the_paths_of_its_tunnel(tunnel):
    variables = {"offload_lab_tunnel_type": tunnel, "offload_lab_forwarding": "routed"}
    assert paths_on(variables) == {
        "physical",
        "routed",
        f"physical_{tunnel}",
        f"tenant_{tunnel}",
        f"routed_{tunnel}",
    }
    assert path_of({"linux_bridge": True}, tunnel) == f"tenant_bridge_{tunnel}"
    listed = {**variables, "offload_lab_tenants": [{"name": "a", "addresses": ["10.0.0.1/8"]}]}
    assert f"tenant_{tunnel}" in paths_on(listed) and "tenant_vxlan" not in paths_on(listed)


def test_paths_by_way_of_a_forwarder_are_where_those_are_that_they_are_like():
    routed = {"offload_lab_forwarding": "routed"}
    assert paths_on(routed) == {"routed", "routed_vxlan"} | paths_on({})
    assert paths_on({**routed, "offload_lab_tenant_count": 0}) & {"routed_vxlan"} == set()
    assert paths_on({"offload_lab_forwarding": "nat"}) == {"physical", "routed"}
    ends = {"physical": {"netns": None, "address": "198.18.0.1"}}
    add_forwarded(ends)
    assert ends["routed"] == ends["physical"] and "routed_vxlan" not in ends


def test_tenants_that_are_listed_are_all_that_there_are():
    tenants = [{"name": "a", "addresses": ["10.0.0.1/8"], "flat": True}, {"name": "b"}]
    assert paths_on({"offload_lab_tenants": tenants}) == {"physical", "tenant"}
