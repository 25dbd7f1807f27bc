# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""reproduce.sh alone, between two namespaces: it shows a fault, it shows none where there is none, and
however it ends, the features are as they were.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._nodes.faults import HONEST
from ansible_collections.offload.lab.plugins.plugin_utils._exports import reproduction
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import DEVICES, Nodes
from ansible_collections.offload.lab.tests.instruments.lying_nic.reproduced import (
    ran,
    started,
    tried,
    written,
)
from ansible_collections.offload.lab.tests.support import each_day

TSO = ({"tx": "on", "tso": "on"}, {"tso": "off"})
TX = ({"tx": "on"}, {"tx": "off"})
USO = ({"tx": "on", "tx-udp-segmentation": "on"}, {"tx-udp-segmentation": "off"})
GRO = ({"gro": "on"}, {"gro": "off"})
RESTORED = 30  # s; a trial that runs ends first
# In place of ethtool: what is switched on in a namespace of the script loses packets.
ETHTOOL = """\
#!/bin/sh
table='table inet lossy'
rules="$table { chain in { type filter hook input priority 0; numgen random mod 20 0 drop; }; }"
[ "$1" != -K ] || nft delete "$table" 2>/dev/null
[ "$1 $4" != "-K on" ] || nft "$rules"
exec /usr/sbin/ethtool "$@"
"""


def features(nodes):
    return nodes.inside(0, "ethtool", "-k", DEVICES[0])


def processes():
    """Return the command lines that belong to a script."""
    shown = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True, text=True)
    return [line for line in shown.stdout.splitlines() if "python3 -I -c" in line]


@pytest.mark.parametrize(
    ("fault", "arms", "kinds"),
    [
        ("checksum_unfilled:1:tx", TX, ["tcp_forward"]),
        pytest.param("dropped:0.01:tso", TSO, ["tcp_forward"], marks=pytest.mark.nightly),
        pytest.param("truncated:0.01:uso", USO, ["udp_forward"], marks=pytest.mark.nightly),
        pytest.param("vouched:1:gro", GRO, ["tcp_reverse"], marks=pytest.mark.nightly),
        pytest.param("dropped:1:tso", TSO, ["tcp_forward"], marks=pytest.mark.nightly),
        pytest.param(
            "dropped:0.01:tx+udp", TX, list(reproduction.CHECKS), marks=pytest.mark.nightly
        ),
    ],
)
def test_it_shows_a_fault_and_restores(fault, arms, kinds):
    with Nodes(fault) as nodes, written(reproduction.script(tried(*arms, kinds))) as script:
        before = features(nodes)
        status, text, seconds = ran(script, nodes.spaces)
        assert status == 1, text
        assert "Reproduced: 4 of 4 trials" in text and ", 0 of 4 with them cured." in text
        assert text.endswith("node 1: restored\nnode 2: restored\n")
        assert "uname -r: " in text and f"ethtool -i {DEVICES[0]}\ndriver: tun\n" in text
        assert features(nodes) == before
        assert seconds < 60


@pytest.mark.parametrize("kinds", each_day([["udp_reverse"]], [["tcp_forward"], ["udp_reverse"]]))
def test_it_shows_nothing_on_an_honest_card(kinds):
    with Nodes(HONEST) as nodes, written(reproduction.script(tried(*TX, kinds))) as script:
        status, text, _seconds = ran(script, nodes.spaces)
        assert status == 0, text
        assert "Not reproduced: 0 of 6 trials" in text and text.endswith("node 2: restored\n")


def test_what_breaks_with_both_settings_is_no_fault_of_the_feature():
    with Nodes("dropped:1:tcp") as nodes, written(
        reproduction.script(tried(*TSO, ["tcp_forward"]))
    ) as script:
        status, text, _seconds = ran(script, nodes.spaces)
        assert status == 2 and "in trouble with either setting" in text, text


def test_a_feature_that_does_not_change_is_said():
    arms = ({"tx-nocache-copy": "off"}, {"tx-nocache-copy": "off"})
    with Nodes(HONEST) as nodes, written(
        reproduction.script(tried(*arms, ["tcp_forward"]))
    ) as script:
        status, text, _seconds = ran(script, nodes.spaces)
        assert status == 2 and "nothing changed" in text, text


def test_a_host_that_is_not_there_is_said():
    with Nodes(HONEST) as nodes, written(
        reproduction.script(tried(*TX, ["tcp_forward"]))
    ) as script:
        status, text, seconds = ran(script, (nodes.spaces[0], "ol-nowhere"))
        assert status == 2 and "does not start as root at node 2" in text, text
        assert seconds < 10


def test_of_several_features_it_says_which_is_enough():
    broken = {"tx": "on", "tso": "on", "gro": "on"}
    cured = {"gro": "off", "tso": "off"}
    with Nodes("bit_flipped:1:tso") as nodes, written(
        reproduction.script(tried(broken, cured, ["tcp_forward"]))
    ) as script:
        status, text, _seconds = ran(script, nodes.spaces)
        assert status == 1, text
        enough = [line for line in text.splitlines() if "only " in line]
        assert "only gro off: trouble" in enough[0] and "only tso off: clean" in enough[1], text


@pytest.mark.parametrize(
    "how",
    each_day(
        ["kill -9", "the connection ends"], ["Ctrl-C", "kill", "kill -9", "the connection ends"]
    ),
)
def test_however_it_ends_the_features_are_as_they_were(how):
    with Nodes(HONEST) as nodes, written(
        reproduction.script(tried(*TX, ["tcp_forward"]))
    ) as script:
        nodes.ethtool("tx", "off")  # so that it has to be switched off again
        before = features(nodes)
        with started(script, nodes.spaces) as process:
            until = time.monotonic() + RESTORED
            while features(nodes) == before and time.monotonic() < until:
                time.sleep(0.05)
            assert features(nodes) != before
            end(process, how)
            text, _nothing = process.communicate(timeout=RESTORED)
        while (features(nodes) != before or processes()) and time.monotonic() < until + RESTORED:
            time.sleep(0.1)
        assert features(nodes) == before and processes() == []
        expected = {"Ctrl-C": 130, "kill": 143, "kill -9": -signal.SIGKILL}
        assert process.returncode == expected.get(how, 2), text


def children(pid, *options):
    """Return the processes that a process has started, the first one first."""
    argv = ["pgrep", "-P", str(pid), *options]
    shown = subprocess.run(argv, stdout=subprocess.PIPE, check=True, text=True)
    return list(map(int, shown.stdout.split()))


def end(process, how):
    """End a script, or what stands in for its connection to a node."""
    if how == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
    elif how == "the connection ends":
        connection = children(children(process.pid)[0], "-x", "cat")[0]
        os.kill(connection, signal.SIGTERM)
    else:
        process.send_signal(signal.SIGTERM if how == "kill" else signal.SIGKILL)


@pytest.mark.parametrize("which", ["waits", "obeys"])
def test_of_two_processes_at_a_node_each_restores_if_the_other_is_killed(which):
    """One process obeys the commands. The other one started it, and waits for its end."""
    with Nodes(HONEST) as nodes, written(
        reproduction.script(tried(*TSO, ["tcp_forward"]))
    ) as script:
        nodes.ethtool("tx", "off")  # the script leaves it on, also where it switches TSO off
        before = features(nodes)
        with started(script, nodes.spaces) as process:
            while features(nodes) == before:
                time.sleep(0.05)
            pids = nodes.run("ip", "netns", "pids", nodes.spaces[0]).split()
            os.kill(int(sorted(pids, key=int)[["waits", "obeys"].index(which)]), signal.SIGKILL)
            text, _nothing = process.communicate(timeout=RESTORED)
        assert process.returncode == 2, text
        if which == "obeys":
            assert "node 1 was ended; its features: restored" in text, text
        until = time.monotonic() + RESTORED
        while (features(nodes) != before or processes()) and time.monotonic() < until:
            time.sleep(0.1)
        assert features(nodes) == before and processes() == []


def links():
    """Return the names of the machine's devices without the devices of podman."""
    argv = ["ip", "-json", "link"]
    listed = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    podmans = [link for link in listed if "cni-podman0" in (link["ifname"], link.get("master"))]
    return [link["ifname"] for link in listed if link not in podmans]


@pytest.mark.parametrize("layers", each_day(["vxlan"], ["none", "vxlan", "bridge"]))
def test_namespaces_of_its_own_are_gone_with_it(layers, tmp_path):
    switch = {"none": "underlay", "vxlan": "tunnel", "bridge": "tenant"}[layers]
    usual = tried({"gro": "on"}, {"gro": "off"}, ["tcp_reverse"])
    ends = [
        node._replace(
            broken=[one._replace(device_class=switch) for one in node.broken],
            cured=[one._replace(device_class=switch) for one in node.cured],
        )
        for node in usual.nodes
    ]
    with written(
        reproduction.script(usual._replace(layers=layers, mtu=1500, nodes=tuple(ends)))
    ) as script:
        before = links()
        status, text, _seconds = ran(script, ("--namespaces",))
        assert status == 0, text
        script.with_name("ethtool").write_text(ETHTOOL)
        script.with_name("ethtool").chmod(0o755)
        status, text, _seconds = ran(script, ("--namespaces",))
        assert status == 1, text
        assert links() == before
        assert processes() == []
