# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One command from a path on which nothing passes to the confirmed cure: below the tunnel of two pods
is a card that breaks each packet. By day test_struck_path.py has a check of such a path.
"""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.offload.lab.tests.system.pods import lab_of_pods, unlike

ENDS = [{"name": "pods", "netns": "pod"}]
CAMPAIGN = {
    "name": "dead",
    "design": "integrity",
    "control_visits": 1,
    "paths": ["pods"],
    "mtus": [9000],
    "factors": ["tx", "gro"],
    "workloads": ["payload"],
    "blocks": 1,
    "duration": 1,
}


@pytest.fixture
def pods(lab_packages_required, monkeypatch):
    monkeypatch.setenv("OFFLOAD_LAB_NIC", "checksum_unfilled:1:tx")
    with lab_of_pods("systestdead") as lab:
        yield lab


def cured(lab, folder, factors):
    """Run the check with all its steps; return what it says and the newest recommended.yml."""
    before = lab.state()
    site_playbook = folder / "site.yml"
    site = {**CAMPAIGN, "name": "site", "blocks": 4, "until": "named", "factors": factors}
    site_playbook.write_text(json.dumps(site))
    output = lab.play(
        "integrity",
        ends=ENDS,
        campaign_file=str(site_playbook),
        results_dir=str(folder),
        timeout=1800,
    )
    assert unlike(before, lab.state()) == []
    output = " ".join(output.split())
    assert "As found it is broken" in output and "all off is clean" in output
    assert "The cure is confirmed in fresh trials:" in output
    newest = max(folder.glob("site*/recommended.yml"), key=lambda path: len(path.parts[-2]))
    return output, yaml.safe_load(newest.read_text())["offload_lab_recommended"]


def at(*names):
    """Return factors that are varied at the tunnel and below it alone."""
    return [{"name": name, "devices": ["underlay", "tunnel"]} for name in names]


@pytest.mark.nightly
def test_one_command_names_the_device_and_confirms_the_cure(pods, tmp_path):
    output, cure = cured(pods, tmp_path, [*at("tx"), "gro"])
    assert "The hop: tx at the underlay of the client." in output
    assert cure["confirmed"] is True and cure["changes"] == {"tx_at_client_underlay": "off"}


@pytest.fixture
def tunnelled(lab_packages_required, monkeypatch):
    monkeypatch.setenv("OFFLOAD_LAB_NIC", "dropped:1:tso")
    with lab_of_pods("systestcut") as lab:
        yield lab


@pytest.mark.nightly
def test_a_card_that_drops_what_it_cuts_in_a_tunnel_is_cured_by_one_feature(tunnelled, tmp_path):
    tx, tso = at("tx", "tso")
    _said, cure = cured(tunnelled, tmp_path, [tx, {**tso, "needs": ["tx"]}, "gro"])
    assert cure["confirmed"] is True
    # The VXLAN device of these pods puts a checksum into the outer header.
    assert cure["changes"] == {"tx-udp_tnl-csum-segmentation_at_client_underlay": "off"}
