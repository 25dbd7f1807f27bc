# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door of the servers of engines sockets and payload, and what their clients may ask for."""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base import network
from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines import wire, workload
from ansible_collections.offload.lab.plugins.module_utils._engines.engines import engine_named
from ansible_collections.offload.lab.plugins.module_utils._engines.payload import traffic as payload
from ansible_collections.offload.lab.plugins.module_utils._engines.sockets import sockets
from ansible_collections.offload.lab.plugins.module_utils._engines.sockets import (
    traffic as sockets_traffic,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import campaign_file

TOKEN = "0123456789abcdef" * 2
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
)


def defined(module):
    """Return the names that a module defines itself."""
    names = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets)
    return names


@pytest.mark.parametrize("traffic", [sockets_traffic, payload])
def test_no_name_of_a_script_is_defined_in_both_of_its_files(traffic):
    assert defined(wire) & defined(traffic) == set()


@pytest.mark.parametrize("engine", ["sockets", "payload"])
def test_a_script_imports_the_standard_library_alone(engine):
    for node in ast.walk(ast.parse(engine_named(engine).text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module in ("__future__", *sys.stdlib_module_names)
        elif isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= sys.stdlib_module_names


def test_guests_have_a_token_and_addresses():
    peers = ["192.0.2.1", "fd00:0::2", "fe80::1%eth0"]
    who = wire.guests(json.dumps({"token": TOKEN, "peers": peers}))
    assert who.token == f"{TOKEN}\n".encode()
    assert who.peers == {"192.0.2.1", "fd00::2", "fe80::1"}


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
def test_without_guests_a_server_does_not_start(text, capsys):
    with pytest.raises(SystemExit) as ended:
        wire.guests(text)
    assert ended.value.code == 2
    assert "standard input does not say who may connect" in capsys.readouterr().err


def test_a_client_may_ask_for_all_that_a_workload_can_be():
    ranges = sockets_traffic.RANGES
    definitions = campaign_file.campaign_schema()["$defs"]
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
    assert wire.MOST_CALLERS >= 1024
    assert sockets_traffic.MOST_TESTS >= network.MOST_STREAMS
    assert payload.MOST_CHECKS >= network.MOST_STREAMS
    assert payload.RANGES["seconds"][1] >= max(payload.TCP_ROUND, payload.UDP_ROUND)


REQUEST = {"test": "TCP_CRR", "seconds": 2, "request_size": 1, "response_size": 1}


def test_what_the_server_does_not_use_is_left_out():
    request = sockets_traffic.checked({**REQUEST, "address": "192.0.2.1", "interim": 1})
    switches = {"udp_segment": True, "udp_gro": True, "zero_copy": False}
    assert request == {**REQUEST, "before": 0, **switches}


@pytest.mark.parametrize("key", [*sockets_traffic.RANGES, "test", "udp_gro", "congestion_control"])
@pytest.mark.parametrize(
    "value",
    [-1, 1 << 31, 10**400, 1e300, float("nan"), float("inf"), "x y", None, [], {}, b"", "1" * 99],
)
def test_values_that_no_workload_has_are_refused(key, value):
    with pytest.raises(ValueError):
        sockets_traffic.checked({**REQUEST, key: value})


@pytest.mark.parametrize("key", payload.RANGES)
@pytest.mark.parametrize(
    "value", [-1, 1 << 32, 10**400, float("nan"), float("inf"), "1", True, None, [], {}]
)
def test_numbers_that_no_check_has_are_refused(key, value):
    with pytest.raises(ValueError, match=key):
        wire.decimal_number({key: value}, key, payload.RANGES)


@pytest.mark.parametrize("value", [0.5, True])
def test_a_whole_number_is_no_fraction(value):
    with pytest.raises(ValueError, match="port"):
        wire.whole_number({"port": value}, "port", payload.RANGES)


@given(JSON)
def test_any_json_is_refused_or_in_its_ranges(value):
    with contextlib.suppress(ValueError, KeyError, AttributeError, TypeError):
        request = sockets_traffic.checked(value)
        assert request["test"] in sockets_traffic.TESTS
    with contextlib.suppress(ValueError):
        request = sockets_traffic.checked({**REQUEST, "seconds": value, "request_size": value})
        assert 0 < request["seconds"] <= 90000 and 1 <= request["request_size"] <= 1 << 24


@given(data=st.data())
def test_any_line_is_an_object_or_refused(data):
    text = data.draw(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
    with contextlib.suppress(ValueError):
        assert isinstance(wire.object_of(text), dict)


@pytest.mark.parametrize("bracket", [b"[", b'{"a":'])
def test_brackets_are_counted_before_a_line_is_read(bracket):
    with pytest.raises(ValueError, match="brackets"):
        wire.object_of(bracket * 30_000)


def test_an_algorithm_that_the_kernel_has_not_loaded_is_not_named_to_it(tmp_path, monkeypatch):
    (tmp_path / "available").write_text("reno cubic\n")
    monkeypatch.setattr(sockets_traffic, "AVAILABLE", str(tmp_path / "available"))
    sockets_traffic._require_algorithm({"congestion_control": "cubic"})
    sockets_traffic._require_algorithm({})
    for name in ("dctcp", "cub", "reno cubic"):
        with pytest.raises(ValueError, match=f"modprobe tcp_{name}"):
            sockets_traffic._require_algorithm({"congestion_control": name})
