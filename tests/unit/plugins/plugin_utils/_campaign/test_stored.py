# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import plan_file
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.stored import read_manifest
from ansible_collections.offload.lab.tests.support import CHECKOUT

RECORDED = CHECKOUT / "tests/unit/recorded/demo"
PLAN = json.loads((RECORDED / "plan.json").read_text())
VISIT = PLAN["visits"][0]
PART = {"schema": 1, "campaign": "demo"}
CONFIRMATION = {
    **PART,
    "control": "all_off",
    "blocks": [7],
    "profiles": PLAN["profiles"],
    "visits": PLAN["visits"][:1],
}
SEARCH = {**PART, "rounds": [], "ended": None, "nominees": []}


def changed(document, keys, value):
    """Return a document with another value at a place; without a value the key is gone."""
    document = copy.deepcopy(document)
    item = document
    for key in keys[:-1]:
        item = item[key]
    if value is ...:
        del item[keys[-1]]
    else:
        item[keys[-1]] = value
    return document


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["name"], "a\nb: 1", r"plan\.json: name: "),
        (["name"], ..., "'name' is a required property"),
        (["blocks"], "6", r"plan\.json: blocks: \"6\" cannot be used"),
        (["blocks"], 10**12, r"plan\.json: blocks: "),
        (["seed"], 1 << 80, "a whole number of about 24 digits"),
        (["control"], "{{ x }}", r"plan\.json: control: "),
        (["factors"], {}, r"plan\.json: factors: "),
        (["factors", 0, "name"], "t{x", r"plan\.json: factors\[0\]\.name: "),
        (["factors", 0, "values", "on"], {"a": {"b": 1}}, r"factors\[0\]\.values"),
        (["profiles", "all_on", "settings"], [], r"profiles\.all_on\.settings: "),
        (["profiles", "all_on", "levels", "tx"], True, r"profiles\.all_on\.levels\.tx: "),
        (["profiles", "$(id)"], PLAN["profiles"]["all_on"], r"plan\.json: profiles: "),
        (["workloads", 0, "streams"], 10**9, r"workloads\[0\]\.streams: "),
        (["untestable"], {"tx": 1}, r"untestable\.tx: "),
        (["paths", 0], 3, r"paths\[0\]: "),
        (["visits"], {}, r"plan\.json: visits: "),
        (["visits", 2], 3, r"visits\[2\]: it is not a mapping"),
        (["visits", 2, "block"], "1", r"visits\[2\]\.block: \"1\" cannot be used"),
        (["visits", 2, "profile"], "other", r"visits\[2\]\.profile: \"other\" is no name"),
        (["visits", 2, "cells"], ..., r"visits\[2\]: 'cells' is a required property"),
        (["visits", 2, "cells", 0, "id"], "a\n", r"visits\[2\]\.cells\[0\]\.id: "),
        (["visits", 2, "cells", 0, "id"], "x" * 5000, r"visits\[2\]\.cells\[0\]\.id: "),
        (["visits", 2, "cells", 0, "path"], "wire", r"visits\[2\]\.cells\[0\]\.path: \"wire\""),
        (["visits", 2, "cells", 0, "workload"], "x", r"visits\[2\]\.cells\[0\]\.workload: "),
        (["visits", 2, "cells", 0, "cell"], True, r"visits\[2\]\.cells\[0\]\.cell: true"),
    ],
)
def test_a_plan_that_is_none_is_refused_by_its_key(tmp_path, keys, value, message):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(changed(PLAN, keys, value)))
    with pytest.raises(InputError, match=message) as caught:
        plan_file.read_plan(str(path))
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


READ = {
    "confirmation": (plan_file.read_confirmation, CONFIRMATION),
    "search": (plan_file.read_search, SEARCH),
    "looks": (plan_file.read_interim, {**PART, "made": []}),
    "spending": (plan_file.read_spending, {**PART, "made": []}),
}


@pytest.mark.parametrize(
    ("name", "keys", "value"),
    [
        ("confirmation", ["profiles"], 1),
        ("confirmation", ["visits", 0, "profile"], "x"),
        ("confirmation", ["blocks"], ["7"]),
        ("search", ["ended"], "{{ x }}"),
        ("search", ["rounds"], [{"round": 1, "profiles": {}}]),
        ("search", ["rounds"], [{"round": 1, "profiles": {}, "visits": [{**VISIT, "cells": [1]}]}]),
        ("looks", ["made"], [{"block": 1}]),
        ("spending", ["made"], ["x"]),
    ],
)
def test_what_was_decided_is_checked_too(tmp_path, name, keys, value):
    path = tmp_path / f"{name}.json"
    read, document = READ[name]
    path.write_text(json.dumps(document))
    assert read(str(tmp_path)) is not None
    path.write_text(json.dumps(changed(document, keys, value)))
    with pytest.raises(InputError, match=f"{name}.json: "):
        read(str(tmp_path))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "manifest.json: "),
        ({"nodes": []}, r"manifest\.json: nodes: "),
        ({"nodes": {"node1": {"before": 1}}}, r"nodes\.node1\.before: "),
        ({"nodes": {"node1": {"before": {"host": {"kernel": {}}}}}}, r"host\.kernel: "),
        ({"nodes": {"node1": {"before": {"devices": {"eth0": 1}}}}}, r"devices\.eth0: "),
    ],
)
def test_a_manifest_that_is_none_is_refused_by_its_key(tmp_path, document, message):
    (tmp_path / "manifest.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        read_manifest(str(tmp_path))


def test_texts_of_a_manifest_are_clean(tmp_path):
    document = {"nodes": {"a{{": {"before": {"host": {"kernel": "6\n{% x %}"}}}}}
    (tmp_path / "manifest.json").write_text(json.dumps(document))
    assert read_manifest(str(tmp_path)) == {
        "nodes": {"a{ {": {"before": {"host": {"kernel": "6 { % x %}"}}}}
    }


@pytest.mark.parametrize("text", ["[" * 100_000, "{", '{"a": 1' + "0" * 9000 + "}"])
def test_what_is_no_json_is_said(tmp_path, text):
    for name in ("plan.json", "manifest.json"):
        (tmp_path / name).write_text(text)
    for read in (
        lambda: plan_file.read_plan(str(tmp_path / "plan.json")),
        lambda: read_manifest(str(tmp_path)),
    ):
        with pytest.raises(InputError, match="this is not JSON"):
            read()


def test_folders_of_earlier_versions_are_read():
    assert plan_file.read_plan(str(RECORDED / "plan.json")) == PLAN
    manifest = read_manifest(str(RECORDED))
    text = (RECORDED / "manifest.json").read_text()
    assert manifest == json.loads(text.replace("\\t", " "))  # some sysctls have tabs
