# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.campaign_verdicts import (
    class_of,
    matched,
    unsupported_profiles,
    verdicts_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Analysis
from ansible_collections.offload.lab.tests.unit.builders import made

FEATURE = {"active": True, "fixed": False, "requested": None}
LISTED = {
    "tcp-segmentation-offload": FEATURE,
    "tx-tcp-segmentation": FEATURE,
    "generic-receive-offload": FEATURE,
}
MANIFEST = {
    "nodes": {
        node: {
            "before": {"links": {"underlay0": {}}, "devices": {"underlay0": {"features": LISTED}}}
        }
        for node in ("node1", "node2")
    }
}


def factor(name):
    return {
        "name": name,
        "kind": "feature",
        "settings": [name],
        "devices": ["underlay"],
        "sides": ["client", "server"],
    }


def plan(**profiles):
    return {
        "factors": [factor("tso"), factor("gro")],
        "profiles": {
            name: {"levels": dict(zip(("tso", "gro"), levels))} for name, levels in profiles.items()
        },
    }


def sample(outgoing, incoming):
    return {
        "out": {"bytes": 500, "super_share": outgoing},
        "in": {"bytes": 500, "super_share": incoming},
        "vnis": [],
    }


def trial(visit, profile, outgoing, incoming, side_effects=()):
    changed = {name: {"after": False} for name in side_effects}
    settings = {"underlay0": {"side_effects": changed, "not_honoured": {}, "fixed": {}}}
    return {
        "path": "physical",
        "mtu": 9000,
        "block": 1,
        "visit": visit,
        "profile": profile,
        "client": "node1",
        "server": "node2",
        "pair": "node1-node2",
        "evidence": {
            "settings": {"client": settings, "server": settings},
            "underlay": {},
            "packets": {
                "client": {"underlay0": sample(outgoing, 0.0)},
                "server": {"underlay0": sample(0.0, incoming)},
            },
        },
    }


ALONE = plan(none=("off", "off"), tso=("on", "off"), gro=("off", "on"))
TRIALS = [
    trial(1, "none", 0.0, 0.0),
    trial(2, "tso", 0.98, 0.98, ["tx-udp-segmentation"]),
    trial(3, "gro", 0.0, 0.9),
]


def rows(verdicts_found):
    return {(row.factor, row.end): row.verdict for row in verdicts_found}


def test_profiles_that_differ_in_one_factor_are_compared():
    assert matched(ALONE, "tso") == ({"tso"}, {"none"}, False)
    assert matched(plan(all_on=("on", "on"), all_off=("off", "off")), "tso") == (
        {"all_on"},
        {"all_off"},
        True,
    )


def test_verdicts_of_a_campaign():
    verdicts_found = verdicts_of(ALONE, TRIALS, MANIFEST)
    assert rows(verdicts_found) == {
        ("tso", "client"): "changed_others",
        ("tso", "server"): "no_op",
        ("gro", "client"): "no_op",
        ("gro", "server"): "applied",
    }
    assert verdicts_found[0].others == ["tx-udp-segmentation"]


def test_side_effects_belong_to_no_factor_when_all_change_together():
    trials = [
        trial(1, "all_off", 0.0, 0.0),
        trial(2, "all_on", 0.98, 0.98, ["tx-udp-segmentation"]),
    ]
    verdicts_found = verdicts_of(
        plan(all_on=("on", "on"), all_off=("off", "off")), trials, MANIFEST
    )
    assert rows(verdicts_found)["tso", "client"] == "applied"
    assert all(row.confounded for row in verdicts_found)


def test_the_device_of_a_guest_is_a_tenants_and_its_nodes_are_the_nodes():
    guest = {"links": {"eth0": {}}, "devices": {}, "tenant_of": "node1"}
    nodes = {"nodes": {**MANIFEST["nodes"], "guest1": {"before": guest}}}
    assert class_of("eth0", nodes, "guest1") == "tenant"
    assert (
        class_of("node1:underlay0", nodes, "guest1")
        == class_of("underlay0", nodes, "node1")
        == "underlay"
    )


@pytest.mark.parametrize(
    "trials, manifest",
    [([], MANIFEST), (TRIALS, None), ([dict(TRIALS[0], evidence=None)], MANIFEST)],
)
def test_without_evidence_there_is_no_verdict(trials, manifest):
    assert verdicts_of(ALONE, trials, manifest) == []


RINGS = {
    "name": "ring",
    "kind": "rings",
    "settings": ["rx", "rx_mini"],
    "devices": ["underlay"],
    "sides": ["server"],
    "values": {"256": 256, "4096": 4096},
}


def visit(visit, profile, refused=(), missed=()):
    trial_of_visit = trial(visit, profile, 0.0, 0.0)
    evidence = {
        "fixed": {
            f"rings {name}": {"asked": 4096, "reason": "Operation not supported"}
            for name in refused
        },
        "not_honoured": {f"rings {name}": {"asked": 4096, "is": 256} for name in missed},
    }
    trial_of_visit["evidence"] = {
        "settings": {"client": {}, "server": {"underlay0": evidence}}
    }  # read back, without packets
    return trial_of_visit


@pytest.mark.parametrize(
    "refused, missed, verdict, reason",
    [
        (("rx", "rx-mini"), (), "unsupported", "Operation not supported"),
        (("rx",), (), "applied", "Operation not supported"),
        ((), ("rx", "rx-mini"), "no_op", "asked for, but it reads back differently"),
        (
            ("rx",),
            ("rx-mini",),
            "no_op",
            "Operation not supported; asked for, but it reads back differently",
        ),
        ((), (), "applied", ""),
    ],
    ids=["all refused", "one refused", "none taken", "one each", "all taken"],
)
def test_what_no_packet_proves_is_refused_or_read_back(refused, missed, verdict, reason):
    campaign_keys = {
        "factors": [RINGS],
        "profiles": {"a": {"levels": {"ring": "256"}}, "b": {"levels": {"ring": "4096"}}},
    }
    (row,) = verdicts_of(campaign_keys, [visit(1, "a"), visit(2, "b", refused, missed)], MANIFEST)
    assert (row.verdict, row.reason, row.proof) == (verdict, reason, "read_back")
    assert (row.factor, row.end, row.node, row.device) == (
        "ring",
        "server",
        "node2",
        "underlay0",
    )


def test_profiles_that_no_device_takes():
    row = {"factor": "a", "verdict": "unsupported", "reason": "fixed"}
    analysis = {
        "control": "off",
        "profiles": {
            "off": {"a": "off", "b": "off"},
            "a": {"a": "on", "b": "off"},
            "both": {"a": "on", "b": "on"},
        },
    }

    def refused(*verdicts):
        return unsupported_profiles(made(Analysis, **analysis, verdicts=list(verdicts)))

    assert refused(row) == {"a": "fixed"}
    assert refused(row, dict(row, factor="b", reason="no")) == {"a": "fixed", "both": "fixed; no"}
    assert refused(row, dict(row, verdict="applied")) == {}
    assert refused() == {}
