# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils import _node_state
from ansible_collections.offload.lab.plugins.module_utils._ethtool_hash import parse_rss
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir


@pytest.mark.parametrize("saved,now,words", [
    ([0, 1, 0, 1], [0, 1, 0, 1], None),
    ([0, 1, 0, 1], [0, 0, 0, 0], ["equal", "2"]),
    ([0, 0, 0, 1], [0, 1, 0, 1], ["weight", "3", "1"]),
    ([0, 0, 2, 2], [0, 1, 0, 1], ["weight", "2", "0", "2"]),
    ([1, 0, 1, 0], [0, 1, 0, 1], None),
    ([0, 1, 0, 1], None, None),
    ([0, 1, 0, 1], [0, 1], None),
], ids=["unchanged", "round robin", "runs", "a queue without entries", "any order", "no table now", "other size"])
def test_rss_step(saved, now, words):
    step = _node_state.rss_step("eth0", saved, now)
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


@pytest.mark.parametrize("saved", [[0, 1, 2, 3] * 32, [0] * 100 + [1] * 28, [0] * 64 + [3] * 64, [0] * 128])
def test_what_ethtool_then_writes_is_the_table(saved):
    assert ethtool_fills(_node_state.rss_step("eth0", saved, [9] * 128), 128) == saved


def test_recorded_tables_can_be_written():
    for path in sorted((corpus_dir() / "ethtool_x").iterdir()):
        table = list(parse_rss(path.read_text()).values())[0]["indirection"]
        step = _node_state.rss_step("eth0", table, [0] * len(table))
        assert table == [0] * len(table) or ethtool_fills(step, len(table)) == table, path


def test_rps_writes_what_differs_and_leaves_out_queues_that_are_gone():
    saved = {"rx-0/rps_cpus": "3", "rx-0/rps_flow_cnt": "0", "rx-1/rps_cpus": "3"}
    now = {"rx-0/rps_cpus": "0", "rx-0/rps_flow_cnt": "0"}
    assert _node_state.rps_writes("eth0", saved, now) == [("/sys/class/net/eth0/queues/rx-0/rps_cpus", "3")]


def test_buffers_that_are_not_as_saved():
    saved = {"vxlan0": 16777216, "veth1": 16777216, "gone": 8192}
    assert _node_state.buffer_changes(saved, {"vxlan0": 212992, "veth1": 16777216, "new": 1}) == {"vxlan0": 16777216}
    assert _node_state.buffer_changes({}, {"vxlan0": 212992}) == {}


def test_ovs_is_brought_back_in_one_transaction():
    saved = {"other_config": {"a": "1"}, "tunnels": {"vxlan0": {"key": "10"}, "gone": {"key": "1"}}}
    assert _node_state.ovs_steps(saved, dict(saved)) == []
    assert _node_state.ovs_steps(saved, {}) == []
    now = {"other_config": {"a": "2", "b": "3"}, "tunnels": {"vxlan0": {"key": "10", "csum": "true"}, "new": {}}}
    (step,) = _node_state.ovs_steps(saved, now)
    words = " ".join(step["argv"])
    assert 'clear Open_vSwitch . other_config -- set Open_vSwitch . other_config:"a"="1"' in words
    assert 'clear Interface vxlan0 options -- set Interface vxlan0 options:"key"="10"' in words
    assert "gone" not in words and "new" not in words
