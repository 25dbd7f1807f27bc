# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and addresses: one rule, so that what can be made can also be measured."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines.workload import endpoint
from ansible_collections.offload.lab.plugins.module_utils._iproute.link_plan import wanted_devices
from ansible_collections.offload.lab.plugins.module_utils._kinds.devices import parse_devices
from ansible_collections.offload.lab.plugins.module_utils._lab.tenants_check import (
    longest_name,
    wanted_tenants,
)
from ansible_collections.offload.lab.plugins.module_utils._observe import evidence
from ansible_collections.offload.lab.plugins.module_utils._ovs.ports import wanted_ports
from ansible_collections.offload.lab.tests.unit.plugins.module_utils._base.anything import (
    ANYTHING,
)

SIGNS = "".join(map(chr, range(0x20, 0x7F)))
SHORT_NAMES = st.text(st.sampled_from(SIGNS) | st.characters(), min_size=1, max_size=longest_name())


def path_of(name):
    return {
        "address": "198.18.0.2",
        "local_address": "198.18.0.1",
        "netns": name,
        "server_devices": [],
        "client_devices": [{"name": name, "netns": name}],
    }


WAYS = {
    "tenants": lambda name: wanted_tenants([{"name": name}], 1450),
    "an endpoint of netperf": lambda name: endpoint({"address": "198.18.0.2", "netns": name}),
    "ethtool": lambda name: parse_devices([{"name": name, "netns": name}]),
    "link": lambda name: wanted_devices([{"name": name, "netns": name}]),
    "ovs_ports": lambda name: wanted_ports([{"name": name}], "ports"),
    "evidence": lambda name: evidence.check({"seconds": 0.3, "paths": [path_of(name)]}),
}


def accepts(way, name):
    try:
        WAYS[way](name)
    except InputError:
        return False
    return True


@given(SHORT_NAMES)
@example("vm@1")
@example("a:b")
@example("@1")
@example("a%d")
@example("a#b")
@example('"a')
@example("a+b=c,d")
def test_what_can_be_made_can_be_measured(name):
    assert len({accepts(way, name) for way in WAYS}) == 1


@pytest.mark.parametrize("name", ["vm@1", "eth0.100", "br-lan", "a+b", "_", "0", ".a", "x" * 15])
def test_names_of_devices(name):
    assert network.device_name(name) == network.namespace_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "a:b",
        "a b",
        "a\n",
        "-x",
        "@x",
        "*",
        "a%d",
        "a#",
        "'",
        '"',
        "\\",
        "\x7f",
        "é",
        "a\ud800",
        None,
        1,
    ],
)
def test_what_the_kernel_refuses_or_a_program_reads_as_something_else(name):
    for check in (network.device_name, network.namespace_name):
        with pytest.raises(InputError, match="not a usable name for a "):
            check(name)


def test_names_that_are_too_long():
    with pytest.raises(InputError, match="16 characters are too many for a bridge. Use at most 15"):
        network.device_name("x" * 16, "bridge")
    with pytest.raises(InputError, match="characters are too many for a network namespace"):
        network.namespace_name("x" * 201)


@given(ANYTHING)
def test_any_value_is_checked_or_refused(value):
    for check in (
        network.device_name,
        network.namespace_name,
        lambda value: network.address(value, "value"),
        lambda value: network.interface(value, "value"),
        lambda value: network.port(value, "value"),
    ):
        try:
            check(value)
        except InputError as error:
            assert len(str(error)) < 300


@pytest.mark.parametrize(
    "value, expected", [("fd00:0:0::1", "fd00::1"), ("198.18.0.1", "198.18.0.1")]
)
def test_addresses(value, expected):
    assert str(network.address(value, "address")) == expected
    assert str(network.interface(value + "/32", "address")) == expected + "/32"


@pytest.mark.parametrize(
    "value", ["198.18.0.1/24", "fe80::1%eth0;", 1, b"\x01\x02\x03\x04", None, ""]
)
def test_wrong_addresses(value):
    with pytest.raises(InputError, match="^address .*: not an IP address"):
        network.address(value, "address")


@pytest.mark.parametrize(
    "value", ["198.18.0.1", "fd00::1%x\nlink del dev eth0/64", "198.18.0.256/24", 1, None]
)
def test_wrong_interfaces(value):
    with pytest.raises(InputError, match="^address .*: not an IP address with its prefix length"):
        network.interface(value, "address")
