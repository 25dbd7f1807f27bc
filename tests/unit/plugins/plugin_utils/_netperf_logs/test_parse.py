# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The netperf parser on small outputs of every form, and on what is left of them when they are cut
or damaged.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.plugin_utils._netperf_logs.parse import (
    parse_netperf,
)
from ansible_collections.offload.lab.tests.unit.plugins.plugin_utils._netperf_logs.netperf_samples import (
    CASES,
    CLASSIC,
    OMNI,
)

NUMBERS = (
    "throughput_mbps",
    "throughput_sent_mbps",
    "throughput",
    "elapsed_s",
    "local_cpu_percent",
    "remote_cpu_percent",
    "local_service_demand",
    "remote_service_demand",
    "recv_socket_size",
    "send_socket_size",
    "message_size",
    "transactions_per_s",
)
WORDS = [word for case in CLASSIC + OMNI for word in case[1].replace("\n", " \n ").split(" ")]
WHOLE = [text for _name, text, _expected in CLASSIC + OMNI]


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_meaning(text, expected):
    runs = parse_netperf(text)
    assert [{key: run[key] for key in want} for run, want in zip(runs, expected)] == expected
    assert len(runs) == len(expected)


def test_a_confidence_target_that_is_no_number_is_an_error():
    """Found by the property test below."""
    runs = parse_netperf(
        "THROUGHPUT=4762.45\nTHROUGHPUT_CONFID=42.350\nCONFIDENCE_INTERVAL=:40.000000\n"
    )
    assert [run["error"] for run in runs] == ["truncated in CONFIDENCE_INTERVAL=:40.000000"]


def test_every_run_has_the_same_keys():
    runs = [run for _name, text, _expected in CASES for run in parse_netperf(text)]
    assert len({tuple(run) for run in runs}) == 1
    for run in runs:
        if run["error"]:
            assert not run["selectors"] and all(run[key] is None for key in NUMBERS)


def numbers_of(runs, key):
    """The values of a key, and the rate that netperf -v 2 prints again with three decimals."""
    values = {run[key] for run in runs} | {None}
    if key == "transactions_per_s":
        values |= {run["selectors"].get("TRANSACTION_RATE") for run in runs}
    return values


def places(text):
    """Where to cut: at every character of a row, at some of the other lines, whose form is not the
    point.
    """
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    return [
        start + cut_at
        for start, line in zip(starts[1:], lines[1:])
        for cut_at in range(len(line) + 1)
        if cut_at % 7 == 0 or line.strip()[:1].isdigit() or "=" in line
    ]


@pytest.mark.parametrize("text", WHOLE, ids=[case[0] for case in CLASSIC + OMNI])
def test_a_text_cut_anywhere_gives_no_number_that_the_whole_text_has_not(text):
    whole_result = parse_netperf(text)
    for end in places(text):
        cut = parse_netperf(text[:end])
        assert len(cut) <= len(whole_result), text[:end]
        for key in NUMBERS:
            assert {run[key] for run in cut} <= numbers_of(whole_result, key), (key, text[:end])


@pytest.mark.slow
@pytest.mark.parametrize("text", [case[1] for case in CLASSIC], ids=[case[0] for case in CLASSIC])
def test_a_table_with_a_line_cut_anywhere_gives_no_number_that_the_whole_table_has_not(text):
    whole_result = parse_netperf(text)
    for start in places(text):
        end = text.find("\n", start)
        for key in NUMBERS:
            cut = {run[key] for run in parse_netperf(text[:start] + text[end:])}
            assert cut <= numbers_of(whole_result, key), (key, text[:start])


@st.composite
def damaged(draw):
    """Samples one after the other, with lines dropped, doubled and swapped, and characters dropped
    and put in.
    """
    text = "".join(draw(st.lists(st.sampled_from(WHOLE), min_size=1, max_size=3)))
    for _time in range(draw(st.integers(0, 4))):
        lines = text.split("\n")
        first, second = (draw(st.integers(0, len(lines) - 1)) for _line in range(2))
        kind = draw(st.sampled_from(("drop", "double", "swap", "cut", "put")))
        if kind == "drop":
            del lines[first]
        elif kind == "double":
            lines.insert(second, lines[first])
        elif kind == "swap":
            lines[first], lines[second] = lines[second], lines[first]
        else:
            cut_at = draw(st.integers(0, len(lines[first])))
            put = draw(st.text(max_size=3)) if kind == "put" else ""
            lines[first] = lines[first][:cut_at] + put + lines[first][cut_at + (kind == "cut") :]
        text = "\n".join(lines)
    return text


def check(text):
    runs = parse_netperf(text)
    assert len(runs) <= text.count("\n") + text.count("\\n") + 1
    for run in runs:
        assert (run["error"] is None) or not run["selectors"]
        assert 1 <= run["line"] <= text.count("\n") + 1
        assert all(run[key] is None or run[key] == run[key] for key in NUMBERS)
    assert [run["line"] for run in runs] == sorted(run["line"] for run in runs)


# Drawing the first character makes tables of all of Unicode, which takes seconds on a busy machine.
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(damaged())
def test_damaged_outputs_are_runs_or_errors(text):
    check(text)


@given(st.text())
def test_any_text_is_runs_or_errors(text):
    check(text)


@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_words_of_netperf_are_runs_or_errors(netperf_words):
    check(" ".join(netperf_words))


@given(st.lists(st.sampled_from(WHOLE), min_size=1, max_size=4))
def test_outputs_one_after_the_other_are_the_runs_of_each(texts):
    apart = [run["throughput"] for text in texts for run in parse_netperf(text)]
    assert [run["throughput"] for run in parse_netperf("$ netperf\n".join(texts))] == apart
