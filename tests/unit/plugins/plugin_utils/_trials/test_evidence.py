# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._paths.lab_paths import LAB as LAB_PATHS
from ansible_collections.offload.lab.plugins.plugin_utils._trials import evidence, guards

LAB = {"vni": 10, "underlay_ip": 4, "timestamps": True, "speed_mbps": None}


@pytest.mark.parametrize(
    "path, mtu, changes, mss",
    [
        ("tenant_vxlan", 9000, {}, 8898),
        ("physical", 9000, {}, 8948),
        ("physical", 1500, {}, 1448),
        ("tenant_vxlan", 1500, {"underlay_ip": 6}, 1378),
        ("physical", 1500, {"timestamps": False}, 1460),
        ("physical", 1500, {"ipv6_paths": ["physical"]}, 1428),
        ("tenant_vxlan", 1500, {"ipv6_paths": ["physical"]}, 1398),
        ("tenant_vxlan", 1500, {"ipv6_paths": ["tenant_vxlan"], "tag": 4}, 1374),
        ("physical", 1500, {"tag": 4}, 1448),
        ("tenant_geneve", 1500, {}, 1398),
        ("tenant_gre", 1500, {}, 1402),
        ("tenant_gre", 9000, {"underlay_ip": 6, "tag": 4}, 8878),
    ],
)
def test_mss_follows_from_the_mtu(path, mtu, changes, mss):
    assert (
        evidence.expected(LAB_PATHS.named(path), "TCP_STREAM", mtu, dict(LAB, **changes))["mss"]
        == mss
    )


@pytest.mark.parametrize("window, mss", [(None, 8898), (131072, 8898), (32768, None), (4096, None)])
def test_a_small_window_bounds_the_mss(window, mss):
    assert (
        evidence.expected(LAB_PATHS.named("tenant_vxlan"), "TCP_STREAM", 9000, LAB, window).get(
            "mss"
        )
        == mss
    )


def test_udp_has_no_mss():
    assert "mss" not in evidence.expected(LAB_PATHS.named("physical"), "UDP_STREAM", 1500, LAB)


def test_only_tunnel_paths_show_a_vni():
    assert evidence.expected(LAB_PATHS.named("physical"), "UDP_STREAM", 1500, LAB)["vnis"] == []
    assert evidence.expected(LAB_PATHS.named("tenant_vxlan"), "UDP_STREAM", 1500, LAB)["vnis"] == [
        10
    ]


def sample(share, vnis):
    return {"vxlan_share": share, "vnis": vnis, "outer_csum": [False], "out": {}, "in": {}}


def visit(share):
    devices = {"underlay0": sample(share, [10]), "tenant1/tenant1-veth0": sample(0.0, [])}
    return {
        "settings": {
            "client": {
                "underlay0": {
                    "before": {"big": 1},
                    "not_honoured": {"features": {"rx-gro": {"asked": True}}},
                    "fixed": {},
                }
            }
        },
        "packets": {"physical": {"TCP_STREAM": {"client": devices, "server": devices}}},
        "underlay": {"client": "underlay0", "server": "underlay0"},
    }


def test_the_flat_path_is_seen_on_its_uplink():
    visit_made = visit(0.99)
    visit_made["uplink"] = {"client": "uplink0"}
    visit_made["packets"]["tenant"] = {
        "TCP_STREAM": {
            "client": {
                "uplink0": {"vxlan_share": 0.0, "vnis": [], "outer_csum": [], "out": {}, "in": {}}
            }
        }
    }
    assert evidence.trial_evidence(visit_made, LAB_PATHS.named("tenant"), "TCP_STREAM")[
        "underlay"
    ] == {"client": {"vnis": [], "outer_csum": []}}
    visit_made["packets"]["tenant"]["TCP_STREAM"]["client"]["uplink0"]["vxlan_share"] = None
    evidence_found = evidence.trial_evidence(visit_made, LAB_PATHS.named("tenant"), "TCP_STREAM")
    marks = list(guards.encapsulation({"evidence": evidence_found}, {"vnis": []}))
    assert [mark["reason"] for mark in marks] == [
        "client: no packet of the path was seen on the underlay"
    ]


def test_a_stray_packet_in_the_tunnel_is_no_encapsulated_path():
    assert (
        evidence.trial_evidence(visit(0.01), LAB_PATHS.named("physical"), "TCP_STREAM")["underlay"][
            "client"
        ]["vnis"]
        == []
    )
    assert evidence.trial_evidence(visit(0.99), LAB_PATHS.named("physical"), "UDP_STREAM")[
        "underlay"
    ]["server"]["vnis"] == [10]


def test_a_trial_carries_what_was_reported_and_not_whole_listings():
    settings = evidence.trial_evidence(visit(0), LAB_PATHS.named("physical"), "TCP_STREAM")[
        "settings"
    ]
    report = {"not_honoured": {"rx-gro": {"asked": True}}, "side_effects": {}, "fixed": {}}
    assert settings == {"client": {"underlay0": report}}


def test_what_a_guests_node_did_not_take_is_seen():
    """The guest's own underlay is not seen, and its trials are not marked for that."""
    missed = {"features": {"tx-tcp-segmentation": {"asked": True}}}
    visit_made = {
        "settings": {"client": {"eth0": {}}},
        "underlay": {"client": "", "server": ""},
        "packets": {"tenant_vxlan": {"TCP_STREAM": {"client": {"eth0": sample(0.0, [])}}}},
        "homes": {"client": "node1"},
        "home_settings": {"client": {"devices": {"underlay0": {"not_honoured": missed}}}},
    }
    evidence_found = evidence.trial_evidence(
        visit_made, LAB_PATHS.named("tenant_vxlan"), "TCP_STREAM"
    )
    assert (
        list(evidence_found["settings"]["client"]) == ["eth0", "node1:underlay0"]
        and evidence_found["underlay"] == {}
    )
    assert list(guards.encapsulation({"evidence": evidence_found}, {"vnis": [10]})) == []
    [mark] = guards.profile({"evidence": evidence_found}, {})
    assert mark["reason"] == "client: node1:underlay0 did not take tx-tcp-segmentation"


def test_settings_of_other_kinds_are_told_apart_from_features():
    flattened = evidence.flat({"not_honoured": {"features": {"rx": 1}, "rings": {"rx": 2}}})
    assert flattened["not_honoured"] == {"rx": 1, "rings rx": 2}


def test_a_path_that_was_not_sampled_or_failed_says_so():
    assert evidence.trial_evidence({}, LAB_PATHS.named("physical"), "TCP_STREAM") == {
        "settings": {},
        "packets": {},
        "underlay": {},
    }
    failed = {"packets": {"physical": {"TCP_STREAM": {"error": "no route"}}}}
    assert (
        evidence.trial_evidence(failed, LAB_PATHS.named("physical"), "TCP_RR")["error"]
        == "no route"
    )
