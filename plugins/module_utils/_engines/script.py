# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node runs a script of ours: as a file without a name, so that nothing is left of it.

Python reads it from a descriptor that the process inherits; its number is part of the command line,
by which a server is known again.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import tempfile
from types import ModuleType
from typing import Iterator


def argv(descriptor: int) -> list[str]:
    """Return how the command line of a script begins."""
    return ["python3", f"/proc/self/fd/{descriptor}"]


@contextlib.contextmanager
def held(module: ModuleType, descriptor: int) -> Iterator[tuple[int, ...]]:
    """Hold a script open, for processes that are started meanwhile; give what they inherit."""
    with tempfile.TemporaryFile() as script:
        script.write(inspect.getsource(module).encode())
        script.flush()
        os.dup2(script.fileno(), descriptor)
        try:
            yield (descriptor,)
        finally:
            os.close(descriptor)
