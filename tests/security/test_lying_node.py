# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that lies, and somebody who writes to a results folder: whatever they put into a field, no
file of the controller holds a template, another variable, HTML, Markdown, a formula or a control
sequence of theirs.

A recorded campaign gets each lie in each of its fields.
"""

from __future__ import annotations

import copy
import json
import shutil

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._across import (
    compare,
    comparison_text,
    history,
    page,
)
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.recommend import nothing
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import plan_file
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.stored import read_manifest
from ansible_collections.offload.lab.plugins.plugin_utils._exports import recommended
from ansible_collections.offload.lab.plugins.plugin_utils._report import conditions
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.plugins.plugin_utils._trials import records
from ansible_collections.offload.lab.tests.security import lies
from ansible_collections.offload.lab.tests.support import CHECKOUT, each_day

RECORDED = CHECKOUT / "tests/unit/recorded/demo"
PLAN = json.loads((RECORDED / "plan.json").read_text())
MANIFEST = json.loads((RECORDED / "manifest.json").read_text())
TRIALS = [json.loads(line) for line in (RECORDED / "trials.jsonl").read_text().splitlines()]
# Keys whose values are read as they are: numbers are parsed from them, and nothing else reads them.
RAW = ("streams",)
NO_ADVICE = nothing("")


def lied(value, lie):
    """Return a document with a lie behind each of its texts and names."""
    if isinstance(value, str):
        return lie + value
    if isinstance(value, list):
        return [lied(item, lie) for item in value]
    if isinstance(value, dict):
        return {key: lied(item, lie) for key, item in value.items()}
    return value


def places(value, keys_above=()):
    """Return the places of all texts of a document, and of the names that it has for things; of
    places that differ in such a name or a number alone, the first.
    """
    places_of = {}
    if isinstance(value, str):
        return {(): keys_above}
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        kind = "*" if isinstance(key, int) or key not in KNOWN else key
        for pattern, where in places(item, (*keys_above, key)).items():
            places_of.setdefault((kind, *pattern), where)
        if kind == "*" and isinstance(key, str):
            places_of.setdefault((kind, "name"), (*keys_above, key, ...))
    return places_of


# Keys that are words of a format, not names of devices, nodes, profiles and features.
KNOWN = {
    *PLAN,
    *PLAN["factors"][0],
    *PLAN["workloads"][0],
    *PLAN["visits"][0],
    *PLAN["visits"][0]["cells"][0],
    *("levels", "settings", "client", "server", "features", "nodes", "before", "after"),
    *MANIFEST["nodes"]["node1"]["before"],
    *MANIFEST["nodes"]["node1"]["before"]["host"],
    *MANIFEST["nodes"]["node1"]["before"]["host"]["cpus"],
    *MANIFEST["nodes"]["node1"]["before"]["ovs"],
    *MANIFEST["nodes"]["node1"]["before"]["devices"]["underlay0"],
    *MANIFEST["nodes"]["node1"]["before"]["devices"]["underlay0"]["driver"],
}


def with_lie(document, keys, lie):
    """Return a document with a lie at one place: a text, or, where the place ends with ``...``, a
    name.
    """
    document = copy.deepcopy(document)
    item = document
    *above, last = keys if keys[-1] is not ... else keys[:-1]
    for key in above:
        item = item[key]
    if keys[-1] is ...:
        item[lie] = item.pop(last)
    else:
        item[last] = lie
    return document


def put(folder, plan=PLAN, manifest=MANIFEST, trials=TRIALS):
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "trials.jsonl").write_text("".join(map(records.encode, trials)))


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(RECORDED, tmp_path / "demo")


def named(value, lie):
    """Return a document whose names of devices have a lie."""
    if isinstance(value, list):
        return [named(item, lie) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        (lie + key if key in ("underlay0", "ns1/veth0") else key): named(item, lie)
        for key, item in value.items()
    }


@pytest.mark.parametrize("lie", lies.LIES.values(), ids=lies.LIES)
def test_a_report_of_a_node_that_lies_in_all_it_says(folder, lie):
    """All texts of the manifest, the names of its devices; of each trial the error, the marks and the
    evidence; in what each netperf printed.
    """
    trials = []
    for number, trial in enumerate(TRIALS):
        marks = [{"guard": lie + "mss", "reason": lie, "excludes": number % 3 == 0}]
        error = lie if number % 5 == 0 else None
        evidence = named(lied(trial["evidence"], lie), lie)
        streams = lied(trial["streams"], lie)
        trials.append(
            {**trial, "marks": marks, "error": error, "evidence": evidence, "streams": streams}
        )
    manifest = {**MANIFEST, "nodes": named(lied(MANIFEST["nodes"], lie), lie)}
    put(folder, manifest=manifest, trials=trials)
    new_report = make_report(str(folder))
    assert lies.wrong_files(folder) == {}
    assert lies.wrong_text(new_report["headline"] + new_report["table"]) == []


@pytest.mark.parametrize("lie", ["template", "html", "escapes"])
def test_a_comparison_and_a_history_of_a_node_that_lies(folder, lie):
    other = shutil.copytree(folder, folder.parent / lies.LIES["html"].replace("/", ""))
    put(other, manifest={**MANIFEST, "nodes": lied(MANIFEST["nodes"], lies.LIES[lie])})
    comparison = comparison_text.documents(compare.compare_folders([str(folder), str(other)]))
    past = page.documents(history.history_of([str(folder), str(other)]))
    for name, text in {**comparison, **past}.items():
        assert lies.wrong_text(text) == [], name
        if name.endswith((".md", ".html", ".xml")):
            assert lies.wrong_markup(text) == [], name


PLACES = {"plan": places(PLAN), "manifest": places(MANIFEST)}


def test_all_kinds_of_fields_are_tried():
    patterns = {"/".join(pattern) for pattern in PLACES["plan"]}
    assert {
        "name",
        "control",
        "profiles/*/levels/*",
        "factors/*/name",
        "visits/*/cells/*/id",
    } <= patterns
    patterns = {"/".join(pattern) for pattern in PLACES["manifest"]}
    assert {"nodes/*/before/host/kernel", "nodes/*/before/devices/*/driver/driver"} <= patterns
    assert {"nodes/*/before/links/*/name", "nodes/*/name"} <= patterns
    assert len(PLACES["plan"]) > 20 and len(PLACES["manifest"]) > 50


@pytest.mark.parametrize("lie", each_day(("header", "lines"), lies.LIES))
def test_each_text_of_a_plan(tmp_path, lie):
    """Each is refused with its key, or is a sentence, which is clean."""
    path = tmp_path / "plan.json"
    taken = []
    for pattern, keys in PLACES["plan"].items():
        path.write_text(json.dumps(with_lie(PLAN, keys, lies.LIES[lie])))
        try:
            plan = plan_file.read_plan(str(path))
        except InputError as error:
            assert "plan.json" in str(error) and lies.wrong_text(str(error)) == []
        else:
            taken.append("/".join(pattern))
            assert not any(map(lies.TEMPLATE.search, lies.texts_of(plan))), pattern
    assert set(taken) <= {"untestable/*"}


@pytest.mark.parametrize("lie", each_day(("header", "lines"), lies.LIES))
def test_each_text_of_a_manifest(tmp_path, lie):
    """What becomes variables, and what becomes a table."""
    path = tmp_path / "manifest.json"
    for pattern, keys in PLACES["manifest"].items():
        path.write_text(json.dumps(with_lie(MANIFEST, keys, lies.LIES[lie])))
        try:
            manifest = read_manifest(str(tmp_path))
        except InputError as error:
            assert "manifest.json" in str(error) and lies.wrong_text(str(error)) == []
            continue
        data = recommended.recommendation(NO_ADVICE, PLAN, manifest)
        assert lies.wrong_yaml(recommended.document(data), "offload_lab_recommended") == [], pattern
        shown = json.dumps(conditions.conditions(manifest), default=str, ensure_ascii=False)
        assert lies.wrong_text(shown) == [] and not lies.TEMPLATE.search(shown), pattern


@pytest.mark.parametrize("lie", ["template", "header", "lines", "html", "escapes"])
def test_each_text_of_a_trial(tmp_path, lie):
    """A name that is none makes the line a damaged one, and the report says so."""
    path = tmp_path / "trials.jsonl"
    text = lies.LIES[lie]
    for key in ("id", "campaign", "pair", "client", "server", "path", "profile"):
        path.write_text(records.encode({**TRIALS[0], key: text}))
        trials, problems = records.read(str(path))
        assert not trials and lies.wrong_text(problems[0]) == [] and key in problems[0]


def test_a_damaged_line_in_a_report(folder):
    trials = [
        {**trial, "profile": lies.EVERYTHING} if number == 3 else trial
        for number, trial in enumerate(TRIALS)
    ]
    put(folder, trials=trials)
    make_report(str(folder))
    assert lies.wrong_files(folder) == {}
    assert "line 4: its profile cannot be used" in (folder / "report.md").read_text()
