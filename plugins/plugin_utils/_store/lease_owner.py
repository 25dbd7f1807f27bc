# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who takes a node for a campaign: the campaign and its results folder, not the controller's process.

A campaign goes on after its controller was killed, perhaps in another container. So what it is known
by lies in its results folder, or is the folder of its results store.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import socket
from collections.abc import Mapping
from typing import Any

from ...module_utils._base.errors import LabError
from ...module_utils._host.processes import started_at
from ...module_utils._host.waiting import wait_until

NAME = ".lease"  # a file of the results folder, which no store keeps
PATIENCE_S = 5.0  # until another process has written it


def _read(path: str) -> str:
    with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as stream:
        return stream.read().strip()
    return ""


def folder_id(folder: str) -> str:
    """Return what a results folder is known by; the file is made where it is missing."""
    path = os.path.join(folder, NAME)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as stream:
            stream.write(secrets.token_hex(16) + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise LabError(
            f"the campaign's nodes cannot be taken ({error.strerror})",
            path,
            "Set offload_lab_results_dir to a folder you may write to.",
        )
    if not wait_until(lambda: bool(_read(path)), patience=PATIENCE_S):
        raise LabError("the file is empty", path, "Remove it, then run the campaign again.")
    return _read(path)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        return str(os.geteuid())


def _id(owner: Mapping[str, Any], controller: str) -> str:
    if owner.get("store"):
        return f"{owner['store']}/{owner['campaign']}"
    if owner.get("results"):
        return folder_id(str(owner["results"]))
    playbook = os.getppid()
    return f"{controller} {playbook} {started_at(playbook)}"


def completed(owner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the owner with its controller, its user, and what it is known by on nodes."""
    controller = socket.gethostname()
    who = {"controller": controller, "user": _user(), "id": _id(owner, controller)}
    return {**who, **{key: value for key, value in owner.items() if value}}
