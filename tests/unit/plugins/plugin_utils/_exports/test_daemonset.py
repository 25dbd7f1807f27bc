# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The DaemonSet of a cure: what it sets, and that nothing of a node becomes a command."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.offload.lab.plugins.plugin_utils._exports.daemonset import daemonset
from ansible_collections.offload.lab.tests.security import lies

NODES = {"client": {"worker1"}, "server": {"worker2"}}
SETTINGS = {
    "tenant": {"features": {"tx": False}},
    "tunnel": {"features": {"tx": False, "gro": True}},
}


def manifest(**classes):
    before = {"classes": {"tenant": ["cni-1/eth0"], "tunnel": ["flannel.1"], **classes}}
    return {"nodes": dict.fromkeys(("worker1", "worker2"), {"before": before})}


def advice(**more):
    return {"campaign": "pods", "cures": {}, "client": SETTINGS, "server": SETTINGS, **more}


def script(text):
    document = yaml.safe_load(text)
    [container] = document["spec"]["template"]["spec"]["containers"]
    assert container["command"][:2] == ["sh", "-c"]
    return container["command"][2]


def test_it_sets_the_devices_that_each_node_has():
    text = daemonset(advice(), manifest(underlay=["eth1"]), NODES)
    assert script(text) == "while true; do ethtool -K flannel.1 tx off; sleep 5; done"
    document = yaml.safe_load(text)
    assert document["kind"] == "DaemonSet"
    pod = document["spec"]["template"]
    assert pod["metadata"]["labels"] == document["spec"]["selector"]["matchLabels"]
    assert pod["spec"]["hostNetwork"] and "campaign pods on each node" in text


def test_ends_that_need_different_settings_get_both():
    other = {"underlay": {"features": {"tso": False}}}
    text = daemonset(advice(server=other), manifest(underlay=["eth1"]), NODES)
    assert script(text) == (
        "while true; do ethtool -K flannel.1 tx off; ethtool -K eth1 tso off; sleep 5; done"
    )


@pytest.mark.parametrize(
    "without",
    [
        {"advice": {"campaign": "pods", "client": SETTINGS}},  # of speed, and of no fault
        {"advice": advice(client={"tenant": SETTINGS["tenant"]}, server={})},  # in pods alone
        {"manifest": None},
    ],
)
def test_there_is_none_where_no_device_of_the_nodes_is_to_be_set(without):
    arguments = {"advice": advice(), "manifest": manifest(), **without}
    assert daemonset(arguments["advice"], arguments["manifest"], NODES) is None


@pytest.mark.parametrize(
    "lie", [*lies.LIES.values(), "$(reboot)", "a;reboot", "-K", "eth0 tx", "eth0\n", "cni-1/eth0"]
)
def test_no_text_of_a_node_becomes_a_word_of_the_shell(lie):
    settings = {"tunnel": {"features": {"tx": False, lie: False}}}
    lying = advice(campaign=lie, client=settings, server=settings)
    text = daemonset(lying, manifest(tunnel=[lie, "flannel.1"]), NODES)
    assert script(text) == "while true; do ethtool -K flannel.1 tx off; sleep 5; done"
    assert lies.wrong_text(text) == []
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert len(comments) == 5 and not any("{" in line or "`" in line for line in comments)
