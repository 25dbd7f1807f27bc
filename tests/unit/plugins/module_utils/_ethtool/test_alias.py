# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._ethtool.features import (
    argument_name,
    parse_features,
    resolve,
    resolve_all,
)

VETH = parse_features("""Features for veth0:
rx-checksumming: on
tx-checksumming: on
\ttx-checksum-ipv4: off [fixed]
\ttx-checksum-ip-generic: on
\ttx-checksum-sctp: on
scatter-gather: on
\ttx-scatter-gather: on
\ttx-scatter-gather-fraglist: on
tcp-segmentation-offload: on
\ttx-tcp-segmentation: on
\ttx-tcp-mangleid-segmentation: on
\ttx-tcp6-segmentation: on
generic-segmentation-offload: on
generic-receive-offload: off
large-receive-offload: off [fixed]
rx-vlan-offload: on
tx-vlan-offload: on
ntuple-filters: off [fixed]
receive-hashing: off [fixed]
rx-gro-list: off
tx-udp_tnl-segmentation: on
""")["veth0"]
FLAT = parse_features(
    "Features for eth1:\ntcp-segmentation-offload: off\nudp-fragmentation-offload: off\n"
)["eth1"]
TSO = ["tx-tcp-segmentation", "tx-tcp-mangleid-segmentation", "tx-tcp6-segmentation"]

CASES = [
    ("tso", VETH, TSO),
    ("tcp-segmentation-offload", VETH, TSO),
    ("tx", VETH, ["tx-checksum-ipv4", "tx-checksum-ip-generic", "tx-checksum-sctp"]),
    ("sg", VETH, ["tx-scatter-gather", "tx-scatter-gather-fraglist"]),
    ("rx", VETH, ["rx-checksumming"]),
    ("rx-checksum", VETH, ["rx-checksumming"]),
    ("gso", VETH, ["generic-segmentation-offload"]),
    ("tx-generic-segmentation", VETH, ["generic-segmentation-offload"]),
    ("gro", VETH, ["generic-receive-offload"]),
    ("rx-gro", VETH, ["generic-receive-offload"]),
    ("rx-gro-list", VETH, ["rx-gro-list"]),
    ("lro", VETH, ["large-receive-offload"]),
    ("rx-lro", VETH, ["large-receive-offload"]),
    ("rxvlan", VETH, ["rx-vlan-offload"]),
    ("tx-vlan-hw-insert", VETH, ["tx-vlan-offload"]),
    ("ntuple", VETH, ["ntuple-filters"]),
    ("rxhash", VETH, ["receive-hashing"]),
    ("tx-udp_tnl-segmentation", VETH, ["tx-udp_tnl-segmentation"]),
    ("tso", FLAT, ["tcp-segmentation-offload"]),
    ("ufo", FLAT, ["udp-fragmentation-offload"]),
]


@pytest.mark.parametrize("name,features,bits", CASES)
def test_resolve(name, features, bits):
    assert resolve(name, features, "dev0") == bits


@pytest.mark.parametrize(
    "name,features,hint",
    [
        ("tx-udp-tnl-segmentation", VETH, "Did you mean tx-udp_tnl-segmentation"),
        ("groo", VETH, "Did you mean gro"),
        ("ufo", VETH, "dev0"),
        ("tx-tcp*-segmentation", VETH, "Did you mean"),
        ("zzzzzzzz", VETH, "ethtool -k dev0"),
        ("", VETH, "ethtool -k dev0"),
    ],
)
def test_unknown_feature_names_device_value_and_remedy(name, features, hint):
    with pytest.raises(InputError) as caught:
        resolve(name, features, "dev0")
    assert str(caught.value).startswith("dev0: ")
    assert repr(name) in str(caught.value)
    assert hint in str(caught.value)


def test_a_bit_named_singly_wins_over_its_group():
    assert resolve_all({"tx-tcp6-segmentation": False, "tso": True}, VETH, "dev0") == {
        "tx-tcp-segmentation": True,
        "tx-tcp-mangleid-segmentation": True,
        "tx-tcp6-segmentation": False,
    }


def test_two_names_of_one_bit_may_agree_but_not_contradict():
    assert resolve_all({"gro": True, "rx-gro": True}, VETH, "dev0") == {
        "generic-receive-offload": True
    }
    with pytest.raises(
        InputError, match="'gro' and 'rx-gro' ask generic-receive-offload to be both on and off"
    ):
        resolve_all({"gro": True, "rx-gro": False}, VETH, "dev0")


def test_legacy_rows_are_set_by_their_short_name():
    assert argument_name("generic-receive-offload") == "gro"
    assert argument_name("tx-checksum-sctp") == "tx-checksum-sctp"


@given(st.text())
def test_any_name_gives_bits_or_an_input_error(name):
    try:
        assert all(bit in VETH for bit in resolve(name, VETH, "dev0"))
    except InputError as error:
        assert "dev0" in str(error)
