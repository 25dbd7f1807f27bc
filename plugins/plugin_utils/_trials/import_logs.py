# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs that netperf or iperf3 printed, somebody's or our own, as a campaign marked ``imported``: plan and
trials. Pure.

What a log does not say stays unknown: it is no block design, has no A/A check, and mostly no
replication. Runs of the same kind are counted as blocks in the order of the log; fewer than six of
them get no interval, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, NotRequired, TypedDict, cast

from ...module_utils._base.errors import InputError
from ...module_utils._engines.engine import Workload
from ...module_utils._engines.iperf3 import iperf3
from ...module_utils._engines.netperf.netperf import SAME
from ...module_utils._engines.netperf.values import Row
from .._campaign.factors import level_name
from .._campaign.nouns import Factor, Plan, Profile, Visit
from .._campaign.read_factors import read_factor
from .._campaign.schema import validate
from .._netperf_logs.parse import parse_netperf
from .nouns import Mark, Trial

Level = bool | int | str  # YAML reads a bare "off" as a bool
PAIR = {"pair": "imported", "client": "imported", "server": None}
SIZES = (("message_size", "m"), ("send_socket_size", "s"), ("recv_socket_size", "r"))

# What iperf3 does not say of a run.
NOTHING_SAID: dict[str, Any] = {
    "test": None,
    "confidence_met": None,
    "confidence_limit": None,
    "confidence_width": {},
}


class Log(TypedDict):
    """A part of a file in which netperf or iperf3 printed its runs."""

    file: str
    profile: str
    first_line: NotRequired[int]
    last_line: NotRequired[int]
    path: NotRequired[str]
    mtu: NotRequired[int]


class Import(TypedDict):
    """What is imported, as schemas/import.json has it."""

    name: str
    logs: list[Log]
    source: NotRequired[str]
    control: NotRequired[str]
    factors: NotRequired[list[str]]
    profiles: NotRequired[dict[str, dict[str, Level]]]


def _of_iperf3(text: str, first: int) -> list[tuple[Row, str]]:
    """Return the runs of iperf3's JSON as netperf's are, a row for each direction."""
    runs: list[tuple[Row, str]] = []
    for run in iperf3.runs(text):
        for number, row in enumerate(run.rows or [{}]):
            entry: Any = {**NOTHING_SAID, **row, "error": run.error, "line": run.line + first - 1}
            entry["direction"] = "-reverse" if number else ""
            runs.append((entry, run.raw))
    return runs


def runs_of(log: Log, text: str) -> list[tuple[Row, str]]:
    """Return ``[(row, raw)]`` of the runs in the part of a text that a log means; line numbers are
    the text's own.
    """
    lines = text.split("\n")
    first = log.get("first_line", 1)
    last = min(log.get("last_line", len(lines)), len(lines))
    part = "\n".join(lines[first - 1 : last])
    if iperf3.is_output(part):
        return _of_iperf3(part, first)
    rows = parse_netperf(part)
    if not rows:
        raise InputError(
            "no run of netperf, and no JSON of iperf3, is found",
            f"{log['file']}, lines {first} to {last}",
            "Give a file that holds what netperf or iperf3 -J printed, and the lines of this profile.",
        )
    ends = [row["line"] for row in rows[1:]] + [last - first + 2]
    return [
        (
            {**row, "line": row["line"] + first - 1},
            "\n".join(lines[row["line"] + first - 2 : end + first - 2]),
        )
        for row, end in zip(rows, ends)
    ]


def workload_of(row: Row) -> Workload:
    """Return the workload that a run itself names; its name has the sizes, so that equal runs have
    equal names.
    """
    sizes = [(key, letter, row.get(key)) for key, letter in SIZES]
    name = (row["test"] or "unknown").lower() + "".join(
        f"-{letter}{size}" for _key, letter, size in sizes if size
    )
    workload: Any = {
        "name": name,
        "test": row["test"] or "unknown",
        "message_size": row.get("message_size"),
        "send_socket": row.get("send_socket_size"),
        "recv_socket": row.get("recv_socket_size"),
        "streams": 1,
        "duration": None,
        "tenants": None,
        "confidence": None,
    }
    return workload


def _marks(row: Row) -> list[Mark]:
    """Return the missed confidence of a run with the width that it had; it is shown and leaves
    nothing out.
    """
    if row.get("confidence_met") is not False:
        return []
    widths = ", ".join(
        f"{name.replace('_', ' ')} {width:g} %" for name, width in row["confidence_width"].items()
    )
    limit = row.get("confidence_limit")
    target = f", asked was {2 * limit:g} %" if limit else ""
    return [
        {
            "guard": "confidence",
            "reason": f"the confidence asked for was missed: {widths}{target}",
            "excludes": False,
        }
    ]


def _levels(levels: Mapping[str, Level]) -> dict[str, str]:
    return {factor: level_name(level) for factor, level in levels.items()}


def _profiles(spec: Import) -> tuple[dict[str, Profile], str, list[Factor]]:
    """Return ``(profiles, control, factors)`` as a plan has them; levels that are not given are
    left out.
    """
    names = list(dict.fromkeys(log["profile"] for log in spec["logs"]))
    levels = {name: _levels(spec.get("profiles", {}).get(name, {})) for name in names}
    control = spec.get("control", names[0])
    if control not in levels:
        raise InputError(
            f"control {control!r} is not a profile of any log",
            spec["name"],
            f"Use one of {', '.join(names)}.",
        )
    factors: list[Factor] = []
    for name in dict.fromkeys(chain(spec.get("factors", []), *levels.values())):
        factors += read_factor(name, {"sides": "both", "paths": ["physical"]})
    return (
        {name: {"levels": of_profile, "settings": {}} for name, of_profile in levels.items()},
        control,
        factors,
    )


def _trial(spec: Import, log: Log, row: Row, raw: str, block: int) -> Trial:
    measured = row.get("throughput_mbps") is not None or row.get("transactions_per_s") is not None
    error = row["error"] or (
        None if measured else "the run has no throughput and no transaction rate"
    )
    values: Mapping[str, Any] = row
    result = {} if error else {key: values[key] for key in SAME if values.get(key) is not None}
    trial: Any = {
        "schema": 1,
        "id": f"{log['file'].rsplit('/', 1)[-1]}:{row['line']}{values.get('direction', '')}",
        "campaign": spec["name"],
        **PAIR,
        "block": block,
        "visit": None,
        "cell": None,
        "path": log.get("path", "imported"),
        "mtu": log.get("mtu"),
        "profile": log["profile"],
        "repeat": False,
        "workload": workload_of(row),
        "started": None,
        "finished": None,
        "streams": [
            {
                "netns": None,
                "argv": [],
                "rc": None,
                "raw": raw,
                "stderr": "",
                "started": None,
                "finished": None,
            }
        ],
        "result": result,
        "cpu": None,
        "evidence": None,
        "marks": _marks(row),
        "error": error,
    }
    return trial


def _visits(trials: list[Trial]) -> list[Visit]:
    """Return one visit for each MTU, block and profile, with the runs that it had."""
    visits: dict[tuple[int, int, str], Visit] = {}
    for trial in trials:
        visit = visits.setdefault(
            (trial["mtu"], trial["block"], trial["profile"]),
            {
                "block": trial["block"],
                "visit": len(visits) + 1,
                "mtu": trial["mtu"],
                "profile": trial["profile"],
                "repeat": False,
                "cells": [],
            },
        )
        trial["visit"] = visit["visit"]
        trial["cell"] = len(visit["cells"]) + 1
        visit["cells"].append(
            {
                "id": trial["id"],
                "cell": trial["cell"],
                "path": trial["path"],
                "workload": trial["workload"]["name"],
            }
        )
    return list(visits.values())


def import_logs(request: object, texts: Mapping[str, str]) -> tuple[Plan, list[Trial]]:
    """Return ``(plan, trials)`` of an import: ``request`` as schemas/import.json has it, ``texts``
    {file: text}.
    """
    validate(request, "import", "import")
    spec = cast(Import, request)
    profiles, control, factors = _profiles(spec)
    trials = list[Trial]()
    counts = dict[tuple[Any, ...], int]()
    for log in spec["logs"]:
        for row, raw in runs_of(log, texts[log["file"]]):
            kind = (log["profile"], log.get("path"), log.get("mtu"), workload_of(row)["name"])
            counts[kind] = counts.get(kind, 0) + 1
            trials.append(_trial(spec, log, row, raw, counts[kind]))
    workloads = {
        trial["workload"]["name"]: trial["workload"] for trial in trials if not trial["error"]
    }
    plan: Any = {
        "schema": 1,
        "kind": "imported",
        "name": spec["name"],
        "seed": None,
        "created": None,
        "design": "profiles",
        "source": spec.get("source", ", ".join(dict.fromkeys(log["file"] for log in spec["logs"]))),
        "blocks": max(counts.values()),
        "control": control,
        "factors": factors,
        "profiles": profiles,
        "paths": list(dict.fromkeys(trial["path"] for trial in trials)),
        "mtus": list(dict.fromkeys(trial["mtu"] for trial in trials)),
        "workloads": list(workloads.values()),
        "pairs": [],
        "rounds": [],
        "untestable": {},
        "estimated_s": None,
        "visits": _visits(trials),
    }
    return plan, trials
