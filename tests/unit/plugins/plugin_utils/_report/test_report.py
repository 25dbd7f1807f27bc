# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as a whole: golden text, the page, the same bytes every time, and honest pages where
data is missing.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil

import pytest
import yaml

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Analysis
from ansible_collections.offload.lab.plugins.plugin_utils._report import report
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import OUTPUTS, make_report
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.report_golden import CAMPAIGNS, FOLDER, texts_of
from ansible_collections.offload.lab.tests.report_pages import Page, campaign, manifest
from ansible_collections.offload.lab.tests.unit import builders


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_texts_are_the_golden_ones(tmp_path, name):
    """To accept a change of the texts: make golden, then read the diff."""
    texts = texts_of(name, tmp_path)
    assert set(texts) == set(os.listdir(FOLDER / name))
    for text, content in texts.items():
        assert content == (FOLDER / name / text).read_text(), text


def _words(text):
    return " ".join(text.replace("\u00a0", " ").split())


@pytest.mark.parametrize("name", ["confirmed", "broken", "unfinished", "search"])
def test_console_markdown_and_page_say_what_the_report_says(tmp_path, name):
    folder = tmp_path / "results"
    new = tmp_path / "new"
    new.mkdir()
    CAMPAIGNS[name](folder)
    report_texts = report._make(str(folder), str(new), None).report
    console, markdown = (_words((new / text).read_text()) for text in ("report.txt", "report.md"))
    page = _words(" ".join(Page((new / "report.html").read_text()).words))
    answer = [_words(item["text"]) for item in report_texts.answer]
    assert answer
    assert [sentence for sentence in answer if sentence not in console] == []
    for text in (markdown, page):
        sentences = [
            *answer,
            *(item["text"] for item in report_texts.details.lines),
            *report_texts.caveats,
        ]
        sentences += [
            *report_texts.recommended.notes,
            *report_texts.conditions.notes,
            report_texts.marked.summary,
        ]
        assert [sentence for sentence in sentences if _words(sentence) not in text] == []


def leave_one_out():
    plan = synthetic.make_plan(
        3, blocks=8, design="leave_one_out", paths=("physical",), name="golden"
    )
    return plan, synthetic.make_trials(plan, marked=0.02, failures=0.02)


def on_off():
    plan = synthetic.make_plan(2, name="golden")
    return plan, synthetic.make_trials(plan, combined=True)


@pytest.fixture(scope="module")
def report_folder(tmp_path_factory):
    """The folder of one report, made once."""
    folder = tmp_path_factory.mktemp("report") / "golden"
    campaign(folder, *leave_one_out(), manifest())
    return folder


@pytest.mark.parametrize(("visits", "band"), [(1, False), (2, True)])
def test_the_noise_floor_is_explained_where_there_is_one(tmp_path, visits, band):
    plan = {**synthetic.make_plan(2), "control_visits": visits}
    campaign(tmp_path, plan, synthetic.make_trials(plan), manifest())
    page_text = " ".join(Page((tmp_path / "report.html").read_text()).words)
    assert ("The grey band is the noise floor" in page_text) == band


def test_console_fits_100_columns(report_folder):
    assert max(map(len, (report_folder / "report.txt").read_text().splitlines())) <= 100


def test_page_is_well_formed_and_loads_nothing(report_folder):
    text = (report_folder / "report.html").read_text()
    page = Page(text)
    page_text = " ".join(page.words)
    assert "TCP throughput: tx-tcp-segmentation=on leads" in page_text
    assert "default-src 'none'" in text
    assert not re.search(r"https?:|url\((?!#)|@import", text)
    assert {
        "answer",
        "settings",
        "effects",
        "evidence",
        "conditions",
        "marked",
        "repeat",
        "numbers",
    } <= page.idents


def test_figures_have_text_and_page_colours(report_folder):
    figures = re.findall(r"<svg.*?</svg>", (report_folder / "report.html").read_text(), re.S)
    assert figures
    for figure in figures:
        assert re.search(
            r"<title id=\"[^\"]+\">[^<]+</title><desc id=\"[^\"]+\">[^<]+</desc>", figure
        )
        assert not re.search(r"#[0-9a-f]{6}\b", figure), "a colour that the dark page cannot change"


def test_same_folder_gives_the_same_bytes_elsewhere(report_folder, tmp_path):
    for name in ("plan.json", "manifest.json", "trials.jsonl"):
        shutil.copy(report_folder / name, tmp_path / name)
    make_report(str(tmp_path))
    for name in OUTPUTS:
        assert (tmp_path / name).read_bytes() == (report_folder / name).read_bytes(), name


def test_second_run_changes_nothing_and_keeps_the_files(report_folder):
    before = {name: (report_folder / name).stat().st_ino for name in OUTPUTS}
    assert make_report(str(report_folder))["changed"] is False
    assert {name: (report_folder / name).stat().st_ino for name in OUTPUTS} == before
    assert sorted(os.listdir(report_folder)) == sorted(
        [*OUTPUTS, "manifest.json", "plan.json", "trials.jsonl"]
    )


def test_check_mode_says_changed_and_writes_nothing(tmp_path):
    synthetic.write(str(tmp_path), *on_off())
    result = make_report(str(tmp_path), check=True)
    assert (
        result["changed"] is True
        and "all_on" in result["table"]
        and result["diff"]["after"].startswith("# golden")
    )
    assert sorted(os.listdir(tmp_path)) == ["plan.json", "trials.jsonl"]


def test_csv_has_every_trial(report_folder):
    with open(report_folder / "trials.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    trials = [
        json.loads(line) for line in (report_folder / "trials.jsonl").read_text().splitlines()
    ]
    assert [row["id"] for row in rows] == [trial["id"] for trial in trials]
    for row, trial in zip(rows, trials):
        assert (row["error"] or None) == trial["error"]
        assert row["left_out"] == str(int(bool(trial["error"] or trial["marks"])))
        if not trial["error"]:
            assert float(row["throughput_mbps"]) == trial["result"]["throughput_mbps"]
            assert row["latency_p99_us"] == "" and row["workload"] == trial["workload"]["name"]


def test_recommended_is_yaml_for_the_offloads_role(report_folder):
    recommended = yaml.safe_load((report_folder / "recommended.yml").read_text())[
        "offload_lab_recommended"
    ]
    assert recommended["drivers"] == {
        "node1": {"underlay0": "testnic"},
        "node2": {"underlay0": "testnic"},
    }
    assert recommended["client"]["underlay"]["features"]["tx-tcp-segmentation"] is True
    assert (recommended["profile"], recommended["confirmed"], recommended["confirmed_by"]) == (
        "all_on",
        True,
        "plan",
    )


def only_control(plan):
    plan["profiles"] = {"all_off": plan["profiles"]["all_off"]}
    plan["visits"] = [visit for visit in plan["visits"] if visit["profile"] == "all_off"]
    return plan


def case(name):
    """Return (plan, trials, words that the page must say)."""
    plan = synthetic.make_plan(
        2,
    )
    plan = only_control(plan) if name == "one_profile" else plan
    trials = list(
        synthetic.make_trials(
            plan,
            cpu=name != "no_cpu",
            marked=float(name == "all_marked"),
        )
    )
    return {
        "no_trials": (plan, [], "no trial was recorded"),
        "one_trial": (plan, trials[:1], "nothing to compare with all_off"),
        "all_marked": (plan, trials, "72 marked trials are left out (mss 72)"),
        "no_cpu": (plan, trials, "more throughput than all_off"),
        "one_profile": (plan, trials, "nothing to compare with all_off"),
        "no_result": (
            plan,
            [dict(trial, result={}, cpu=None) for trial in trials],
            "no trial gave a result",
        ),
    }[name]


@pytest.mark.parametrize(
    "name", ["no_trials", "one_trial", "all_marked", "no_cpu", "one_profile", "no_result"]
)
def test_missing_data_gives_an_honest_page(tmp_path, name):
    plan, trials, expected = case(name)
    campaign(tmp_path, plan, trials)
    page = Page((tmp_path / "report.html").read_text())
    page_text = " ".join(page.words).replace("\xa0", " ")
    assert expected in page_text
    assert "no manifest.json" in page_text
    markdown = (tmp_path / "report.md").read_text()
    assert expected in markdown
    assert (
        yaml.safe_load((tmp_path / "recommended.yml").read_text())["offload_lab_recommended"]
        is not None
    )


def test_a_factor_that_a_host_leaves_out_is_said_in_one_line(tmp_path):
    plan, trials, _expected = case("one_trial")
    devices = {"a": {"underlay": [{"name": "eth1"}]}, "b": {}}
    nodes = {
        host: {"end": {"netns": None, "address": f"198.18.0.{number}"}, "devices": devices[host]}
        for number, host in enumerate(devices, 1)
    }
    own = {"classes": ["underlay"], "vni": None, "port": None, "mtu": 1500, "nodes": nodes}
    campaign(tmp_path, {**plan, "own_paths": dict.fromkeys(plan["paths"], own)}, trials)
    lines = (tmp_path / "report.md").read_text().splitlines()
    (line,) = [line for line in lines if "ot varied at class underlay of b: " in line]
    assert line.endswith("Its path has no such device that a campaign may change.")


@pytest.mark.slow
@pytest.mark.parametrize("design", ["one_at_a_time", "full_factorial"])
def test_other_designs(tmp_path, design):
    plan = synthetic.make_plan(
        2, blocks=8, design=design, workloads=("tcp_stream", "tcp_rr"), mtus=(9000, 1500)
    )
    after = manifest(ovs={"version": "3.2.0", "bridges": {"br-int": {"datapath": "system"}}})
    campaign(tmp_path, plan, synthetic.make_trials(plan, cpus=8), after)
    page = Page((tmp_path / "report.html").read_text())
    page_text = " ".join(page.words)
    assert "leads in" in page_text and "TCP latency (p99)" in page_text and "softirq" in page.idents
    assert "1 setting was not the same after the campaign" in page_text and "3.2.0" in page_text


@pytest.mark.parametrize(
    "paths", [("physical",), ("physical", "tenant_vxlan")], ids=["one table", "two"]
)
def test_a_profile_that_no_device_takes_is_not_compared(tmp_path, paths):
    plan = synthetic.make_plan(1, paths=paths)
    plan["factors"][0].update(kind="rings", settings=["rx"], devices=["underlay"])
    fixed = {"rings rx": {"asked": 4096, "reason": "Operation not supported"}}
    verdicts_of_devices = {"underlay0": {"fixed": fixed, "not_honoured": {}, "side_effects": {}}}
    evidence = {
        "settings": {"client": verdicts_of_devices, "server": verdicts_of_devices},
        "packets": {"client": {"underlay0": {}}},
    }
    campaign(
        tmp_path,
        plan,
        [dict(trial, evidence=evidence) for trial in synthetic.make_trials(plan)],
        manifest(),
    )
    markdown = (tmp_path / "report.md").read_text()
    table = (tmp_path / "report.txt").read_text()
    assert "0 blocks" not in " ".join(Page((tmp_path / "report.html").read_text()).words)
    assert (
        "No device accepts all_on (Operation not supported): measured without it, and not compared"
        in markdown
    )
    assert (
        "There is nothing to compare" in markdown
        and "unsupported | read back; Operation not supported" in markdown
    )
    answer, comparison = table.split("\n\n", 1)
    assert (
        "all_on" not in comparison
        and "all_off" in comparison
        and "none of its settings could act" in answer
    )


def test_text_from_outside_is_escaped(tmp_path):
    plan = synthetic.make_plan(2, name="golden")
    trials = [
        dict(trial, error="<script>alert('x')</script> | a", result={})
        for trial in synthetic.make_trials(plan)
    ]
    campaign(tmp_path, plan, trials, manifest(note="<img src=x>"))
    Page((tmp_path / "report.html").read_text())
    assert "| &lt;script>alert('x')&lt;/script> \\| a |" in (tmp_path / "report.md").read_text()


def test_damaged_lines_are_told(tmp_path):
    plan, trials = on_off()
    synthetic.write(str(tmp_path), plan, trials)
    with open(tmp_path / "trials.jsonl", "a") as stream:
        stream.write('not JSON\n{"id": "torn')
    make_report(str(tmp_path))
    assert (
        "Damaged lines in trials.jsonl, 2 of them: line 73: this is not a JSON record"
        in (tmp_path / "report.md").read_text()
    )


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("plan.json", "there is no plan.json"),
        ("trials.jsonl", "there is no trials.jsonl"),
        ("", "there is no such folder"),
    ],
)
def test_what_is_missing_is_named(tmp_path, missing, expected):
    synthetic.write(str(tmp_path / "x"), *on_off())
    if missing:
        os.remove(tmp_path / "x" / missing)
    with pytest.raises(InputError, match=expected):
        make_report(str(tmp_path / ("x" if missing else "y")))


def test_broken_manifest_is_an_error(tmp_path):
    synthetic.write(str(tmp_path), *on_off())
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest\.json: this is not JSON"):
        make_report(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["manifest.json", "plan.json", "trials.jsonl"]


def test_a_job_keeps_the_states_and_the_recommended_levels():
    metric = {
        "rows": [{"profile": "all_off"}],
        "main_effects": [{"state": "better"}, {"state": "unknown"}],
    }
    without_factors = {
        "rows": [
            {"profile": "all_off"},
            {"profile": "all_on", "state": "better"},
            {"profile": "other", "state": None},
        ]
    }
    analysis = {
        "tables": [{"metrics": [metric, without_factors]}],
        "recommendation": {"changes": {"tso": "on"}, "levels": {"tso": "on", "gro": "off"}},
    }
    assert report._artifacts(builders.made(Analysis, **analysis)) == {
        "states": {"better": 2, "unknown": 1},
        "recommended": {"tso": "on"},
        "payload": {"paths": []},
    }
