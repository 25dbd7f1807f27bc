# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines a campaign needs, and which engine is meant where none is named. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...module_utils._engines.engines import candidates, engine_named
from ...module_utils._engines.payload.result import TEST as PAYLOAD
from ...module_utils._engines.sockets.sockets import Sockets
from ...module_utils._engines.workload import engines_of
from .._campaign.nouns import Campaign


class Engines(NamedTuple):
    """The engines of a play."""

    engine: str  # makes the load of a campaign that names none; "auto" before the nodes are read
    needed: list[str]


def engines_needed(engine: str, campaign: Campaign | None, has_lab: bool) -> Engines:
    """Return the engines that the nodes need, where ``engine`` is offload_lab_engine.

    A lab runs the server of that engine all the time. Without a lab, only the campaign counts, and
    a campaign that checks nothing but the payload needs Python alone.
    """
    named = engines_of(campaign["workloads"]) if campaign else []
    if has_lab or campaign is None:
        return Engines(engine, list(dict.fromkeys([*candidates(engine), *named])))
    return Engines(Sockets.name if tests_path(campaign) else engine, named)


def tests_path(campaign: Campaign) -> bool:
    """Return whether a campaign checks the payload and nothing else."""
    return all(load["test"] == PAYLOAD for load in campaign["workloads"])


def available(engine: str, programs: Iterable[Mapping[str, str | None]]) -> str:
    """Return the engine that offload_lab_engine stands for: of the candidates the first whose
    programs no node lacks, else the last. ``programs`` has of each node ``{name: path}``.
    """
    names = candidates(engine)
    missing: set[str] = set()
    for node in programs:
        missing.update(name for name, path in node.items() if path is None)
    able = [name for name in names if missing.isdisjoint(engine_named(name).programs())]
    return able[0] if able else names[-1]
