# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the tenants that a user wants."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._lab.tenants_check import (
    check_host,
    wanted_tenants,
)


def tenant(name="tenant1", *addresses, **more):
    return dict({"name": name, "addresses": list(addresses)}, **more)


def neighbor(address, mac="02:00:00:00:00:02"):
    return {"address": address, "mac": mac}


def test_what_follows_from_the_name():
    assert wanted_tenants(
        [tenant("tenant1", "192.168.10.1/24", mac="02:00:C0:A8:0A:01")], 8950
    ) == {
        "tenant1": {
            "name": "tenant1",
            "netns": "tenant1",
            "device": "tenant1-veth0",
            "port": "tenant1-veth1",
            "addresses": ["192.168.10.1/24"],
            "mtu": 8950,
            "mac": "02:00:c0:a8:0a:01",
            "linux_bridge": None,
            "switch_port": "tenant1-veth1",
            "tag": None,
            "flat": False,
            "neighbors": {},
        }
    }


def test_neighbours_of_both_families():
    tenants_asked = wanted_tenants(
        [
            tenant(
                "a",
                "192.168.10.1/24",
                "fd00::1/64",
                neighbors=[
                    neighbor("192.168.10.2", "02:00:C0:A8:0A:02"),
                    neighbor("FD00:0::2", "02:00:C0:A8:0A:02"),
                ],
            )
        ],
        8950,
    )
    assert tenants_asked["a"]["neighbors"] == {
        "192.168.10.2": "02:00:c0:a8:0a:02",
        "fd00::2": "02:00:c0:a8:0a:02",
    }


def test_the_host_veth_has_no_namespace():
    assert (
        wanted_tenants([tenant("host", namespace=False, mtu=1450)], 8950)["host"]["netns"] is None
    )


def test_several_addresses_of_one_network_and_of_both_families():
    tenants_asked = wanted_tenants(
        [
            tenant("a", "192.168.10.1/24", "fd00::1/64"),
            tenant("b", "192.168.10.2/24", "fd00::2/64"),
            tenant("c", "192.168.11.0/31"),
            tenant("d", "192.168.12.1/32"),
        ],
        8950,
    )
    assert tenants_asked["a"]["addresses"] == ["192.168.10.1/24", "fd00::1/64"]


@pytest.mark.parametrize(
    ("neighbors", "message"),
    [
        ([neighbor("192.168.10.2/24")], "not an IP address"),
        ([neighbor("x")], "^neighbor of a 'x': not an IP address"),
        ([neighbor("fd00::2%a dev b")], "not an IP address"),
        ([neighbor("192.168.10.1")], "192.168.10.1 is one of its own addresses"),
        ([neighbor("192.168.11.2")], "in no network"),
        ([neighbor("fd01::2")], "in no network"),
        ([neighbor("192.168.10.0")], "not an address of a host"),
        ([neighbor("fd00::")], "not an address of a host"),
        ([neighbor("192.168.10.255")], "not an address of a host"),
        ([neighbor("224.0.0.1")], "in no network"),
        (
            [neighbor("192.168.10.2"), neighbor("192.168.10.2", "02:00:00:00:00:03")],
            "of a 192.168.10.2: given 2 times",
        ),
        ([neighbor("fd00::2"), neighbor("fd00:0::2")], "^neighbor of a fd00::2: given 2 times"),
        ([neighbor("192.168.10.2", "01:00:5e:00:00:01")], "^a: not a unicast MAC"),
        ([neighbor("192.168.10.2", "02:00")], "not a unicast MAC"),
        ([neighbor("192.168.10.2", "")], "not a unicast MAC"),
    ],
)
def test_bad_neighbours(neighbors, message):
    with pytest.raises(InputError, match=message):
        wanted_tenants([tenant("a", "192.168.10.1/24", "fd00::1/64", neighbors=neighbors)], 8950)


def test_a_tenant_without_an_address_has_no_neighbours():
    with pytest.raises(InputError, match="in no network of its own addresses"):
        wanted_tenants([tenant("a", neighbors=[neighbor("192.168.10.2")])], 8950)


def test_multicast_is_no_neighbour():
    with pytest.raises(InputError, match="224.0.0.9 is not an address of a host"):
        wanted_tenants([tenant("a", "224.0.0.1/24", neighbors=[neighbor("224.0.0.9")])], 8950)


@pytest.mark.parametrize(
    ("tenants", "message"),
    [
        ([tenant("-x")], "not a usable name"),
        ([tenant("a/b")], "not a usable name"),
        ([tenant("")], "not a usable name"),
        ([tenant("..")], "not a usable name"),
        ([tenant("a b")], "not a usable name"),
        ([tenant("tenant1000")], "at most 9 characters"),
        ([tenant(), tenant()], "2 times"),
        ([tenant("a", "192.168.10.1")], "prefix length"),
        ([tenant("a", "192.168.10.300/24")], "not an IP address"),
        ([tenant("a", "fd00::1%x\nlink del dev eth0/64")], "not an IP address"),
        ([tenant("a", "192.168.10.1/24"), tenant("b", "192.168.10.1/24")], "also belongs to a"),
        ([tenant("a", "192.168.10.1/24"), tenant("b", "192.168.10.9/16")], "overlaps"),
        ([tenant("a", "192.168.10.0/24")], "not an address of a host"),
        ([tenant("a", "192.168.10.255/24")], "not an address of a host"),
        ([tenant("a", "fd00::/64")], "not an address of a host"),
        ([tenant("a", mac="03:00:00:00:00:01")], "not a unicast MAC"),
        ([tenant("a", mac="02:00")], "not a unicast MAC"),
        ([tenant("a", mac="02:00:00:00:00:01"), tenant("b", mac="02:00:00:00:00:01")], "2 times"),
        ([tenant("a", mtu=8951)], "Use 68 to 8950 bytes. underlay0 carries 9000"),
        ([tenant("a", mtu=67)], "does not fit"),
        ([tenant("a", "fd00::1/64", mtu=1279)], "Use 1280 to 8950"),
    ],
)
def test_bad_input(tenants, message):
    with pytest.raises(InputError, match=message):
        wanted_tenants(tenants, 8950, (8950, "underlay0 carries 9000 bytes."))


def test_without_an_underlay_a_veth_sets_the_limit():
    with pytest.raises(InputError, match="Use 68 to 65535"):
        wanted_tenants([tenant("a", mtu=65536)], 1500)


def link(name, *addresses):
    return {"name": name, "global": list(addresses)}


LINKS = {"eth0": link("eth0", "192.168.0.7/16"), "host-veth0": link("host-veth0", "10.0.0.1/24")}


def test_the_host_veth_must_not_take_a_network_of_the_host():
    with pytest.raises(InputError, match="eth0"):
        check_host(wanted_tenants([tenant("host", "192.168.0.1/24", namespace=False)], 1500), LINKS)


def test_namespaces_and_our_own_device_are_no_hindrance():
    check_host(
        wanted_tenants(
            [tenant("a", "192.168.0.1/24"), tenant("host", "10.0.0.1/24", namespace=False)], 1500
        ),
        LINKS,
    )
