# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install lock files into the virtual environment that runs this file: requirements.py FILE...

pip takes only files whose SHA-256 a lock file has, and wheels alone: to build a package it would fetch
what builds it, unchecked.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

CHECKED = ("--require-hashes", "--only-binary=:all:")


def checksums(files):
    """Return the SHA-256 of each file, by its name."""
    return {str(path): hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in files}


def outdated(files, stamp):
    """Return the files whose content is not what the stamp file recorded as installed."""
    try:
        installed = json.loads(stamp.read_text())
    except (OSError, ValueError):
        installed = {}
    return [path for path, checksum in checksums(files).items() if installed.get(path) != checksum]


def record(files, stamp):
    """Add the files' checksums to the stamp file."""
    try:
        installed = json.loads(stamp.read_text())
    except (OSError, ValueError):
        installed = {}
    stamp.write_text(json.dumps({**installed, **checksums(files)}, indent=1, sort_keys=True))


def main(files):
    stamp = Path(sys.prefix, "offload-lab-requirements.json")
    old_files = outdated(files, stamp)
    if not old_files:
        return 0
    print("setup: pip installs", ", ".join(old_files), flush=True)
    argv = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *CHECKED,
    ]
    # Python compiles a file at its first import, and few are ever imported. Not in a user's
    # environment: a later run as root would leave files there that the user cannot remove.
    if os.geteuid() == 0:
        argv.append("--no-compile")
    for path in old_files:
        argv += ["--requirement", path]
    status = subprocess.call(argv)
    if status == 0:
        record(old_files, stamp)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
