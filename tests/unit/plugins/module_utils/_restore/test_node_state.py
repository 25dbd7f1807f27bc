# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._restore import restore


def test_buffers_that_are_not_as_saved():
    saved = {"vxlan0": 16777216, "veth1": 16777216, "gone": 8192}
    assert restore.buffer_changes(saved, {"vxlan0": 212992, "veth1": 16777216, "new": 1}) == {
        "vxlan0": 16777216
    }
    assert restore.buffer_changes({}, {"vxlan0": 212992}) == {}


def test_options_of_tunnels_are_brought_back_key_by_key():
    saved = {"tunnels": {"vxlan0": {"key": "10", "csum": "false"}, "gone": {"key": "1"}}}
    assert restore.ovs_steps(saved, dict(saved)) == []
    assert restore.ovs_steps(saved, {}) == []
    now = {"tunnels": {"vxlan0": {"key": "10", "csum": "true", "df_default": "false"}, "new": {}}}
    (step,) = restore.ovs_steps(saved, now)
    assert " ".join(step.argv[2:]) == (
        'remove Interface vxlan0 options "df_default" -- '
        'set Interface vxlan0 options:"csum"="false"'
    )


def test_other_config_of_an_older_snapshot_is_left():
    assert restore.ovs_steps({"other_config": {"a": "1"}, "tunnels": {}}, {"tunnels": {}}) == []


def test_ports_of_others_are_not_kept(monkeypatch):
    def port(**external_ids):
        return {
            "external_ids": external_ids,
            "interface": {"type": "vxlan", "options": {"key": "7"}},
        }

    monkeypatch.setattr(
        restore.database,
        "read",
        lambda missing_ok: {
            "running": True,
            "root": {"other_config": {"max-idle": "30000"}},
            "ports": {"vxlan0": port(**{"offload-lab": "tunnel"}), "vxlan-of-neutron": port()},
        },
    )
    monkeypatch.setattr(restore.database, "port_buffers", lambda: {"vxlan0": 8192, "br-ex": 8192})
    assert restore.read_ovs() == {
        "tunnels": {"vxlan0": {"key": "7"}},
        "buffers": {"vxlan0": 8192},
    }
