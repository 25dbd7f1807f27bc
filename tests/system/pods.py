# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An existing network: in each of two nodes a pod behind a bridge and a VXLAN device,
as flannel makes them.
"""

from __future__ import annotations

import contextlib

from ansible_collections.offload.lab.tests.system.lab import Lab, differences

POD = """\
link add cni0 mtu 1450 type bridge
addr add 10.244.{me}.1/24 dev cni0
link add vethpod mtu 1450 master cni0 type veth peer name eth0 netns pod
link set cni0 up
link set vethpod up
link add flannel.1 mtu 1450 type vxlan id 1 dev underlay0 dstport 8472 nolearning local 198.18.0.{me}
addr add 10.244.{me}.0/32 dev flannel.1
link set flannel.1 address 02:00:00:00:00:0{me} up
neigh add 10.244.{other}.0 lladdr 02:00:00:00:00:0{other} dev flannel.1
route add 10.244.{other}.0/24 via 10.244.{other}.0 dev flannel.1 onlink
-n pod link set eth0 mtu 1450
-n pod addr add 10.244.{me}.5/24 dev eth0
-n pod link set eth0 up
-n pod link set lo up
-n pod route add default via 10.244.{me}.1
"""
ENDS = [{"name": "pods", "netns": "pod", "address": "10.244.{{ 3 - offload_lab_index | int }}.5"}]
TIMER = "_timer"  # of a bridge and its ports, which run by themselves


def unlike(old, new):
    """Return where two states differ, but for timers."""
    places = [(difference.partition(":")[0], difference) for difference in differences(old, new)]
    return [text for difference, text in places if not difference.endswith(TIMER)]


def commands(me):
    """Return the commands, as lists of words, that make the pod of node 1 or 2 and its way out."""
    other = 3 - me
    lines = POD.format(me=me, other=other).strip().splitlines()
    far = f"02:00:00:00:00:0{other}"
    forward = f"bridge fdb append {far} dev flannel.1 dst 198.18.0.{other}"
    first = ["ip netns add pod", "sysctl -qw net.ipv4.ip_forward=1"]
    return [line.split() for line in [*first, *(f"ip {line}" for line in lines), forward]]


def make_pod(lab, me):
    for command in commands(me):
        lab.inside(me, *command)


@contextlib.contextmanager
def lab_of_pods(name):
    """Give a lab of two nodes with a pod each, and remove it."""
    lab = Lab(name)
    lab.clear()
    lab.play("nodes")
    try:
        for node in (1, 2):
            make_pod(lab, node)
        yield lab
    finally:
        lab.play("nodes_absent")


def make_tunnel(lab, me):
    """Make the tunnel of a pod again, after it was removed."""
    for command in commands(me):
        if "flannel.1" in command:
            lab.inside(me, *command)


def drop(lab):
    """Have node 2 forward nothing to its pods."""
    for rule in (
        f"add table ip {lab.name}",
        f"add chain ip {lab.name} forward {{ type filter hook forward priority 0; policy drop; }}",
    ):
        lab.inside(2, "nft", *rule.split())


def drop_no_more(lab):
    """Have node 2 forward to its pods again."""
    lab.inside(2, "nft", "delete", "table", "ip", lab.name)


def misplace(lab):
    """Give the tunnel of node 2 another VNI."""
    lab.inside(2, "ip", "link", "del", "flannel.1")
    for command in commands(2):
        if "flannel.1" in command:
            lab.inside(2, *("2" if before == "id" else word for before, word in pairs(command)))


def make_tunnel_again(lab):
    """Give the tunnel of node 2 its VNI back."""
    lab.inside(2, "ip", "link", "del", "flannel.1")
    make_tunnel(lab, 2)


def pairs(words):
    """Return each word with the one before it."""
    return zip(["", *words], words)
