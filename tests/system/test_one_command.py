# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bare command over SSH with sudo, on two hosts with pods behind a bridge and VXLAN: what it names,
whether the cure is confirmed, and whether the hosts are as before.
"""

from __future__ import annotations

import contextlib

import pytest
import yaml

from ansible_collections.offload.lab.tests.system import ssh_nodes
from ansible_collections.offload.lab.tests.system.pods import drop, lab_of_pods, misplace, unlike

pytestmark = pytest.mark.nightly  # four minutes each
# What the card does below the client's tunnel, and what is switched off there: the group, or the one
# feature of it that breaks.
CHECKSUMS = ("tx", "tx-checksum-ip-generic")
OFFLOADS = {
    "unfilled in each packet": ("checksum_unfilled:1:tx", CHECKSUMS),
    "unfilled in one of ten": ("checksum_unfilled:0.1:tx", CHECKSUMS),
    "unfilled in one of a hundred": ("checksum_unfilled:0.01:tx", CHECKSUMS),
    "unfilled in TCP inside the tunnel": ("checksum_unfilled:1:tunnel+tcp+tx", CHECKSUMS),
    # The VXLAN device of these pods puts a checksum into the outer header.
    "cuts inside the tunnel are dropped": (
        "dropped:1:tunnel+tso",
        ("tx-udp_tnl-csum-segmentation",),
    ),
}


def pods(me):
    return [{"name": "pods", "netns": "pod", "address": f"10.244.{3 - me}.5"}]


def hosts(me):
    """Return an end on the underlay, where packets are in no tunnel."""
    return [{"name": "hosts", "address": f"198.18.0.{3 - me}"}]


@pytest.fixture
def pods_by_ssh(lab_packages_required, tmp_path, monkeypatch):
    """Return a function that makes a lab with a card, and returns the lab and its inventory."""
    with contextlib.ExitStack() as stack:

        def make(card=None, break_path=None, ends=pods):
            if card:
                monkeypatch.setenv("OFFLOAD_LAB_NIC", card)
            lab = stack.enter_context(lab_of_pods("systestssh"))
            inventory = stack.enter_context(ssh_nodes.over_ssh(lab, ends, tmp_path / "ssh"))
            if break_path:
                break_path(lab)
            return lab, inventory

        yield make


def asked(lab, inventory, folder, record_property):
    """Run the bare command; return what it says, on one line."""
    before = lab.state()
    output, seconds = ssh_nodes.play("integrity", inventory, folder / "results")
    record_property("seconds", round(seconds))
    print(f"{seconds:.0f} s")
    ssh_nodes.close(lab)
    assert unlike(before, lab.state()) == []
    return " ".join(output.split())


def confirmed(said, folder):
    """Return the settings of the cure that the command says is confirmed."""
    assert "The cure is confirmed in fresh trials:" in said, said[-3000:]
    newest = max((folder / "results").glob("*/recommended.yml"), key=lambda path: len(str(path)))
    recommended = yaml.safe_load(newest.read_text())["offload_lab_recommended"]
    assert recommended["confirmed"], recommended
    return recommended["changes"]


@pytest.mark.parametrize("card, features", OFFLOADS.values(), ids=OFFLOADS)
def test_the_bare_command_confirms_the_cure(pods_by_ssh, tmp_path, card, features, record_property):
    said = asked(*pods_by_ssh(card), tmp_path, record_property)
    cures = [{f"{feature}_at_client_underlay": "off"} for feature in features]
    assert confirmed(said, tmp_path) in cures


def test_tso_of_the_underlay_is_named_on_a_path_without_a_tunnel(
    pods_by_ssh, tmp_path, record_property
):
    said = asked(*pods_by_ssh("dropped:1:tso", ends=hosts), tmp_path, record_property)
    assert confirmed(said, tmp_path) == {"tx-tcp-segmentation_at_client_underlay": "off"}


def misroute(lab):
    """Send what node 2 has for the pods of node 1 nowhere."""
    lab.inside(2, "ip", "route", "replace", "blackhole", "10.244.1.0/24")


@pytest.mark.parametrize(
    "break_path, texts",
    [
        (drop, ["flannel.1 of hx2"]),
        (misplace, ["underlay0 of hx2"]),
        (misroute, ["pod/eth0 of hx2", "Not varied at class underlay and tunnel of hx2: tx, rx"]),
    ],
    ids=["firewall", "VNI", "route"],
)
def test_a_path_that_is_dead_for_another_reason(
    pods_by_ssh, tmp_path, break_path, texts, record_property
):
    said = asked(*pods_by_ssh(None, break_path), tmp_path, record_property)
    report = next((tmp_path / "results").glob("*/report.md")).read_text()
    assert "Dead without these offloads too over pods" in report, said[-3000:]
    assert [text for text in ["they were last seen at", *texts] if text not in report] == [], report


def test_a_wire_that_corrupts_packets(pods_by_ssh, tmp_path, record_property):
    said = asked(*pods_by_ssh("bit_flipped_late:0.002"), tmp_path, record_property)
    report = next((tmp_path / "results").glob("*/report.md")).read_text()
    assert "the wire or a card corrupts them" in report, said[-3000:]
    assert not list((tmp_path / "results").glob("*-hop")), said[-3000:]


def test_a_clean_path(pods_by_ssh, tmp_path, record_property):
    said = asked(*pods_by_ssh(), tmp_path, record_property)
    assert not list((tmp_path / "results").glob("*-hop")), said[-3000:]
    report = next((tmp_path / "results").glob("*/report.md")).read_text()
    assert "Clean over pods" in report, report
