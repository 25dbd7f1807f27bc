# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each harm once, to a campaign over an existing network."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.tests.instruments.faults import harms

pytestmark = pytest.mark.nightly


def test_each_harm_ends_with_both_nodes_as_they_were(lab_packages_required):
    assert harms.main(count=len(harms.HARMS)) == 0
