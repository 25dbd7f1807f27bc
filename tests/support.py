# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests that start programs share: the checkout, and one way to run a command with a readable
failure.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.encode import encoded

CHECKOUT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
# What runs the modules of a test on a node: the system's Python, with what it compiles kept.
NODE_PYTHON = CHECKOUT / "tests/node/python"
# What some packages leave of a collection: nothing in it may need more.
FOUR_FOLDERS = ("meta", "plugins", "roles", "playbooks")
TAIL_LINES = 50
FIRST_ERROR = re.compile(r"^(fatal:|\[ERROR\]|ERROR|FAILED|FATAL)|^.{0,20}\[ERROR\]: ")
ERROR_LINES = 25


def each_day(chosen, values):
    """Return parameters of a test: the chosen of these values, and the others nightly."""
    return [
        pytest.param(value, marks=() if value in chosen else pytest.mark.nightly)
        for value in values
    ]


def as_file(result):
    """Return a result of an analysis as its JSON file has it."""
    return json.loads(json.dumps(result, default=encoded, allow_nan=False))


def environment(**variables):
    """Return the environment of a command typed in the checkout with its virtual environment
    active.

    It leaves out the variables of a make around the tests: a make below would print the folders it
    enters and leaves.
    """
    outside = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    ours = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
        "ANSIBLE_FORCE_COLOR": "false",
        "ANSIBLE_PYTHON_INTERPRETER": str(NODE_PYTHON),
    }
    return {**outside, **ours, **variables}


def install_collection(folder):
    """Build the collection in a folder and return the path with nothing but it installed; what it
    depends on is in site-packages.
    """
    path = folder / "installed"
    run(["ansible-galaxy", "collection", "build", "--output-path", folder])
    [tarball] = folder.glob("*.tar.gz")
    alone = ["--force", "--offline", "--no-deps"]
    run(["ansible-galaxy", "collection", "install", *alone, "-p", path, tarball])
    return path


def run(argv, rc=0, timeout=600, cwd=CHECKOUT, **variables):
    """Run a command and return its output, standard error included; ``variables`` are added to the
    environment.

    An exit status other than ``rc`` (None: any) fails the test with the last lines; so does
    ``timeout`` (seconds).
    """
    argv = [str(word) for word in argv]
    try:
        done = subprocess.run(
            argv,
            cwd=str(cwd),
            env=environment(**variables),
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        shown = (error.stdout or b"").decode(errors="replace")
        pytest.fail(
            f"{' '.join(argv)} did not end within {timeout} s:\n{_tail(shown)}", pytrace=False
        )
    if rc is not None and done.returncode != rc:
        pytest.fail(
            f"{' '.join(argv)} ended with {done.returncode}, not {rc}:\n{_tail(done.stdout)}",
            pytrace=False,
        )
    return done.stdout


def _tail(text):
    """Return the last lines, and before them the first error where it is not among them."""
    lines = text.splitlines()
    first = next(
        (number for number, line in enumerate(lines) if FIRST_ERROR.search(line)), len(lines)
    )
    tail_start = max(len(lines) - TAIL_LINES, 0)
    if first >= tail_start:
        return "\n".join(lines[tail_start:])
    error_end = min(first + ERROR_LINES, tail_start)
    return "\n".join([*lines[first:error_end], "[...]", *lines[tail_start:]])
