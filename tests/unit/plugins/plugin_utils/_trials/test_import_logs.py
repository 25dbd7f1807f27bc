# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.schema import (
    load_schema,
    validate,
)
from ansible_collections.offload.lab.plugins.plugin_utils._trials.import_logs import import_logs
from ansible_collections.offload.lab.tests.support import CHECKOUT, as_file
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

RUN = """MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to 198.18.0.2 () port 0 AF_INET : +/-2.500% @ 99% conf.
!!! WARNING
!!! Desired confidence was not achieved within the specified iterations.
!!! This implies that there was variability in the test environment that
!!! must be investigated before going further.
!!! Confidence intervals: Throughput      : 6.663%
!!!                       Local CPU util  : 14.049%
!!!                       Remote CPU util : 13.944%

Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

 87380  16384   4096    10.00      {0:.2f}   1.18     0.93     0.483   0.383
"""
STUDY = {
    "name": "study-003",
    "source": "study 003",
    "control": "offload_off",
    "factors": ["tx-udp_tnl-segmentation"],
    "profiles": {
        "offload_off": {"tx-udp_tnl-segmentation": False},
        "offload_on": {"tx-udp_tnl-segmentation": True},
    },
    "logs": [
        {
            "file": "003.txt",
            "profile": "offload_off",
            "path": "tenant_vxlan",
            "mtu": 9000,
            "first_line": 390,
            "last_line": 473,
        },
        {
            "file": "003.txt",
            "profile": "offload_on",
            "path": "tenant_vxlan",
            "mtu": 9000,
            "first_line": 474,
        },
    ],
}


def studies():
    return corpus_dir().parent / "studies"


def checked(spec, texts):
    plan, trials = import_logs(spec, texts)
    validator = jsonschema.Draft202012Validator(load_schema("trial"))
    for trial in json.loads(json.dumps(trials)):
        validator.validate(trial)
    analysis = as_file(analyse(plan, trials))
    validate(analysis, "analysis", "analysis")
    return plan, trials, analysis


def test_the_runs_of_study_003():
    text = next(studies().glob("003_*")).read_text(encoding="utf-8")
    plan, trials, analysis = checked(STUDY, {"003.txt": text})
    assert (plan["kind"], plan["blocks"], analysis["kind"]) == ("imported", 1, "imported")
    assert [
        (trial["profile"], trial["workload"]["message_size"], trial["result"]["throughput_mbps"])
        for trial in trials
    ][:2] == [("offload_off", 4096, 9591.78), ("offload_off", 8192, 9200.11)]
    assert len(trials) == 10 and not any(trial["error"] for trial in trials)
    assert all(trial["marks"][0]["guard"] == "confidence" for trial in trials)
    assert trials[0]["marks"][0]["reason"] == (
        "the confidence asked for was missed: throughput 6.663 %, "
        "local cpu 14.049 %, remote cpu 13.944 %, asked was 5 %"
    )
    assert (
        trials[0]["streams"][0]["raw"].startswith("MIGRATED")
        and "9591.78" in trials[0]["streams"][0]["raw"]
    )
    ratios = {table["workload"]: table["metrics"][0]["rows"][0] for table in analysis["tables"]}
    assert ratios["tcp_stream-m8192-s16384-r87380"]["ratio"] == pytest.approx(
        9837.25 / 9200.11, rel=1e-5
    )
    assert {row["state"] for row in ratios.values()} == {"unknown"} and analysis["trials"][
        "excluded"
    ] == 0
    assert analysis["warnings"] == ["1 block gives no test: 6 are needed"]


def test_the_run_of_study_004_that_broke_off_is_a_failed_trial():
    text = next(studies().glob("004_*")).read_text(encoding="utf-8")
    _plan, trials, analysis = checked(
        {"name": "study-004", "logs": [{"file": "f", "profile": "off"}]}, {"f": text}
    )
    assert [trial["error"] is None for trial in trials] == [True, False, True, True, True, True]
    assert trials[1]["result"] == {} and "truncated" in trials[1]["error"]
    assert analysis["trials"]["failed"] == 1 and analysis["trials"]["used"] == 5
    assert trials[3]["marks"] == []  # the one run that reached its confidence


def test_runs_of_the_same_kind_are_blocks():
    texts = {
        "off": "".join(RUN.format(1000.0 + number) for number in range(7)),
        "on": "".join(RUN.format(1500.0 + number) for number in range(7)),
    }
    spec = {
        "name": "own",
        "logs": [
            {"file": name, "profile": name, "path": "physical", "mtu": 1500} for name in texts
        ],
    }
    plan, trials, analysis = checked(spec, texts)
    row = analysis["tables"][0]["metrics"][0]["rows"][0]
    assert plan["blocks"] == 7 and [trial["block"] for trial in trials][:7] == [1, 2, 3, 4, 5, 6, 7]
    assert (
        row["n"] == 7 and row["ratio"] == pytest.approx(1.5, rel=0.01) and row["state"] == "better"
    )
    assert analysis["tables"][0]["metrics"][0]["aa"]["ratio"] is None
    assert len({trial["id"] for trial in trials}) == 14


def test_a_run_without_its_number_is_a_failed_trial():
    # Its header is lost
    row = " 87380  16384  65536    10.00      9106.93   0.59     0.85     0.253   0.369\n"
    _plan, trials, analysis = checked(
        {"name": "x", "logs": [{"file": "f", "profile": "p"}]}, {"f": row}
    )
    assert [trial["error"] for trial in trials] == [
        "the run has no throughput and no transaction rate"
    ]
    assert analysis["trials"]["failed"] == 1 and analysis["trials"]["used"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logs": []}, "import: logs"),
        ({"name": "../x"}, "import: name"),
        ({"control": "third"}, "control 'third' is not a profile of any log"),
        ({"logs": [{"file": "f", "profile": "off", "mtu": 1}]}, "import: logs[0].mtu"),
        (
            {"logs": [{"file": "f", "profile": "off", "first_line": 900}]},
            "no run of netperf, and no JSON of iperf3, is found",
        ),
        (
            {"logs": [{"file": "f", "profile": "off", "first_line": 5, "last_line": 2}]},
            "no run of netperf, and no JSON of iperf3, is found",
        ),
    ],
)
def test_a_bad_import_is_one_message(change, message):
    spec = {"name": "x", "logs": [{"file": "f", "profile": "off"}], **change}
    with pytest.raises(InputError) as error:
        import_logs(spec, {"f": RUN.format(1.0)})
    assert message in str(error.value)


PARTS = st.sampled_from(
    [RUN.format(941.5), "netperf: error\n", "\n", " 87380 16384 \n", "junk\r\n", "\x0c"]
)


@settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # the machine's load is no property of the text
@given(st.lists(PARTS | st.text(), max_size=6), st.integers(1, 20), st.integers(1, 60))
def test_any_text_is_imported_or_refused(parts, first, last):
    spec = {
        "name": "x",
        "logs": [{"file": "f", "profile": "p", "first_line": first, "last_line": last}],
    }
    try:
        plan, trials = import_logs(spec, {"f": "".join(parts)})
    except LabError:
        return
    assert trials and analyse(plan, trials).trials.recorded == len(trials)


def test_the_json_of_iperf3_becomes_trials():
    """Two runs of two versions in one file, one of them both ways, and one that broke off."""
    folder = CHECKOUT / "tests/unit/plugins/module_utils/_engines/iperf3/samples"
    whole_text = (folder / "tcp-3.12.json").read_text() + (
        folder / "bidirectional-3.18.json"
    ).read_text()
    texts = {"on.json": whole_text, "off.json": whole_text[: len(whole_text) // 4]}
    spec = {
        "name": "site",
        "logs": [{"file": "on.json", "profile": "on"}, {"file": "off.json", "profile": "off"}],
    }
    _plan, trials = import_logs(spec, texts)
    on = [trial for trial in trials if trial["profile"] == "on"]
    assert [trial["workload"]["test"] for trial in on] == ["TCP_STREAM", "TCP_STREAM", "TCP_MAERTS"]
    assert all(trial["error"] is None and trial["result"]["throughput_mbps"] > 0 for trial in on)
    assert on[0]["id"] == "on.json:1" and on[2]["id"] == on[1]["id"] + "-reverse"
    [off] = [trial for trial in trials if trial["profile"] == "off"]
    assert off["error"] == "the JSON of iperf3 is not whole" and off["result"] == {}
    validator = jsonschema.Draft202012Validator(load_schema("trial"))
    assert [list(validator.iter_errors(trial)) for trial in trials] == [[]] * 4
