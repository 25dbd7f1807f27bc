# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the campaign of the user, unchecked: a mapping, or a file in one of the folders that a user expects."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils._base.errors import InputError
from .schema import load_schema

HOW = "Give offload_lab_campaign_file, the path of a YAML file, or offload_lab_campaign, the campaign itself."

# Options of the action plugins that need a campaign; IN_RESULTS also needs its results folder.
CAMPAIGN: dict[str, dict[str, Any]] = {
    "campaign": {"type": "dict"},
    "campaign_file": {"type": "path"},
    "overrides": {"type": "dict", "default": {}},
}
# Option of the action plugins that check a campaign before its plan: paths that exist without the lab.
OWN_PATHS: dict[str, dict[str, Any]] = {"own_paths": {"type": "dict", "default": {}}}
IN_RESULTS = {**CAMPAIGN, "results_dir": {"type": "path", "default": "results"}}
# Limits of a campaign file: PyYAML's time grows with the square of open brackets, and its aliases
# can expand to any size.
LONGEST = 100_000  # characters
BRACKETS = 1000
VALUES = 100_000
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


def search_folders(playbook_folder: str) -> list[str]:
    """Return the folders in which a relative path may be: the current folder, that with the
    playbook, and that with the project.
    """
    return [os.getcwd(), playbook_folder, os.path.dirname(playbook_folder)]


def find_file(path: str, folders: Iterable[str]) -> str:
    """Return the absolute path of a campaign file. The first folder that has the file wins."""
    candidates = [os.path.abspath(os.path.join(folder, path)) for folder in folders]
    for candidate in candidates:
        if os.path.isfile(candidate):
            return candidate
    raise InputError(
        "there is no such campaign file",
        path,
        f"Create one of these files, or give another path: {', '.join(dict.fromkeys(candidates))}.",
    )


def chosen_campaign(
    campaign: dict[str, object] | None, path: str | None, folders: Iterable[str]
) -> tuple[dict[str, object], str]:
    """Return the campaign, unchecked, and its source for messages.

    Exactly one of ``campaign`` and ``path`` must be given.
    """
    if campaign and path:
        raise InputError(
            "both a campaign and a campaign file are given", path, "Leave out one of them."
        )
    if path:
        file = find_file(path, folders)
        return load_campaign(file), file
    if not campaign:
        raise InputError("no campaign is given", "campaign", HOW)
    return campaign, "campaign"


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


def results_folder(arguments: dict[str, Any], folders: Iterable[str]) -> str:
    """Return the absolute path of a campaign's results folder, which has the campaign's name."""
    campaign, where = chosen_campaign(arguments["campaign"], arguments["campaign_file"], folders)
    name = override(campaign, arguments["overrides"]).get("name")
    if not name:
        raise InputError("the campaign has no name", where, "Begin it with 'name:'.")
    _check_name(name, where)
    return os.path.join(os.path.abspath(arguments["results_dir"]), str(name))


def _check_name(name: object, where: str) -> None:
    """Raise InputError where a campaign's name, which may be from a survey, names no folder."""
    rule = load_schema("campaign")["properties"]["name"]
    if not isinstance(name, str) or not re.match(rule["pattern"], name):
        raise InputError("this is no name of a campaign", f"{where}: {name!r}", rule["description"])
