# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check campaigns by :mod:`.schema`, and add the defaults.

Each error names the key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from ...module_utils._base.errors import InputError
from ...module_utils._engines import workload
from ...module_utils._engines.engine import Workload
from ...module_utils._engines.engines import BY_NAME, ENGINES
from .._paths.lab_paths import LAB, Paths, with_own
from .._paths.path import Pair
from .._statistics.rules import MATTERS
from .chosen import OVERRIDES, chosen_campaign, override
from .lengths import BEGINS, FIRST_BLOCKS, LENGTHS, with_length
from .nouns import Campaign, Factor
from .read_factors import check_needs, read_factor
from .rounds import everybody
from .schema import load_schema, validate_by
from .workloads import CHECK, limit_rate, payload_check, read_workload

DEFAULTS: dict[str, Any] = {
    "seed": 1,
    "blocks": None,
    "time_budget": None,
    "paths": ["physical", "tenant_vxlan"],
    "mtus": [9000],
    "sides": "both",
    "design": "on_off",
    "factors": ["tx", "tso", "gso", "gro"],
    "workloads": ["tcp_stream", "udp_stream"],
    "duration": 10,
    "profiles": {},
    "control": None,
    "pairs": [],
    "concurrent": False,
    "untestable": {},
    "study": None,
    "steal_limit": None,
    "matters": MATTERS,
    "confirm": 6,
    "trials": None,
    "goal": "throughput",
    "until": None,
    "control_visits": None,
    "engine": None,
    "limit_mbps": None,
    "verify": True,
}
AUTO = "auto"  # the duration whose length the campaign chooses
UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
SEARCH_TRIALS = 8  # trials of each cell at a visit of a search


def seconds(budget: float | str) -> float:
    """Return a time budget such as ``20 min`` or 1200 in seconds."""
    if not isinstance(budget, str):
        return float(budget)
    unit = budget.strip().lstrip("0123456789. ")
    return float(budget.strip().removesuffix(unit)) * UNITS[unit]


def _pairs(pairs: str | list[str | Pair], nodes: Sequence[str], where: str) -> list[Pair]:
    """Return the pairs of a campaign as mappings; ``all`` pairs each node with every other."""
    if pairs == "all":
        if len(nodes) < 2:
            raise InputError(
                "'pairs: all' needs two nodes or more",
                where,
                "Give the inventory more hosts, or a list.",
            )
        return everybody(nodes)
    return [_pair(*pair.split("-", 1)) if isinstance(pair, str) else pair for pair in pairs]


def _pair(client: str, server: str) -> Pair:
    return {"client": client, "server": server}


def campaign_schema(known: Paths = LAB) -> dict[str, Any]:
    """Return the JSON Schema of a campaign, with the names of the known paths and the keys of workloads."""
    schema = load_schema("campaign")
    paths = list(known.by_name)
    items = {"enum": paths, "description": f"Use {', '.join(paths[:-1])} or {paths[-1]}."}
    schema["properties"]["paths"]["items"] = items
    schema["$defs"].update(workload.definitions())
    schema["properties"]["engine"] = workload.KEYS["engine"].schema
    return schema


def read_campaign(
    campaign: object,
    where: str = "campaign",
    nodes: Sequence[str] = (),
    paths_known: Paths = LAB,
) -> Campaign:
    """Check a campaign and return it with its defaults, and with factors and workloads as in
    plan.json.

    ``pairs: all`` means the ``nodes``. The campaign may name the ``paths_known``.
    """
    document: Any = campaign
    if isinstance(campaign, dict):
        document = {key: value for key, value in campaign.items() if value is not None}
    validate_by(document, campaign_schema(paths_known), where)
    full: Any = {**DEFAULTS, **document}
    _fill(full, nodes, where, paths_known)
    _check_names(full, where)
    _unique([tuple(sorted(pair.items())) for pair in full["pairs"]], "pairs", where)
    if full["design"] == "search":
        _check_search(full, where)
    if (full["design"] == "profiles") != bool(full["profiles"]):
        raise InputError(
            "the key 'profiles' and the design 'profiles' need each other",
            where,
            "Give both, or neither of them.",
        )
    return full


def _fill(full: Any, nodes: Sequence[str], where: str, paths_known: Paths) -> None:
    """Replace the short forms of a campaign by the forms of plan.json."""
    if full["time_budget"] is not None:
        full["time_budget"] = seconds(full["time_budget"])
    _take_lengths(full, where)
    factors: list[Factor] = []
    for entry in full["factors"]:
        factors += read_factor(entry, full, paths_known)
    check_needs(factors, where)
    full["factors"] = factors
    full["workloads"] = [
        read_workload(entry, full["duration"], full["engine"]) for entry in full["workloads"]
    ]
    _begin_lengths(full)
    full["verify"] = payload_check(full["workloads"], full["duration"]) if full["verify"] else None
    if full["limit_mbps"]:
        _limit(full)
    full["pairs"] = _pairs(full["pairs"], nodes, where)


def _limit(full: Any) -> None:
    """Limit the rate of all workloads to ``limit_mbps``."""
    checks = [full["verify"]] if full["verify"] else []
    for load in [*full["workloads"], *checks]:
        limit_rate(load, full["limit_mbps"])


def _take_lengths(full: Any, where: str) -> None:
    """Replace ``duration: auto`` by a number, and note the workloads whose length is chosen."""
    full.update(lengths=[], chosen={}, scatter=None, first=FIRST_BLOCKS)
    if full["duration"] != AUTO:
        return
    fixed = full["blocks"] or full["until"] or full["design"] == "search"
    if full["time_budget"] is None or fixed:
        raise InputError(
            "the length of cells can be chosen only within a time budget",
            f"{where}: duration auto",
            "Give 'time_budget', and leave out 'blocks' and 'until'. A search needs a number as 'duration'.",
        )
    full["duration"] = 1
    full["first"] = None
    full["chosen"] = {_name(load): 0.0 for load in full["workloads"] if not _has_duration(load)}


def _begin_lengths(full: Any) -> None:
    """Set the first length of the workloads whose length is chosen."""
    if not full["chosen"]:
        return
    loads: list[Workload] = full["workloads"]
    for load in loads:
        if load["name"] in full["chosen"]:
            full["chosen"][load["name"]] = _shortest(load)
    least = min(full["chosen"].values())
    full["lengths"] = [seconds for seconds in LENGTHS if seconds >= least]
    full["workloads"] = [with_length(load, BEGINS, full["chosen"]) for load in loads]


def _name(entry: Any) -> str:
    return str(entry if isinstance(entry, str) else entry["name"])


def _has_duration(entry: Any) -> bool:
    """Return whether an entry of a campaign's ``workloads`` has a duration."""
    return isinstance(entry, dict) and "duration" in entry


def _shortest(load: Workload) -> float:
    """Return the shortest time of a workload's cell, in seconds."""
    checked = workload.checked(load)
    return BY_NAME[checked["engine"]].shortest(checked)


def _check_names(full: Any, where: str) -> None:
    workloads = [workload["name"] for workload in full["workloads"]]
    if full["verify"]:
        workloads.append(CHECK)
    _unique([factor["name"] for factor in full["factors"]], "factors", where)
    _unique(workloads, "workloads", where)


def _check_search(full: Any, where: str) -> None:
    if full["blocks"] is not None:
        raise InputError(
            "a search has no number of blocks",
            where,
            "Leave out 'blocks'; 'time_budget' limits it.",
        )
    if full["control_visits"] == 2:
        raise InputError(
            "a search visits its control once",
            where,
            "Leave out 'control_visits'.",
        )
    if len(full["mtus"]) > 1:
        raise InputError(
            "a search has one MTU",
            where,
            "Give one MTU, and a campaign for each of the others.",
        )
    full["trials"] = full["trials"] or SEARCH_TRIALS


def _unique(names: list[Hashable], kind: str, where: str) -> None:
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{twice[0]} appears twice", f"{where}: {kind}", "Give each a name of its own."
        )


def with_engine(campaign: dict[str, object], engine: str | None) -> dict[str, object]:
    """Return the campaign with the engine of the lab, unless it names an engine.

    The default, netperf, is not written into the campaign.
    """
    if engine in (None, "auto", ENGINES[0].name) or campaign.get("engine"):
        return campaign
    return {**campaign, "engine": engine}


def with_mtus(campaign: dict[str, object], lab_mtu: int | None) -> dict[str, object]:
    """Return the campaign with the MTU of the lab, unless it names MTUs."""
    return {**campaign, "mtus": [lab_mtu]} if lab_mtu and not campaign.get("mtus") else campaign


def with_paths(campaign: dict[str, object], known: Paths) -> dict[str, object]:
    """Return the campaign with all paths that exist without the lab, unless it names paths."""
    existing = known.existing()
    return {**campaign, "paths": existing} if existing and not campaign.get("paths") else campaign


class CheckedCampaign(NamedTuple):
    """A campaign, checked and complete."""

    campaign: Campaign
    where: str  # its source, for messages
    lab_mtu: int | None  # the lab's MTU, where the campaign names none


def checked_campaign(
    options: dict[str, Any],
    folders: Iterable[str],
    nodes: Sequence[str],
    lab_mtu: int | None = None,
) -> CheckedCampaign:
    """Return the campaign of a module's options, checked and complete."""
    campaign, where = chosen_campaign(options["campaign"], options["campaign_file"], folders)
    unknown = sorted(set(options["overrides"]) - set(OVERRIDES))
    if unknown:
        raise InputError(
            f"{unknown[0]!r} cannot be overridden", "overrides", f"Use {', '.join(OVERRIDES)}."
        )
    campaign = with_engine(override(campaign, options["overrides"]), options.get("engine"))
    paths = with_own(options.get("own_paths"))
    campaign = with_paths(campaign, paths)
    return CheckedCampaign(
        read_campaign(with_mtus(campaign, lab_mtu), where, nodes, paths),
        where,
        None if campaign.get("mtus") else lab_mtu,
    )
