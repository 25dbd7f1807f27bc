# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An analysis for other tools, read back with their own parsers."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.encode import read_analysis
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import (
    Analysis,
    PayloadFindings,
)
from ansible_collections.offload.lab.plugins.plugin_utils._exports.pipeline import (
    FAMILIES,
    junit,
    openmetrics,
)
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.tests import report_golden
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.report_campaigns import stalls
from ansible_collections.offload.lab.tests.support import as_file


@pytest.fixture(name="analysis", scope="module")
def analysis_of_a_campaign_that_stalls():
    return analyse(*stalls())


def test_openmetrics_say_what_the_analysis_says(analysis):
    families = {
        family.name: family.samples
        for family in text_string_to_metric_families(openmetrics(analysis))
    }
    of_payload = {name for name in FAMILIES if name.startswith("offload_lab_payload")}
    assert set(families) == set(FAMILIES) - of_payload
    table = analysis.tables[0]
    metric = next(metric for metric in table.metrics if metric.metric == "throughput")
    labels = {
        "campaign": "stalls",
        "path": table.path,
        "mtu": "9000",
        "workload": "tcp_stream",
        "metric": "throughput",
        "profile": "all_on",
    }
    for name, key in (("ratio", "ratio"), ("low", "low"), ("high", "high")):
        (value,) = (
            sample.value
            for sample in families[f"offload_lab_effect_{name}"]
            if labels.items() <= sample.labels.items()
        )
        assert value == getattr(metric.rows[0], key)
    (state,) = (
        sample.labels["state"]
        for sample in families["offload_lab_effect_state"]
        if labels.items() <= sample.labels.items()
    )
    assert state == metric.rows[0].state


def test_openmetrics_escape_what_a_user_named():
    plan = synthetic.make_plan(1, paths=("physical",), workloads=("tcp_stream",))
    analysis = analyse(dict(plan, name='a "b" \\ c'), list(synthetic.make_trials(plan)))
    names = {
        sample.labels["campaign"]
        for family in text_string_to_metric_families(openmetrics(analysis))
        for sample in family.samples
    }
    assert names == {'a "b" \\ c'}


def test_junit_of_a_campaign_fails_where_a_profile_fails_more(analysis):
    suite = ElementTree.fromstring(junit(analysis)).find("testsuite")
    failed = [
        case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None
    ]
    assert failed == ["failures of all_on"] and suite.get("failures") == "1"
    unknown = sum(
        row.state == "unknown"
        for table in analysis.tables
        for metric in table.comparisons
        for row in metric.rows
    )
    assert suite.get("skipped") == str(unknown)


def test_junit_of_a_campaign_fails_where_visits_are_missing():
    plan = synthetic.make_plan(1)
    trials = [trial for trial in synthetic.make_trials(plan) if trial["block"] < plan["blocks"]]
    failure = ElementTree.fromstring(junit(analyse(plan, trials))).find(
        "testsuite/testcase/failure"
    )
    assert failure.get("type") == "unfinished" and "visit" in failure.get("message")


@pytest.fixture(name="hop", scope="module")
def analysis_of_pods_behind_a_tunnel_that_breaks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hop")
    report_golden.broken_hop(folder)
    new_report = make_report(str(folder))
    return read_analysis(Analysis, str(folder)), new_report


def test_the_verdict_of_a_path_is_data(hop):
    analysis = as_file(hop[0])
    [path] = analysis["payload"]["paths"]
    assert path["verdict"] == "broken" and path["text"].startswith("Broken over physical")
    [blame] = path["blames"]
    assert blame["under"] == {"trials": 16, "troubled": 16} and blame["p"] < 1e-6
    assert path["hops"] == [[{"settings": ["tx"], "side": "client", "devices": "tunnel"}]]
    assert {bound["setting"] for bound in path["bounds"]} == {
        factor["name"] for factor in analysis["factors"]
    }
    assert analysis["payload"]["cure"]["off"] == {name: "off" for name in path["off"]}
    assert {"name": "flannel-1279"}.items() <= path["reports"][0].items()
    payload = hop[1]["payload"]
    [kept] = payload["paths"]
    assert kept.items() <= path.items() and payload["cure"] == analysis["payload"]["cure"]


def test_junit_fails_where_a_path_is_broken(hop):
    suite = ElementTree.fromstring(junit(hop[0])).find("testsuite")
    cases = {case.get("name"): case.find("failure") for case in suite.findall("testcase")}
    failure = cases["payload over physical at MTU 9000"]
    assert failure.get("type") == "broken" and "in 16 of 16 trials" in failure.get("message")


@pytest.mark.parametrize(
    "verdict, outcome",
    [("clean", "system-out"), ("lossy", "skipped"), ("broken without", "failure")],
)
def test_junit_of_a_verdict(hop, verdict, outcome):
    analysis = hop[0]
    rows = [replace(row, verdict=verdict) for row in analysis.payload.paths]
    suite = ElementTree.fromstring(junit(replace(analysis, payload=PayloadFindings(paths=rows))))
    [case] = suite.findall("testsuite/testcase[@classname='payload.physical']")
    assert [child.tag for child in case] == [outcome]


def test_openmetrics_have_verdict_blame_bound_hop_and_cure(hop):
    families = {
        family.name: family.samples
        for family in text_string_to_metric_families(openmetrics(hop[0]))
    }
    assert {name for name in FAMILIES if name.startswith("offload_lab_payload")} <= set(families)
    [verdict] = families["offload_lab_payload_verdict"]
    assert (verdict.labels["path"], verdict.labels["verdict"]) == ("physical", "broken")
    [hop_sample] = families["offload_lab_payload_hop"]
    assert {
        "setting": "tx",
        "side": "client",
        "devices": "tunnel",
    }.items() <= hop_sample.labels.items()
    trials = {
        sample.labels["outcome"]: sample.value for sample in families["offload_lab_payload_trials"]
    }
    assert trials == {"clean": 40, "troubled": 16}
    [cure] = families["offload_lab_payload_cure_confirmed"]
    assert cure.value == 0
