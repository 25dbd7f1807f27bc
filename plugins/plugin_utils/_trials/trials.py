# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: from a plan to the cells that are sent to the client, and from what comes back to trial
records.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, Literal

from ...module_utils._base import checks, network
from ...module_utils._base.errors import InputError, LabError, ParseError
from ...module_utils._engines import workload
from ...module_utils._engines.engine import Endpoint, StreamRow, Workload
from ...module_utils._engines.engines import engine_that_started
from ...module_utils._engines.workload import endpoint
from .._campaign.nouns import AS_FOUND, Plan, Visit
from .._campaign.plan_file import paths_of
from .._campaign.visits import workloads_at
from .._paths.lab_paths import LAB, Paths
from .._paths.path import Endpoints, Path
from . import payload
from .cpu import cpu_of_trial
from .damage import crossed_of, damage_of
from .evidence import Lab, Learned, expected, trial_evidence
from .guards import marks_of
from .nouns import (
    NOTHING,
    CellToMeasure,
    Evidence,
    Expected,
    Measured,
    Result,
    Stream,
    Trial,
)
from .streams import summarise

SCHEMA = 1
# What a client adds to a trial for which it is so
ADDED: tuple[Literal["path_stopped", "interrupted", "clock_jump_s"], ...] = (
    "path_stopped",
    "interrupted",
    "clock_jump_s",
)
# Features that act on forwarded datagrams: streams of TCP do not show them
BY_DATAGRAMS = ("rx-udp-gro-forwarding", "rx-gro-list")
SENT = ("id", "workload", "endpoints", "pair")  # of a cell, what the client needs
RECORDED = ("block", "visit", "cell", "path", "mtu", "profile", "repeat", "workload")


def data_port(plan: Plan, pair: str, port: int) -> int:
    """Return the port of the first stream's data. Pairs that share a server at the same time share
    the ports of data.

    Two netservers cannot listen on one port; of UDP one of them would get the packets of both.
    """
    for members in plan.get("rounds") or ():
        server = {f"{member['client']}-{member['server']}": member["server"] for member in members}
        sharing = [name for name in server if server[name] == server.get(pair)]
        if pair in sharing:
            return (
                port
                + network.DATA_OFFSET
                + sharing.index(pair) * (network.MOST_STREAMS // len(sharing))
            )
    return port + network.DATA_OFFSET


def datagrams_to_sample(plan: Plan) -> Workload | None:
    """Return the workload whose datagrams prove a factor of the plan; None where none has to."""
    settings: set[str] = set()
    for factor in plan["factors"]:
        settings.update(factor["settings"])
    if settings.isdisjoint(BY_DATAGRAMS):
        return None
    loads = [load for load in plan["workloads"] if load["test"] == "UDP_STREAM"]
    return loads[0] if loads else None


def pair_endpoints(
    path: Path, endpoints: Mapping[str, Endpoints], port: int, first: int | None = None
) -> list[Endpoint]:
    """Return the endpoints of one path between two nodes. ``first`` is the port of the first
    stream's data.

    ``endpoints`` has ``client`` and ``server``: by path ``address``, ``netns`` and optionally
    ``all``, a list of these.
    """
    clients, servers = (
        path.end_on(end, (endpoints or {}).get(end)) for end in ("client", "server")
    )
    return [
        endpoint(
            {
                "netns": near.get("netns"),
                "local": near.get("address"),
                "address": there.get("address"),
                "port": port,
                "data_port": first,
            }
        )
        for near, there in zip(clients, servers)
    ]


def visit_cells(
    plan: Plan,
    visit: Visit,
    endpoints: Mapping[str, Endpoints] | None,
    port: int,
    pair: str,
) -> list[CellToMeasure]:
    """Return the cells of one visit that this pair measures, each with its workload, its endpoints,
    and its place.
    """
    workloads = workloads_at(plan, visit)
    paths = paths_of(plan)
    cells: list[Any] = []
    for cell in visit["cells"]:
        if cell.get("pair") not in (None, pair):
            continue
        load = (
            cell["workload"] if isinstance(cell["workload"], dict) else workloads[cell["workload"]]
        )
        cells.append(
            {
                "id": cell["id"],
                "cell": cell["cell"],
                "path": cell["path"],
                "workload": load,
                "pair": pair,
                "block": visit["block"],
                "visit": visit["visit"],
                "mtu": visit["mtu"],
                "profile": visit["profile"],
                "repeat": bool(visit.get("repeat")),
                **{
                    key: value
                    for key, value in (
                        ("part", visit.get("part")),
                        ("again", cell.get("again")),
                        ("trial", cell.get("trial")),
                    )
                    if value
                },
                "endpoints": (
                    pair_endpoints(
                        paths.named(cell["path"]), endpoints, port, data_port(plan, pair, port)
                    )
                    if endpoints
                    else []
                ),
            }
        )
    return cells


def shortened(
    plan: Plan, cells: Iterable[CellToMeasure], struck: Container[tuple[str, str, str]]
) -> list[CellToMeasure]:
    """Return the cells of a check; where the fault strikes often as found, a second shows it.

    ``struck`` has the profiles, pairs and paths with such trials. A plan that measures all its blocks
    wants the bounds of long checks, and keeps them.
    """
    if not plan.get("until"):
        return list(cells)
    return [
        (
            {**cell, "workload": {**cell["workload"], "duration": payload.TWO_ROUNDS}}
            if (AS_FOUND, cell["pair"], cell["path"]) in struck
            else cell
        )
        for cell in cells
    ]


def checked(cells: Iterable[CellToMeasure]) -> list[CellToMeasure]:
    """Return the cells with checked endpoints, and refuse a wrong one before anything is sent."""
    ready = list[CellToMeasure]()
    ids = set[str]()
    for cell in cells:
        checks.label(cell["id"], "cell's id")
        if cell["id"] in ids:
            raise InputError(
                "given twice", f"cell {cell['id']}", "Give each cell an id of its own."
            )
        ids.add(cell["id"])
        try:
            load = workload.checked(cell["workload"])
            ends = list(map(endpoint, cell["endpoints"]))
            workload.lines(load, ends)
        except LabError as error:
            raise InputError(str(error), f"cell {cell['id']}")
        ready.append({**cell, "endpoints": ends, "seconds": workload.seconds(load)[0]})
    return ready


def chunks_of(cells: Iterable[CellToMeasure], limit: float) -> list[list[CellToMeasure]]:
    """Split the cells, in their order, into lists of at most ``limit`` seconds; a longer cell is a
    list of its own.
    """
    chunks = list[list[CellToMeasure]]()
    length = 0.0
    for cell in cells:
        if not chunks or length + cell["seconds"] > limit:
            chunks.append([])
            length = 0.0
        chunks[-1].append(cell)
        length += cell["seconds"]
    return chunks


def sent(cell: Mapping[str, object]) -> dict[str, object]:
    """Return the part of a cell that goes to the client."""
    return {key: cell[key] for key in SENT if cell.get(key) is not None}


def _rows(streams: Iterable[Stream]) -> list[tuple[Stream, StreamRow]]:
    """Return what the processes printed, a row a stream, each with its process."""
    pairs = []
    for stream in streams:
        engine = engine_that_started(stream["argv"])
        try:
            rows = engine.rows(
                stream["argv"], stream.get("raw") or "", stream.get("finished") or 0.0
            )
        except ParseError as error:
            raise LabError(
                f"the output of {engine.called} could not be read: {error}",
                to_do=f"Run {engine.called} by hand between the nodes.",
            ) from None
        pairs += [(stream, row) for row in rows]
    return pairs


def result_of(row: Measured) -> tuple[Result, str | None]:
    """Return ``(result, error)`` of what the client sent back for one cell."""
    if row.get("error") or not row.get("streams"):
        return {}, row.get("error") or "no stream was started"
    try:
        pairs = _rows(row["streams"])
    except LabError as error:
        return {}, str(error)
    rows = [printed for _stream, printed in pairs]
    result = summarise([stream for stream, _printed in pairs], rows, row.get("warm_up_s", 0))
    checks = [printed["payload"] for printed in rows if "payload" in printed]
    if not checks:
        return result, None
    result["payload"] = payload.joined(checks)
    return result, payload.trouble(result["payload"])


def _is_proof(result: Result) -> bool:
    """Return whether a result shows a fault of the path, whatever became of the server."""
    return "payload" in result and payload.has_wrong_content(result["payload"])


def _outcome(row: Measured) -> tuple[Result, str | None]:
    """Return ``(result, error)`` of a trial. Its streams give them, unless the server was gone, or this or
    another path stopped answering meanwhile.
    """
    result, error = result_of(row)
    if _is_proof(result):
        return result, error
    if row.get("server_answers") is False or row.get("interrupted"):
        return {}, None
    return ({}, payload.SILENT) if row.get("path_stopped") else (result, error)


def _path_of(cell: CellToMeasure, paths: Paths) -> Path | None:
    """Return the path of a cell; a cell that is no plan's may have none."""
    return paths.named(cell["path"]) if cell.get("path") else None


def _evidence(path: Path | None, visit: Learned | None, test: str) -> Evidence | None:
    return trial_evidence(visit, path, test) if visit and path else None


def _expected(cell: CellToMeasure, path: Path | None, lab: Lab | None, test: str) -> Expected:
    if not (lab and path and cell.get("mtu")):
        return {}
    window = (cell.get("workload") or NOTHING).get("recv_socket")
    return expected(path, test, cell["mtu"], lab, window)


def _noticed(row: Measured, result: Result | None) -> dict[str, object]:
    """Return what was noticed in addition to the result of a trial, its ends and its server; what was not is
    left out.
    """
    watched = row.get("watched")
    noticed: dict[str, object] = {}
    if watched and (damage := damage_of(watched)):
        noticed["damage"] = damage
    if watched and (crossed := crossed_of(watched)):
        noticed["crossed"] = crossed
    if row.get("server_answers") is False and not result:
        noticed["server_answers"] = False
    noticed.update({key: row[key] for key in ADDED if row.get(key)})
    return noticed


def trial(
    cell: CellToMeasure,
    row: Measured,
    names: Mapping[str, str],
    lab: Lab | None = None,
    visit: Learned | None = None,
    *,
    paths: Paths = LAB,
) -> Trial:
    """Return the record of one trial.

    ``cell`` is the planned cell, ``row`` what the client sent, ``names`` has ``campaign``,
    ``client``, ``server`` and ``pair``; ``lab`` is what the guards compare with and ``visit`` what
    was learned at the visit, see :mod:`.evidence`.
    """
    test = (cell.get("workload") or NOTHING).get("test", "")
    path = _path_of(cell, paths)
    result, error = _outcome(row)
    watched = row.get("watched")
    record: Any = dict({"schema": SCHEMA, "id": cell["id"]}, **names)
    record.update({key: cell.get(key) for key in RECORDED})
    record.update(
        started=row["started"],
        finished=row["finished"],
        streams=row["streams"],
        result=result,
        cpu=cpu_of_trial(watched, result) if watched and result else None,
        evidence=_evidence(path, visit, test),
        marks=[],
        error=error,
    )
    record.update({key: cell[key] for key in ("part", "again", "trial") if cell.get(key)})
    record.update(_noticed(row, result))
    if not error:
        record["marks"] = marks_of(record, _expected(cell, path, lab, test))
    return record
