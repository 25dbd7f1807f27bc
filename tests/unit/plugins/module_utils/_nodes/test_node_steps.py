# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import in_netns
from ansible_collections.offload.lab.plugins.module_utils._nodes.node import validate
from ansible_collections.offload.lab.plugins.module_utils._nodes.node_steps import (
    fstab,
    inodes_of,
    plan_absent,
    plan_nics,
    plan_present,
    predict,
    summary,
)

MOUNTPOINTS = {
    "/etc/openvswitch": "present",
    "/var/lib/openvswitch": "present",
    "/var/log/openvswitch": "present",
    "/var/lib/offload-lab": "ours",
}
EMPTY = {
    "claims": [],
    "homes": [],
    "netns": [],
    "nodes": {},
    "ports": {},
    "mountpoints": MOUNTPOINTS,
}
UP = {"ifindex": 1, "peer": None, "mtu": 65536, "up": True, "master": None, "addresses": []}


def wanted(*numbers, lab="a"):
    return validate(
        lab,
        [
            {"name": f"{lab}-node{number}", "mtu": 9000, "addresses": [f"198.18.0.{number}/24"]}
            for number in numbers
        ],
    )


def lab_with(*numbers, lab="a"):
    """Return the state of a machine on which these nodes are there, and nothing else."""
    state = copy.deepcopy(EMPTY)
    names = [f"{lab}-node{number}" for number in numbers]
    state.update(
        claims=names + [lab + "-fabric"], homes=list(names), netns=names + [lab + "-fabric"]
    )
    state["ports"] = {"br0": UP}
    for number, name in zip(numbers, names):
        device = {
            "ifindex": 2,
            "peer": 10 + number,
            "mtu": 9000,
            "up": True,
            "master": None,
            "addresses": [f"198.18.0.{number}/24"],
        }
        state["nodes"][name] = {
            "netns": 100 + number,
            "mnt": 200 + number,
            "uts": 300 + number,
            "mounted": True,
            "ready": True,
            "nic": "",
            "links": {"lo": UP, "underlay0": device},
        }
        state["ports"][f"node{number}"] = {
            "ifindex": 10 + number,
            "peer": 2,
            "mtu": 9000,
            "up": True,
            "master": "br0",
            "addresses": [],
        }
    state["nodes"][lab + "-fabric"] = {
        "netns": 99,
        "mnt": None,
        "uts": None,
        "mounted": False,
        "ready": False,
        "links": state["ports"],
    }
    return state


def argv(steps):
    return [" ".join(in_netns(step.argv, step.netns)) for step in steps]


def texts(steps):
    return [line for step in steps for line in (step.stdin or "").splitlines()]


def test_a_lab_from_nothing():
    stop, steps = plan_present("a", wanted(1, 2), EMPTY)
    assert stop == []
    assert argv(steps) == [
        "mkdir -p /run/offload-lab/a-node1 /run/offload-lab/a-node2 /run/offload-lab/a-fabric",
        "mount --make-private -t tmpfs -o mode=0755 offload-lab /run/offload-lab/a-node1",
        "mount --make-private -t tmpfs -o mode=0755 offload-lab /run/offload-lab/a-node2",
        "mkdir -p "
        + " ".join(
            f"/run/offload-lab/{name}{path}"
            for name in ("a-node1", "a-node2")
            for path in (
                "/run",
                "/run/lock",
                "/run/netns",
                "/run/openvswitch",
                "/run/offload-lab",
                "/etc/openvswitch",
                "/var/lib/openvswitch",
                "/var/log/openvswitch",
                "/var/lib/offload-lab",
            )
        ),
        "touch /run/offload-lab/a-node1/mnt /run/offload-lab/a-node1/uts "
        "/run/offload-lab/a-node2/mnt /run/offload-lab/a-node2/uts",
        "ip -batch -",
    ] + [
        line.format(name)
        for name in ("a-node1", "a-node2")
        for line in (
            "tee /run/offload-lab/{0}/fstab",
            "unshare --mount=/run/offload-lab/{0}/mnt --uts=/run/offload-lab/{0}/uts --propagation slave "
            "python3 -IS -c import socket, sys; socket.sethostname(sys.argv[1]) {0}",
            "nsenter --net=/run/netns/{0} --mount=/run/offload-lab/{0}/mnt --uts=/run/offload-lab/{0}/uts -- "
            "mount --all --fstab /run/offload-lab/{0}/fstab",
        )
    ] + [
        "ip netns exec a-fabric ip -batch -",
        "ip netns exec a-node1 ip -batch -",
        "ip netns exec a-node2 ip -batch -",
        "touch /run/offload-lab/a-node1/ready /run/offload-lab/a-node2/ready",
    ]
    assert "netns add a-fabric" in texts(steps)


def with_nic(state, fault):
    """Return a state in which the first node has taps and a network card in user space."""
    node = state["nodes"]["a-node1"]
    node["nic"] = fault
    node["links"]["underlay0"]["peer"] = state["ports"]["node1"]["peer"] = None
    return state


@pytest.mark.parametrize(
    ("state", "nic", "expected"),
    [
        (EMPTY, "honest", {"a-node1": "honest"}),
        (EMPTY, "", {}),
        (lab_with(1), "honest", {"a-node1": "honest"}),  # there is a veth
        (lab_with(1), "", {}),
        (with_nic(lab_with(1), "honest"), "honest", {}),
        (with_nic(lab_with(1), "honest"), "dropped", {"a-node1": "dropped"}),
        (with_nic(lab_with(1), "honest"), "", {"a-node1": ""}),  # it only ends
        (with_nic(lab_with(1), ""), "honest", {"a-node1": "honest"}),  # its process has gone
    ],
)
def test_network_cards_in_user_space(state, nic, expected):
    (node,) = wanted(1)
    assert plan_nics("a", [dict(node, nic=nic)], state) == expected


def test_run_hides_the_sources_so_it_is_mounted_last():
    assert fstab("a-node1").splitlines()[-1] == "/run/offload-lab/a-node1/run /run none bind 0 0"


def test_the_second_run_does_nothing():
    assert plan_present("a", wanted(1, 2), lab_with(1, 2)) == ([], [])


def test_only_the_new_node_is_made():
    stop, steps = plan_present("a", wanted(1, 2), lab_with(1))
    assert stop == []
    assert not [
        line for line in argv(steps) + texts(steps) if "node1" in line or "add a-fabric" in line
    ]


def test_missing_directories_are_made_and_marked():
    state = dict(EMPTY, mountpoints=dict(MOUNTPOINTS, **{"/var/lib/offload-lab": "missing"}))
    steps = argv(plan_present("a", wanted(1), state)[1])
    assert steps[1:3] == [
        "mkdir -p /var/lib/offload-lab",
        "touch /var/lib/offload-lab/.offload-lab-mountpoint",
    ]


@pytest.mark.parametrize("part", ["ready", "netns", "mounted", "mnt", "uts"])
def test_a_node_without_a_part_of_it_is_recreated(part):
    state = lab_with(1, 2)
    state["nodes"]["a-node1"][part] = None
    stop, steps = plan_present("a", wanted(1, 2), state)
    assert stop == ["a-node1"]
    assert argv(steps)[:4] == [
        "ip netns exec a-fabric ip -force -batch -",
        "ip -batch -",
        "umount --lazy /run/offload-lab/a-node1",
        "rmdir /run/offload-lab/a-node1",
    ]
    assert texts(steps)[:2] == ["link del dev node1", "netns del a-node1"]
    assert not [line for line in argv(steps) + texts(steps) if "node2" in line]


def test_a_fabric_that_is_only_a_file_is_recreated():
    state = lab_with(1)
    state["nodes"]["a-fabric"].update(netns=None, links={})
    state["ports"] = {}
    stop, steps = plan_present("a", wanted(1), state)
    assert stop == []
    assert texts(steps)[:3] == [
        "netns del a-fabric",
        "netns add a-fabric",
        "link del dev underlay0",
    ]
    assert argv(steps)[:3] == [
        "ip -batch -",
        "rmdir /run/offload-lab/a-fabric",
        "mkdir -p /run/offload-lab/a-fabric",
    ]


@pytest.mark.parametrize("name", ["a-node1", "a-fabric"])
def test_a_namespace_of_others_is_not_touched(name):
    state = dict(EMPTY, netns=[name])
    with pytest.raises(InputError, match=name + ": a network namespace of this name exists"):
        plan_present("a", wanted(1), state)
    assert plan_absent("a", [], state) == ([], [])


def test_a_node_is_removed_from_its_lab():
    stop, steps = plan_absent("a", ["a-node1"], lab_with(1, 2))
    assert stop == ["a-node1"]
    assert argv(steps) == [
        "ip netns exec a-fabric ip -force -batch -",
        "ip -batch -",
        "umount --lazy /run/offload-lab/a-node1",
        "rmdir /run/offload-lab/a-node1",
    ]
    assert texts(steps) == ["link del dev node1", "netns del a-node1"]


@pytest.mark.parametrize("names", [[], ["a-node1", "a-node2"]])
def test_the_last_node_takes_the_fabric_and_our_directories_along(names):
    stop, steps = plan_absent("a", names, lab_with(1, 2))
    assert sorted(stop) == ["a-fabric", "a-node1", "a-node2"]
    assert texts(steps) == ["netns del a-node1", "netns del a-node2", "netns del a-fabric"]
    assert argv(steps)[-2:] == [
        "rm -f /var/lib/offload-lab/.offload-lab-mountpoint",
        "rmdir --ignore-fail-on-non-empty /var/lib/offload-lab /run/offload-lab",
    ]


def test_another_lab_keeps_the_directories():
    state = lab_with(1)
    state["claims"] += ["a-b-fabric", "a-b-node1"]
    stop, steps = plan_absent("a", [], state)
    assert sorted(stop) == ["a-fabric", "a-node1"]
    assert argv(steps)[-1] == "rmdir /run/offload-lab/a-node1 /run/offload-lab/a-fabric"


def test_removing_what_is_not_there():
    assert plan_absent("a", [], EMPTY) == ([], [])
    assert plan_absent("a", ["a-node7"], lab_with(1)) == ([], [])


def test_inodes_of_what_is_there():
    state = lab_with(1)
    state["nodes"]["a-node1"]["uts"] = None
    assert inodes_of(["a-node1", "a-fabric", "a-node7"], state) == {99, 101, 201}


def test_the_prediction_is_what_is_read_afterwards():
    was = summary("a", lab_with(1), [])
    assert predict(was, wanted(1, 2), []) == summary("a", lab_with(1, 2), [])
    assert predict(was, [], ["a-node1", "a-fabric"]) == summary("a", EMPTY, []) == []


def test_the_summary_is_of_the_named_nodes():
    names = ["a-node2", "a-node10"]
    assert [node["name"] for node in summary("a", lab_with(1, 2, 10), names)] == names
