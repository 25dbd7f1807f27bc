# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for bridge ports: what is added, changed, removed, and what is refused."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._base.network import OWNER
from ansible_collections.offload.lab.plugins.module_utils._ovs import ovs_state
from ansible_collections.offload.lab.plugins.module_utils._ovs.ports import plan, wanted_ports

VXLAN = {"name": "vxlan0", "type": "vxlan", "options": {"remote_ip": "198.18.0.2", "key": 10}}


def bridge(owner="switch"):
    return {"name": "br-int", "external_ids": {OWNER: owner} if owner else {}}


def port(owner="tunnel", bridge_name="br-int", **columns):
    """A port as Open vSwitch has it; columns of its interface and of itself."""
    interface = {"type": columns.pop("type", ""), "options": columns.pop("options", {})}
    ids = dict(columns.pop("external_ids", {}), **({OWNER: owner} if owner else {}))
    return dict(
        {"other_config": {}, "protected": False, "tag": [], "trunks": []},
        **columns,
        bridge=bridge_name,
        external_ids=ids,
        interface=interface,
    )


def state(bridges=None, **ports):
    return {
        "running": True,
        "vswitchd": True,
        "root": {},
        "bridges": bridges or {"br-int": bridge()},
        "ports": ports,
    }


def steps_of(before, ports, **options):
    return plan(before, "br-int", wanted_ports(ports, "tunnel"), "tunnel", **options)[2]


def commands_of(before, ports, **options):
    """The commands of the one transaction, each as one string."""
    steps = steps_of(before, ports, **options)
    if not steps:
        return []
    [step] = steps
    assert step.argv[0] == "ovs-vsctl"
    assert step.stdin is None
    return " ".join(step.argv[2:]).split(" -- ")


HAVE = port(type="vxlan", options={"remote_ip": "198.18.0.2", "key": "10"})
OTHER = port(type="vxlan", options={"remote_ip": "198.18.0.3", "key": "10"})
CASES = {
    "a new port": (
        {},
        [VXLAN],
        {},
        [
            "add-port br-int vxlan0",
            'set Interface vxlan0 type="vxlan"',
            'set Interface vxlan0 options:"key"="10" options:"remote_ip"="198.18.0.2"',
            'set Port vxlan0 external_ids:"offload-lab"="tunnel"',
        ],
    ),
    "nothing to do": ({"vxlan0": HAVE}, [VXLAN], {}, []),
    "another remote, csum added, key removed": (
        {"vxlan0": HAVE},
        [dict(VXLAN, options={"remote_ip": "198.18.0.9", "csum": True})],
        {},
        [
            'remove Interface vxlan0 options "key"',
            'set Interface vxlan0 options:"csum"="true" options:"remote_ip"="198.18.0.9"',
        ],
    ),
    "protected, and a tag": (
        {"vxlan0": HAVE},
        [dict(VXLAN, protected=True, tag=5)],
        {},
        ["set Port vxlan0 protected=true", "set Port vxlan0 tag=5"],
    ),
    "tag 0 is a tag": ({"vxlan0": HAVE}, [dict(VXLAN, tag=0)], {}, ["set Port vxlan0 tag=0"]),
    "no tag any more": (
        {"vxlan0": port(type="vxlan", options=HAVE["interface"]["options"], tag=5)},
        [VXLAN],
        {},
        ["clear Port vxlan0 tag"],
    ),
    "a trunk of two VLANs, in any order": (
        {"vxlan0": HAVE},
        [dict(VXLAN, trunks=[7, 5])],
        {},
        ["set Port vxlan0 trunks=[5,7]"],
    ),
    "a trunk of all VLANs again": (
        {"vxlan0": port(type="vxlan", options=HAVE["interface"]["options"], trunks=[5, 7])},
        [VXLAN],
        {},
        ["set Port vxlan0 trunks=[]"],
    ),
    "another type": (
        {"vxlan0": port()},
        [{"name": "vxlan0", "type": "vxlan"}],
        {},
        ['set Interface vxlan0 type="vxlan"'],
    ),
    "maps of the port": (
        {"p": port(other_config={"a": "1"}, external_ids={"x": "1"})},
        [{"name": "p", "other_config": {"b": 2}, "external_ids": {"y z": 'q"'}}],
        {},
        [
            'remove Port p other_config "a"',
            'set Port p other_config:"b"="2"',
            'remove Port p external_ids "x"',
            'set Port p external_ids:"y z"="q\\""',
        ],
    ),
    "unlisted ports stay": ({"vxlan0": HAVE, "vxlan1": OTHER}, [VXLAN], {}, []),
    "unlisted ports go": (
        {"vxlan0": HAVE, "vxlan1": OTHER, "mine": port("tenants"), "foreign": port(None)},
        [VXLAN],
        {"purge": True},
        ["del-port br-int vxlan1"],
    ),
    "listed ports go": (
        {"vxlan0": HAVE, "vxlan1": OTHER},
        [VXLAN],
        {"present": False},
        ["del-port br-int vxlan0"],
    ),
    "gone is gone": ({}, [VXLAN], {"present": False}, []),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_plan(name):
    ports, ports_asked, options, commands = CASES[name]
    assert commands_of(state(**copy.deepcopy(ports)), ports_asked, **options) == commands


def test_without_a_bridge_there_is_a_plan():
    assert commands_of(ovs_state.empty(), [VXLAN])[0] == "add-port br-int vxlan0"


def test_a_crashed_daemon_is_not_waited_for():
    crashed = dict(state(vxlan0=HAVE), vswitchd=False)
    assert commands_of(crashed, [], purge=True) == ["--no-wait del-port br-int vxlan0"]
    with pytest.raises(InputError, match="does not run"):
        ovs_state.check_ready(crashed, "br-int")
    with pytest.raises(InputError, match="no such bridge"):
        ovs_state.check_ready(crashed, "br-ex")


def test_before_and_after_show_only_the_owners_ports():
    before, after, _steps = plan(
        state(vxlan0=HAVE, other=port("tenants")),
        "br-int",
        wanted_ports([dict(VXLAN, protected=True)], "tunnel"),
        "tunnel",
    )
    assert (set(before), set(after)) == ({"vxlan0"}, {"vxlan0"})
    assert (before["vxlan0"]["protected"], after["vxlan0"]["protected"]) == (False, True)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (state({"br-int": bridge(None)}), "not ours"),
        (state(vxlan0=port(None)), "not ours"),
        (state(vxlan0=port("tenants")), "not ours"),
        (state(vxlan0=port(bridge_name="br0")), "on bridge br0"),
    ],
)
def test_what_is_not_ours_is_refused(before, message):
    with pytest.raises(InputError, match=message):
        steps_of(before, [VXLAN])


@pytest.mark.parametrize("other", [VXLAN, dict(VXLAN, protected=True)])
def test_the_same_tunnel_twice_is_refused(other):
    with pytest.raises(InputError, match="vxlan1: the port vxlan0 is the same tunnel"):
        steps_of(state(), [VXLAN, dict(other, name="vxlan1")])
    with pytest.raises(InputError, match="is the same tunnel"):
        steps_of(
            state(theirs=port(None, "br-ex", type="vxlan", options=HAVE["interface"]["options"])),
            [VXLAN],
        )


def test_two_tunnels_can_change_places():
    swapped = [
        {"name": name, "type": "vxlan", "options": {"remote_ip": remote}}
        for name, remote in (("a", "2"), ("b", "1"))
    ]
    before = state(
        a=port(type="vxlan", options={"remote_ip": "1"}),
        b=port(type="vxlan", options={"remote_ip": "2"}),
    )
    assert len(commands_of(before, swapped)) == 2


def test_purging_leaves_a_bridge_that_is_not_ours_alone():
    assert steps_of(state({"br-int": bridge(None)}, foreign=port(None)), [], purge=True) == []


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ([{"name": "-x"}], "not a usable name"),
        ([{"name": ""}], "not a usable name"),
        ([{"name": "a/b"}], "not a usable name"),
        ([{"name": "a b"}], "not a usable name"),
        ([{"name": "a\n"}], "not a usable name"),
        ([{"name": "x" * 16}], "16 characters"),
        ([VXLAN, VXLAN], "2 times"),
        ([dict(VXLAN, tag=4096)], "not between"),
        ([dict(VXLAN, external_ids={OWNER: "me"})], "owner"),
    ],
)
def test_bad_input(ports, message):
    with pytest.raises(InputError, match=message):
        wanted_ports(ports, "tunnel")


MAPS = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3)


@given(MAPS, MAPS)
def test_options_become_exactly_what_is_wanted(before, options):
    """What the commands remove and set, applied to the map, gives these options."""
    _before, after, steps = plan(
        state(p=port(options=before)),
        "br-int",
        wanted_ports([{"name": "p", "options": options}], "tunnel"),
        "tunnel",
    )
    assert after["p"]["options"] == options
    assert bool(steps) == (before != options)
    assert sum(step.argv.count("options") for step in steps) == bool(set(before) - set(options))


@pytest.mark.parametrize("column", ["options", "other_config"])
@pytest.mark.parametrize("key", ["psk", "private_key"])
def test_a_key_of_ipsec_is_refused_and_not_shown(column, key):
    with pytest.raises(InputError, match=f"vxlan0: the key {key} holds a secret") as refused:
        wanted_ports([{"name": "vxlan0", "type": "vxlan", column: {key: "swordfish"}}], "tunnel")
    assert "swordfish" not in str(refused.value)
