# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import engine_named
from ansible_collections.offload.lab.plugins.module_utils._engines.payload.result import COUNTS
from ansible_collections.offload.lab.plugins.plugin_utils._trials import guards, payload, trials

SCHEMA = json.loads(
    (Path(trials.__file__).parents[1] / "_campaign/schemas" / "trial.json").read_text()
)
ENDS = {
    "client": {
        "physical": {"netns": None, "address": "198.18.0.1"},
        "tenant_vxlan": {
            "netns": "tenant1",
            "address": "192.168.10.1",
            "all": [
                {"netns": "tenant1", "address": "192.168.10.1"},
                {"netns": "tenant2", "address": "192.168.10.2"},
            ],
        },
    },
    "server": {
        "physical": {"netns": None, "address": "198.18.0.2"},
        "tenant_vxlan": {
            "netns": "tenant1",
            "address": "192.168.10.3",
            "all": [
                {"netns": "tenant1", "address": "192.168.10.3"},
                {"netns": "tenant2", "address": "192.168.10.4"},
            ],
        },
    },
}
STREAM = {"name": "tcp_stream", "test": "TCP_STREAM", "duration": 1}
PLAN = {"workloads": [STREAM, {"name": "rr", "test": "TCP_RR", "duration": 1}]}
VISIT = {
    "block": 3,
    "visit": 2,
    "mtu": 9000,
    "profile": "all_on",
    "repeat": False,
    "cells": [
        {
            "id": "c1",
            "cell": 1,
            "path": "physical",
            "workload": "tcp_stream",
            "pair": "node1-node2",
        },
        {"id": "c2", "cell": 2, "path": "tenant_vxlan", "workload": "rr"},
        {"id": "c3", "cell": 3, "path": "physical", "workload": "rr", "pair": "node3-node4"},
    ],
}
NAMES = {"campaign": "demo", "client": "node1", "server": "node2", "pair": "node1-node2"}
RAW = """MIGRATED TCP STREAM TEST from 198.18.0.1 () port 0 AF_INET to 198.18.0.2 () port 0 AF_INET : demo
THROUGHPUT=9410.25
THROUGHPUT_UNITS=10^6bits/s
ELAPSED_TIME=1.00
TRANSPORT_MSS=8948
"""


def cells():
    return trials.visit_cells(PLAN, VISIT, ENDS, 12865, "node1-node2")


def test_pairs_that_share_a_server_at_the_same_time_have_data_ports_of_their_own():
    pairs = [("node1", "node2"), ("node3", "node2"), ("node4", "node2"), ("node5", "node6")]
    rounds = [[{"client": client, "server": server} for client, server in pairs]]
    ports = [
        trials.data_port({"rounds": rounds}, f"{client}-{server}", 12865)
        for client, server in pairs
    ]
    assert ports == [12870, 13536, 14202, 12870]
    assert (
        trials.data_port({"rounds": [[pair] for pair in rounds[0]]}, "node3-node2", 12865) == 12870
    )
    assert trials.data_port(PLAN, "node1-node2", 99) == 104
    cell = trials.visit_cells({**PLAN, "rounds": rounds}, VISIT, ENDS, 12865, "node3-node2")[0]
    assert cell["endpoints"][0]["data_port"] == 13536


def row(raw=RAW, **more):
    stream = {
        "netns": None,
        "argv": ["netperf", "-t", "TCP_STREAM"],
        "rc": 0,
        "raw": raw,
        "stderr": "",
        "started": 1.0,
        "finished": 2.1,
    }
    return dict(
        {"id": "c1", "started": 1.0, "finished": 2.1, "streams": [stream], "error": None}, **more
    )


def test_the_cells_of_one_pair():
    cells_found = cells()
    assert [cell["id"] for cell in cells_found] == ["c1", "c2"]
    assert cells_found[0]["endpoints"] == [
        {
            "netns": None,
            "local": "198.18.0.1",
            "address": "198.18.0.2",
            "port": 12865,
            "data_port": 12870,
        }
    ]
    assert [end["netns"] for end in cells_found[1]["endpoints"]] == ["tenant1", "tenant2"]
    assert [end["address"] for end in cells_found[1]["endpoints"]] == [
        "192.168.10.3",
        "192.168.10.4",
    ]
    assert (
        cells_found[0]["workload"] == STREAM
        and cells_found[0]["block"] == 3
        and cells_found[0]["profile"] == "all_on"
    )


@pytest.mark.parametrize(
    "endpoints, message",
    [
        ({"client": {}, "server": {}}, "the client has no endpoint on this path"),
        ({"client": ENDS["client"], "server": None}, "the server has no endpoint on this path"),
        (
            {"client": {"physical": {"address": "-K"}}, "server": ENDS["server"]},
            "not an IP address",
        ),
    ],
)
def test_wrong_endpoints(endpoints, message):
    with pytest.raises(InputError, match=message):
        trials.visit_cells(PLAN, VISIT, endpoints, 12865, "node1-node2")


def test_a_wrong_cell_is_refused_before_anything_is_sent():
    with pytest.raises(InputError, match="cell x: .*unknown netperf test"):
        trials.checked(
            [{"id": "x", "workload": {"test": "FOO"}, "endpoints": [{"address": "198.18.0.2"}]}]
        )
    with pytest.raises(InputError, match="cell x: given twice"):
        trials.checked(
            [{"id": "x", "workload": STREAM, "endpoints": [{"address": "198.18.0.2"}]}] * 2
        )
    with pytest.raises(InputError, match="0 endpoints, fewer than the 1 tenants"):
        trials.checked([{"id": "x", "workload": STREAM, "endpoints": []}])


@pytest.mark.parametrize(
    "lengths, limit, expected",
    [
        ([], 60, []),
        ([20, 20, 20, 20], 60, [3, 1]),
        ([100, 5, 5], 60, [1, 2]),
        ([61], 60, [1]),
    ],
)
def test_chunks(lengths, limit, expected):
    chunks = trials.chunks_of(
        [{"id": number, "seconds": length} for number, length in enumerate(lengths)], limit
    )
    assert [len(chunk) for chunk in chunks] == expected
    assert [cell["id"] for chunk in chunks for cell in chunk] == list(range(len(lengths)))


def test_only_what_the_client_needs_is_sent():
    assert sorted(trials.sent(cells()[0])) == ["endpoints", "id", "pair", "workload"]


def test_a_trial_fits_the_schema():
    record = trials.trial(cells()[0], row(), NAMES)
    jsonschema.validate(record, SCHEMA)
    assert record["result"]["throughput_mbps"] == 9410.25 and record["result"]["mss"] == 8948
    assert (record["pair"], record["block"], record["visit"], record["cell"]) == (
        "node1-node2",
        3,
        2,
        1,
    )
    assert record["error"] is None and record["marks"] == []


@pytest.mark.parametrize(
    "change, message",
    [
        ({"error": "did not end within 17 s"}, "did not end within 17 s"),
        ({"streams": []}, "no stream was started"),
        ({"streams": [dict(row()["streams"][0], raw="")]}, "0 results, not one"),
        ({"streams": [dict(row()["streams"][0], raw=RAW + RAW)]}, "2 results, not one"),
        (
            {"streams": [dict(row()["streams"][0], raw=RAW[: RAW.index("THROUGHPUT=")])]},
            "truncated",
        ),
    ],
)
def test_a_failed_trial_is_kept_with_its_error(change, message):
    record = trials.trial(cells()[0], row(**change), NAMES)
    jsonschema.validate(record, SCHEMA)
    assert message in record["error"] and record["result"] == {}
    assert record["cpu"] is None and record["marks"] == []


def check_of_payload(**counts):
    """Return the text of a check of the payload that the other end broke off."""
    check = {**dict.fromkeys(COUNTS, 0), "sent": 9, "arrived": 8, "first": None, **counts}
    counters = {"client": {}, "server": {}}
    error = "the other end has closed the connection"
    return json.dumps(
        {
            **{"elapsed": 1.0, "mss": 1448, "counters": counters, "error": error},
            "checks": {"tcp_forward": check},
        }
    )


def trial_of_payload(rc=0, raw="", **more):
    cell = {**cells()[0], "workload": {"name": "check", "test": "PAYLOAD", "duration": 1}}
    stream = {
        **row()["streams"][0],
        "argv": engine_named("payload").command("check", "198.18.0.2", "1", "1", "0"),
    }
    trial_found = {"streams": [{**stream, "rc": rc, "raw": raw}], **more}
    record = trials.trial(cell, row(**trial_found), NAMES)
    jsonschema.validate(record, SCHEMA)
    return record


DIED = {"error": "the check of the payload failed: Connection refused", "rc": 1}


@pytest.mark.parametrize(
    "answer", [DIED, {"raw": check_of_payload()}, {"raw": check_of_payload(short=1, stalled=1)}]
)
def test_a_check_whose_server_was_gone_says_nothing_of_the_path(answer):
    """Not an outcome of its profile: it is no failure, no check, and measured again."""
    record = trial_of_payload(**answer, server_answers=False)
    assert record["error"] is None
    assert [mark["guard"] for mark in record["marks"]] == ["server_gone"]
    assert guards.excluded(record) and guards.spoilt(record)
    assert payload.checked(record) is None


@pytest.mark.parametrize("answer", [DIED, {"raw": check_of_payload()}])
def test_a_check_that_breaks_off_beside_a_living_server_is_trouble(answer):
    record = trial_of_payload(**answer)
    assert record["error"] and payload.trouble(payload.checked(record)) == payload.STOPPED


def test_wrong_content_is_a_fault_whatever_became_of_the_server():
    record = trial_of_payload(raw=check_of_payload(wrong=1), server_answers=False)
    assert record["error"] == payload.WRONG and "server_answers" not in record
    assert payload.altered(payload.checked(record))


SILENT = "10.244.2.5 did not answer for 1.4 s"


@pytest.mark.parametrize("answer", [DIED, {"raw": check_of_payload()}, {"streams": []}])
def test_a_path_that_stopped_answering_is_trouble(answer):
    record = trial_of_payload(**answer, path_stopped=SILENT)
    assert record["error"] == payload.SILENT and record["path_stopped"] == SILENT
    assert payload.trouble(payload.checked(record)) == payload.SILENT


@pytest.mark.parametrize("answer", [DIED, {"raw": check_of_payload()}, {"streams": []}])
def test_a_trial_beside_a_path_that_stopped_says_nothing(answer):
    record = trial_of_payload(**answer, interrupted=SILENT)
    assert record["error"] is None and payload.checked(record) is None
    assert [mark["guard"] for mark in record["marks"]] == ["interrupted"]
    assert guards.excluded(record) and not guards.spoilt(record)


def test_guards_compare_with_the_lab():
    lab = {"vni": 10, "underlay_ip": 4, "timestamps": False, "speed_mbps": None}
    record = trials.trial(cells()[0], row(), NAMES, lab)
    assert [mark["guard"] for mark in record["marks"]] == ["mss"]
    assert trials.trial(cells()[0], row(), NAMES, dict(lab, timestamps=True))["marks"] == []


@pytest.mark.parametrize(
    "until, struck, seconds",
    [
        ("named", ("as_found", "node1-node2", "physical"), 1.0),
        ("named", ("as_found", "node1-node3", "physical"), 4.0),
        ("named", ("all_on", "node1-node2", "physical"), 4.0),
        (None, ("as_found", "node1-node2", "physical"), 4.0),
    ],
)
def test_a_check_is_short_where_the_fault_strikes_often_as_found(until, struck, seconds):
    cell = {"pair": "node1-node2", "path": "physical", "workload": {"duration": 4.0}}
    [cell] = trials.shortened({**PLAN, "until": until}, [cell], {struck})
    assert cell["workload"]["duration"] == seconds
