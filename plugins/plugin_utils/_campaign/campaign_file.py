# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read campaign files, check them by :mod:`.schema`, and add the defaults.

Each error names the key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ...module_utils._base.errors import InputError
from .._paths.lab_paths import LAB, Paths
from .._paths.path import Pair
from .._statistics.rules import MATTERS
from .factors import check_needs, read_factor
from .nouns import Campaign, Factor
from .schema import validate
from .visits import everybody
from .workloads import CHECK, begin_lengths, limit_rate, payload_check, read_workload, take_duration

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
# Limits of a campaign file: PyYAML's time grows with the square of open brackets, and its aliases
# can expand to any size.
LONGEST = 100_000  # characters
BRACKETS = 1000
VALUES = 100_000
UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
SEARCH_TRIALS = 8  # trials of each cell at a visit of a search
LISTS = ("paths", "mtus", "factors", "workloads", "sides", "pairs")
NUMBERS = ("seed", "blocks", "duration", "confirm")
# The keys that an AWX survey or the user may override.
OVERRIDES = (
    "name",
    "seed",
    "blocks",
    "time_budget",
    "design",
    "paths",
    "mtus",
    "sides",
    "factors",
    "workloads",
    "duration",
    "confirm",
    "limit_mbps",
)


def load_campaign(path: str) -> dict[str, object]:
    """Return the content of a campaign file in YAML, unchecked."""
    import yaml  # noqa: PLC0415

    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read(LONGEST + 1)
        if len(text) > LONGEST or text.count("[") + text.count("{") > BRACKETS:
            raise InputError(
                f"the campaign file has more than {LONGEST} characters or {BRACKETS} brackets",
                path,
                "Shorten it, or give another file.",
            )
        _refuse_keys_given_twice(yaml.compose(text, Loader=yaml.SafeLoader), path)
        campaign = yaml.safe_load(text)
    except OSError as error:
        raise InputError(
            f"the campaign file cannot be read ({error.strerror})",
            path,
            "Give the path of a YAML file.",
        )
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(
            f"this is not YAML: {' '.join(str(error).split())}", path, "Correct the file."
        )
    if _size(campaign, {}) > VALUES:
        raise InputError(
            f"its aliases expand to more than {VALUES} values", path, "Write it without aliases."
        )
    if not isinstance(campaign, dict):
        raise InputError("a campaign file holds one mapping", path, "Begin with 'name:'.")
    return campaign


def _refuse_keys_given_twice(root: Any, path: str) -> None:
    """Raise InputError where a mapping gives a key twice: PyYAML silently takes the last one."""
    unchecked = [root]
    checked = set()
    while unchecked:
        node = unchecked.pop()
        if node is None or id(node) in checked or isinstance(node.value, str):
            continue
        checked.add(id(node))
        if node.id == "sequence":
            unchecked += node.value
            continue
        keys = set()
        for key, value in node.value:
            unchecked += [key, value]
            if isinstance(key.value, str) and key.value in keys:
                raise InputError(
                    f"the key {key.value!r} is given twice",
                    f"{path}, line {key.start_mark.line + 1}",
                    "Leave one of them out.",
                )
            keys.add(key.value if isinstance(key.value, str) else id(key))


def _size(value: object, sizes: dict[int, float]) -> float:
    """Return how many values a value holds; infinity where it holds itself.

    A value that several aliases name counts once for each.
    """
    if not isinstance(value, (dict, list)):
        return 1
    if id(value) not in sizes:
        sizes[id(value)] = math.inf  # while its parts are counted: met again there, it holds itself
        parts = value.values() if isinstance(value, dict) else value
        sizes[id(value)] = 1 + sum(_size(part, sizes) for part in parts)
    return sizes[id(value)]


def override(campaign: Mapping[str, object], overrides: Mapping[str, object]) -> dict[str, object]:
    """Return the campaign with the non-empty ``overrides``.

    A survey gives lists as strings (``"9000, 1500"``).
    """
    return {
        **campaign,
        **{
            key: _from_text(key, value)
            for key, value in overrides.items()
            if value not in (None, "", [])
        },
    }


def _from_text(key: str, value: Any) -> Any:
    """Return an answer of a survey in the type that the campaign has.

    The schema refuses answers that do not fit.
    """
    if key == "sides" and (isinstance(value, str) and len(_parts(value)) == 1):
        return _parts(value)[0]
    if key in LISTS:
        parts = _parts(value) if isinstance(value, str) else value
        return (
            [_number(part) for part in parts]
            if key == "mtus" and isinstance(parts, list)
            else parts
        )
    return _number(value) if key in NUMBERS else value


def _parts(text: str) -> list[str]:
    """Return the items of a list in a text.

    Commas separate the items, or line ends as in a multiselect of AWX. Brackets and quotes of YAML
    are allowed.
    """
    parts = [
        part.strip().strip("'\"").strip() for part in re.split(r"[,\n]", text.strip().strip("[]"))
    ]
    return [part for part in parts if part]


def _number(value: Any) -> Any:
    """Return the number in a string. Return other values unchanged: the schema refuses them."""
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"\s*[0-9]{1,9}\s*", value, re.ASCII):
        return int(value)
    if re.fullmatch(r"\s*[0-9]{1,9}\.[0-9]{1,9}\s*", value, re.ASCII):
        return float(value)
    return value


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


def read_campaign(
    campaign: object,
    where: str = "campaign",
    nodes: Sequence[str] = (),
    known: Paths = LAB,
) -> Campaign:
    """Check a campaign and return it with its defaults, and with factors and workloads as in
    plan.json.

    ``pairs: all`` means the ``nodes``. The campaign may name the ``known`` paths.
    """
    document: Any = campaign
    if isinstance(campaign, dict):
        document = {key: value for key, value in campaign.items() if value is not None}
    validate(document, "campaign", where, known=known)
    full: Any = {**DEFAULTS, **document}
    _fill(full, nodes, where, known)
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


def _fill(full: Any, nodes: Sequence[str], where: str, known: Paths) -> None:
    """Replace the short forms of a campaign by the forms of plan.json."""
    if full["time_budget"] is not None:
        full["time_budget"] = seconds(full["time_budget"])
    take_duration(full, where)
    factors: list[Factor] = []
    for entry in full["factors"]:
        factors += read_factor(entry, full, known)
    check_needs(factors, where)
    full["factors"] = factors
    full["workloads"] = [
        read_workload(entry, full["duration"], full["engine"]) for entry in full["workloads"]
    ]
    begin_lengths(full)
    full["verify"] = payload_check(full["workloads"], full["duration"]) if full["verify"] else None
    if full["limit_mbps"]:
        _limit(full)
    full["pairs"] = _pairs(full["pairs"], nodes, where)


def _limit(full: Any) -> None:
    """Limit the rate of all workloads to ``limit_mbps``."""
    checks = [full["verify"]] if full["verify"] else []
    for load in [*full["workloads"], *checks]:
        limit_rate(load, full["limit_mbps"])


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
