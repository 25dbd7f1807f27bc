# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis import verdicts


def row(share=None, **fields):
    return dict({"share": share}, **fields)


# bits, rows at on, rows at off, tunnel's outer checksum, verdict
CASES = [
    (["tx-tcp-segmentation"], [row(0.98)], [row(0.0)], None, "applied"),
    (["tx-tcp-segmentation"], [row(0.0)], [row(0.0)], None, "no_op"),
    (["rx-gro"], [row(0.985)], [row(0.985)], None, "no_op"),
    (["rx-gro"], [row(0.99)], [row(0.0)], None, "applied"),
    (
        ["tx-checksum-ip-generic"],
        [row(1.0)],
        [row(0.0, side_effects={"tx-tcp-segmentation": {"before": True, "after": False}})],
        None,
        "changed_others",
    ),
    (["tx-udp_tnl-segmentation"], [row(0.0)], [row(0.0)], True, "masked"),
    (["tx-udp_tnl-segmentation"], [row(0.9)], [row(0.0)], False, "applied"),
    (["tx-udp_tnl-csum-segmentation"], [row(0.0)], [row(0.0)], False, "masked"),
    (
        ["tx-udp_tnl-segmentation"],
        [row(fixed=["tx-udp_tnl-segmentation"])],
        [row()],
        False,
        "unsupported",
    ),
    (
        ["tx-tcp-segmentation"],
        [row(not_honoured={"tx-tcp-segmentation": True})],
        [row()],
        None,
        "masked",
    ),
    (["rx-gro"], [row(0.9)], [row(0.9, not_honoured={"rx-gro": False})], None, "no_op"),
    (["tx-generic-segmentation"], [row()], [row()], None, "applied"),
]


@pytest.mark.parametrize("bits, on, off, csum, expected", CASES)
def test_verdicts(bits, on, off, csum, expected):
    verdict_found = verdicts.verdict(bits, on, off, csum)
    assert verdict_found.verdict == expected
    assert verdict_found.reason or expected == "applied"


def test_a_feature_that_no_packet_shows_is_proven_by_read_back_only():
    assert verdicts.verdict(["tx-generic-segmentation"], [row()], [row()]).proof == "read_back"
    assert verdicts.verdict(["rx-gro"], [row(1.0)], [row(0.0)]).proof == "in super_share"


def test_share_is_read_from_the_side_that_speaks_of_the_feature():
    sample = {
        "out": {"super_share": 0.9, "tunnel_super_share": 0.1, "bytes": 9},
        "in": {"super_share": 0.2, "bytes": 9},
        "outer_csum": [False],
    }
    assert verdicts.share_of(sample, ["tx-tcp-segmentation", "tx-tcp6-segmentation"]) == 0.9
    assert verdicts.share_of(sample, ["tx-udp_tnl-segmentation"]) == 0.1
    assert verdicts.share_of(sample, ["tx-udp_tnl-csum-segmentation"]) == 0.0
    assert verdicts.share_of(sample, ["rx-gro"]) == 0.2
    assert verdicts.share_of(sample, ["tx-generic-segmentation"]) is None
    assert verdicts.share_of({}, ["rx-gro"]) is None


def test_traffic_without_any_encapsulation_is_a_share_of_nothing():
    sample = {"out": {"bytes": 9000, "super_share": 0.9, "tunnel_super_share": None}}
    assert verdicts.share_of(sample, ["tx-udp_tnl-segmentation"]) == 0.0
    assert (
        verdicts.share_of(
            {"out": {"bytes": 0, "tunnel_super_share": None}}, ["tx-udp_tnl-segmentation"]
        )
        is None
    )


def changed(**bits):
    return {
        "side_effects": {bit: {"before": not after, "after": after} for bit, after in bits.items()}
    }


@pytest.mark.parametrize(
    "on, off, others",
    [
        ([changed(tso=True)], [changed(tso=False)], ["tso"]),
        ([changed()], [changed(tso=False), changed(tso=False)], ["tso"]),
        # The visit before had another profile, and what that one had changed came back.
        ([changed(tso=True)], [changed(tso=True)], []),
        ([changed(tso=True), changed()], [changed()], []),
        ([changed(tso=True), changed(tso=False)], [changed(tso=False)], []),
    ],
)
def test_only_what_changed_with_the_factor_is_its_side_effect(on, off, others):
    assert verdicts.verdict(["generic-receive-offload"], on, off).others == others


def test_what_is_forwarded_is_proven_by_datagrams():
    sample = {
        "out": {"bytes": 10000, "super_share": 0.0},
        "in": {"bytes": 900000, "super_share": 1.0},  # of TCP, which GRO merges anyhow
        "udp_out": {"bytes": 0, "super_share": None},
        "udp_in": {"bytes": 300000, "super_share": 0.2},
    }
    for bit in ("rx-udp-gro-forwarding", "rx-gro-list"):
        assert verdicts.share_of(sample, [bit]) == 0.2
    assert verdicts.share_of(sample, ["rx-gro"]) == 1.0
    leaving = {**sample, "udp_out": sample["udp_in"], "udp_in": {"bytes": 100, "super_share": 0.0}}
    assert verdicts.share_of(leaving, ["rx-gro-list"]) is None  # they leave by this device
    del sample["udp_in"]
    assert verdicts.share_of(sample, ["rx-gro-list"]) is None


def test_the_reason_names_the_bits_that_the_device_does_not_take():
    bits = ["tx-tcp-segmentation", "tx-tcp-ecn-segmentation"]
    refused = {"tx-tcp-ecn-segmentation": {"reason": "the device does not take it"}}
    verdict_found = verdicts.verdict(bits, [row(0.98, fixed=refused)], [row(0.0)])
    assert verdict_found.verdict == "applied"
    assert verdict_found.reason == "without tx-tcp-ecn-segmentation: the device does not take it"
