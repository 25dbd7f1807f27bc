# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which campaign the user means: given as a mapping, or as a file that is looked for where the user
would.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...module_utils._base.errors import InputError
from ...module_utils._engines.engines import ENGINES
from .._paths.lab_paths import Paths, with_own
from .campaign_file import (
    OVERRIDES,
    load_campaign,
    load_schema,
    override,
    read_campaign,
)
from .nouns import Campaign

HOW = "Give offload_lab_campaign_file, the path of a YAML file, or offload_lab_campaign, the campaign itself."

# The options of the action plugins that are asked of a campaign, and of its results folder.
CAMPAIGN: dict[str, dict[str, Any]] = {
    "campaign": {"type": "dict"},
    "campaign_file": {"type": "path"},
    "overrides": {"type": "dict", "default": {}},
}
# Of those that check it before it is planned: the paths of a network that exists already.
OWN_PATHS: dict[str, dict[str, Any]] = {"own_paths": {"type": "dict", "default": {}}}
IN_RESULTS = {**CAMPAIGN, "results_dir": {"type": "path", "default": "results"}}


def places(playbook_folder: str) -> list[str]:
    """Return where a relative path is looked for: here, beside the playbook, and in the project
    that has it.
    """
    return [os.getcwd(), playbook_folder, os.path.dirname(playbook_folder)]


def find_file(path: str, folders: Iterable[str]) -> str:
    """Return the absolute path of a campaign file; a relative one is that of the first folder that
    has it.
    """
    candidates = [os.path.abspath(os.path.join(folder, path)) for folder in folders]
    for candidate in candidates:
        if os.path.isfile(candidate):
            return candidate
    raise InputError(
        "there is no such campaign file",
        path,
        f"Looked for {', '.join(dict.fromkeys(candidates))}.",
    )


def with_engine(campaign: dict[str, object], engine: str | None) -> dict[str, object]:
    """Return the campaign with the engine of the lab, where it names none itself. netperf, the
    first of all, is not written down.
    """
    if engine in (None, "auto", ENGINES[0].name) or campaign.get("engine"):
        return campaign
    return {**campaign, "engine": engine}


def with_mtus(campaign: dict[str, object], lab_mtu: int | None) -> dict[str, object]:
    """Return the campaign with the MTU of the lab, where it names none itself."""
    return {**campaign, "mtus": [lab_mtu]} if lab_mtu and not campaign.get("mtus") else campaign


def with_paths(campaign: dict[str, object], known: Paths) -> dict[str, object]:
    """Return the campaign with the paths that exist already, where it names none itself."""
    there = known.existing()
    return {**campaign, "paths": there} if there and not campaign.get("paths") else campaign


def chosen_campaign(
    campaign: dict[str, object] | None, path: str | None, folders: Iterable[str]
) -> tuple[dict[str, object], str]:
    """Return the campaign as it was written, unchecked, and where it is from: one of ``campaign``
    and ``path``.
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


class AskedCampaign(NamedTuple):
    """A campaign, checked and complete."""

    campaign: Campaign
    where: str  # it is from
    lab_mtu: int | None  # that it is measured with, because it names none itself


def asked_campaign(
    options: dict[str, Any],
    folders: Iterable[str],
    nodes: Sequence[str],
    lab_mtu: int | None = None,
) -> AskedCampaign:
    """Return the campaign that the options of a module ask for."""
    campaign, where = chosen_campaign(options["campaign"], options["campaign_file"], folders)
    unknown = sorted(set(options["overrides"]) - set(OVERRIDES))
    if unknown:
        raise InputError(
            f"{unknown[0]!r} cannot be overridden", "overrides", f"Use {', '.join(OVERRIDES)}."
        )
    given = with_engine(override(campaign, options["overrides"]), options.get("engine"))
    known = with_own(options.get("own_paths"))
    given = with_paths(given, known)
    return AskedCampaign(
        read_campaign(with_mtus(given, lab_mtu), where, nodes, known),
        where,
        None if given.get("mtus") else lab_mtu,
    )


def results_folder(arguments: dict[str, Any], folders: Iterable[str]) -> str:
    """Return the absolute results folder of a campaign, found by its name."""
    campaign, where = chosen_campaign(arguments["campaign"], arguments["campaign_file"], folders)
    name = override(campaign, arguments["overrides"]).get("name")
    if not name:
        raise InputError("the campaign has no name", where, "Begin it with 'name:'.")
    _check_name(name, where)
    return os.path.join(os.path.abspath(arguments["results_dir"]), str(name))


def _check_name(name: object, where: str) -> None:
    """Raise InputError where the name of a campaign is no name of a folder: a survey gives it, too."""
    rule = load_schema("campaign")["properties"]["name"]
    if not isinstance(name, str) or not re.match(rule["pattern"], name):
        raise InputError("this is no name of a campaign", f"{where}: {name!r}", rule["description"])
