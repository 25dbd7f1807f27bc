# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written at one stroke: whoever reads one finds the old text or the new one, whole.

Others may write to the folder, too. So no file is opened that somebody else has put there: a new
file has a random name, and a link is never followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Mapping
from typing import Iterator

from .._base.errors import InputError, LabError

RESULTS_MODE = 0o750  # of a results folder that is made
STALE = 3600.0  # seconds after which a new file was left by a process that was killed
NEW = ".new"
STATE_FOLDER = "/run/offload-lab"  # of the processes that go on after their module
KEPT_FOLDER = "/var/lib/offload-lab"  # of what outlives a reboot: snapshot, originals, spool


@contextlib.contextmanager
def opened(folder: str, flags: int = 0) -> Iterator[int]:
    """Open a folder; give its descriptor."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened_private(folder: str) -> Iterator[str]:
    """Open a folder that this process has made for itself; give a path to it that stays, whatever
    others put in the place of its name.
    """
    with opened(folder, os.O_NOFOLLOW) as descriptor:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(
                errno.EPERM, "somebody else has put a folder in its place", folder
            )
        yield f"/proc/self/fd/{descriptor}"


def make_state_folder(path: str = "") -> None:
    """Make a folder that only root may enter, the folder of state files by default; raise LabError for
    somebody else's.
    """
    path = path or STATE_FOLDER
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    try:
        with opened(path, os.O_NOFOLLOW) as folder:
            status = os.fstat(folder)
            if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != 0o700:
                os.fchmod(folder, 0o700)
    except OSError as error:
        raise LabError(f"is not a folder ({error.strerror})", path, "Remove it.")
    if status.st_uid != os.geteuid():
        raise LabError(f"belongs to user {status.st_uid}", path, "Remove it.")


def _remove_stale(folder: int, name: str) -> None:
    """Remove the new files of ``name`` that killed processes left."""
    for entry in os.listdir(folder):
        if not (entry.startswith(f".{name}.") and entry.endswith(NEW)):
            continue
        with contextlib.suppress(OSError):
            status = os.stat(entry, dir_fd=folder, follow_symlinks=False)
            if status.st_mtime < time.time() - STALE:
                os.unlink(entry, dir_fd=folder)


def _write_new(folder: int, name: str, data: bytes, mode: int) -> None:
    """Write a file that is not there yet, and wait until it is on the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, mode, dir_fd=folder), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def write(path: str, text: str | bytes, mode: int = 0o644) -> None:
    """Write a whole file at one stroke, and wait until it is on the disk; its folder is made."""
    parent, name = os.path.split(path)
    parent = parent or "."
    make_folders(parent)
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    new = f".{name}.{secrets.token_hex(8)}{NEW}"
    with opened(parent) as folder:
        _remove_stale(folder, name)
        try:
            _write_new(folder, new, data, mode)
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(new, dir_fd=folder)
            raise


def sync_folder(folder: str) -> None:
    """Wait until the names in a folder are on the disk: a crash could lose a new file before."""
    with opened(folder) as descriptor:
        os.fsync(descriptor)


def make_folders(path: str, mode: int = 0o755) -> None:
    """Make a folder and the folders above it that are missing; those that are there stay as they
    are. The lab's own are for root alone. No mode is wider than ``mode``, whatever the umask is.
    """
    path = os.path.abspath(path)
    for private in (STATE_FOLDER, KEPT_FOLDER):
        if path == private or path.startswith(private + "/"):
            make_state_folder(private)
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, mode)
    if missing and not os.path.isdir(missing[0]):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), missing[0])


def make_results_folder(path: str) -> None:
    """Make a results folder and the folders above it that are missing; those that are there stay as
    they are.
    """
    make_folders(path, RESULTS_MODE)


def results_mode(folder: str) -> int:
    """Return the mode of a new file in a results folder: whoever may read the folder may read it,
    and a group that may write to the folder may write to it.
    """
    return stat.S_IMODE(os.stat(folder).st_mode) & 0o664 | 0o600


def write_result(path: str, text: str | bytes) -> None:
    """Write a file of a results folder at one stroke; the folder is made."""
    folder = os.path.dirname(os.path.abspath(path))
    make_results_folder(folder)
    write(path, text, results_mode(folder))


def append_descriptor(path: str) -> int:
    """Open a file of a results folder to append to it; it is made, and never through a link."""
    folder = os.path.dirname(os.path.abspath(path))
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, results_mode(folder))


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
                write_result(os.path.join(folder, name), documents[name])
        return changed
    except OSError as error:
        raise InputError(
            f"the files cannot be written ({error.strerror})",
            folder,
            "Give a folder you may write to.",
        )
