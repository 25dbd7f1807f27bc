# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""reproduce.sh of each known case that can be played, and of 27 faults of a lying card: it shows the
fault, it is clean with the cure, and it shows nothing on an honest card.
"""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._nodes.faults import HONEST
from ansible_collections.offload.lab.tests.instruments.lying_nic import reproduced

pytestmark = [pytest.mark.usefixtures("root_required"), pytest.mark.nightly]
CASES = [*reproduced.played(), *reproduced.common()]
LONGEST = 60  # s
SHORT = 0.5  # s of a trial on an honest card


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_fault_is_shown_and_its_cure_is_clean(case):
    run = reproduced.run_case(case, case.fault)
    assert run.status == 1 and ", 0 of " in run.text, run.text
    assert run.text.endswith("node 1: restored\nnode 2: restored\n")
    assert run.seconds <= LONGEST


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_honest_card_shows_nothing(case):
    run = reproduced.run_case(case, HONEST, SHORT)
    assert run.status == 0, run.text
