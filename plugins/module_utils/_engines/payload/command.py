# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node runs :mod:`.traffic`: as a file without a name, so that nothing is left of it.

Python reads it from a descriptor that the process inherits; its number is part of the command line,
by which a server is known again.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import tempfile
from typing import Iterator

from . import traffic

TEST = "PAYLOAD"
DESCRIPTOR = 199
SCRIPT = ["python3", f"/proc/self/fd/{DESCRIPTOR}"]


def serve_argv(address: str, port: int) -> list[str]:
    """Return the command line of a server."""
    return [*SCRIPT, "serve", address, str(port)]


def check_argv(address: str, port: int, seconds: int, local: str | None) -> list[str]:
    """Return the command line of a check; ``port`` is the server's."""
    there = [address, str(port), str(seconds)]
    return [*SCRIPT, "check", *there, *([local] if local else [])]


@contextlib.contextmanager
def descriptors() -> Iterator[tuple[int, ...]]:
    """Hold the script open, for processes that are started meanwhile; give what they inherit."""
    with tempfile.TemporaryFile() as script:
        script.write(inspect.getsource(traffic).encode())
        script.flush()
        os.dup2(script.fileno(), DESCRIPTOR)
        try:
            yield (DESCRIPTOR,)
        finally:
            os.close(DESCRIPTOR)
