# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for the kernel's VXLAN device: what is changed in place, what recreates it, what is
refused.
"""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._base.network import OWNER
from ansible_collections.offload.lab.plugins.module_utils._lab import vxlan_devices

EMPTY = {"running": False, "vswitchd": False, "root": {}, "bridges": {}, "ports": {}}
OPTIONS = {
    "name": "vxlan0",
    "id": 10,
    "dstport": 4789,
    "local": "198.18.0.1",
    "remotes": ["198.18.0.2"],
    "csum": False,
    "mtu": None,
}
FDB = [(vxlan_devices.EVERY, "198.18.0.2"), ("02:00:00:00:00:02", "198.18.0.2")]
CREATE = [
    "link add name vxlan0 mtu 8950 type vxlan id 10 dstport 4789 local 198.18.0.1 noudpcsum",
    "link set dev vxlan0 alias offload.lab:tunnel up",
]
APPEND = ["fdb append 00:00:00:00:00:00 dev vxlan0 dst 198.18.0.2"]


def link(name, *, mtu=9000, addresses=(), kind=None, alias=None, up=True, **data):
    return {
        "name": name,
        "mtu": mtu,
        "addresses": list(addresses),
        "kind": kind,
        "alias": alias,
        "up": up,
        "data": data,
    }


def links(*more):
    underlay = link("underlay0", addresses=["198.18.0.1/24", "fd00::1/64"])
    return dict((entry["name"], entry) for entry in (underlay,) + more)


def vxlan(alias=vxlan_devices.OURS, mtu=8950, up=True, **data):
    attributes = dict({"id": 10, "port": 4789, "local": "198.18.0.1", "udp_csum": False}, **data)
    return link("vxlan0", mtu=mtu, kind="vxlan", alias=alias, up=up, **attributes)


def ovs(owner="tunnel", kind=""):
    port = {
        "bridge": "br-int",
        "external_ids": {OWNER: owner} if owner else {},
        "interface": {"type": kind},
    }
    return dict(EMPTY, running=True, vswitchd=True, ports={"vxlan0": port})


def lines(links_of_host, fdb=None, state=None, **options):
    """What is run: lines of ip and bridge, and the words of ovs-vsctl's one command."""
    device = vxlan_devices.wanted_device(dict(OPTIONS, **options), links_of_host)
    command_lines = []
    for step in vxlan_devices.plan_present(links_of_host, fdb or FDB, state or EMPTY, device):
        command_lines += step.stdin.splitlines() if step.stdin else [" ".join(step.argv[2:])]
    return command_lines


def test_a_new_device():
    assert lines(links()) == CREATE + APPEND


def test_nothing_to_do():
    assert lines(links(vxlan())) == []


def test_what_the_kernel_can_change_is_changed():
    assert lines(links(vxlan(mtu=1450, up=False, local="198.18.0.9"))) == [
        "link set dev vxlan0 type vxlan local 198.18.0.1",
        "link set dev vxlan0 mtu 8950",
        "link set dev vxlan0 up",
    ]


def test_a_remote_goes_with_all_that_was_learned_from_it():
    assert lines(links(vxlan()), remotes=["198.18.0.3"]) == [
        "fdb del 00:00:00:00:00:00 dev vxlan0 dst 198.18.0.2",
        "fdb del 02:00:00:00:00:02 dev vxlan0 dst 198.18.0.2",
        "fdb append 00:00:00:00:00:00 dev vxlan0 dst 198.18.0.3",
    ]


@pytest.mark.parametrize("data", [{"id": 11}, {"port": 4790}, {"udp_csum": True}])
def test_what_it_cannot_change_makes_the_device_anew(data):
    assert lines(links(vxlan(**data))) == ["link del dev vxlan0"] + CREATE + APPEND


def test_open_vswitch_lets_go_of_the_old_device_first():
    assert lines(links(vxlan(id=11)), state=ovs())[:2] == [
        "del-port br-int vxlan0",
        "link del dev vxlan0",
    ]
    assert lines(links(), state=ovs())[0] == "del-port br-int vxlan0"


def test_a_port_that_open_vswitch_makes_itself_is_no_hindrance():
    assert lines(links(), state=ovs(kind="vxlan")) == CREATE + APPEND


def test_over_ipv6():
    device_options = {"local": "fd00::1", "remotes": ["fd00::2"]}
    assert lines(links(), **device_options)[0] == (
        "link add name vxlan0 mtu 8930 type vxlan id 10 dstport 4789 local fd00::1 "
        "udp6zerocsumtx udp6zerocsumrx"
    )
    there = vxlan(local6="fd00::1", local=None, mtu=8930, udp_zero_csum6_tx=True)
    there["data"].pop("local")
    assert lines(links(there), [(vxlan_devices.EVERY, "fd00::2")], **device_options) == []
    assert (
        lines(links(there), [(vxlan_devices.EVERY, "fd00::2")], csum=True, **device_options)[0]
        == "link del dev vxlan0"
    )


def test_removal_takes_only_what_is_ours():
    assert [step.stdin for step in vxlan_devices.plan_absent(links(vxlan()), EMPTY, "vxlan0")] == [
        "link del dev vxlan0\n"
    ]
    assert vxlan_devices.plan_absent(links(vxlan(alias=None)), EMPTY, "vxlan0") == []
    assert vxlan_devices.plan_absent(links(), EMPTY, "vxlan0") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": 1 << 24}, "not between"),
        ({"dstport": 0}, "not between"),
        ({"name": "-x"}, "not a usable name"),
        ({"local": "198.18.0"}, "not an IP address"),
        ({"remotes": ["fd00::2%x\nlink del"]}, "not an IP address"),
        ({"local": "198.18.0.77"}, "no device has this address"),
        ({"remotes": ["x"]}, "not an IP address"),
        ({"remotes": ["198.18.0.1"]}, "this host itself"),
        ({"remotes": ["fd00::2"]}, "IPv6"),
        ({"remotes": ["198.18.0.2"] * 2}, "2 times"),
        ({"mtu": 8951}, "8951 does not fit"),
        ({"mtu": 67}, "67 does not fit"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        lines(links(), **options)


@pytest.mark.parametrize(
    ("links_of_host", "state", "message"),
    [
        (links(vxlan(alias="theirs")), EMPTY, "not ours"),
        (links(link("vxlan0", kind="dummy", alias=vxlan_devices.OURS)), EMPTY, "not ours"),
        (links(link("vx9", kind="vxlan", id=10, port=4789)), EMPTY, "vx9 has this VNI"),
        (links(vxlan(id=11)), ovs(owner=None), "port on bridge br-int is not ours"),
    ],
)
def test_what_is_not_ours_is_refused(links_of_host, state, message):
    with pytest.raises(InputError, match=message):
        lines(links_of_host, state=state)


def test_all_of_ours_are_removed_but_some():
    links_of_host = links(
        vxlan(),
        dict(vxlan(), name="vxlan1"),
        dict(vxlan(alias=None), name="theirs"),
        link("other", alias=vxlan_devices.OURS),
    )
    names, steps = vxlan_devices.plan_purge(links_of_host, EMPTY, ["vxlan0"])
    assert names == ["vxlan1"] and [step.stdin for step in steps] == ["link del dev vxlan1\n"]
    assert vxlan_devices.plan_purge(links_of_host, EMPTY, [])[0] == ["vxlan0", "vxlan1"]
    assert vxlan_devices.plan_purge(links_of_host, EMPTY, ["vxlan0", "vxlan1"]) == ([], [])
