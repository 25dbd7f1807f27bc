# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""reproduce.sh: what it tries, and that no text of a node becomes a word of its shell."""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import subprocess
from dataclasses import replace

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.encode import read_analysis
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Analysis, Blame
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Trials as Counts
from ansible_collections.offload.lab.plugins.plugin_utils._exports import (
    reproduction,
)
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests import report_golden
from ansible_collections.offload.lab.tests.security import lies
from ansible_collections.offload.lab.tests.support import run

OF_NODE = ("NETNS", "ADDRESS", "DEVICES", "BROKEN", "CURED")
VALUES = [f"{name}{number}" for number in (1, 2) for name in OF_NODE]
VALUES += ["KINDS", "LEAST", "RATE", "PAIRS", "SECONDS_EACH", "PORT", "LAYERS", "WHY_NOT", "MTU"]
VALUES += ["SEVERAL"]


@pytest.fixture(name="hop", scope="module")
def _hop(tmp_path_factory):
    """Return plan, broken path, checks and trials of pods whose tunnel breaks tx."""
    folder = tmp_path_factory.mktemp("hop")
    report_golden.broken_hop(folder)
    make_report(str(folder))
    plan = json.loads((folder / "plan.json").read_text())
    trials = list(map(json.loads, (folder / "trials.jsonl").read_text().splitlines()))
    [row] = read_analysis(Analysis, str(folder)).payload.paths
    return plan, row, payload.checks_of(trials), trials


def made(hop, manifest=None, row=None, trials=None):
    plan, usual, checks, usual_trials = hop
    shown = report_golden.pods_manifest() if manifest is None else manifest
    return reproduction.reproduction(plan, row or usual, checks, shown, trials or usual_trials)


def values_of(script):
    """Return the variables of a script as its shell sees them."""
    head, _mark, _rest = script.partition("TOKEN=")
    each = "".join(f"""printf '%s\\0' "${name}"\n""" for name in VALUES)
    argv = ["sh", "-c", f"{head}\n{each}"]
    shown = subprocess.run(
        argv, stdout=subprocess.PIPE, check=True, env={"PATH": os.environ["PATH"]}
    )
    return dict(zip(VALUES, shown.stdout.decode().split("\0")))


def test_it_is_shrunk_to_what_the_trials_show(hop):
    tried = made(hop)
    assert tried.kinds == ["tcp_forward"] and tried.least == 1449
    client, server = tried.nodes
    assert client.cured == [
        ("-", "flannel.1", "tx-checksum-ip-generic", "off", "tunnel", "vxlan"),
    ]
    assert [switch.value for switch in client.broken] == ["on"]
    assert (client.netns, client.address) == ("cni-node1", "10.244.1.5")
    assert (server.netns, server.address, server.cured) == ("cni-node2", "10.244.2.5", [])
    assert (tried.layers, tried.port) == ("vxlan", 12868)


def test_the_values_of_the_script_are_those_of_the_campaign(hop):
    values = values_of(reproduction.script(made(hop)))
    assert values["KINDS"] == "tcp_forward" and values["LEAST"] == "1449"
    assert values["BROKEN1"] == "- flannel.1 tx-checksum-ip-generic on"
    assert values["CURED1"] == "- flannel.1 tx-checksum-ip-generic off"
    assert values["ADDRESS2"] == "10.244.2.5" and values["SEVERAL"] == "no"


def test_of_a_fault_whose_protocol_is_not_known_all_are_tried(hop):
    plan, row, checks, trials = hop
    failed = [
        {**trial, "result": {}, "streams": [{**trial["streams"][0], "rc": 1}]}
        if trial["error"]
        else trial
        for trial in trials
    ]
    checks = payload.checks_of(failed)
    tried = reproduction.reproduction(plan, row, checks, report_golden.pods_manifest(), failed)
    assert tried.kinds == ["tcp_forward", "tcp_reverse", "udp_forward", "udp_reverse"]
    assert tried.least == 1


def test_the_direction_is_that_of_the_packets_with_wrong_checksums(hop):
    plan, row, _checks, trials = hop
    damaged = copy.deepcopy(trials)
    for trial in damaged:
        counted = trial["result"]["payload"]
        checks = {"tcp_forward": counted["checks"]["tcp_forward"]}
        checks["udp_reverse"] = {**checks["tcp_forward"], "wrong": 0, "first": None}
        checks["tcp_forward"] = dict(checks["udp_reverse"])
        counted["checks"] = checks
        if trial["error"]:
            counted["counters"]["client"]["UdpInCsumErrors"] = 50
    checks = payload.checks_of(damaged)
    tried = reproduction.reproduction(plan, row, checks, report_golden.pods_manifest(), damaged)
    assert tried.kinds == ["udp_reverse"]


def test_there_is_no_script_where_it_could_switch_nothing(hop):
    plan, row, checks, trials = hop
    assert reproduction.reproduction(plan, row, checks, None, trials) is None
    assert made(hop, {"schema": 1, "campaign": "golden", "nodes": {}}) is None
    assert made(hop, row=replace(row, off=[])) is None
    assert made(hop, row=replace(row, blames=[])) is None
    as_found = Blame(
        settings={"as_found": True},
        under=Counts(trials=1, troubled=1),
        without=Counts(trials=1, troubled=0),
        kind="x",
        p=0.01,
    )
    assert made(hop, row=replace(row, blames=[as_found])) is None
    assert made(hop, trials=[{**trial, "streams": []} for trial in trials]) is None


def test_a_fixed_feature_is_not_set(hop):
    manifest = copy.deepcopy(report_golden.pods_manifest())
    features = manifest["nodes"]["node1"]["before"]["devices"]["flannel.1"]["features"]
    features["tx-checksum-ip-generic"]["fixed"] = True
    assert made(hop, manifest) is None


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        ("ice", "the fault is one of driver ice"),
        ("", "the fault is one of driver unknown"),
        ("x; reboot", "the fault is one of driver x_ reboot"),
    ],
)
def test_a_fault_of_a_card_needs_the_card(hop, driver, why):
    manifest = copy.deepcopy(report_golden.pods_manifest())
    manifest["nodes"]["node1"]["before"]["devices"]["flannel.1"]["driver"] = {"driver": driver}
    tried = made(hop, manifest)
    assert (tried.layers, tried.why_not) == ("card", why)
    assert "--namespaces ]; then" not in reproduction.script(tried)


WORDS = (
    "a; reboot",
    "$(reboot)",
    "`reboot`",
    "x\nreboot",
    "it's",
    "-x",
    "a b",
    "..",
    "",
    'x" y',
    "é",
)


@pytest.mark.parametrize("word", [*WORDS, *lies.LIES.values()])
@pytest.mark.parametrize("where", ["device", "netns", "feature", "driver", "address", "local"])
def test_a_hostile_text_is_no_word_of_the_script(hop, word, where):
    """It is left out, or the shell sees what its quotes hold."""
    manifest = copy.deepcopy(report_golden.pods_manifest())
    node = manifest["nodes"]["node1"]["before"]
    trials = copy.deepcopy(hop[3])
    device = node["devices"]["flannel.1"]
    if where == "device":
        node["classes"]["tunnel"] = [word, "flannel.1"]
        node["devices"][word] = device
    elif where == "netns":
        node["classes"]["tunnel"] = [f"{word}/eth0", "flannel.1"]
        node["devices"][f"{word}/eth0"] = device
    elif where == "feature":
        device["features"][f"tx-checksum-{word}"] = {"active": True, "fixed": False}
    elif where == "driver":
        device["driver"] = {"driver": word}
    for trial in trials:
        argv = trial["streams"][0]["argv"]
        begin = argv.index("check")
        if where in ("address", "local"):
            argv[begin + (1 if where == "address" else 5)] = word
    tried = made(hop, manifest, trials=trials)
    if tried is None:
        assert where in ("address", "local")
        return
    script = reproduction.script(tried)
    head = script.partition("\nTOKEN=")[0]
    assert head.isascii()
    values = values_of(script)
    assert re.fullmatch(r"(- flannel\.1 [a-z0-9_-]+ off ?)+", values["CURED1"])
    assert values["DEVICES1"] == "- flannel.1"
    comments = [line for line in head.splitlines() if not line.startswith("#")]
    assert not any(word and word in line for line in comments if "reboot" in word)


@pytest.mark.parametrize("text", WORDS)
def test_names_of_the_campaign_stay_in_comments(hop, text):
    tried = made(hop)._replace(campaign=text, path=text, kind=text)
    script = reproduction.script(tried)
    assert values_of(script) == values_of(reproduction.script(made(hop)))
    usual = reproduction.script(made(hop))
    assert len(script.splitlines()) == len(usual.splitlines())


@pytest.mark.parametrize(
    "kinds", [["tcp_forward"], ["udp_reverse"], ["tcp_forward", "udp_forward"]]
)
def test_the_program_is_plain(kinds):
    """The shell holds it between two single quotes; nodes have Python 3.8 and later."""
    program = reproduction.program(kinds)
    assert "'" not in program and program.isascii()
    assert "@@" not in program and "\nEND\n" not in program
    tree = ast.parse(program, feature_version=(3, 8))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {node.module for node in imported} == {"__future__", "typing"}


def test_the_script_has_no_findings_of_shellcheck(hop, tmp_path):
    for layers in ("card", "vxlan"):
        path = tmp_path / f"{layers}.sh"
        path.write_text(reproduction.script(made(hop)._replace(layers=layers, why_not="x")))
        run(["shellcheck", str(path)])
        subprocess.run(["sh", "-n", str(path)], check=True)


@pytest.mark.parametrize(
    "arguments", [[], ["one"], ["-x", "two"], ["", "two"], ["a", "b", "c"], ["--namespaces", "x"]]
)
def test_wrong_arguments_start_nothing(hop, tmp_path, arguments):
    path = tmp_path / reproduction.FILE
    path.write_text(reproduction.script(made(hop)))
    argv = ["sh", str(path), *arguments]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and "usage: sh" in ended.stderr and not ended.stdout


def test_a_fault_of_a_card_has_no_namespaces(hop, tmp_path):
    path = tmp_path / reproduction.FILE
    path.write_text(
        reproduction.script(
            made(hop)._replace(layers="card", why_not="the fault is one of driver ice")
        )
    )
    argv = ["sh", str(path), "--namespaces"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (
        2,
        "Could not run: the fault is one of driver ice\n",
    )


def test_it_goes_with_the_fault(tmp_path):
    report_golden.broken_hop(tmp_path)
    report = make_report(str(tmp_path))
    assert report["files"]["reproduce.sh"] == str(tmp_path / "reproduce.sh")
    assert "sh reproduce.sh CLIENT SERVER" in (tmp_path / "issue.md").read_text()
    record = tmp_path / "trials.jsonl"
    record.write_text(record.read_text().replace('"wrong": 3', '"wrong": 0'))
    report = make_report(str(tmp_path))
    assert "reproduce.sh" not in report["files"] and not (tmp_path / "reproduce.sh").exists()
