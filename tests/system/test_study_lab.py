# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Study 003's lab, object by object: what its commands make, and what the collection makes for its
campaign.

The commands are read from the study's text, so that nothing is compared with a copy of ours.
"""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT
from ansible_collections.offload.lab.tests.system.lab import Lab
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

# test_lab has the same objects, in values that are written there.
pytestmark = pytest.mark.nightly
VARIABLES = CHECKOUT / "playbooks/studies/labs/ovs_vxlan_offload.yml"


def commands(text, end):
    """Return the commands of one end, "Client" or "Server"."""
    part = text[text.index(f"{end} Configuration") :]
    return part[: part.index("# Enable VXLAN offload")]


def objects(text):
    """Return what the study's commands make: bridge, ports, tunnel, veths, namespaces, addresses,
    MTUs.
    """
    tunnel = re.search(
        r"add-port (\S+) (\S+) -- set interface \S+ type=(\S+) .*key=(\d+) options:dst_port=(\d+)",
        text,
    )
    return {
        "bridge": re.search(r"add-br (\S+)", text).group(1),
        "tunnel": {
            "port": tunnel.group(2),
            "type": tunnel.group(3),
            "key": int(tunnel.group(4)),
            "dst_port": int(tunnel.group(5)),
        },
        "ports": sorted(
            [tunnel.group(2), *re.findall(r"ovs-vsctl add-port br-int (\S+)$", text, re.MULTILINE)]
        ),
        "namespaces": re.findall(r"ip netns add (\S+)", text),
        "veths": sorted(re.findall(r"ip link add (\S+) type veth peer name (\S+)", text)),
        "moved": dict(re.findall(r"ip link set (\S+) netns (\S+)", text)),
        "addresses": dict(re.findall(r"ip a add dev (\S+) (\S+)", text)),
        "mtus": {
            name: int(mtu) for name, mtu in re.findall(r"ip link set dev (\S+) mtu (\d+)", text)
        },
        "up": sorted(set(re.findall(r"ip link set dev (\S+) up", text)) - {"lo"}),
    }


@pytest.fixture(scope="module", name="study_lab")
def _made(lab_packages_required):
    lab = Lab("systeststudy")
    lab.clear()
    lab.play("nodes lab", "-e", f"@{VARIABLES}")
    yield lab
    lab.down()


def links(lab, number, netns=None):
    rows = json.loads(lab.inside(number, "ip", "-json", "-details", "address", "show", netns=netns))
    return {row["ifname"]: row for row in rows if row}


@pytest.mark.parametrize(("end", "number"), [("Client", 1), ("Server", 2)])
def test_the_lab_of_study_003(study_lab, end, number):
    expected_links = objects(
        commands(
            next((corpus_dir().parent / "studies").glob("003_*")).read_text(encoding="utf-8"), end
        )
    )
    assert expected_links["veths"] == [
        ("host-veth0", "host-veth1"),
        ("tenant1-veth0", "tenant1-veth1"),
    ]  # it was read at all
    assert study_lab.inside(number, "ovs-vsctl", "list-br").split() == [expected_links["bridge"]]
    assert (
        sorted(
            study_lab.inside(number, "ovs-vsctl", "list-ports", expected_links["bridge"]).split()
        )
        == expected_links["ports"]
    )
    assert study_lab.inside(number, "ip", "netns").split()[:1] == expected_links["namespaces"]

    links_now = links(study_lab, number)
    there = links(study_lab, number, expected_links["namespaces"][0])
    for device, netns in expected_links["moved"].items():
        assert (
            netns == expected_links["namespaces"][0] and device in there and device not in links_now
        )
    both = {**links_now, **there}
    for first, other in expected_links["veths"]:
        assert (
            both[first]["linkinfo"]["info_kind"] == both[other]["linkinfo"]["info_kind"] == "veth"
        )
        assert (
            both[first].get("link") == other or both[first]["link_index"] == both[other]["ifindex"]
        )
    for device, address in expected_links["addresses"].items():
        assert [
            f"{info['local']}/{info['prefixlen']}"
            for info in both[device]["addr_info"]
            if info["family"] == "inet"
        ] == [address]
    assert {device: both[device]["mtu"] for device in expected_links["mtus"]} == expected_links[
        "mtus"
    ]
    assert [device for device in expected_links["up"] if "UP" not in both[device]["flags"]] == []


@pytest.mark.parametrize(("end", "number"), [("Client", 1), ("Server", 2)])
def test_its_tunnel(study_lab, end, number):
    """On the kernel's datapath it is a port of Open vSwitch, on the other one a device of the
    kernel (DESIGN.md).
    """
    expected_links = objects(
        commands(
            next((corpus_dir().parent / "studies").glob("003_*")).read_text(encoding="utf-8"), end
        )
    )
    tunnel = expected_links["tunnel"]
    row = json.loads(
        study_lab.inside(
            number,
            "ovs-vsctl",
            "--format=json",
            "--columns=type,options",
            "list",
            "Interface",
            tunnel["port"],
        )
    )["data"][0]
    remote = f"198.18.0.{3 - number}"
    if row[0] == tunnel["type"]:
        options = dict(row[1][1])
        assert (options["key"], options["dst_port"]) == (
            str(tunnel["key"]),
            str(tunnel["dst_port"]),
        )
        assert options["remote_ip"] == remote
        return
    device = links(study_lab, number)[tunnel["port"]]
    assert device["linkinfo"]["info_kind"] == tunnel["type"]
    data = device["linkinfo"]["info_data"]
    assert (data["id"], data["port"]) == (tunnel["key"], tunnel["dst_port"])
    neighbours = study_lab.inside(number, "bridge", "fdb", "show", "dev", tunnel["port"])
    assert re.findall(r"^00:00:00:00:00:00 dst (\S+)", neighbours, re.MULTILINE) == [remote]
