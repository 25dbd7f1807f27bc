# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for tenants, run on a small model of a host: it converges from any state, and touches
nothing else.
"""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._lab.tenants_check import wanted_tenants
from ansible_collections.offload.lab.plugins.module_utils._lab.tenants_plan import (
    plan_absent,
    plan_present,
    predicted,
    present_names,
    present_tenants,
    summary,
)
from ansible_collections.offload.lab.tests.unit.plugins.module_utils._lab.tenants_host import (
    HOST,
    Host,
    port,
)


def tenants(count=2, host=True, mtu=8950):
    plan = [
        {
            "name": f"tenant{number}",
            "addresses": [f"192.168.10.{number}/24"],
            "mac": f"02:00:00:00:00:{number:02x}",
            "neighbors": [
                {"address": f"192.168.10.{100 + number}", "mac": f"02:00:00:00:02:{number:02x}"}
            ],
        }
        for number in range(1, count + 1)
    ]
    veth = {
        "name": "host",
        "namespace": False,
        "addresses": ["192.168.0.1/24"],
        "mac": "02:00:00:00:01:01",
    }
    return wanted_tenants(plan + ([veth] if host else []), mtu)


def present(host, tenants_asked, purge=False):
    state_of_host = host.seen()
    gone = (
        [name for name in present_names(state_of_host, "br-int") if name not in tenants_asked]
        if purge
        else []
    )
    steps = plan_present(state_of_host, "br-int", tenants_asked, gone)
    host.run(steps)
    return steps


def ready(*tenant_names, **options):
    host = Host()
    present(host, tenants(*tenant_names, **options))
    return host


def test_from_nothing():
    tenants_asked = tenants(100)
    host = Host()
    steps = present(host, tenants_asked)
    assert [step.argv[0] for step in steps] == ["ip"] * 103 + ["ovs-vsctl"]
    assert len({step.netns for step in steps}) == 101
    ports = [tenant["port"] for tenant in tenants_asked.values()]
    assert steps[-2].stdin.splitlines() == [f"link set dev {port} up" for port in ports]
    state_of_host = host.seen()
    for tenant in tenants_asked.values():
        assert summary(state_of_host, tenant) == predicted(tenant, "br-int", None), tenant["name"]
        assert host.spaces[tenant["netns"]]["lo"]["up"] or not tenant["netns"]


def test_no_end_of_a_tenant_makes_itself_a_link_local_address():
    host = ready()
    made_lines = [
        link for links in host.spaces.values() for link in links.values() if link["kind"] == "veth"
    ]
    assert [link["addrgenmode"] for link in made_lines] == ["none"] * 6


def test_a_kernel_without_ipv6_is_not_asked_for_it():
    state_of_host = dict(Host().seen(), ipv6=False)
    assert not [
        step
        for step in plan_present(state_of_host, "br-int", tenants())
        if "addrgenmode" in (step.stdin or "")
    ]


def test_twice_is_once():
    assert present(ready(), tenants()) == []


def test_more_and_fewer():
    host = ready(1)
    present(host, tenants(3))
    assert "tenant3" in host.spaces
    present(host, tenants(1))
    assert "tenant3" in host.spaces, "without purge it stays"
    present(host, tenants(1), purge=True)
    assert host.spaces.keys() == {HOST, "tenant1"}
    assert host.ports.keys() == {"tenant1-veth1", "host-veth1"}


def test_another_mtu_address_and_mac():
    host = ready(1)
    [steps_of_ip] = [
        [
            step
            for step in present(
                host,
                wanted_tenants(
                    [
                        {
                            "name": "tenant1",
                            "addresses": ["192.168.11.1/24", "fd00::1/64"],
                            "mac": "02:00:00:00:00:99",
                        }
                    ],
                    1450,
                ),
            )
            if step.argv[0] == "ip"
        ]
    ]
    assert [step.stdin.splitlines() for step in steps_of_ip] == [
        ["link set dev tenant1-veth1 mtu 1450"],
        [
            "neigh del 192.168.10.101 dev tenant1-veth0",
            "address del 192.168.10.1/24 dev tenant1-veth0",
            "address add 192.168.11.1/24 dev tenant1-veth0",
            "address add fd00::1/64 dev tenant1-veth0 nodad",
            "link set dev tenant1-veth0 address 02:00:00:00:00:99 mtu 1450",
        ],
    ]


def test_a_tenant_becomes_a_host_veth_and_back():
    host = Host()
    inside = wanted_tenants([{"name": "a", "addresses": ["10.0.0.1/24"]}], 1500)
    outside = wanted_tenants(
        [{"name": "a", "addresses": ["10.0.0.1/24"], "namespace": False}], 1500
    )
    for tenant_set in (inside, outside, inside):
        present(host, tenant_set)
        assert present(host, tenant_set) == []
        assert ("a" in host.spaces) == (tenant_set is inside)


def test_open_vswitch_lets_go_of_a_device_before_it_is_recreated():
    host = ready(1)
    host.delete(HOST, "tenant1-veth1")
    steps = present(host, tenants(1))
    assert steps[0].argv[2:] == ["del-port", "br-int", "tenant1-veth1"]
    assert host.waited[-2:] == [True, True]
    assert present(host, tenants(1)) == []


def test_removal_does_not_wait_but_what_comes_next_does():
    host = ready()
    host.run(plan_absent(host.seen(), "br-int", ["tenant1", "tenant2", "host"]))
    assert (host.spaces.keys(), host.ports) == ({HOST}, {})
    assert (host.waited[-1], host.root["next_cfg"]) == (False, 6)
    steps = present(host, tenants(1))
    assert steps[0].argv[2:] == ["wait-until", "Open_vSwitch", ".", "cur_cfg>=6"]


def foreign_namespace(host):
    host.spaces["tenant1"] = {"lo": host.link("lo", 1)}


def foreign_device(host):
    host.veth("tenant1-veth1", 1500, "eth9", HOST)


def foreign_host_veth(host):
    host.veth("eth9", 1500, "host-veth0", HOST)


def foreign_port(host):
    host.ports["tenant1-veth1"] = port("br-int", None)


def port_elsewhere(host):
    host.ports["tenant1-veth1"] = port("br-ex", "tenants")


@pytest.mark.parametrize(
    "make", [foreign_namespace, foreign_device, foreign_host_veth, foreign_port, port_elsewhere]
)
def test_what_is_not_ours_is_refused_and_never_removed(make):
    host = Host()
    make(host)
    before = copy.deepcopy((host.spaces, host.ports))
    with pytest.raises(InputError, match="not ours|on bridge br-ex"):
        present(host, tenants())
    host.run(plan_absent(host.seen(), "br-int", present_names(host.seen(), "br-int")))
    assert (host.spaces, host.ports) == before


def rename(host):
    links = host.spaces["tenant1"]
    index = host.new_index()
    name = f"old{index}"
    links[name] = dict(links.pop("tenant1-veth0"), name=name)
    links["tenant1-veth0"] = host.link("tenant1-veth0", index)


# What may happen to a lab behind our back, or be missing after a crash.
DAMAGE = {
    "veth": lambda host: host.delete(HOST, "tenant1-veth1"),
    "host veth": lambda host: host.delete(HOST, "host-veth0"),
    "namespace": lambda host: host.line(HOST, "netns del tenant1"),
    "second namespace": lambda host: host.line(HOST, "netns del tenant2"),
    "port": lambda host: host.ports.pop("tenant1-veth1"),
    "all ports": lambda host: host.ports.clear(),
    "addresses": lambda host: host.spaces["tenant2"]["tenant2-veth0"]["global"].clear(),
    "another address": lambda host: host.spaces[HOST]["host-veth0"]["global"].append("10.1.1.1/8"),
    "down": lambda host: host.spaces["tenant2"]["tenant2-veth0"].update(up=False),
    "mtu": lambda host: host.spaces[HOST]["tenant2-veth1"].update(mtu=1500),
    "neighbours": lambda host: host.spaces["tenant1"]["tenant1-veth0"]["neighbors"].clear(),
    "another neighbour": lambda host: host.spaces["tenant2"]["tenant2-veth0"]["neighbors"].update(
        {"10.1.1.2": "x"}
    ),
    "another MAC": lambda host: host.spaces["tenant2"]["tenant2-veth0"].update(
        mac="02:00:00:00:00:99"
    ),
    "loopback": lambda host: host.spaces["tenant2"]["lo"].update(up=False),
    "alias inside": lambda host: host.spaces["tenant2"]["tenant2-veth0"].update(alias=None),
    "renamed, another of its name": rename,
}


@settings(max_examples=100)
@given(st.lists(st.sampled_from(sorted(DAMAGE)), max_size=4))
def test_it_converges_from_any_damage(names):
    host = ready(2)
    tenants_asked = tenants(2)
    for name in names:
        try:
            DAMAGE[name](host)
        except KeyError:
            continue  # gone by an earlier damage
    present(host, tenants_asked)
    state_of_host = host.seen()
    assert [summary(state_of_host, tenant) for tenant in tenants_asked.values()] == [
        predicted(tenant, "br-int", None) for tenant in tenants_asked.values()
    ]
    assert present(host, tenants_asked) == []


@settings(max_examples=100)
@given(st.lists(st.sampled_from(sorted(DAMAGE)), max_size=4))
def test_all_is_removed_whatever_is_left(names):
    host = ready(2)
    for name in names:
        try:
            DAMAGE[name](host)
        except KeyError:
            continue
    host.run(plan_absent(host.seen(), "br-int", present_names(host.seen(), "br-int")))
    assert (host.spaces.keys(), set(host.spaces[HOST]), host.ports) == ({HOST}, {"lo"}, {})
    assert present_names(host.seen(), "br-int") == []


def test_before_shows_tenants_that_go():
    state_of_host = ready(1).seen()
    there = present_tenants(state_of_host, ["tenant1", "host", "tenant9"])
    assert summary(state_of_host, there["tenant1"])["addresses"] == ["192.168.10.1/24"]
    assert summary(state_of_host, there["host"])["netns"] is None
    assert summary(state_of_host, there["tenant9"]) is None


BRIDGED = [{"name": "b", "addresses": ["192.168.10.1/24"], "linux_bridge": True, "tag": 20}]


def test_a_linux_bridge_is_made_once_and_goes_with_its_tenant():
    host = Host()
    tenants_asked = wanted_tenants(BRIDGED, 8950)
    steps = plan_present(host.seen(), "br-int", tenants_asked)
    lines = [line for step in steps for line in (step.stdin or "").splitlines()]
    assert "link add name b-br mtu 8950 type bridge stp_state 0 mcast_snooping 0" in lines
    assert "link add name b-veth2 mtu 8950 type veth peer name b-veth3 mtu 8950" in lines
    assert "link set dev b-veth2 alias offload.lab:b master b-br up" in lines
    quiet = [f"link set dev {name} addrgenmode none" for name in ("b-br", "b-veth2", "b-veth3")]
    assert [line for line in lines if line in quiet] == quiet
    assert lines.index(quiet[2]) < lines.index("link set dev b-veth3 alias offload.lab:b up")
    joined = lines.index("link set dev b-veth1 master b-br")
    assert lines.index("link set dev b-veth1 alias offload.lab:b addrgenmode none") < joined
    assert joined < lines.index("link set dev b-veth1 up")
    transaction = steps[-1].argv
    assert "b-veth3" in transaction and "b-veth1" not in transaction and "tag=20" in transaction


def test_a_device_that_is_not_ours_is_no_linux_bridge():
    host = Host()
    host.spaces[HOST]["b-br"] = host.link("b-br", 7, kind="bridge")
    with pytest.raises(InputError, match="^b-br: the device exists and is not ours"):
        plan_present(host.seen(), "br-int", wanted_tenants(BRIDGED, 8950))
