# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""numpy and scipy, where the controller has them: a file that needs them can be imported without, as Ansible asks."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError


class Missing:
    """Stands for a package that is not installed: its first use is the error."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself looks for
            raise AttributeError(name)
        raise LabError(f"the Python package {self._package} is missing on the controller", "analysis",
                       "Install it with: pip install scipy")


def load(package: str, name: str) -> Any:
    """Return the module ``name`` of an installed ``package``, or what stands for it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return Missing(package)


if TYPE_CHECKING:
    import numpy as np
    from scipy import optimize, special, stats
else:
    np = load("numpy", "numpy")
    optimize = load("scipy", "scipy.optimize")
    special = load("scipy", "scipy.special")
    stats = load("scipy", "scipy.stats")

__all__ = ["np", "optimize", "special", "stats"]
