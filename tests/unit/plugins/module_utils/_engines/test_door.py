# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door of the servers of engines sockets and payload, and what their clients may ask for."""

from __future__ import annotations

import contextlib
import inspect
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines import workload
from ansible_collections.offload.lab.plugins.module_utils._engines.payload import traffic as payload
from ansible_collections.offload.lab.plugins.module_utils._engines.sockets import sockets
from ansible_collections.offload.lab.plugins.module_utils._engines.sockets import (
    traffic as sockets_traffic,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import campaign_file

BOTH = (sockets_traffic, payload)
TOKEN = "0123456789abcdef" * 2
SAME = ("Guests", "guests", "_plain_address", "Caller", "Door", "allow_many_files", "_object")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
)


@pytest.mark.parametrize("name", SAME)
def test_both_scripts_have_the_same_door(name):
    """Each file runs alone on a node, so the text is there twice."""
    texts = [inspect.getsource(getattr(script, name)) for script in BOTH]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("script", BOTH)
def test_guests_have_a_token_and_addresses(script):
    peers = ["192.0.2.1", "fd00:0::2", "fe80::1%eth0"]
    who = script.guests(json.dumps({"token": TOKEN, "peers": peers}))
    assert who.token == f"{TOKEN}\n".encode()
    assert who.peers == {"192.0.2.1", "fd00::2", "fe80::1"}


@pytest.mark.parametrize("script", BOTH)
@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        "5",
        "[" * 100_000,
        json.dumps({"token": TOKEN}),
        json.dumps({"token": TOKEN, "peers": []}),
        json.dumps({"token": TOKEN, "peers": ["node1"]}),
        json.dumps({"token": TOKEN, "peers": [5]}),
        json.dumps({"token": TOKEN, "peers": 5}),
        json.dumps({"token": "short", "peers": ["192.0.2.1"]}),
        json.dumps({"token": None, "peers": ["192.0.2.1"]}),
        json.dumps({"token": f"{TOKEN}\n", "peers": ["192.0.2.1"]}),
    ],
)
def test_without_guests_a_server_does_not_start(script, text, capsys):
    with pytest.raises(SystemExit) as ended:
        script.guests(text)
    assert ended.value.code == 2
    assert "standard input does not say who may connect" in capsys.readouterr().err


def test_a_client_may_ask_for_all_that_a_workload_can_be():
    ranges = sockets_traffic.RANGES
    definitions = campaign_file.load_schema("campaign")["$defs"]
    for key in ("send_socket", "recv_socket"):
        assert ranges[key] == (definitions["bytes"]["minimum"], definitions["bytes"]["maximum"])
    for key in sockets_traffic.MESSAGES:
        test = "TCP_STREAM" if key in workload.STREAM_SIZES else "TCP_RR"
        load = {"engine": "sockets", "test": test, key: ranges[key][1]}
        assert ranges[key][0] == 1 and workload.checked(load)
        with pytest.raises(InputError, match="sizes of at most 16M"):
            workload.checked({**load, key: ranges[key][1] + 1})
    rate = workload.RATE
    for bounds in (ranges["rate_mbps"], payload.RANGES["rate"]):
        assert bounds[0] <= rate[0] and bounds[1] >= rate[1]
    assert ranges["server_cpu"] == (0, workload.MOST_CPUS)
    assert ranges["seconds"][0] <= min(workload.SHORT)
    # s of a workload, of a warm-up, and what requests during streams add
    assert ranges["seconds"][1] >= 86400 + 600 + 1
    assert ranges["before"][1] >= 86400 // 2
    assert set(sockets_traffic.TESTS) == set(sockets.Sockets.tests)
    assert min(script.MOST_CALLERS for script in BOTH) >= 1024
    assert sockets_traffic.MOST_TESTS >= network.MOST_STREAMS
    assert payload.MOST_CHECKS >= network.MOST_STREAMS
    assert payload.RANGES["seconds"][1] >= max(payload.TCP_ROUND, payload.UDP_ROUND)


REQUEST = {"test": "TCP_CRR", "seconds": 2, "request_size": 1, "response_size": 1}


def test_what_the_server_does_not_use_is_left_out():
    request = sockets_traffic.checked({**REQUEST, "address": "192.0.2.1", "interim": 1})
    assert request == {**REQUEST, "before": 0, "udp_segment": True, "udp_gro": True}


@pytest.mark.parametrize("key", [*sockets_traffic.RANGES, "test", "udp_gro", "congestion_control"])
@pytest.mark.parametrize(
    "value",
    [-1, 1 << 31, 10**400, 1e300, float("nan"), float("inf"), "x y", None, [], {}, b"", "1" * 99],
)
def test_values_that_no_workload_has_are_refused(key, value):
    with pytest.raises(ValueError):
        sockets_traffic.checked({**REQUEST, key: value})


@pytest.mark.parametrize("key", ["seconds", "rate", "unit", "seed", "segment", "port"])
@pytest.mark.parametrize(
    "value", [-1, 1 << 32, 10**400, float("nan"), float("inf"), "1", True, None, [], {}]
)
def test_numbers_that_no_check_has_are_refused(key, value):
    with pytest.raises(ValueError, match=key):
        payload._number({key: value}, key)


@given(JSON)
def test_any_json_is_refused_or_in_its_ranges(value):
    with contextlib.suppress(ValueError, KeyError, AttributeError, TypeError):
        request = sockets_traffic.checked(value)
        assert request["test"] in sockets_traffic.TESTS
    with contextlib.suppress(ValueError):
        request = sockets_traffic.checked({**REQUEST, "seconds": value, "request_size": value})
        assert 0 < request["seconds"] <= 90000 and 1 <= request["request_size"] <= 1 << 24


@pytest.mark.parametrize("script", BOTH)
@given(data=st.data())
def test_any_line_is_an_object_or_refused(script, data):
    text = data.draw(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
    with contextlib.suppress(ValueError):
        assert isinstance(script._object(text), dict)


@pytest.mark.parametrize("script", BOTH)
@pytest.mark.parametrize("bracket", [b"[", b'{"a":'])
def test_brackets_are_counted_before_a_line_is_read(script, bracket):
    with pytest.raises(ValueError, match="brackets"):
        script._object(bracket * 30_000)


def test_an_algorithm_that_the_kernel_has_not_loaded_is_not_named_to_it(tmp_path, monkeypatch):
    (tmp_path / "available").write_text("reno cubic\n")
    monkeypatch.setattr(sockets_traffic, "AVAILABLE", str(tmp_path / "available"))
    sockets_traffic._require_algorithm({"congestion_control": "cubic"})
    sockets_traffic._require_algorithm({})
    for name in ("dctcp", "cub", "reno cubic"):
        with pytest.raises(ValueError, match=f"modprobe tcp_{name}"):
            sockets_traffic._require_algorithm({"congestion_control": name})
