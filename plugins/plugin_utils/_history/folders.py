# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of campaigns as a history: the campaigns found and read, and history.json, .html and .md
made.
"""

from __future__ import annotations

import json
import os

from ...module_utils._base.errors import InputError
from .._compare.folders import labels_of, read_campaign_folder
from . import page
from .history import history
from .rows import History

FILES = {"plan.json", "trials.jsonl"}


def campaign_folders(paths: list[str]) -> list[str]:
    """Return the results folders that are given, or lie anywhere below what is given, sorted by
    name.
    """
    found = []
    for path in paths:
        below = sorted(folder for folder, _folders, files in os.walk(path) if set(files) >= FILES)
        if not below:
            raise InputError(
                "there is no campaign in this folder",
                path,
                "Give a folder with results folders in it, each with plan.json and trials.jsonl.",
            )
        found += below
    return list(dict.fromkeys(map(os.path.abspath, found)))


def history_of(paths: list[str]) -> History:
    """Return the history of all campaigns in some folders."""
    folders = campaign_folders(paths)
    return history(
        [read_campaign_folder(folder, label) for folder, label in zip(folders, labels_of(folders))]
    )


def documents(found: History) -> dict[str, str]:
    """Return ``{file name: text}`` of a history."""
    return {
        "history.json": json.dumps(found, indent=1, sort_keys=True, allow_nan=False) + "\n",
        "history.html": page.render(found),
        "history.md": page.markdown(found),
    }
