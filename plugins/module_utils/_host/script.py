# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way to start Python on a node: it imports nothing from a place that others can write to.

Python puts the folder of its script first on its search path, reads PYTHON* variables, and imports
sitecustomize and the packages of a user. ``-I`` and ``-S`` turn all of that off. A script is
held in memory, and Python reads it from a descriptor that the process inherits. The number of the
descriptor is part of the command line, by which a server is recognised. A script is one text: it has
no folder from which it could import a file of ours.

Code that a node keeps for later is a program: the modules that are loaded now, as one zip file.
"""

from __future__ import annotations

import contextlib
import fcntl
import inspect
import io
import os
import re
import sys
import tempfile
import zipfile
from types import ModuleType
from typing import IO, Iterator, Sequence

from . import files

PYTHON = "python3"
VERSION = (PYTHON, "-ISV")  # a command that shows whether a node has it
ISOLATED = "-IS"
MFD_ALLOW_SEALING = 2
MFD_NOEXEC_SEAL = 8  # since Linux 6.3, where a sysctl can require it
SEALS = 1 | 2 | 4 | 8  # F_SEAL_SEAL, _SHRINK, _GROW, _WRITE: the text of a script is final
F_ADD_SEALS = 1033
FUTURE = "from __future__ import annotations\n"  # Python takes it in a script's first lines alone
OURS = re.compile(r"^from (?:__future__|\.\S*) import (?:\([^)]*\)|.*)\n", re.MULTILINE)


def argv(descriptor: int) -> list[str]:
    """Return how the command line of a script begins."""
    return [PYTHON, ISOLATED, f"/proc/self/fd/{descriptor}"]


def runs(argv: Sequence[str], descriptor: int, verb: str) -> bool:
    """Return whether a command line belongs to a script. Versions before 1.0 had no option in
    between, and their records are read, too.
    """
    beginning = [f"/proc/self/fd/{descriptor}", verb]
    return beginning in (list(argv[1:3]), list(argv[2:4]))


def argv_of_zip(path: str) -> list[str]:
    """Return how the command line of a zip file of :mod:`.program` begins."""
    return [sys.executable, ISOLATED, path]


def _memory() -> IO[bytes]:
    """Return an open file in memory, or in our folder where the kernel or Python has none."""
    for flags in (MFD_NOEXEC_SEAL, MFD_ALLOW_SEALING):
        with contextlib.suppress(OSError, AttributeError):
            return os.fdopen(os.memfd_create("offload-lab", flags | os.MFD_CLOEXEC), "w+b")
    files.make_state_folder()
    file = tempfile.TemporaryFile(dir=files.STATE_FOLDER)  # noqa: SIM115 # the caller closes it
    os.fchmod(file.fileno(), 0o644)  # a process without privileges opens its script, too
    return file


def nameless(text: str) -> IO[bytes]:
    """Return an open file without a name that has this text, for the standard input of a process."""
    file = _memory()
    file.write(text.encode())
    file.seek(0)
    return file


def text_of(*modules: ModuleType) -> str:
    """Return the text of one script: the modules in their order. A module has the names of those
    before it, so its own imports of them are left out.
    """
    texts = [OURS.sub("", inspect.getsource(module)) for module in modules]
    return "\n".join([FUTURE, *texts])


@contextlib.contextmanager
def held(text: str, descriptor: int) -> Iterator[tuple[int, ...]]:
    """Hold a script open, for processes that are started meanwhile; give what they inherit."""
    with _memory() as script:
        script.write(text.encode())
        script.flush()
        with contextlib.suppress(OSError):  # a file in a folder has no seals
            fcntl.fcntl(script, F_ADD_SEALS, SEALS)
        os.dup2(script.fileno(), descriptor)
        try:
            yield (descriptor,)
        finally:
            os.close(descriptor)


def forget_archive() -> None:
    """Import from the standard library alone from now on.

    Ansible unpacks a module below /tmp and removes it when the module ends. A process that outlives
    the module would import from an archive of that name, which anybody can put there.
    """
    library = os.path.dirname(os.__file__)
    sys.path[:] = [folder for folder in sys.path if (folder + "/").startswith(library + "/")]
    sys.path_importer_cache.clear()
    for module in list(sys.modules.values()):
        folders = getattr(module, "__path__", None)
        if folders is not None and not all(str(path).startswith(library) for path in folders):
            module.__path__ = []


PACKAGE = "ansible_collections.offload.lab.plugins.module_utils"
MAIN = "__main__.py"


def write_program(path: str, main: str) -> None:
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
