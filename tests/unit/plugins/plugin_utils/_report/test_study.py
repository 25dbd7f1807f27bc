# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section "as in the study": its units, and that no change is printed that was not shown."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Analysis
from ansible_collections.offload.lab.plugins.plugin_utils._report import study as of_study
from ansible_collections.offload.lab.plugins.plugin_utils._report.study import COLUMNS
from ansible_collections.offload.lab.tests.unit.builders import made


def section(plan, analysis):
    return of_study.section(plan, made(Analysis, **analysis))


def metric(name, end, medians, verdict, ratio):
    control, median = medians
    return {
        "metric": name,
        "end": end,
        "control": {"profile": "all_off", "median": control},
        "rows": [{"profile": "all_on", "median": median, "ratio": ratio, "state": verdict}],
    }


def analysis(verdict="better", end="combined"):
    profiles = {name: {"x": name[4:]} for name in ("all_off", "all_on")}
    return {
        "control": "all_off",
        "verdicts": [],
        "profiles": profiles,
        "tables": [
            {
                "path": "physical",
                "mtu": 1500,
                "pair": None,
                "workload": "xmit-1port",
                "metrics": [
                    metric("throughput", None, (1000.0, 1500.0), verdict, 1.5),
                    metric(f"service_demand_{end}", end, (2.0, 1.06), "better", 0.53),
                ],
            }
        ],
    }


def rows(section_text):
    return [row["cells"] for row in section_text.tables[0]["rows"]]


def test_study_001_prints_changes_in_percent_and_in_megabits():
    section_text = section(plan("tso_ports", blocks=8), analysis())
    assert section_text.tables[0]["head"] == [
        "Workload",
        "Profile",
        "throughput, Mbit/s",
        "change, %",
        "change, Mbit/s",
        "service demand, µs/KB",
        "its change, %",
    ]
    assert rows(section_text) == [
        ["xmit-1port", "all_off", "1,000", "–", "–", "2", "–"],
        ["xmit-1port", "all_on", "1,500", "+50.0", "+500.00", "1.06", "-47.0"],
    ]


def test_a_change_that_does_not_matter_is_not_printed_and_an_unknown_one_has_a_question_mark():
    assert rows(section(plan("tso_ports", blocks=8), analysis("unknown")))[1][3:5] == [
        "+50.0?",
        "+500.00?",
    ]
    assert rows(section(plan("tso_ports", blocks=8), analysis("same")))[1][3:5] == ["~", "~"]


def test_few_blocks_are_said():
    assert "may be noise" in section(plan("tso_ports", blocks=2), analysis()).note
    assert "may be noise" not in section(plan("tso_ports", blocks=6), analysis()).note


def plan(study, **more):
    return dict({"study": study, "blocks": 7}, **more)


def test_what_a_device_refuses_is_unsupported_and_has_no_figures():
    row = {"factor": "x", "verdict": "unsupported", "reason": "Operation not supported"}
    section_text = section(
        plan("vxlan_rss", untestable={"xps": "no queues"}), dict(analysis(), verdicts=[row])
    )
    assert "xps was not varied: no queues." in section_text.note
    assert "all_on is unsupported here: Operation not supported." in section_text.note
    assert rows(section_text)[1][1] == "all_on: unsupported" and set(rows(section_text)[1][2:]) == {
        "–"
    }
    taken = dict(analysis(), verdicts=[row, dict(row, verdict="applied")])
    assert rows(section(plan("vxlan_rss"), taken))[1][1] == "all_on"  # one device took it


def test_both_ends_have_columns_of_their_own():
    section_text = section(plan("tso_ports", blocks=8), analysis(end="client"))
    assert "service demand client, µs/KB" in section_text.tables[0]["head"]


def udp_gro(second="joined"):
    """Return the analysis of study udp_gro: half the throughput more, and a tenth of the calls."""
    analysis_of_study = analysis()
    apart, joined = analysis_of_study["tables"] + analysis()["tables"]
    for table, name, megabits, calls in (
        (apart, "apart", (8388.608, 8388.608), (1000.0, 1000.0)),
        (joined, second, (8388.608, 12582.912), (1000.0, 100.0)),
    ):
        table["workload"] = name
        table["metrics"] = [
            metric("throughput", None, megabits, "better", megabits[1] / megabits[0]),
            metric("receive_calls", None, calls, None, None),
        ]
    return {**analysis_of_study, "tables": [apart, joined]}


def test_a_study_of_workloads_says_how_one_is_to_the_other():
    section_text = section(plan("udp_gro"), udp_gro())
    heads = ["Workload", "Profile", "throughput, MB/s", "receive calls, 1/s"]
    assert section_text.tables[0]["head"] == heads
    assert rows(section_text)[1] == ["apart", "all_on", "1,000", "1,000"]
    assert rows(section_text)[3:] == [
        ["joined", "all_on", "1,500", "100"],
        ["joined / apart", "all_off", "1 times", "1 times"],
        ["joined / apart", "all_on", "1.5 times", "0.1 times"],
    ]
    assert [row[0] for row in rows(section(plan("udp_gro"), udp_gro("other")))][4:] == []


def test_a_ratio_is_printed_as_such():
    study_rows = rows(section(plan("userspace_tso"), analysis("unknown")))
    assert study_rows[1][2:4] == ["1,500", "1.50?"] and study_rows[0][3] == "–"


@pytest.mark.parametrize("study", COLUMNS)
def test_every_study_has_its_columns(study):
    assert section(plan(study, blocks=6), analysis()).tables[0]["rows"]


def test_another_campaign_has_no_such_section():
    assert section({"blocks": 6}, analysis()) is None
