# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role measure with tenants that are hosts of their own, on nodes and guests that only pretend."""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign import visits
from ansible_collections.offload.lab.tests.support import run
from ansible_collections.offload.lab.tests.unit.roles.test_measure_role import Pretended

# Each host sets the classes that it has; node2 sets none any more when it was asked for the second
# time.
ETHTOOL = """#!/usr/bin/python
# WANT_JSON
import json, os, sys
asked = json.load(open(sys.argv[1]))
[name] = [one["name"] for devices in asked["classes"].values() for one in devices]
with open(%r, "a+") as stream:
    stream.write(json.dumps([name, sorted(set(asked["settings"]) - set(asked["elsewhere"]))]) + chr(10))
    stream.seek(0)
    times = sum(json.loads(line)[0] == name for line in stream)
if name == "underlay-node2" and times > %d:
    print(json.dumps({"failed": True, "msg": "the device is gone"}))
else:
    print(json.dumps({"changed": False, "devices": {name: {}}}))
"""
SWITCH = """#!/usr/bin/python
# WANT_JSON
import json, sys
asked = json.load(open(sys.argv[1]))
if asked["state"] == "armed":
    with open(%r, "a") as stream:
        stream.write("%%s\\n" %% asked["minutes"])
print(json.dumps({"changed": False}))
"""
CLASSES = ("underlay", "tenant", "tenant_port", "host", "host_port", "tunnel")


def host(name, kind, address, **more):
    devices = {
        device_class: [{"name": f"{kind}-{name}"}] if device_class == kind else []
        for device_class in CLASSES
    }
    path = "physical" if kind == "underlay" else "tenant_vxlan"
    return {
        "offload_lab_underlay_address": address,
        "offload_lab_endpoints": {path: {"address": address}},
        "offload_lab_devices": devices,
        **more,
    }


class Guests(Pretended):
    """Two nodes, each with a tenant that is a host."""

    def __init__(self, folder, good=1000):
        super().__init__(folder)
        self.asked = folder / "asked"
        modules = folder / "ansible_collections/offload/lab/plugins/modules"
        (modules / "ethtool.py").write_text(ETHTOOL % (str(self.asked), good))
        (modules / "dead_man_switch.py").write_text(SWITCH % str(folder / "armed"))
        self.results(
            "kept",
            paths=["tenant_vxlan"],
            design="on_off",
            factors=["tso"],
            workloads=["tcp_stream"],
            blocks=1,
            confirm=0,
        )
        inventory = json.loads((folder / "hosts.yml").read_text())
        inventory["all"]["vars"]["offload_lab_dead_man_minutes"] = 0.1
        del inventory["all"]["hosts"], inventory["all"]["vars"]["offload_lab_devices"]
        inventory["lab_nodes"] = {
            "hosts": {
                f"node{number}": host(f"node{number}", "underlay", f"198.18.0.{number}")
                for number in (1, 2)
            }
        }
        inventory["lab_tenants"] = {
            "hosts": {
                f"guest{number}": host(
                    f"guest{number}",
                    "tenant",
                    f"192.168.10.{number}",
                    offload_lab_tenant_of=f"node{number}",
                )
                for number in (1, 2)
            }
        }
        (folder / "hosts.yml").write_text(json.dumps(inventory))


@pytest.mark.slow
@pytest.mark.nightly  # by day with the oldest ansible-core, see tests/older_core
def test_guests_measure_and_their_nodes_have_the_profile_too(tmp_path):
    campaign = Guests(tmp_path)
    run(campaign.argv, cwd=tmp_path, **campaign.variables)
    trials = campaign.trials()
    assert len(trials) == 2 and {trial["pair"] for trial in trials} == {"guest1-guest2"}
    settings_of_trial = trials[0]["evidence"]["settings"]
    assert sorted(settings_of_trial["client"]) == ["node1:underlay-node1", "tenant-guest1"]
    assert sorted(settings_of_trial["server"]) == ["node2:underlay-node2", "tenant-guest2"]
    variables_asked = dict(map(json.loads, campaign.asked.read_text().splitlines()))
    assert variables_asked == {
        "underlay-node1": ["underlay"],
        "underlay-node2": ["underlay"],
        "tenant-guest1": ["tenant"],
        "tenant-guest2": ["tenant"],
    }
    nodes = json.loads((tmp_path / "kept/x/manifest.json").read_text())["nodes"]
    assert {name: node["before"].get("tenant_of") for name, node in nodes.items()} == {
        "node1": None,
        "node2": None,
        "guest1": "node1",
        "guest2": "node2",
    }
    # Trials renew the switches of the guests alone; the nodes' switches wait longer than a visit.
    visit = visits.visit_seconds(json.loads((tmp_path / "kept/x/plan.json").read_text()))
    armed = sorted(map(float, (tmp_path / "armed").read_text().split()))
    assert armed == pytest.approx([0.1, 0.1, visit / 20, visit / 20], rel=0.05) and visit / 20 > 0.1


@pytest.mark.slow
@pytest.mark.nightly  # test_measure_role has an end that cannot be prepared
def test_a_node_that_does_not_take_the_profile_ends_its_guests_pair(tmp_path):
    campaign = Guests(tmp_path, good=1)
    output = run(campaign.argv, cwd=tmp_path, rc=2, **campaign.variables)
    assert "the device is gone" in output and len(campaign.trials()) == 1, output[-3000:]
