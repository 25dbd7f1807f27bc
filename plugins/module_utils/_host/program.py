# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that a node keeps for later: the modules that are loaded now, as one zip file that python3
runs alone.
"""

from __future__ import annotations

import inspect
import io
import os
import sys
import zipfile
from types import ModuleType

from . import files

PACKAGE = "ansible_collections.offload.lab.plugins.module_utils"
MAIN = "__main__.py"


def write(path: str, main: str) -> None:
    """Write the zip file at one stroke; ``main`` is the text of the program that it begins with."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MAIN, main)
        folders = PACKAGE.split(".")
        for depth in range(len(folders)):
            archive.writestr("/".join(folders[: depth + 1]) + "/__init__.py", "")
        for name, module in sorted(sys.modules.items()):
            if name.startswith(PACKAGE + "."):
                _add_module(archive, name.replace(".", "/"), module)
    files.write(path, packed.getvalue(), 0o600)


def _add_module(archive: zipfile.ZipFile, path: str, module: ModuleType) -> None:
    if hasattr(module, "__path__"):  # a room: an empty file, which has no source for inspect
        archive.writestr(path + "/__init__.py", "")
    else:
        archive.writestr(path + ".py", inspect.getsource(module))


def main_of(path: str) -> str | None:
    """Return the text that a program begins with, or None where there is no such file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(MAIN).decode()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def by_systemd() -> bool:
    """Return whether systemd can start the program here: systemd runs, and this is not a node in
    namespaces of its machine.
    """
    try:
        same = all(
            os.readlink("/proc/1/ns/" + kind) == os.readlink("/proc/self/ns/" + kind)
            for kind in ("net", "mnt")
        )
    except OSError:
        return False
    return same and os.path.isdir("/run/systemd/system")
