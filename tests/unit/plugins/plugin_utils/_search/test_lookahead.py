# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next visit is the one that shows which set is good, in posteriors where that is plain to see."""

from __future__ import annotations

import itertools

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._search.decide import next_row
from ansible_collections.offload.lab.plugins.plugin_utils._search.model import Posterior

SIGNS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
ROWS = np.column_stack([np.ones(8), SIGNS])  # a level, and three settings
ON = 7  # all three are on


def posterior(draw, *, noise=0.0001, memory=0.0, last=ROWS[0]):
    """Return 400 draws of the effects of three settings."""
    generator = np.random.default_rng(1)
    return Posterior(
        np.array([[0.0, *draw(generator)] for _draw in range(400)]), noise, memory, last
    )


def visited(posterior_found):
    """Return the row to visit next where all three on is the predicted best."""
    return ROWS[next_row(posterior_found, ROWS, ON, 0.02, np.random.default_rng(2))]


def unsure_of_the_third(generator):
    """Two settings help surely, the third by as much as it may cost."""
    return 0.2, 0.1, 0.03 * generator.choice([-1, 1])


def test_where_all_draws_agree_the_best_itself_is_visited():
    posterior_found = posterior(lambda _generator: (0.2, 0.1, 0.1))
    assert next_row(posterior_found, ROWS, ON, 0.02, np.random.default_rng(2)) == ON


def test_a_drift_that_goes_on_hides_what_the_last_visit_had_too():
    """Without a drift the third setting is seen at either level; with one only at another level
    than before.
    """
    alone = visited(posterior(unsure_of_the_third))
    drifting = visited(posterior(unsure_of_the_third, memory=1.0, last=alone))
    assert drifting[3] == -alone[3]


def test_what_is_known_is_not_what_decides_the_next_visit():
    """One setting is loud and its sign is known; the quiet one is what the choice of the best set
    hangs on.
    """

    def draw(generator):
        return generator.normal(1.0, 0.2), 0.1, generator.normal(0.0, 0.03)

    row = visited(posterior(draw, memory=0.95, last=ROWS[ON]))
    assert row[3] == -1 and row[1] == 1  # only the quiet one differs from the last visit
    row = visited(posterior(draw, memory=0.95, last=ROWS[0]))
    assert row[3] == 1 and row[1] == -1
