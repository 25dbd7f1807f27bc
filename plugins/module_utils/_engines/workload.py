# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: a workload, the load of one cell: its keys, declared once, and how they are checked.

From :data:`KEYS` come the schema of a campaign file's workloads and the options of module netperf.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, NamedTuple, Sequence

from .._base import network
from .._base.checks import BYTE_RANGE, boolean, label, mapping, number, size
from .._base.errors import InputError
from . import engine as nouns
from .engine import Confidence, Endpoint, Engine, Line, Load
from .engines import BY_NAME, ENGINES, TESTS, engine_of

SHORT = (0.25, 0.5)  # s: durations below a second
MAX_UDP_PAYLOAD = 65507  # IPv4: 65535 less the IP and UDP headers
MOST_CPUS = 8191  # the largest number that a kernel gives a CPU (NR_CPUS of x86)
# What keys may be. A cell of module netperf may take a day, one of a campaign an hour.
SECONDS = (1, 86400)
CELL_SECONDS = (1, 3600)
STREAMS = (1, network.MOST_STREAMS // 2)
INTERIM = (0.05, 3600)  # s
WARM_UP = (0, 600)  # s
RATE = (0.001, 1e6)  # Mbit/s
ITERATIONS = (3, 30)
LEVELS = [95, 99]  # %
WIDTH = (0.1, 100)  # %
Schema = Dict[str, Any]


class Key(NamedTuple):
    """A key of a workload."""

    schema: Schema  # of its value in a campaign file
    option: dict[str, Any] | None = None  # of module netperf; None where it has none
    always: bool = False  # in a plan, None where a campaign does not give it


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _choice(names: Sequence[str]) -> Schema:
    return {"description": f"Use {', '.join(names[:-1])} or {names[-1]}.", "enum": list(names)}


def _range(kind: str, limits: tuple[float, float], text: str = "") -> Schema:
    """Return the schema of a number; ``text`` may name the limits as ``{0}`` and ``{1}``."""
    least, most = limits
    schema = {"type": kind, "minimum": least, "maximum": most}
    return {"description": text.format(least, most), **schema} if text else schema


CONFIDENCE: Schema = {
    "description": f"Give iterations_max ({ITERATIONS[0]} to {ITERATIONS[1]}), iterations_min (from "
    f"{ITERATIONS[0]}), level (95 or 99), width_percent.",
    "type": "object",
    "required": ["iterations_max"],
    "additionalProperties": False,
    "properties": {
        "iterations_max": _range("integer", ITERATIONS),
        "iterations_min": _range("integer", ITERATIONS),
        "level": {"enum": LEVELS},
        "width_percent": _range("number", WIDTH),
    },
}
CONGESTION: Schema = {
    "description": "Give an algorithm that the kernel has, such as cubic or bbr.",
    "type": "string",
    "pattern": "^[a-z0-9_]{1,15}$",
}
BYTES = _reference("bytes")
TEXT = {"type": "str"}  # of an option that takes 16384 or 16K
KEYS = {
    "name": Key(_reference("identifier")),
    "engine": Key(_choice(list(BY_NAME)), {"type": "str", "choices": list(BY_NAME)}),
    "test": Key(_choice(TESTS), {"type": "str", "default": "TCP_STREAM"}),
    "duration": Key(_reference("seconds"), {"type": "float", "default": 10}),
    "streams": Key(
        _range("integer", STREAMS, "Give {0} to {1} simultaneous streams."),
        {"type": "int", "default": 1},
    ),
    "bidirectional": Key(
        {"description": "Give true or false; for TCP_STREAM only.", "type": "boolean"},
        {"type": "bool", "default": False},
    ),
    "message_size": Key(BYTES, TEXT, always=True),
    "receive_size": Key(BYTES, TEXT),
    "send_socket": Key(BYTES, TEXT, always=True),
    "recv_socket": Key(BYTES, TEXT, always=True),
    "request_size": Key(BYTES, TEXT, always=True),
    "response_size": Key(BYTES, TEXT, always=True),
    "rate_mbps": Key(
        _range("number", RATE, "Give the most that each stream sends, in Mbit/s, from {0}."),
        {"type": "float"},
    ),
    "congestion_control": Key(CONGESTION, {"type": "str"}),
    "tenants": Key(
        _range("integer", STREAMS, "Give the number of tenants that send simultaneously."),
        always=True,
    ),
    "confidence": Key(CONFIDENCE, {"type": "dict"}, always=True),
    "cpu": Key(
        {"description": "Give true or false: the engine's own CPU figures.", "type": "boolean"},
        {"type": "bool", "default": True},
    ),
    "interim": Key(_range("number", INTERIM, "Give seconds from {0} to {1}."), {"type": "float"}),
    "warm_up": Key(
        _range("integer", WARM_UP, "Give whole seconds from {0} to {1} before the counted time."),
        {"type": "int"},
    ),
    "udp_segment": Key(
        {"description": "Give true or false: one call sends many datagrams.", "type": "boolean"},
        {"type": "bool"},
    ),
    "udp_gro": Key(
        {"description": "Give true or false: one call takes in many datagrams.", "type": "boolean"},
        {"type": "bool"},
    ),
    "zero_copy": Key(
        {"description": "Give true or false: streams send without copying.", "type": "boolean"},
        {"type": "bool"},
    ),
    "skip_rx_copy": Key(
        {"description": "Give true or false: receivers discard the data.", "type": "boolean"},
        {"type": "bool"},
    ),
    "mptcp": Key(
        {"description": "Give true or false: Multipath TCP in place of TCP.", "type": "boolean"},
        {"type": "bool"},
    ),
    "client_cpus": Key(_reference("cpus")),
    "server_cpus": Key(_reference("cpus")),
}
STREAM_SIZES = ("message_size", "receive_size")
REQUEST_SIZES = ("request_size", "response_size")
SWITCHES = ("udp_segment", "udp_gro", "zero_copy", "skip_rx_copy", "mptcp")
OFFERED = ("rate_mbps", "congestion_control", *SWITCHES)  # by some engines
# Of a workload of datagrams, what decides how one stream sends
DATAGRAM_KEYS = ("test", "engine", "message_size", "rate_mbps", "udp_segment", "udp_gro")
SIZES = (*STREAM_SIZES, "send_socket", "recv_socket", *REQUEST_SIZES)


def schema() -> Schema:
    """Return the JSON Schema of a workload in a campaign file."""
    return {
        "description": f"Use the keys {', '.join(KEYS)}.",
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {name: key.schema for name, key in KEYS.items()},
    }


def definitions() -> dict[str, Schema]:
    """Return the parts of a campaign file's JSON Schema that a workload is made of."""
    least, most = CELL_SECONDS
    shorter = " or ".join(f"{short:g}" for short in SHORT)
    cpu = _range("integer", (0, MOST_CPUS))
    return {
        "workload": schema(),
        "seconds": {
            "description": f"Give whole seconds from {least} to {most}, or {shorter}.",
            "anyOf": [_range("integer", CELL_SECONDS), {"enum": list(SHORT)}],
        },
        "bytes": _range("integer", BYTE_RANGE, "Give bytes from {0} to {1}."),
        "cpus": {
            "description": "Give a list of CPU numbers; the streams are bound to them by turns.",
            "type": "array",
            "items": cpu,
        },
    }


def options() -> dict[str, dict[str, Any]]:
    """Return the argument spec of a workload's keys, as module netperf has them."""
    return {name: key.option for name, key in KEYS.items() if key.option}


def is_stream(test: str) -> bool:
    """Return whether a test moves data one way, rather than asking and answering."""
    return not test.endswith("RR")


def _confidence(value: Any) -> Confidence | None:
    """Return the confidence asked for, or None."""
    if not value:
        return None
    confidence = mapping(value, "confidence", tuple(CONFIDENCE["properties"]))
    level = number(confidence.get("level", 99), "confidence level", LEVELS[0], LEVELS[-1])
    if level not in LEVELS:
        raise InputError(
            "netperf has confidence levels 95 and 99 only",
            f"confidence level {level}",
            "Use 95 or 99.",
        )
    least = number(confidence.get("iterations_min", 3), "iterations_min", *ITERATIONS)
    most = number(confidence.get("iterations_max", 10), "iterations_max", *ITERATIONS)
    if least > most:
        raise InputError(
            "iterations_min is larger than iterations_max", f"{least} and {most}", "Swap the two."
        )
    return {
        "level": level,
        "width_percent": number(confidence.get("width_percent", 5), "width_percent", *WIDTH, float),
        "iterations_min": least,
        "iterations_max": most,
    }


def _sizes(values: Mapping[str, Any], test: str) -> dict[str, int]:
    sizes = {}
    for key in SIZES:
        if values.get(key) is not None:
            sizes[key] = size(values[key], key)
    for key in REQUEST_SIZES if is_stream(test) else STREAM_SIZES:
        if key in sizes:
            raise InputError(
                f"cannot be combined with {test}",
                key,
                "Use message_size for streams, and request_size and response_size for requests.",
            )
    for key in ("message_size", *REQUEST_SIZES):
        if test.startswith("UDP_") and sizes.get(key, 0) > MAX_UDP_PAYLOAD:
            raise InputError(
                f"{sizes[key]} bytes do not fit a UDP datagram, which carries at most "
                f"{MAX_UDP_PAYLOAD}",
                key,
                "Give a smaller size.",
            )
    return sizes


def _sending(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the streams send, where it is asked for."""
    options: dict[str, Any] = {}
    if values.get("rate_mbps") is not None:
        options["rate_mbps"] = number(values["rate_mbps"], "rate_mbps", *RATE, float)
    if values.get("congestion_control") is not None:
        name = str(values["congestion_control"])
        if not re.match(CONGESTION["pattern"], name):
            raise InputError(
                "not the name of an algorithm", f"congestion_control {name!r}", "Use cubic or bbr."
            )
        options["congestion_control"] = name
    for key in SWITCHES:
        if values.get(key) is not None:
            options[key] = boolean(values[key], key)
    return options


def _require_offered(engine: Engine, load: Load) -> None:
    """Raise InputError for a key that the engine has not."""
    for key in OFFERED:
        if key in load and key not in engine.offers:
            able = [
                maker.name
                for maker in ENGINES
                if key in maker.offers and load["test"] in maker.tests
            ]
            raise InputError(
                f"{engine.name} has no {key} for {load['test']}",
                load["name"],
                f"Use engine {' or '.join(able)}." if able else f"Leave {key} out.",
            )


def checked(value: Any) -> Load:
    """Return the workload checked and with its defaults; strings, as a survey gives them, become
    numbers.
    """
    value = mapping(value, "workload", tuple(KEYS))
    test = str(value.get("test", "")).upper()
    if test not in TESTS:
        raise InputError(
            "unknown netperf test", repr(value.get("test")), f"Use one of {', '.join(TESTS)}."
        )
    engine = engine_of(test, value.get("engine"))
    bidirectional = boolean(value.get("bidirectional", False), "bidirectional")
    if bidirectional and test != "TCP_STREAM":
        raise InputError(
            "only TCP_STREAM can run in both directions simultaneously",
            f"bidirectional {test}",
            "Remove bidirectional, or use TCP_STREAM.",
        )
    load: dict[str, Any] = {
        "name": label(value.get("name", test.lower()), "workload name"),
        "engine": engine.name,
        "test": test,
        "duration": _duration(value.get("duration", 10)),
        "streams": number(value.get("streams") or 1, "streams", *STREAMS),
        "tenants": number(value.get("tenants") or 1, "tenants", *STREAMS),
        "bidirectional": bidirectional,
        "confidence": _confidence(value.get("confidence")),
        "cpu": boolean(value.get("cpu", True), "cpu"),
    }
    load["interim"] = _interim(value.get("interim"), load)
    _require_long_enough(engine, load)
    load["warm_up"] = _warm_up(engine, value.get("warm_up"), load)
    for key in ("client_cpus", "server_cpus"):
        load[key] = [number(cpu, key, 0, MOST_CPUS) for cpu in value.get(key) or ()]
    load.update(_sizes(value, test))
    load.update(_sending(value))
    _require_offered(engine, load)
    engine.refuse(load)
    return load


def _duration(value: Any) -> float:
    """Return the seconds of a cell: whole ones, or one of the parts of a second that there are."""
    for short in SHORT:
        if str(value) == str(short):
            return short
    return int(number(value, "duration", *SECONDS))


def _require_long_enough(engine: Engine, load: Load) -> None:
    """Raise InputError for a cell that is shorter than its engine can measure."""
    shortest = engine.shortest(load)
    if load["duration"] < shortest:
        raise InputError(
            f"{engine.name} measures {load['test']} for {shortest:g} s at least, with these streams",
            f"{load['name']}: duration {load['duration']:g}",
            f"Give {shortest:g} s or more.",
        )


def _interim(value: Any, load: Load) -> float | None:
    """Return the seconds between interim results, None where there are none.

    They show when a stream really ran: its connection may come a second late, and netperf may wait
    4 s more for its peer. Of several they show how much of a stream's rate fell into the time of
    all.
    """
    if value is None and not load["confidence"]:
        return min(1.0, max(INTERIM[0], load["duration"] / 10.0))
    if value in (None, "", 0):
        return None
    interim = number(value, "interim", *INTERIM, float)
    if load["confidence"]:
        raise InputError(
            "interim results cannot be combined with confidence iterations",
            load["name"],
            "Remove interim or confidence.",
        )
    return interim


def _warm_up(engine: Engine, value: Any, load: Load) -> int:
    """Return the seconds of traffic before the counted time; only interim results can separate the
    two.
    """
    if value is None:
        return engine.usual_warm_up(load)
    seconds = number(value, "warm_up", *WARM_UP)
    if seconds and not engine.can_warm_up(load):
        raise InputError(
            "a warm-up cannot be combined with confidence, UDP_STREAM, PAYLOAD or interim 0",
            load["name"],
            f"Leave warm_up out: the results of {engine.name} cover the whole test there.",
        )
    return seconds


def endpoint(value: Any) -> Endpoint:
    """Return one endpoint, checked.

    ``data_port`` belongs to the first stream, each further one has the next.
    """
    value = mapping(value, "endpoint", ("netns", "local", "address", "port", "data_port"))
    port = network.port(value.get("port", network.NETSERVER_PORT), "port")
    local = str(network.address(value["local"], "local address")) if value.get("local") else None
    address = str(network.address(value.get("address"), "netserver address"))
    if local and (":" in local) != (":" in address):
        raise InputError(
            "one address is IPv4 and the other IPv6",
            f"{local} and {address}",
            "Give two addresses of one version.",
        )
    return {
        "netns": network.namespace_name(value["netns"]) if value.get("netns") else None,
        "local": local,
        "address": address,
        "port": port,
        "data_port": network.port(
            value.get("data_port") or port + network.DATA_OFFSET, "data_port"
        ),
    }


def lines(load: Load, endpoints: Sequence[Endpoint]) -> list[Line]:
    """Return the processes of a cell, each a command line with its endpoint."""
    return BY_NAME[load["engine"]].lines(load, endpoints)


def seconds(load: Load) -> tuple[float, float]:
    """Return (expected, longest) time of one cell in seconds."""
    return nouns.seconds(BY_NAME[load["engine"]], load)


def engines_of(loads: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the engines that make these workloads of a plan."""
    return sorted({engine_of(load["test"], load.get("engine")).name for load in loads})


def servers_each(loads: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return by engine how many servers each address needs for the workloads of a plan."""
    by_engine: dict[str, int] = {}
    for value in loads:
        load = checked(value)
        engine = BY_NAME[load["engine"]]
        by_engine[engine.name] = max(engine.servers_each(load), by_engine.get(engine.name, 1))
    return by_engine


def streaming_engines(loads: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the engines of these workloads that make a stream of TCP."""
    names = engines_of(loads)
    return [
        engine.name for engine in ENGINES if engine.name in names and "TCP_STREAM" in engine.tests
    ]


def sampling_engine(loads: Sequence[Mapping[str, Any]], default: str | None = None) -> str:
    """Return the engine whose streams are sampled in a campaign with these workloads; ``default``
    is for workloads without any stream.
    """
    return next(iter(streaming_engines(loads)), default or ENGINES[0].name)


def datagrams_argv(load: Mapping[str, Any], end: Endpoint, seconds_long: int) -> list[str]:
    """Return the command line of one stream of datagrams as a workload sends them."""
    kept = {key: load[key] for key in DATAGRAM_KEYS if load.get(key) is not None}
    datagrams = checked({**kept, "duration": seconds_long, "cpu": False, "interim": 0})
    return BY_NAME[datagrams["engine"]].argv(datagrams, datagrams["test"], end, 0)


def stream_argv(
    test: str, end: Endpoint, seconds_long: int, index: int = 0, engine: str | None = None
) -> list[str]:
    """Return the command line of a stream that only has to move data, such as one to sample."""
    load = checked(
        {"test": test, "duration": seconds_long, "cpu": False, "interim": 0, "engine": engine}
    )
    return BY_NAME[load["engine"]].argv(load, test, end, index)
