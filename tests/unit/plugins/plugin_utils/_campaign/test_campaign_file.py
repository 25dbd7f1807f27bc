# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
    seconds,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.chosen import (
    load_campaign,
    override,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan

KEYS_TWICE = """\
name: x
factors: [tso]
workloads:
  - test: TCP_STREAM
    streams: 2
    streams: 4
blocks: 3
"""
CAMPAIGNS = os.path.join(os.path.dirname(__file__), "../../../../../playbooks/campaigns")

BAD = [
    ({}, "'name' is a required property"),
    ({"name": "../etc"}, 'campaign: name: "../etc" cannot be used'),
    ({"name": "-rf"}, '"-rf" cannot be used'),
    ({"name": "a/b"}, "it names the results folder"),
    ({"name": ".."}, '".." cannot be used'),
    ({"name": "a\n"}, "cannot be used"),
    ({"name": "x", "block": 3}, "unknown key 'block', did you mean 'blocks'?"),
    ({"name": "x", "blocks": 0}, "campaign: blocks: 0 cannot be used"),
    ({"name": "x", "blocks": "six"}, '"six" cannot be used'),
    (
        {"name": "x", "mtus": [100]},
        "campaign: mtus[0]: 100 cannot be used. Give bytes from 576 to 65535.",
    ),
    ({"name": "x", "paths": ["physicl"]}, "campaign: paths[0]"),
    ({"name": "x", "design": "factorial"}, "Use on_off, one_at_a_time"),
    ({"name": "x", "sides": "left"}, "campaign: sides"),
    ({"name": "x", "time_budget": "soon"}, "campaign: time_budget"),
    ({"name": "x", "seed": -1}, "campaign: seed"),
    ({"name": "x", "factors": ["--help"]}, "campaign: factors[0]"),
    (
        {"name": "x", "factors": [{"name": "tso", "levl": []}]},
        "unknown key 'levl', did you mean 'levels'?",
    ),
    (
        {"name": "x", "factors": [{"name": "tso", "levels": ["off", "full"]}]},
        "factor tso: 'full' is not a level",
    ),
    (
        {"name": "x", "factors": [{"name": "queues", "kind": "channels"}]},
        "kind channels needs levels",
    ),
    ({"name": "x", "factors": ["tso", "tso"]}, "tso appears twice"),
    (
        {"name": "x", "factors": [{"name": "tso", "needs": ["banana"]}]},
        "factor tso: needs: 'banana' is no feature. Give a name that 'ethtool -k' lists",
    ),
    (
        {"name": "x", "factors": [{"name": "tso", "needs": ["tso"]}]},
        "the needs go in a circle: tso needs tso. Leave one",
    ),
    (
        {
            "name": "x",
            "factors": [
                {"name": "tx", "needs": ["gso"]},
                {"name": "tso", "needs": ["tx"]},
                {"name": "gso", "needs": ["tso"]},
            ],
        },
        "the needs go in a circle: tx needs gso needs tso needs tx",
    ),
    (
        {"name": "x", "factors": [{"name": "r", "kind": "rfc"}]},
        "'rfc' is not a kind of setting. Use command, channels,",
    ),
    (
        {"name": "x", "factors": [{"name": "r", "kind": "rings", "levels": [1, "1"]}]},
        "the levels are all the same",
    ),
    (
        {"name": "x", "factors": [{"name": "h", "kind": "rx_flow_hash", "levels": ["sd", "xyz"]}]},
        "letters of",
    ),
    (
        {"name": "x", "factors": [{"name": "p", "kind": "rps", "levels": ["off", "0x1"]}]},
        "hexadecimal mask",
    ),
    (
        {"name": "x", "factors": [{"name": "c", "kind": "rps", "needs": ["tx"]}]},
        "only a factor of kind feature",
    ),
    ({"name": "x", "workloads": ["sctp"]}, "workload sctp: no netperf test is given"),
    (
        {"name": "x", "workloads": [{"name": "tcp_rr", "message_size": 64}]},
        "cannot be combined with TCP_RR",
    ),
    (
        {"name": "x", "workloads": [{"name": "udp_stream", "warm_up": 2}]},
        "a warm-up cannot be combined with",
    ),
    ({"name": "x", "workloads": [{"name": "w", "test": "XTI"}]}, "campaign: workloads[0].test"),
    (
        {
            "name": "x",
            "workloads": [
                {
                    "name": "w",
                    "test": "TCP_RR",
                    "confidence": {"iterations_max": 4, "iterations_min": 5},
                }
            ],
        },
        "iterations_min is larger",
    ),
    (
        {"name": "x", "design": "profiles"},
        "the key 'profiles' and the design 'profiles' need each other",
    ),
    ({"name": "x", "control_visits": 3}, "campaign: control_visits: 3 cannot be used. Give 1 or 2"),
    ({"name": "x", "design": "search", "control_visits": 2}, "Leave out 'control_visits'"),
    ({"name": "x", "pairs": ["node1"]}, "campaign: pairs[0]"),
    (["x"], "cannot be used"),
]


@pytest.mark.parametrize(("campaign", "message"), BAD)
def test_a_bad_campaign_is_one_message_with_its_place(campaign, message):
    with pytest.raises(InputError) as error:
        read_campaign(campaign)
    assert message in str(error.value)


def test_five_lines_are_a_campaign():
    full = read_campaign(
        yaml.safe_load("""
name: first
paths: [physical, physical_vxlan]
factors: [tso, gro]
workloads: [tcp_stream, tcp_rr]
duration: 1
""")
    )
    assert [factor["name"] for factor in full["factors"]] == ["tso", "gro"]
    assert full["factors"][0] == {
        "name": "tso",
        "kind": "feature",
        "levels": ["off", "on"],
        "values": {"off": False, "on": True},
        "settings": ["tso"],
        "devices": ["underlay", "host"],
        "sides": ["client", "server"],
        "needs": [],
    }
    assert [(work["test"], work["duration"], work["streams"]) for work in full["workloads"]] == [
        ("TCP_STREAM", 1, 1),
        ("TCP_RR", 1, 1),
    ]
    assert full["mtus"] == [9000] and full["seed"] == 1 and full["design"] == "on_off"


def test_bare_off_and_on_of_yaml_are_levels():
    full = read_campaign(yaml.safe_load("{name: x, factors: [{name: gro, levels: [on, off]}]}"))
    assert full["factors"][0]["levels"] == ["on", "off"]


def test_each_end_by_itself():
    full = read_campaign(
        {"name": "x", "sides": ["tx", "rx"], "factors": ["tso", {"name": "gro", "sides": "rx"}]}
    )
    assert [(factor["name"], factor["sides"]) for factor in full["factors"]] == [
        ("tso@tx", ["client"]),
        ("tso@rx", ["server"]),
        ("gro", ["server"]),
    ]


def test_the_name_of_a_kind_alone_is_a_factor_of_that_kind():
    (factor,) = read_campaign({"name": "x", "factors": ["tunnel_csum"]})["factors"]
    assert (factor["kind"], factor["settings"], factor["devices"]) == (
        "tunnel_csum",
        ["csum"],
        ["tunnel"],
    )
    with pytest.raises(InputError, match="kind channels needs levels"):
        read_campaign({"name": "x", "factors": ["channels"]})


def test_every_kind_gives_what_its_device_takes():
    full = read_campaign(
        {
            "name": "x",
            "factors": [
                {"name": "hash", "kind": "rx_flow_hash"},
                {"name": "queues", "kind": "channels", "levels": [1, 4]},
                {"name": "ring", "kind": "rings", "levels": [256, 4096]},
                {"name": "csum", "kind": "tunnel_csum"},
                {"name": "rps", "kind": "rps", "levels": ["off", "f"]},
                {
                    "name": "moderation",
                    "kind": "coalesce",
                    "levels": {"low": 3, "adaptive": {"adaptive-rx": True, "rx-usecs": 50}},
                },
            ],
        }
    )
    values = {
        factor["name"]: (factor["devices"], factor["settings"], list(factor["values"].values()))
        for factor in full["factors"]
    }
    assert values == {
        "hash": (["underlay"], ["udp4"], ["sd", "sdfn"]),
        "queues": (["underlay"], ["combined"], [1, 4]),
        "ring": (["underlay"], ["rx", "tx"], [256, 4096]),
        "csum": (["tunnel"], ["csum"], [False, True]),
        "rps": (["underlay"], ["cpus"], ["off", "f"]),
        "moderation": (["underlay"], ["rx-usecs"], [3, {"adaptive-rx": True, "rx-usecs": 50}]),
    }


def test_answers_of_a_survey_are_texts():
    changed = override(
        {"name": "x", "blocks": 6, "seed": 3},
        {
            "blocks": " 8",
            "mtus": "9000, 1500",
            "paths": "physical",
            "sides": "tx",
            "seed": "",
            "design": None,
        },
    )
    assert changed == {
        "name": "x",
        "blocks": 8,
        "seed": 3,
        "mtus": [9000, 1500],
        "paths": ["physical"],
        "sides": "tx",
    }
    assert override({"name": "x"}, {"mtus": "9000x"})["mtus"] == ["9000x"]


@pytest.mark.parametrize(
    ("text", "expected"), [("90 s", 90), ("1.5h", 5400), ("20 min", 1200), (30, 30), ("45", 45)]
)
def test_time_budgets(text, expected):
    assert seconds(text) == expected
    assert read_campaign({"name": "x", "time_budget": text})["time_budget"] == expected


UNFOLDING = b"".join(
    b"a%d: &a%d [*a%d, *a%d, *a%d]\n" % (n, n, n - 1, n - 1, n - 1) for n in range(1, 30)
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name: [", "this is not YAML"),
        (b"- a\n", "holds one mapping"),
        (b"\xff\xfe\x00", "this is not YAML"),
        (b"a: " + b"[" * 2000, "characters or 1000 brackets"),
        (b"#" * 100_001, "more than 100000 characters"),
        (b"a0: &a0 [x, x]\n" + UNFOLDING, "expand to more than 100000 values"),
        (b"name: x\nfactors: &a [*a]\n", "expand to more than 100000 values"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_campaign(tmp_path, content, message):
    path = tmp_path / "c.yml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_campaign(str(path))


@pytest.mark.parametrize("name", sorted(os.listdir(CAMPAIGNS)))
def test_the_examples_are_campaigns(name):
    full = read_campaign(
        load_campaign(os.path.join(CAMPAIGNS, name)), nodes=["node1", "node2", "node3"]
    )
    assert full["name"] == os.path.splitext(name)[0]


@pytest.mark.parametrize("name", sorted(os.listdir(os.path.join(CAMPAIGNS, "../studies/short"))))
def test_the_short_form_of_a_study_has_its_paths_and_some_of_its_factors_and_workloads(name):
    short = read_campaign(load_campaign(os.path.join(CAMPAIGNS, "../studies/short", name)))
    full = read_campaign(load_campaign(os.path.join(CAMPAIGNS, name)))
    assert short["study"] == full["study"]
    for key in ("paths", "mtus"):
        assert set(short[key]) <= set(full[key])
    for kind in ("factors", "workloads"):
        assert {entry["name"] for entry in short[kind]} <= {entry["name"] for entry in full[kind]}


@pytest.mark.parametrize("name", sorted(os.listdir(os.path.join(CAMPAIGNS, "../studies/short"))))
def test_the_short_form_of_a_study_can_show_an_effect_within_five_minutes(name):
    """A lab is made and removed in less than 90 s."""
    short = read_campaign(load_campaign(os.path.join(CAMPAIGNS, "../studies/short", name)))
    plan = make_plan(short, "")
    assert plan["blocks"] >= 6
    assert plan["estimated_s"] <= 300 - 90


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
)
KEYS = st.sampled_from(
    [
        "name",
        "seed",
        "blocks",
        "time_budget",
        "paths",
        "mtus",
        "sides",
        "design",
        "factors",
        "profiles",
        "control",
        "workloads",
        "duration",
        "pairs",
        "concurrent",
        "untestable",
    ]
)
FACTORS = st.lists(
    st.sampled_from(["tso", "tx", "x"])
    | st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "b"])},
        optional={
            "kind": st.sampled_from(["rps", "rings", "feature"]),
            "levels": JSON,
            "sides": JSON,
            "needs": JSON,
        },
    ),
    max_size=3,
)


@settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # the first example loads jsonschema
@given(st.dictionaries(KEYS, JSON | FACTORS, max_size=5), st.booleans())
def test_anything_is_a_campaign_or_our_error(campaign, named):
    if named:
        campaign["name"] = "x"
    try:
        full = read_campaign(json.loads(json.dumps(campaign)))
    except LabError:
        return
    assert full["factors"] and full["workloads"]


def test_the_mistake_that_is_meant_is_named():
    """A wrong value before a missing key of the same entry."""
    with pytest.raises(
        InputError, match=r"^x: workloads\[0\].test: \"NO\" cannot be used. Use TCP_STREAM"
    ):
        read_campaign({"name": "x", "workloads": [{"test": "NO"}]}, "x")


def test_a_key_that_is_given_twice_is_refused_with_its_line(tmp_path):
    path = tmp_path / "campaign.yml"
    path.write_text(KEYS_TWICE)
    with pytest.raises(InputError, match=r"campaign.yml, line 6: the key 'streams' is given twice"):
        load_campaign(str(path))
    path.write_text(KEYS_TWICE.replace("    streams: 2\n", "").replace("blocks", "name"))
    with pytest.raises(InputError, match=r"line 6: the key 'name' is given twice"):
        load_campaign(str(path))


def test_a_merged_key_is_not_given_twice(tmp_path):
    path = tmp_path / "campaign.yml"
    path.write_text(
        "name: x\nworkloads:\n  - &a {test: TCP_STREAM}\n  - {<<: *a, test: UDP_STREAM}\n"
    )
    assert load_campaign(str(path))["workloads"][1] == {"test": "UDP_STREAM"}


def test_a_limit_is_shared_by_the_streams_of_a_workload():
    workloads = [
        {"name": "four", "test": "TCP_STREAM", "streams": 4},
        {"name": "slow", "test": "UDP_STREAM", "rate_mbps": 5},
        "tcp_rr",
        "payload",
    ]
    campaign_keys = {"name": "x", "engine": "iperf3", "limit_mbps": 200, "workloads": workloads[:2]}
    campaign_read = read_campaign(campaign_keys)
    assert [load["rate_mbps"] for load in campaign_read["workloads"]] == [50, 5]
    assert campaign_read["verify"]["rate_mbps"] == 200
    rest = read_campaign({**campaign_keys, "engine": "netperf", "workloads": workloads[2:]})
    assert ["rate_mbps" in load for load in rest["workloads"]] == [False, True]


def test_what_sends_as_fast_as_it_can_is_refused_under_a_limit():
    with pytest.raises(InputError, match="limit_mbps 200, workload tcp_stream: .*rate_mbps"):
        read_campaign({"name": "x", "limit_mbps": 200, "workloads": ["tcp_stream"]})


@pytest.mark.parametrize("duration, checked", [(0.25, 1), (2, 2), (60, 5)])
def test_the_check_beside_a_campaign_is_as_long_as_its_trials_within_1_and_5_s(duration, checked):
    campaign_read = read_campaign({"name": "x", "duration": duration, "workloads": ["tcp_stream"]})
    assert campaign_read["verify"]["duration"] == checked


@pytest.mark.parametrize("seed", ["1" + ":59" * 20_000, "9" * 4200, "1e400", ".nan"])
def test_a_seed_that_no_number_can_be_is_named(tmp_path, seed):
    path = tmp_path / "huge.yml"
    path.write_text(f"name: x\nseed: {seed}\nsteal_limit: .nan\n")
    with pytest.raises(InputError, match="cannot be used|is not YAML"):
        read_campaign(load_campaign(str(path)), str(path))


@pytest.mark.parametrize("level", ["{{ x }}", "a\nb", "$(id)", "x" * 200])
def test_a_level_is_a_word(level):
    with pytest.raises(InputError, match="levels"):
        read_campaign({"name": "x", "factors": [{"name": "tso", "levels": ["off", level]}]})
