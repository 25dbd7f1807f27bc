# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import load_schema
from ansible_collections.offload.lab.plugins.plugin_utils._lab.paths import (
    PATHS,
    device_classes,
    path_of,
    tunnelled,
)


def test_a_campaign_may_name_the_paths_of_the_table():
    paths = load_schema("campaign")["properties"]["paths"]
    assert paths["items"]["enum"] == list(PATHS)
    assert all(
        path in paths["description"] and path in paths["items"]["description"] for path in PATHS
    )


def test_which_path_a_tenant_is_the_end_of():
    tenants = [{"namespace": False}, {"flat": True}, {"linux_bridge": True}, {}]
    assert [path_of(tenant) for tenant in tenants] == [
        "physical_vxlan",
        "tenant",
        "tenant_bridge_vxlan",
        "tenant_vxlan",
    ]


def test_what_packets_meet():
    assert device_classes(["tenant", "physical_vxlan"]) == ["underlay", "tenant", "host"]
    assert [path for path in [*PATHS, "imported"] if tunnelled(path)] == [
        "physical_vxlan",
        "tenant_vxlan",
        "tenant_bridge_vxlan",
    ]
