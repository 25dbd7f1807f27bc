# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One lab of two nodes for the system tests of a worker, beside a bridge of somebody else; when it
goes, that bridge and the machine must be as they were.
"""

from __future__ import annotations

import os
import zlib

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT
from ansible_collections.offload.lab.tests.system import foreign_ovs
from ansible_collections.offload.lab.tests.system.lab import Lab, changed, left_behind, traces


@pytest.fixture(scope="session")
def lab(lab_packages_required):
    before = traces()
    # Two checkouts may be tested simultaneously, and workers of pytest -n have a lab each.
    made = Lab(
        f"systest{zlib.crc32(str(CHECKOUT).encode()) % 1000}{os.environ.get('PYTEST_XDIST_WORKER', '')}"
    )
    made.clear()
    first = made.play("nodes")
    assert changed(first)["localhost"] == 1
    fresh = made.state()
    made.plan = (
        made.play(
            "site", "--check", "--diff", campaign={"name": "checked"}, results_dir="/nonexistent"
        ),
        fresh,
        made.state(),
    )
    made.first = made.play("lab")
    foreign_ovs.make(made)
    theirs = foreign_ovs.set_by_hand(made, 30001)
    yield made
    made.play("teardown")
    assert foreign_ovs.dump(made) == theirs
    foreign_ovs.remove(made)
    made.play("nodes_absent")
    assert left_behind(before, made.name) == {}


@pytest.fixture(scope="module")
def probe(lab):
    started = lab.ask("offload.lab.probe", "node2", address="198.18.0.2")
    return {"address": "198.18.0.2", "token": started["token"]}
