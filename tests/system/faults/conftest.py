# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as a campaign leaves it."""

from __future__ import annotations

import pytest


@pytest.fixture
def probed(lab):
    """The lab with its probes, which stay until teardown and so are no difference between two
    states.
    """
    for number in (1, 2):
        lab.ask("offload.lab.probe", f"node{number}", address=f"198.18.0.{number}")
    return lab
