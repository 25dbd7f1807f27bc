# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written at one stroke: whoever reads one finds the old text or the new one, whole."""

from __future__ import annotations

import os


def write(path: str, text: str | bytes, mode: int = 0o644) -> None:
    """Write a whole file at one stroke, and wait until it is on the disk; its folder is made."""
    os.makedirs(os.path.dirname(path) or ".", mode=0o755, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(path + ".new", path)


def sync_folder(folder: str) -> None:
    """Wait until the names in a folder are on the disk: a crash could lose a new file before."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
