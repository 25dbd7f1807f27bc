# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._ethtool.features import (
    group_members,
    parse_features,
    single_bits,
    wanted,
)
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

ON = {"active": True, "fixed": False, "requested": None}
OFF = {"active": False, "fixed": False, "requested": None}

# What a text of ethtool -k means: (name, text, expected).
CASES = [
    ("nothing", "", {}),
    ("new header", "Features for eth0:\nrx-gro-hw: on\n", {"eth0": {"rx-gro-hw": ON}}),
    (
        "old header",
        "Offload parameters for eth0:\ntcp segmentation offload: off\n",
        {"eth0": {"tcp-segmentation-offload": OFF}},
    ),
    (
        "hyphens under the old header",
        "Offload parameters for eth0:\ntx-vlan-offload: on",
        {"eth0": {"tx-vlan-offload": ON}},
    ),
    ("tab", "Features for eth0:\n\ttx-checksum-ipv4: on", {"eth0": {"tx-checksum-ipv4": ON}}),
    ("spaces", "Features for eth0:\n     tx-checksum-ipv4: on", {"eth0": {"tx-checksum-ipv4": ON}}),
    ("everything indented", "  Features for eth0:\n  highdma: on\n", {"eth0": {"highdma": ON}}),
    (
        "carriage returns",
        "Features for eth0:\r\nhighdma: on [fixed]\r\n",
        {"eth0": {"highdma": {"active": True, "fixed": True, "requested": None}}},
    ),
    (
        "fixed",
        "Features for eth0:\nhighdma: off [fixed]",
        {"eth0": {"highdma": {"active": False, "fixed": True, "requested": None}}},
    ),
    (
        "requested on",
        "Features for eth0:\nrx-gro-hw: off [requested on]",
        {"eth0": {"rx-gro-hw": {"active": False, "fixed": False, "requested": True}}},
    ),
    (
        "requested off",
        "Features for eth0:\nrx-gro-hw: on [requested off]",
        {"eth0": {"rx-gro-hw": {"active": True, "fixed": False, "requested": False}}},
    ),
    (
        "not requested says nothing of the wanted bit",
        "Features for eth0:\nrx-gro-hw: off [not requested]",
        {"eth0": {"rx-gro-hw": OFF}},
    ),
    (
        "errors between header and rows",
        "Offload parameters for eth0:\nCannot get device flags: Operation not supported\nscatter-gather: on",
        {"eth0": {"scatter-gather": ON}},
    ),
    (
        "two devices",
        "Features for eth0:\nhighdma: on\n\nFeatures for eth1:\nhighdma: off\n",
        {"eth0": {"highdma": ON}, "eth1": {"highdma": OFF}},
    ),
    (
        "names with dots, colons and @",
        "Features for bond0.102@bond0:\nhighdma: on\nFeatures for eth0:1:\nhighdma: on",
        {"bond0.102@bond0": {"highdma": ON}, "eth0:1": {"highdma": ON}},
    ),
    ("a device that failed", "netlink error: No such device\nFeatures for eth9:\n", {"eth9": {}}),
    (
        "other reports",
        "Features for eth0:\nhighdma: on\nPause parameters for eth0:\nAutonegotiate: on\nRX: off\n",
        {"eth0": {"highdma": ON}},
    ),
    (
        "the report of a change",
        "Features for eth0:\nhighdma: on\nActual changes:\nhighdma: off\n",
        {"eth0": {"highdma": ON}},
    ),
    (
        "no space before the marker",
        "Features for eth0:\nhighdma: on[fixed]",
        {"eth0": {"highdma": {"active": True, "fixed": True, "requested": None}}},
    ),
    (
        "no header",
        "# ethtool -k eth0 | grep segm\ntx-gre-segmentation: on\n",
        {"": {"tx-gre-segmentation": ON}},
    ),
    ("quoted in a mail", "> Features for eth0:\n> highdma: on\n", {"eth0": {"highdma": ON}}),
    ("no rows", "no features here: only text, on [and off]\nhighdma: onwards\n: on\n", {}),
]


@pytest.mark.parametrize(
    "text,expected", [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_parse_features(text, expected):
    assert parse_features(text) == expected


def only(devices):
    """Return the features of the one device of a listing."""
    assert len(devices) == 1
    return list(devices.values())[0]


def expectations():
    """Return the rows read off by hand from real listings."""
    with open(corpus_dir() / "ethtool_k_expected.tsv", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_values_read_off_by_hand():
    requested = {"na": None, "on": True, "off": False}
    rows = expectations()
    assert rows
    for row in rows:
        text = (corpus_dir() / row["file"]).read_text(encoding="utf-8")
        features = only(parse_features(text))
        expected = {
            "active": row["state"] == "on",
            "fixed": row["fixed"] == "yes",
            "requested": requested[row["requested"]],
        }
        assert features[row["feature"]] == expected, row


def test_every_row_of_every_recorded_listing_is_taken():
    for path in sorted((corpus_dir() / "ethtool_k").iterdir()):
        text = path.read_text(encoding="utf-8")
        rows = [
            line
            for line in text.splitlines()
            if line.split(":")[-1].split(" [")[0].strip() in ("on", "off")
        ]
        features = only(parse_features(text))
        assert len(features) == len(rows), path


ROW_TEXT = st.builds(
    "{0}{1}: {2}{3}".format,
    st.sampled_from(["", "\t", "  ", "     "]),
    st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True),
    st.sampled_from(["on", "off"]),
    st.sampled_from(["", " [fixed]", " [requested on]", " [not requested]", " # why"]),
)
HEADER_TEXT = st.builds(
    "{0} for {1}:".format,
    st.sampled_from(["Features", "Offload parameters", "Pause parameters"]),
    st.from_regex(r"[a-z][a-z0-9.@:]{0,14}", fullmatch=True),
)


@given(st.lists(st.one_of(ROW_TEXT, HEADER_TEXT, st.text()), max_size=20).map("\n".join))
def test_any_text_gives_well_formed_rows(text):
    for device, features in parse_features(text).items():
        assert isinstance(device, str)
        for name, feature in features.items():
            assert name and " " not in name
            assert set(feature) == {"active", "fixed", "requested"}
            assert isinstance(wanted(feature), bool)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True),
        st.tuples(st.booleans(), st.booleans(), st.sampled_from([None, True, False])),
    )
)
def test_what_is_listed_is_read_back(features):
    lines = ["Features for eth0:"]
    for name, (active, fixed, requested) in features.items():
        marker = {None: "", True: " [requested on]", False: " [requested off]"}[requested]
        lines.append(f"\t{name}: {'on' if active else 'off'}{' [fixed]' if fixed else ''}{marker}")
    expected = {
        name: {"active": active, "fixed": fixed, "requested": requested}
        for name, (active, fixed, requested) in features.items()
    }
    assert parse_features("\n".join(lines)) == {"eth0": expected}


def test_a_summary_is_told_from_single_bits():
    features = parse_features(
        "Features for eth0:\n"
        "rx-checksumming: on\n"
        "tcp-segmentation-offload: on\n"
        "\ttx-tcp-segmentation: on\n"
        "\ttx-tcp6-segmentation: off [fixed]\n"
        "generic-receive-offload: on\n"
        "tx-udp-segmentation: off\n"
    )["eth0"]
    assert group_members(features) == {
        "tcp-segmentation-offload": ["tx-tcp-segmentation", "tx-tcp6-segmentation"]
    }
    assert list(single_bits(features)) == [
        "rx-checksumming",
        "tx-tcp-segmentation",
        "tx-tcp6-segmentation",
        "generic-receive-offload",
        "tx-udp-segmentation",
    ]


def test_a_flat_listing_has_no_summaries():
    assert (
        group_members(parse_features("Features for eth1:\ntcp-segmentation-offload: off\n")["eth1"])
        == {}
    )
