# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reasons that are named for lost packets: each lie of the lying card and each fault of a path in
20 runs, and paths without a fault in 200. A drop is the whole kernel's: nothing else may run.
"""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.tests.instruments.lying_nic import reasons

pytestmark = [pytest.mark.usefixtures("root_required"), pytest.mark.nightly]
RUNS = 20
CLEAN_RUNS = 100  # of each of two paths


def wrong(fault, runs):
    """Return what was named in the runs in which that was not right."""
    named = reasons.runs_of(fault, runs)
    return [reasons.in_words(each) for each in named if not reasons.is_right(fault, each)]


@pytest.mark.parametrize(
    "fault", [*reasons.of_lies(), *reasons.of_paths()], ids=lambda fault: fault.name
)
def test_the_reason_is_right_in_each_run(fault):
    assert wrong(fault, RUNS) == []


@pytest.mark.parametrize("path", reasons.clean(), ids=lambda path: path.name)
def test_a_clean_path_names_no_reason(path):
    assert wrong(path, CLEAN_RUNS) == []


def test_a_reason_that_is_not_of_the_fault_is_seen():
    rule = next(fault for fault in reasons.of_paths() if fault.name == "nftables")
    assert wrong(rule._replace(reasons=frozenset({"UDP_CSUM"})), 1) == ["NETFILTER_DROP"]
