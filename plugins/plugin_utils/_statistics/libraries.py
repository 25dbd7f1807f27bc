# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""numpy, scipy and pyDOE3, imported at their first use: it takes more than a second, and few
playbooks need them.

A file that needs them can be imported on a controller that lacks them, as Ansible asks.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import TYPE_CHECKING, Any

from ...module_utils._base.errors import LabError

# Matrices are small here: the threads of OpenBLAS only wait for each other, on a busy machine for a
# hundred times the time of the work. It reads this when numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class Lazy:
    """Stands for the module ``name`` of a ``package``.

    Its first use imports it, or is the error that it is missing.
    """

    def __init__(self, package: str, name: str) -> None:
        self._package = package
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself looks for
            raise AttributeError(name)
        try:
            attribute = getattr(importlib.import_module(self._name), name)
        except ImportError as error:
            raise LabError(
                f"the Python package {self._package} is missing on the controller",
                "analysis",
                f"Install it with: pip install {self._package}",
            ) from error
        setattr(self, name, attribute)  # the next use is as fast as the module's own
        return attribute


def preload() -> None:
    """Import what most statistics need, and the check of the files, for all later tasks, too: each
    runs in a fork, which would import it again.
    """
    for name in ("numpy", "scipy.special", "jsonschema"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


if TYPE_CHECKING:
    import numpy as np
    from scipy import special, stats
else:
    np = Lazy("numpy", "numpy")
    special = Lazy("scipy", "scipy.special")
    stats = Lazy("scipy", "scipy.stats")
doe: Any = Lazy("pyDOE3", "pyDOE3")

__all__ = ["doe", "np", "preload", "special", "stats"]
