# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy
import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils.statistics import libraries


def test_what_is_installed_is_used():
    assert libraries.np is numpy


def test_the_first_use_of_a_missing_package_is_an_error():
    missing = libraries.Missing("numpy")
    with pytest.raises(LabError, match="numpy is missing on the controller. Install it with: pip install scipy"):
        missing.log([1])


def test_python_itself_may_look_at_a_missing_package():
    assert not hasattr(libraries.Missing("numpy"), "__wrapped__")
