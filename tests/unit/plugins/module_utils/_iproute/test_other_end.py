# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address of a path's other end."""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._iproute.discover import (
    addresses_of,
    other_address,
)
from ansible_collections.offload.lab.plugins.module_utils._iproute.parse import parse_links


def end(*addresses, name="pods"):
    return {"name": name, "netns": "pod", "addresses": list(addresses)}


def test_addresses_are_those_that_other_hosts_may_reach():
    def device(name, *rows):
        return {"ifname": name, "ifindex": 1, "mtu": 1450, "addr_info": list(rows)}

    def row(local, scope, prefixlen=24):
        return {"local": local, "prefixlen": prefixlen, "scope": scope}

    shown = [
        device("lo", row("127.0.0.1", "host", 8), row("::1", "host", 128)),
        device("eth0", row("10.244.1.5", "global"), row("fe80::1", "link", 64)),
        device("net1", row("2001:db8::5", "global", 64)),
    ]
    assert addresses_of(parse_links(json.dumps(shown))) == ["10.244.1.5", "2001:db8::5"]


def test_the_one_of_the_same_name_is_taken():
    assert other_address("pods", [end("10.0.0.9", name="hosts"), end("10.0.0.5")]) == "10.0.0.5"


def test_ipv4_is_taken_before_ipv6():
    assert other_address("pods", [end("2001:db8::5", "10.0.0.5")]) == "10.0.0.5"
    assert other_address("pods", [end("2001:db8::5")]) == "2001:db8::5"


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([], "no other host of the play has an end of it"),
        ([end("10.0.0.5", name="hosts")], "no other host of the play has an end of it"),
        ([end("10.0.0.5"), end("10.0.0.6")], "2 other hosts have an end of it"),
        ([end()], "the other end has no address"),
        ([end("10.0.0.5", "10.0.1.5")], "the other end has the addresses 10.0.0.5, 10.0.1.5"),
    ],
)
def test_what_is_not_clear_is_asked_for(others, message):
    with pytest.raises(InputError, match=message):
        other_address("pods", others)
