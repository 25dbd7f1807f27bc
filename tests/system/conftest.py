# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One lab of two nodes for the system tests of a worker, next to a bridge of somebody else; when it
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
    new_lab = Lab(
        f"systest{zlib.crc32(str(CHECKOUT).encode()) % 1000}{os.environ.get('PYTEST_XDIST_WORKER', '')}"
    )
    new_lab.clear()
    first = new_lab.play("nodes")
    assert changed(first)["localhost"] == 1
    fresh = new_lab.state()
    new_lab.plan = (
        new_lab.play(
            "site", "--check", "--diff", campaign={"name": "checked"}, results_dir="/nonexistent"
        ),
        fresh,
        new_lab.state(),
    )
    new_lab.first = new_lab.play("lab")
    foreign_ovs.make(new_lab)
    theirs = foreign_ovs.set_by_hand(new_lab, 30001)
    yield new_lab
    new_lab.play("teardown")
    assert foreign_ovs.dump(new_lab) == theirs
    foreign_ovs.remove(new_lab)
    new_lab.play("nodes_absent")
    assert left_behind(before, new_lab.name) == {}


@pytest.fixture(scope="module")
def probe(lab):
    started = lab.ask("offload.lab.probe", "node2", address="198.18.0.2")
    return {"address": "198.18.0.2", "token": started["token"]}
