# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a campaign recommends, applied to the lab and taken back: check mode, twice, a driver that was not measured."""
from __future__ import annotations

import pytest
import yaml

from ansible_collections.offload.lab.tests.system.lab import changed

SETTINGS = {"underlay": {"features": {"gro": True}, "rps": {"cpus": "all"}}, "tenant": {"features": {"gro": True}}}


def features(lab):
    """Return what apply may change, of both nodes."""
    return [lab.inside(node, "sh", "-c", "ethtool -k underlay0; cat /sys/class/net/underlay0/queues/rx-*/rps_cpus; "
                                         "ip netns exec tenant1 ethtool -k tenant1-veth0") for node in (1, 2)]


def recommended(path, driver):
    """Write a recommended.yml and return how ansible-playbook takes it."""
    drivers = {node: {"underlay0": driver} for node in ("node1", "node2")}
    path.write_text(yaml.safe_dump({"offload_lab_recommended": {
        "campaign": "test", "drivers": drivers, "client": SETTINGS, "server": SETTINGS}}))
    return "-e", f"@{path}"


@pytest.fixture
def restored(lab):
    yield features(lab)
    lab.play("restore")


def test_apply_and_restore(lab, restored, tmp_path):
    settings = recommended(tmp_path / "recommended.yml", "veth")
    foreseen = lab.play("apply", "--check", *settings)
    assert features(lab) == restored
    assert changed(lab.play("apply", *settings)) == changed(foreseen)
    assert all(new.count("generic-receive-offload: on") == 2 for new in features(lab))
    assert changed(lab.play("apply", *settings)) == {"node1": 0, "node2": 0}
    lab.play("restore")
    assert features(lab) == restored


def test_another_driver_is_refused(lab, restored, tmp_path):
    said = lab.play("apply", *recommended(tmp_path / "recommended.yml", "ixgbe"), rc=2)
    assert "underlay0 has driver veth, the campaign measured ixgbe" in " ".join(said.split())
    assert features(lab) == restored
