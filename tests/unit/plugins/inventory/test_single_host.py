# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData

from ansible_collections.offload.lab.plugins.inventory.single_host import InventoryModule

CHECKOUT = Path(__file__).resolve().parents[4]
PLUGIN = "plugin: offload.lab.single_host\n"
DEFAULTS = {
    "name": "lab",
    "nodes": 2,
    "mtu": 9000,
    "underlay": "198.18.0.0/24",
    "ports": 1,
    "uplink": False,
    "nic": "",
    "forwarder": "none",
}


@pytest.fixture(name="parse")
def _parse(monkeypatch):
    """Return what fills an inventory from options of the plugin, the defaults for those not given."""

    def parse(**options):
        plugin = InventoryModule()
        inventory = InventoryData()
        monkeypatch.setattr(plugin, "_read_config_data", lambda path: None)
        monkeypatch.setattr(plugin, "get_option", dict(DEFAULTS, **options).get)
        plugin.parse(inventory, None, "x.single_host.yml")
        return inventory

    return parse


def test_two_nodes_by_default(parse):
    inventory = parse()
    assert inventory.get_groups_dict()["lab_nodes"] == ["node1", "node2"]
    assert inventory.hosts["node2"].vars["ansible_host"] == "lab-node2"
    assert inventory.hosts["node2"].vars["offload_lab_underlay_mtu"] == 9000
    assert inventory.groups["all"].vars["offload_lab_name"] == "lab"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 0}, "nodes: 0 nodes are not in the range 1 to 254"),
        ({"name": "two words"}, "'two words' is not a name for a lab"),
        ({"mtu": 20}, "MTU 20: not between 68 and 65535"),
        ({"nic": "oops"}, "NIC 'oops': 'oops' is no fault. Use honest, or one of"),
        ({"underlay": "10.0.0.0/31"}, "2 nodes are not in the range 1 to 0"),
    ],
)
def test_bad_options_are_one_error(parse, options, message):
    with pytest.raises(AnsibleParserError, match=message):
        parse(**options)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lab.single_host.yml", True),
        ("single_host.yaml", True),
        ("hosts.yml", False),
        ("single_host.ini", False),
    ],
)
def test_only_files_of_its_name_are_read(tmp_path, name, expected):
    (tmp_path / name).touch()
    assert InventoryModule().verify_file(str(tmp_path / name)) is expected


def ansible_inventory(path, **variables):
    """Return the variables of the hosts that the command ``ansible-inventory`` sees."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("OFFLOAD_LAB_")
    }
    environment.update(variables, ANSIBLE_CONFIG=str(CHECKOUT / "ansible.cfg"))
    argv = [sys.executable, "-m", "ansible", "inventory", "--list", "-i", str(path)]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["_meta"]["hostvars"]


def test_the_environment_sets_what_the_file_does_not(tmp_path):
    (tmp_path / "my.single_host.yml").write_text(PLUGIN + "name: file\n")
    hosts = ansible_inventory(
        tmp_path / "my.single_host.yml",
        OFFLOAD_LAB_NODES="12",
        OFFLOAD_LAB_NAME="environment",
        OFFLOAD_LAB_MTU="1400",
        OFFLOAD_LAB_UNDERLAY="2001:2::/64",
    )
    host = hosts["node12"]
    assert (host["ansible_host"], host["offload_lab_name"]) == ("file-node12", "file")
    assert (host["offload_lab_underlay_address"], host["offload_lab_underlay_mtu"]) == (
        "2001:2::c",
        1400,
    )


def test_the_inventory_of_the_collection():
    hosts = ansible_inventory(CHECKOUT / "inventories/single_host")
    assert list(hosts) == ["node1", "node2"]
    assert hosts["node1"]["offload_lab_service_manager"] == "ovs-ctl"
    assert hosts["node1"]["offload_lab_install_packages"] is False
    assert hosts["node1"]["offload_lab_node"]["name"] == "lab-node1"


def test_a_forwarder_is_a_host_of_its_own_group(parse):
    inventory = parse(forwarder="nat")
    groups = inventory.get_groups_dict()
    assert groups["lab_nodes"] == ["node1", "node2"]
    assert groups["lab_forwarders"] == ["forwarder"]
    assert inventory.groups["all"].vars["offload_lab_forwarding"] == "nat"
    assert inventory.groups["lab_forwarders"].vars["offload_lab_install_packages"] is False
    assert "lab_forwarders" not in parse().groups
