# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._ethtool.rss import parse_rss
from ansible_collections.offload.lab.plugins.module_utils._restore import node_state
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir


@pytest.mark.parametrize(
    "saved,now,words",
    [
        ([0, 1, 0, 1], [0, 1, 0, 1], None),
        ([0, 1, 0, 1], [0, 0, 0, 0], ["equal", "2"]),
        ([0, 0, 0, 1], [0, 1, 0, 1], ["weight", "3", "1"]),
        ([0, 0, 2, 2], [0, 1, 0, 1], ["weight", "2", "0", "2"]),
        ([1, 0, 1, 0], [0, 1, 0, 1], None),
        ([0, 1, 0, 1], None, None),
        ([0, 1, 0, 1], [0, 1], None),
    ],
    ids=[
        "unchanged",
        "round robin",
        "runs",
        "a queue without entries",
        "any order",
        "no table now",
        "other size",
    ],
)
def test_rss_step(saved, now, words):
    step = node_state.rss_step("eth0", saved, now)
    assert step == (["ethtool", "-X", "eth0"] + words if words else None)


def ethtool_fills(step, size):
    """Return the table that ethtool -X writes (fill_indir_table of its rss.c)."""
    if step[3] == "equal":
        return [entry % int(step[4]) for entry in range(size)]
    weights = [int(word) for word in step[4:]]
    table, queue, partial = [], -1, 0
    for entry in range(size):
        while entry >= size * partial // sum(weights):
            queue += 1
            partial += weights[queue]
        table.append(queue)
    return table


@pytest.mark.parametrize(
    "saved", [[0, 1, 2, 3] * 32, [0] * 100 + [1] * 28, [0] * 64 + [3] * 64, [0] * 128]
)
def test_what_ethtool_then_writes_is_the_table(saved):
    assert ethtool_fills(node_state.rss_step("eth0", saved, [9] * 128), 128) == saved


def test_recorded_tables_can_be_written():
    for path in sorted((corpus_dir() / "ethtool_x").iterdir()):
        table = list(parse_rss(path.read_text()).values())[0]["indirection"]
        step = node_state.rss_step("eth0", table, [0] * len(table))
        assert table == [0] * len(table) or ethtool_fills(step, len(table)) == table, path


def test_buffers_that_are_not_as_saved():
    saved = {"vxlan0": 16777216, "veth1": 16777216, "gone": 8192}
    assert node_state.buffer_changes(saved, {"vxlan0": 212992, "veth1": 16777216, "new": 1}) == {
        "vxlan0": 16777216
    }
    assert node_state.buffer_changes({}, {"vxlan0": 212992}) == {}


def test_options_of_tunnels_are_brought_back_key_by_key():
    saved = {"tunnels": {"vxlan0": {"key": "10", "csum": "false"}, "gone": {"key": "1"}}}
    assert node_state.ovs_steps(saved, dict(saved)) == []
    assert node_state.ovs_steps(saved, {}) == []
    now = {"tunnels": {"vxlan0": {"key": "10", "csum": "true", "df_default": "false"}, "new": {}}}
    (step,) = node_state.ovs_steps(saved, now)
    assert " ".join(step.argv[2:]) == (
        'remove Interface vxlan0 options "df_default" -- '
        'set Interface vxlan0 options:"csum"="false"'
    )


def test_other_config_of_an_older_snapshot_is_left():
    assert node_state.ovs_steps({"other_config": {"a": "1"}, "tunnels": {}}, {"tunnels": {}}) == []


def test_ports_of_others_are_not_kept(monkeypatch):
    def port(**external_ids):
        return {
            "external_ids": external_ids,
            "interface": {"type": "vxlan", "options": {"key": "7"}},
        }

    monkeypatch.setattr(
        node_state.database,
        "read",
        lambda missing_ok: {
            "running": True,
            "root": {"other_config": {"max-idle": "30000"}},
            "ports": {"vxlan0": port(**{"offload-lab": "tunnel"}), "vxlan-of-neutron": port()},
        },
    )
    monkeypatch.setattr(
        node_state.database, "port_buffers", lambda: {"vxlan0": 8192, "br-ex": 8192}
    )
    assert node_state.read_ovs() == {
        "tunnels": {"vxlan0": {"key": "7"}},
        "buffers": {"vxlan0": 8192},
    }
