# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys

import numpy
import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils._statistics import libraries
from ansible_collections.offload.lab.tests.support import CHECKOUT, run


def test_what_is_installed_is_used():
    assert libraries.np.log is numpy.log


def test_the_first_use_of_a_missing_package_is_an_error():
    missing = libraries.Lazy("numpy", "numpy_that_is_missing")
    with pytest.raises(
        LabError, match="numpy is missing on the controller. Install it with: pip install numpy"
    ):
        missing.log([1])


def test_python_itself_may_look_at_a_missing_package():
    assert not hasattr(libraries.Lazy("numpy", "numpy_that_is_missing"), "__wrapped__")


def imported(actions, names):
    """Return which of these modules are imported with action plugins."""
    code = (
        f"import sys; from ansible_collections.offload.lab.plugins.action import {actions}; "
        f"print(*sorted(set({names!r}.split()) & set(sys.modules)))"
    )
    return run([sys.executable, "-c", code], PYTHONPATH=str(CHECKOUT / ".build/live")).split()


def test_a_playbook_that_builds_a_lab_imports_neither():
    """Each would wait a second for it."""
    assert imported("lab_node, request, visit", "numpy scipy") == []


def test_what_a_campaign_needs_is_imported_before_its_tasks_fork():
    assert imported("plan", "scipy.special scipy.stats") == ["scipy.special"]
