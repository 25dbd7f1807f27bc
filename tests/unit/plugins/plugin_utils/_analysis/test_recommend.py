# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the sets that help is recommended."""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.recommend import _pick
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.sets import MeasuredSets

SCATTER = np.array([0.02, -0.02, 0.01, -0.01, 0.0, 0.0])


def picked(searched, ahead):
    """Return which set is recommended where the runner-up, which changes one setting, is ``ahead``
    of the other.
    """
    names = ["chosen", "runner"]
    profiles = {
        "all_off": {"levels": {"tso": "off", "gro": "off"}},
        "chosen": {"role": "chosen", "levels": {"tso": "on", "gro": "on"}},
        "runner": {"role": "runner_up", "levels": {"tso": "on", "gro": "off"}},
    }
    scores = np.array([np.full(6, 0.3), 0.3 + ahead + SCATTER])
    plan = {"control": "all_off", "profiles": profiles, "searched": searched}
    part = MeasuredSets(plan, names, [], scores, np.full((1, 6), np.nan))
    return _pick(part, names, [part])


@pytest.mark.parametrize(
    ("searched", "ahead", "recommended"),
    [
        (False, -0.003, "runner"),  # no difference is shown: the one that changes least
        (False, -0.05, "chosen"),
        (True, -0.003, "chosen"),  # a search made many visits before: they count
        (True, 0.003, "chosen"),
        (True, 0.01, "runner"),  # the confirmation says otherwise with odds of three to one
    ],
)
def test_what_a_search_predicted_counts(searched, ahead, recommended):
    assert picked(searched, ahead) == recommended
