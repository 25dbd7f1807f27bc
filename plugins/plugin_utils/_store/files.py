# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files written on the controller: whole or not at all, and only where their content differs."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...module_utils._base.errors import InputError
from ...module_utils._host import files


def _content(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return ""


def write_changed(folder: str, documents: Mapping[str, str], check: bool = False) -> list[str]:
    """Write ``{file name: text}`` into a folder; return the names that differ.

    With ``check`` nothing is written.
    """
    try:
        changed = [
            name for name, text in documents.items() if _content(os.path.join(folder, name)) != text
        ]
        if changed and not check:
            for name in changed:
                files.write_result(os.path.join(folder, name), documents[name])
        return changed
    except OSError as error:
        raise InputError(
            f"the files cannot be written ({error.strerror})",
            folder,
            "Give a folder you may write to.",
        )
