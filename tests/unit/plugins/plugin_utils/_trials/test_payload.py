# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import ParseError
from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.module_utils._engines.payload.traffic import PINGS_SAID
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload


def size(largest, is_said=False, mtu=1500):
    return {"mtu": mtu, "largest": largest, "said": is_said}


def said(counters=None, error=None, sizes=None, **counts):
    """Return the text of a check in which 1,000 messages arrived as sent, but for ``counts``."""
    check = {**dict.fromkeys(result.COUNTS, 0), "sent": 1000, "arrived": 1000, "first": None}
    return json.dumps(
        {
            "elapsed": 2.0,
            "mss": 1448,
            "checks": {"tcp_forward": check, "udp_forward": {**check, **counts}},
            "counters": counters or {"client": {}, "server": {}},
            "error": error,
            **({"sizes": sizes} if sizes else {}),
        }
    )


def test_a_payload_that_arrived_as_sent_is_no_trouble():
    assert payload.trouble(result.parse(said())) is None


@pytest.mark.parametrize(
    "trouble, expected",
    [
        ({"wrong": 1}, payload.WRONG),
        ({"short": 1}, payload.WRONG),
        ({"stalled": 1, "missing": 900}, payload.STALLED),
        ({"counters": {"server": {"TcpInCsumErrors": 2}}}, payload.REFUSED),
        ({"counters": {"server": {"TcpInCsumErrors": 1}}}, None),
        ({"sizes": {"forward": size(1400), "reverse": size(1500)}}, payload.TOO_LARGE),
        ({"sizes": {"forward": size(1400, is_said=True)}}, None),
        ({"sizes": {"reverse": size(1400)}, "stalled": 1}, payload.TOO_LARGE),
        ({"sizes": {"forward": size(0)}, "missing": 900}, payload.NONE_ARRIVED),
        (
            {"sizes": {"forward": size(0)}, "counters": {"server": {"UdpInCsumErrors": 2}}},
            payload.REFUSED,
        ),
        ({"missing": 4}, payload.LOST),
        ({"missing": 3}, None),
        ({"missing": 4, "counters": {"server": {"IpReasmFails": 1}}}, None),
        ({"missing": 4, "counters": {"client": {"IpReasmFails": 1}}}, payload.LOST),
        (
            {"missing": 5, "counters": {"server": {"IpReasmFails": 9, "IpReasmTimeout": 8}}},
            payload.LOST,
        ),
        ({"segments_lost": 4}, payload.SEGMENTS_LOST),
        ({"segments_lost": 3}, None),
        ({"late": 2}, payload.LATE),
        ({"reordered": 50, "duplicated": 3}, None),
        ({"error": "the other end has closed the connection"}, payload.STOPPED),
    ],
)
def test_trouble(trouble, expected):
    assert payload.trouble(result.parse(said(**trouble))) == expected


@pytest.mark.parametrize(
    "trouble, expected",
    [
        ({}, {}),
        ({"missing": 1}, {payload.LOST_ANY: 1}),
        ({"missing": 1, "counters": {"server": {"Ip6ReasmFails": 1}}}, {}),
        ({"segments_lost": 1}, {payload.LOST_ANY: 1}),
        ({"duplicated": 1}, {payload.TWICE: 1}),
        ({"reordered": 900}, {}),
    ],
)
def test_what_a_network_may_do_by_itself(trouble, expected):
    tally = payload.tally_of(result.parse(said(**trouble)))
    assert (tally["lesser"], tally["troubled"]) == (expected, 0)
    assert payload.added(tally, tally)["lesser"] == {sign: 2 for sign in expected}


def test_of_several_checks_the_size_that_is_lost_is_kept():
    sizes = [{"forward": size(1500)}, {"forward": size(1400)}, {"forward": size(576, is_said=True)}]
    joined = payload.joined([result.parse(said(sizes=part_size)) for part_size in (*sizes, None)])
    assert joined["sizes"] == {"forward": size(1400)}


def test_streams_are_summed_and_the_smallest_example_is_kept():
    big = {"number": 3, "size": 1449, "offset": 1448}
    parts = [
        result.parse(said(wrong=1, first=big)),
        result.parse(said(wrong=2, first={**big, "size": 65})),
    ]
    joined_check = payload.joined(parts)["checks"]["udp_forward"]
    assert (joined_check["wrong"], joined_check["sent"], joined_check["first"]["size"]) == (
        3,
        2000,
        65,
    )


def test_counters_are_the_largest_of_streams_that_ran_together_and_the_sum_of_trials():
    parts = [result.parse(said({"client": {"TcpInErrs": count}})) for count in (2, 3)]
    assert payload.joined(parts)["counters"]["client"] == {"TcpInErrs": 3}
    checks_found = payload.Checks({}, {})
    where = ("physical", 9000, "all_on")
    for part, part_result in zip((None, None, "confirm"), [*parts, parts[1]]):
        checks_found.see(where, part, part_result)
    assert checks_found.planned[where]["whole"]["counters"]["client"] == {"TcpInErrs": 5}
    assert checks_found.planned[where]["whole"]["elapsed_s"] == 4.0
    assert checks_found.whole()[where]["whole"]["counters"]["client"] == {"TcpInErrs": 8}
    assert checks_found.whole()[where]["trials"] == 3 and checks_found.planned[where]["trials"] == 2


@given(st.text())
def test_any_text_is_a_check_or_our_error(text):
    with pytest.raises(ParseError, match="line 1"):
        result.parse(text)


@given(st.data())
def test_any_damage_is_our_error_or_a_check(data):
    text = said()
    start = data.draw(st.integers(0, len(text) - 1))
    damaged = (
        text[:start] + data.draw(st.text(max_size=5)) + text[start + data.draw(st.integers(0, 9)) :]
    )
    try:
        assert result.parse(damaged)["mss"] >= 0
    except ParseError as error:
        assert "line 1" in str(error)


def test_pings_count_where_all_were_answered():
    parts = []
    for large in (True, False):
        result_lines = {**json.loads(said()), "pings": {"small": True, "large": large}}
        parts.append(result.parse(json.dumps(result_lines)))
    assert payload.joined(parts)["pings"] == {"small": True, "large": False}
    assert "pings" not in payload.joined([result.parse(said())])  # of an earlier version


def dead(stderr):
    """Return the check of a trial whose client got no connection."""
    stream = {"rc": 1, "raw": "", "stderr": stderr}
    trial = {"workload": {"test": "PAYLOAD"}, "result": {}, "streams": [stream]}
    return payload.checked(trial)


@pytest.mark.parametrize("text, pings", PINGS_SAID.items())
def test_a_client_without_a_connection_says_which_pings_are_answered(text, pings):
    check = dead(f"no payload server answers at 10.0.0.2 port 12868: timed out{text}\n")
    assert (check["error"], check["pings"]) == (payload.STOPPED, pings)


def test_nothing_is_said_of_pings_where_a_check_does_not_know_them():
    answered = {**result.parse(said()), "pings": {"small": True, "large": True}}
    assert payload.joined_pings([answered, answered]) == answered["pings"]
    assert payload.joined_pings([answered, dead("no payload server answers: timed out")]) is None


@pytest.mark.parametrize(
    "check, often",
    [
        (said(), False),
        (said(segments_lost=39), False),
        (said(segments_lost=40), True),
        (said(segments_lost=3, stalled=1), False),
        (said(segments_lost=4, stalled=1), True),
        (said(wrong=25, missing=15), True),
        (said(counters={"server": {"TcpInCsumErrors": 40}}), True),
        (said(error="the other end has closed the connection"), False),
        (said(error="timed out", arrived=0).replace('"arrived": 1000', '"arrived": 0'), True),
    ],
)
def test_a_fault_strikes_often_where_a_second_shows_it(check, often):
    assert payload.strikes_often(result.parse(check)) is often


def test_a_path_without_a_connection_is_struck_often():
    assert payload.strikes_often(dead("no payload server answers: timed out"))


@pytest.mark.parametrize(
    "trials, said_of_firewall", [(7, True), (6, False)], ids=["most trials", "other traffic"]
)
def test_a_reason_is_met_in_half_of_the_trials_in_trouble(trials, said_of_firewall):
    dropped = {
        "node1 NETFILTER_DROP nft_do_chain": {"packets": 900, "trials": trials},
        "node1 VXLAN_VNI_NOT_FOUND vxlan_rcv": {"packets": 52, "trials": 13},
    }
    dead = {"trials": 13, "troubled": 13, "dropped": dropped}
    first, *others = payload.reasons_of([dead])
    assert "VXLAN_VNI_NOT_FOUND" in first and "52 packets in 13 of 13 trials" in first
    assert ["NETFILTER_DROP" in text for text in others] == [True] * said_of_firewall
