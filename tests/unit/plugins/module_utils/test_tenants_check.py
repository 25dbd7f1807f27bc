# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the tenants that a user wants."""
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._tenants_check import check_host, wanted_tenants


def tenant(name="tenant1", *addresses, **more):
    return dict({"name": name, "addresses": list(addresses)}, **more)


def test_what_follows_from_the_name():
    assert wanted_tenants([tenant("tenant1", "192.168.10.1/24", mac="02:00:C0:A8:0A:01")], 8950) == {"tenant1": {
        "name": "tenant1", "netns": "tenant1", "device": "tenant1-veth0", "port": "tenant1-veth1",
        "addresses": ["192.168.10.1/24"], "mtu": 8950, "mac": "02:00:c0:a8:0a:01",
        "linux_bridge": None, "switch_port": "tenant1-veth1", "tag": None, "flat": False}}


def test_the_host_veth_has_no_namespace():
    assert wanted_tenants([tenant("host", namespace=False, mtu=1450)], 8950)["host"]["netns"] is None


def test_several_addresses_of_one_network_and_of_both_families():
    wanted = wanted_tenants([tenant("a", "192.168.10.1/24", "fd00::1/64"), tenant("b", "192.168.10.2/24", "fd00::2/64"),
                             tenant("c", "192.168.11.0/31"), tenant("d", "192.168.12.1/32")], 8950)
    assert wanted["a"]["addresses"] == ["192.168.10.1/24", "fd00::1/64"]


@pytest.mark.parametrize(("tenants", "words"), [
    ([tenant("-x")], "not a usable name"), ([tenant("a/b")], "not a usable name"), ([tenant("")], "not a usable name"),
    ([tenant("..")], "not a usable name"), ([tenant("a b")], "not a usable name"),
    ([tenant("tenant1000")], "at most 9 characters"), ([tenant(), tenant()], "2 times"),
    ([tenant("a", "192.168.10.1")], "prefix length"), ([tenant("a", "192.168.10.300/24")], "not an IP address"),
    ([tenant("a", "192.168.10.1/24"), tenant("b", "192.168.10.1/24")], "also that of a"),
    ([tenant("a", "192.168.10.1/24"), tenant("b", "192.168.10.9/16")], "overlaps"),
    ([tenant("a", "192.168.10.0/24")], "not an address of a host"),
    ([tenant("a", "192.168.10.255/24")], "not an address of a host"),
    ([tenant("a", "fd00::/64")], "not an address of a host"),
    ([tenant("a", mac="03:00:00:00:00:01")], "not a unicast MAC"), ([tenant("a", mac="02:00")], "not a unicast MAC"),
    ([tenant("a", mac="02:00:00:00:00:01"), tenant("b", mac="02:00:00:00:00:01")], "2 times"),
    ([tenant("a", mtu=8951)], "Use 68 to 8950 bytes. underlay0 carries 9000"), ([tenant("a", mtu=67)], "does not fit"),
    ([tenant("a", "fd00::1/64", mtu=1279)], "Use 1280 to 8950"),
])
def test_bad_input(tenants, words):
    with pytest.raises(InputError, match=words):
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
    check_host(wanted_tenants([tenant("a", "192.168.0.1/24"), tenant("host", "10.0.0.1/24", namespace=False)], 1500),
               LINKS)
