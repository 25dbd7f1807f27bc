# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How root starts a process to which strangers can send: as nobody, without privileges, with limits.

The limits leave room for 1,000 streams. A process alone cannot reach them with what the engines ask
for; they bound what a fault or a stranger takes of the node. Where systemd runs, a scope bounds the
process and its children together.
"""

from __future__ import annotations

import os
import secrets
import shutil
from typing import Mapping, Sequence

from .._base.errors import InputError
from . import program
from .runner import SEARCH_PATH

NOBODY = "65534"
GIB = 1 << 30
MOST_FILES = 4096
MOST_PROCESSES = 4096  # of user nobody, or of the scope
LIMITS = {
    "as": 4 * GIB,  # bytes of address space: a thread reserves 8 MiB and uses little
    "core": 0,
    "nofile": MOST_FILES,
    "nproc": MOST_PROCESSES,
}
MEMORY = "50%"  # of the node's, for a server and what it starts
SCOPE = "offload-lab-server-"
LAB_NAME = "OFFLOAD_LAB_NAME"
# Each is a program of util-linux that becomes the next one, so the process keeps its number.
WITHOUT_PRIVILEGES = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--no-new-privs",
    "--inh-caps=-all",
    "--bounding-set=-all",
    "--",
)


def _limits() -> list[str]:
    return ["prlimit", *(f"--{name}={value}" for name, value in LIMITS.items()), "--"]


def _scope() -> list[str]:
    if not program.by_systemd():
        return []
    properties = (f"MemoryMax={MEMORY}", f"TasksMax={MOST_PROCESSES}")
    unit = f"--unit={SCOPE}{secrets.token_hex(6)}"
    bounds = [f"--property={text}" for text in properties]
    return ["systemd-run", "--scope", "--quiet", "--collect", unit, *bounds, "--"]


def command(argv: Sequence[str]) -> list[str]:
    """Return the command line that becomes ``argv``, confined."""
    return [*_scope(), *_limits(), *WITHOUT_PRIVILEGES, *argv]


def environment() -> dict[str, str]:
    """Return the environment of a confined process: of a task's, which may have secrets, only the
    name of the lab that the process belongs to.
    """
    lab = {name: os.environ[name] for name in (LAB_NAME,) if name in os.environ}
    return {"LC_ALL": "C", "LANGUAGE": "C", "PATH": SEARCH_PATH, **lab}


def require_program(name: str, variables: Mapping[str, str] | None = None) -> None:
    """Raise InputError where a confined process could not start a program."""
    path = shutil.which(name, path=(variables or environment())["PATH"])
    if path is None:
        raise InputError(
            "there is no such program on the node", name, f"Install the package that has {name}."
        )
    if not _is_for_all(os.path.realpath(path)):
        raise InputError(
            f"user nobody may not run {path}", name, "Install it where all users can read it."
        )


def _is_for_all(path: str) -> bool:
    """Return whether all users may read and enter what a path goes through."""
    while True:
        if not os.stat(path).st_mode & 0o001:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)
