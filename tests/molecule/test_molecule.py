# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each Molecule scenario: the roles in containers with systemd, converged twice, verified,
destroyed.
"""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

SCENARIOS = sorted(path.parent.name for path in CHECKOUT.glob("molecule/*/molecule.yml"))


# The lab of namespaces shows each day what the roles do, and test_persist.py that hosts run systemd.
@pytest.mark.nightly
@pytest.mark.usefixtures("podman_required")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario):
    run(["molecule", "test", "--destroy", "always", "--scenario-name", scenario], timeout=1200)
