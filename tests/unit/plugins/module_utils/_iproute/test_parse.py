# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ip and bridge print, and any text at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import ParseError
from ansible_collections.offload.lab.plugins.module_utils._iproute.parse import (
    parse_fdb,
    parse_links,
    parse_links_and_neighbors,
    parse_namespaces,
    parse_neighbors,
)

# Recorded from iproute2 6.1 on Linux 6.18, shortened.
LINKS = """
[{},{"ifindex":13,"link_index":2,"ifname":"tenant1-veth1","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":8950,
"operstate":"UP","link_type":"ether","address":"c6:f7:43:e6:a3:6f","link_netnsid":1,"ifalias":"offload.lab:tenant1",
"min_mtu":68,"max_mtu":65535,"linkinfo":{"info_kind":"veth"},"addr_info":[{"family":"inet6",
"local":"fe80::c4f7:43ff:fee6:a36f","prefixlen":64,"scope":"link"}]},
{"ifindex":14,"link":"host-veth1","ifname":"host-veth0","flags":["BROADCAST","MULTICAST","M-DOWN"],"mtu":1500,
"address":"ba:db:6d:10:90:f2","linkinfo":{"info_kind":"veth"},
"addr_info":[{"family":"inet","local":"192.168.0.1","prefixlen":24,"scope":"global"}]},
{"ifindex":9,"ifname":"vxlan0","flags":["UP"],"mtu":8950,"linkinfo":{"info_kind":"vxlan","info_data":{"id":13,
"local":"198.18.0.1","port":4789,"udp_csum":false}},"addr_info":[{}]}]
"""
FDB = """[{"mac":"33:33:00:00:00:01","flags":["self"],"state":"permanent"},
{"mac":"00:00:00:00:00:00","dst":"198.18.0.2","flags":["self"],"state":"permanent"},
{"mac":"02:04:c0:a8:0a:02","dst":"198.18.0.2","flags":["self"],"state":""}]"""

# Both recorded from one ip -json -details -batch, shortened.
BATCH = """[{"ifindex":3,"ifname":"va0","flags":["UP"],"mtu":1500,"address":"9e:ab:0e:b9:de:60"},\
{"ifindex":4,"ifname":"vb0","flags":["UP"],"mtu":1500}]
[{"dst":"192.168.10.2","dev":"va0","lladdr":"02:00:00:00:00:02","state":["PERMANENT"]},\
{"dst":"fd00::2","dev":"va0","lladdr":"02:00:00:00:00:03","state":["PERMANENT"]}]
"""


# Recorded from iproute2 5.15 of Ubuntu 22.04 on Linux 6.18, shortened; the map as Ubuntu's source
# prints one.
UBUNTU = """[{"ifindex":9,"ifname":"vx0","flags":[],"mtu":1500,"linkinfo":{"info_kind":"vxlan",
"info_data":{"id":10fan-map %s,"local":"127.0.0.1","port":4789}}}]"""


@pytest.mark.parametrize("fan_map", ["", "250.0.0.0/8:10.0.0.0/16 "])
def test_ubuntus_fan_map_is_not_json(fan_map):
    assert parse_links(UBUNTU % fan_map)["vx0"]["data"] == {
        "id": 10,
        "local": "127.0.0.1",
        "port": 4789,
    }


def test_the_end_of_a_veth_in_another_namespace():
    link = parse_links(LINKS)["tenant1-veth1"]
    assert (link["index"], link["peer_index"], link["peer_netns"], link["peer"]) == (13, 2, 1, None)
    assert (link["mtu"], link["min_mtu"], link["max_mtu"], link["up"]) == (8950, 68, 65535, True)
    assert (link["kind"], link["alias"], link["mac"]) == (
        "veth",
        "offload.lab:tenant1",
        "c6:f7:43:e6:a3:6f",
    )
    assert (link["addresses"], link["global"]) == (["fe80::c4f7:43ff:fee6:a36f/64"], [])


def test_the_end_of_a_veth_in_the_same_namespace():
    link = parse_links(LINKS)["host-veth0"]
    assert (link["peer"], link["peer_netns"], link["up"], link["global"]) == (
        "host-veth1",
        None,
        False,
        ["192.168.0.1/24"],
    )


def test_a_vxlan_device():
    assert parse_links(LINKS)["vxlan0"]["data"] == {
        "id": 13,
        "local": "198.18.0.1",
        "port": 4789,
        "udp_csum": False,
    }


def test_no_links():
    assert parse_links("") == parse_links("[]") == {}


def test_forwarding_database():
    assert parse_fdb(FDB) == [
        ("00:00:00:00:00:00", "198.18.0.2"),
        ("02:04:c0:a8:0a:02", "198.18.0.2"),
    ]


def test_links_and_their_neighbours():
    links = parse_links_and_neighbors(BATCH)
    assert links["va0"]["neighbors"] == {
        "192.168.10.2": "02:00:00:00:00:02",
        "fd00::2": "02:00:00:00:00:03",
    }
    assert (links["va0"]["mac"], links["vb0"]["neighbors"]) == ("9e:ab:0e:b9:de:60", {})


def test_no_neighbours():
    assert (
        parse_neighbors("")
        == parse_neighbors("[]\n")
        == parse_neighbors('[{"dst":"fd00::9","dev":"a"}]')
        == {}
    )
    assert parse_links_and_neighbors("") == parse_links_and_neighbors("[]\n[]\n") == {}


def test_namespaces():
    assert parse_namespaces('[{"name":"tenant1","id":0},{"name":"theirs"}]') == {
        "tenant1": 0,
        "theirs": None,
    }
    assert parse_namespaces("") == {}


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "{}",
        "[1]",
        '[{"ifname": "a"}]',
        '[{"ifindex": 1, "mtu": 1}]',
        "[" * 99999,
        '[{"ifname": "a", "ifindex": 1, "mtu": 9, "linkinfo": 3}]',
        '[{"ifname": "a", "ifindex": 1, "mtu": 9, "addr_info": [{"local": "::1"}]}]',
    ],
)
def test_what_ip_does_not_print_is_an_error(text):
    with pytest.raises(ParseError):
        parse_links(text)


KEYS = st.sampled_from(
    [
        "ifname",
        "ifindex",
        "mtu",
        "linkinfo",
        "flags",
        "addr_info",
        "info_data",
        "local",
        "prefixlen",
        "mac",
        "dst",
        "name",
        "id",
        "lladdr",
        "dev",
    ]
)
JSON = st.recursive(
    st.one_of(st.none(), st.text(max_size=3), st.integers(), st.booleans()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "parse", [parse_links, parse_fdb, parse_namespaces, parse_neighbors, parse_links_and_neighbors]
)
@given(text=st.one_of(st.text(), st.lists(JSON, max_size=3).map(json.dumps)))
def test_any_text_is_rows_or_our_error(parse, text):
    try:
        parse(text)
    except ParseError:
        return
