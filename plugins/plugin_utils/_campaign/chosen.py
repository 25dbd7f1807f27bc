# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the campaign of the user: a mapping, or a file in one of the folders that a user expects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...module_utils._base.errors import InputError
from ...module_utils._engines.engines import ENGINES
from .._paths.lab_paths import Paths, with_own
from .campaign_file import OVERRIDES, load_campaign, override, read_campaign
from .nouns import Campaign
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
