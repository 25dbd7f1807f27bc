# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong inputs, as users give them: each is refused with one clear line, in check mode, before a
node is reached.

The nodes of this inventory cannot be reached at all: what is refused late would say that.
"""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, each_day

INVENTORY = """\
lab_nodes:
  hosts:
    node1: {offload_lab_underlay_address: 198.18.0.1}
    node2: {offload_lab_underlay_address: 198.18.0.2}
  vars:
    ansible_connection: ssh
    ansible_host: nowhere.invalid
    offload_lab_underlay_device: eth1
"""
FILES = {
    "hosts.yml": INVENTORY,
    "good.yml": "name: good\nblocks: 6\n",
    "broken.yml": "name: [",
    "list.yml": "- a\n",
    "unnamed.yml": "blocks: 6\n",
    "other_group.yml": "servers: {hosts: {node1: }}\n",
    "one.yml": INVENTORY.replace("    node2: {offload_lab_underlay_address: 198.18.0.2}\n", ""),
}
GOOD = {"name": "x", "blocks": 6}


def variables(**values):
    return ["-e", json.dumps({f"offload_lab_{name}": value for name, value in values.items()})]


def campaign(**keys):
    return variables(campaign={**GOOD, **keys})


# What is wrong: the playbook, its arguments, and the words of the message.
WRONG = {
    "no group of nodes": ("lab", ["-i", "other_group.yml"], "no hosts in the group lab_nodes"),
    "no group of nodes, to measure": (
        "measure",
        ["-i", "other_group.yml"],
        "no hosts in the group lab_nodes",
    ),
    "no group of nodes, to verify": (
        "verify",
        ["-i", "other_group.yml"],
        "no hosts in the group lab_nodes",
    ),
    "no campaign": ("measure", [], "no campaign is given. Give offload_lab_campaign_file"),
    "no campaign for all": ("site", [], "no campaign is given. Give offload_lab_campaign_file"),
    "no campaign to report": ("report", [], "no campaign is given. Give offload_lab_campaign_file"),
    "two campaigns": (
        "measure",
        campaign() + ["-e", "offload_lab_campaign_file=good.yml"],
        "Leave out one of them",
    ),
    "a campaign file that is not there": (
        "measure",
        ["-e", "offload_lab_campaign_file=my.yml"],
        "my.yml: there is no such campaign file. Create one of",
    ),
    "a campaign file that is no YAML": (
        "measure",
        ["-e", "offload_lab_campaign_file=broken.yml"],
        "this is not YAML",
    ),
    "a campaign file with a list": (
        "measure",
        ["-e", "offload_lab_campaign_file=list.yml"],
        "holds one mapping",
    ),
    "a campaign without a name": (
        "measure",
        ["-e", "offload_lab_campaign_file=unnamed.yml"],
        "'name' is a required",
    ),
    "a misspelt key of a campaign": (
        "measure",
        campaign(pathes=["physical"]),
        "did you mean 'paths'",
    ),
    "an unknown path": ("measure", campaign(paths=["wire"]), '"wire" cannot be used'),
    "an unknown design": ("measure", campaign(design="all"), '"all" cannot be used'),
    "an unknown workload": (
        "measure",
        campaign(workloads=["ping"]),
        "ping: no netperf test is given",
    ),
    "a factor twice": ("measure", campaign(factors=["tso", "tso"]), "tso appears twice"),
    "an impossible MTU": ("measure", campaign(mtus=[20]), "20 cannot be used"),
    "an override that is none": (
        "measure",
        campaign() + variables(campaign_overrides={"colour": "red"}),
        "'colour' cannot be overridden",
    ),
    "a limit to one node": (
        "measure",
        [*campaign(), "--limit", "node1"],
        "Do not leave out node2 with --limit",
    ),
    "a limit to one node, for all": (
        "site",
        [*campaign(), "--limit", "node2"],
        "Do not leave out node1 with --limit",
    ),
    "one node": (
        "measure",
        [*campaign(), "-i", "one.yml"],
        "a campaign needs two nodes, the inventory has 1",
    ),
    "a pair with an unknown node": (
        "measure",
        campaign(pairs=["node1-node9"]),
        "name node9, which is not in the inv",
    ),
    "a pair of one node": (
        "measure",
        campaign(pairs=["node1-node1"]),
        "node1 is both ends of a pair",
    ),
    "a path without an uplink": (
        "measure",
        campaign(paths=["tenant"]),
        "path tenant has no end here. Set offload_lab",
    ),
    "a path without a bridge": (
        "site",
        campaign(paths=["tenant_bridge_vxlan"]),
        "Set offload_lab_bridged_network",
    ),
    "a path without tenants": (
        "measure",
        campaign() + variables(tenant_count=0),
        "Set offload_lab_tenant_count",
    ),
    "a path without host veths": (
        "measure",
        campaign(paths=["physical_vxlan"]) + variables(host_network=""),
        "Set offload_lab_host_network",
    ),
    "more tenants than there are": (
        "measure",
        campaign(workloads=[{"name": "a", "test": "TCP_STREAM", "tenants": 9}]),
        "uses 9 tenants, the node has 1",
    ),
    "a misspelt variable": (
        "lab",
        variables(underlay_mut=9000),
        "Did you mean offload_lab_underlay_mtu?",
    ),
    "a variable of nobody": (
        "lab",
        variables(colour="red"),
        "there is no variable offload_lab_colour",
    ),
    "a VNI that is a word": ("lab", variables(vni="ten"), "offload_lab_vni: 'ten' cannot be used"),
    "a VNI of 25 bits": ("lab", variables(vni=1 << 24), "Use 0 to 16777215"),
    "a port that is none": ("lab", variables(netperf_port=70000), "Use 1 to 63530"),
    "two listeners on a port": (
        "lab",
        variables(netperf_port=5000, probe_port=5000),
        "Give each a port of its own",
    ),
    "a negative count": ("lab", variables(tenant_count=-1), "offload_lab_tenant_count is -1"),
    "a datapath that is none": ("lab", variables(datapath="dpdk"), "Use auto or system or netdev"),
    "a network with host bits": (
        "lab",
        variables(tenant_network="192.168.10.7/24"),
        "has host bits set",
    ),
    "an address with a length": (
        "lab",
        variables(underlay_address="198.18.0.1/24"),
        "without a prefix length",
    ),
    "a port without its address": (
        "lab",
        variables(more_ports=[{"device": "eth2"}]),
        "each with device and address",
    ),
    "an MTU that IP cannot have": ("lab", variables(underlay_mtu=20), "Use 68 to 65535"),
    "nothing to apply": ("apply", [], "No settings are given. Run it with -e @results"),
    "nothing to compare": ("compare", [], "Two campaigns or more are needed"),
}


# The same message is in a unit test (of _campaign, _request, or tenants_check), or belongs to
# another
# playbook here.
SEEN_WITHOUT_ANSIBLE = {
    "no campaign",
    "no campaign to report",
    "no group of nodes, to measure",
    "no group of nodes, to verify",
    "a campaign file that is no YAML",
    "a campaign file that is not there",
    "a campaign file with a list",
    "a campaign without a name",
    "a factor twice",
    "a limit to one node, for all",
    "a pair with an unknown node",
    "a path without an uplink",
    "a path without tenants",
    "a VNI that is a word",
    "a VNI of 25 bits",
    "a datapath that is none",
    "a network with host bits",
    "an address with a length",
    "a port without its address",
    "an MTU that IP cannot have",
    "an impossible MTU",
    "an unknown design",
    "an unknown path",
    "an unknown workload",
    "one node",
    "two campaigns",
    "an override that is none",
    "a pair of one node",
    "a path without a bridge",
    "a path without host veths",
    "more tenants than there are",
    "a misspelt variable",
    "a variable of nobody",
    "two listeners on a port",
    "a negative count",
}


# The playbooks for AWX need the collection awx.awx; tests/lint/test_awx_setup.py has them.
PLAYBOOKS = {path.stem for path in CHECKOUT.glob("playbooks/*.yml")} - {"awx_setup", "awx_teardown"}


@pytest.mark.parametrize("playbook", each_day({"apply"}, sorted(PLAYBOOKS)))
def test_a_misspelt_variable_is_refused(play, tmp_path, playbook):
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    misspelt = variables(perist="auto")
    status, output = play(playbook, "--check", "-i", "hosts.yml", "--limit", "node2", *misspelt)
    assert status not in (0, 4), output  # 4: a node was to be reached
    message = "extra variables (-e): there is no variable offload_lab_perist. Did you mean offload_lab_persist?"
    assert message in output, output


@pytest.mark.parametrize("wrong", each_day({*WRONG} - SEEN_WITHOUT_ANSIBLE, WRONG))
def test_is_refused_in_check_mode_with_one_line(play, tmp_path, wrong):
    playbook, arguments, expected = WRONG[wrong]
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    inventory = [] if "-i" in arguments else ["-i", "hosts.yml"]
    status, output = play(playbook, "--check", *inventory, *arguments)
    assert status not in (0, 4), output  # 4: a node was to be reached
    messages = re.findall(
        r"^\[ERROR\]: (?:Task failed: )?(?:Action failed: )?(.*)", output, re.MULTILINE
    )
    assert len(messages) == 1 and expected in messages[0], output
    assert not re.search(r"changed=[1-9]", output)
    assert sorted(
        path.name for path in tmp_path.iterdir() if not path.name.startswith(".")
    ) == sorted(FILES)
