# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate campaigns with a known truth and put the tables into docs/decisions/statistics.md and
docs/decisions/intervals.md.

Run it as: make live; PYTHONPATH=.build/live python tests/instruments/simulation/truth_tables.py. Takes hours
with all tables. Names of tables, such as noise or coverage, make only these. Tables of whole
campaigns are made of the lines that tests/instruments/simulation/long_form.py wrote into
OFFLOAD_LAB_LONG_FORM, by
default long_form.jsonl.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import stats

from ansible_collections.offload.lab.tests.instruments.simulation import (
    claims,
    comparisons,
    decisions,
    long_form,
    truth,
    truth_candidates,
    worlds,
)

LONG_FORM = os.environ.get("OFFLOAD_LAB_LONG_FORM", "long_form.jsonl")
COUNTED = (
    "campaigns",
    "claimed",
    "recommended",
    "either",
    "headlines",
    "held",
    "confirmed",
    "covered",
)
DOCS = Path(__file__).resolve().parents[3] / "docs"


def _percent(share):
    return f"{100 * share:.1f} %"


def _name(design):
    return f"{design[0]}, {design[1]} factor{'' if design[1] == 1 else 's'}", str(design[2])


def _table(head, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]]
    print("\n".join(lines), end="\n\n", flush=True)
    return "\n".join(lines)


def false_claims():
    """Return the table of null campaigns."""
    return _table(
        ["design", "blocks", *truth.NOISES],
        [
            [
                *_name(design),
                *(
                    "{} (≤ {})".format(
                        *map(
                            _percent,
                            truth.false_claims(truth.plan_of(*design), noise, seeds=range(1, 5)),
                        )
                    )
                    for noise in truth.NOISES.values()
                ),
            ]
            for design in truth.DESIGNS
        ],
    )


def coverage():
    """Return the table of intervals that hold the truth, for effects of 2, 5 and 20 per cent."""
    return _table(
        ["design", "blocks", *truth.NOISES],
        [
            [
                *_name(design),
                *(
                    " / ".join(
                        _percent(
                            truth.coverage(
                                truth.plan_of(*design), noise, ratio, seed=int(100 * ratio)
                            )[0]
                        )
                        for ratio in (1.02, 1.05, 1.2)
                    )
                    for noise in truth.NOISES.values()
                ),
            ]
            for design in truth.DESIGNS
        ],
    )


def _smallest(design, noise):
    plan = truth.plan_of(*design)
    right = truth.true_smallest(plan, noise)
    stated = truth.stated_smallest(plan, noise)
    near = np.mean(np.abs(stated / right - 1) <= 0.25)
    return "{} / {} / {:.0f} %".format(
        *(_percent(np.expm1(log)) for log in (np.median(stated), right)), 100 * near
    )


def smallest():
    """Return the table of smallest detectable effects: stated, true, and how often within a
    quarter.
    """
    return _table(
        ["design", "blocks", *truth.NOISES],
        [
            [*_name(design), *(_smallest(design, noise) for noise in truth.NOISES.values())]
            for design in truth.DESIGNS
            if design[0] != "full_factorial"
        ],
    )


def leaders():
    """Return the table of campaigns that rank one of two equal effects first."""
    plan = truth.plan_of("one_at_a_time", 6, 10)
    return _table(
        ["design", "blocks", *truth.NOISES],
        [
            [
                *_name(("one_at_a_time", 6, 10)),
                *(
                    "{} (≤ {})".format(*map(_percent, truth.false_leaders(plan, noise, 3.0)))
                    for noise in truth.NOISES.values()
                ),
            ]
        ],
    )


POWERS = (
    ("on_off", 2, 9, 4),
    ("on_off", 2, 12, 4),
    ("one_at_a_time", 6, 6, 8),
    ("one_at_a_time", 6, 8, 8),
    ("one_at_a_time", 6, 9, 8),
    ("leave_one_out", 6, 8, 4),
    ("full_factorial", 3, 8, 4),
)
POWER_CAMPAIGNS = 300


def _sums():
    """Return what the lines of the long form add up to, ``{cell: counts}``."""
    sums = {}
    for line in long_form.read(LONG_FORM):
        sums_of_cell = sums.setdefault(line["cell"], Counter())
        sums_of_cell.update({key: line[key] for key in COUNTED if key in line})
        sums_of_cell["wrong"] += sum(line["wrong"].values())
    return sums


def _share(sums, of, bound=True):
    """Return a share of counts as text, with its upper bound and how many they are."""
    if not of:
        return "–"
    upper = (
        f" (≤ {_percent(stats.beta.ppf(0.95, sums + 1, of - sums) if sums < of else 1.0)}; {of:,})"
    )
    return f"{_percent(sums / of)}{upper if bound else f' ({of:,})'}"


def report_claims():
    """Return the table of reports that claim or recommend anything where nothing differs, of the
    long form.
    """
    sums = _sums()
    rows = []
    for noise in [*worlds.NOISES, "all together"]:
        cells = []
        for design in long_form.DESIGNS:
            lines_of = [
                sums.get(f"null/{design}/{name}", Counter())
                for name in (worlds.NOISES if noise == "all together" else [noise])
            ]
            cells.append(
                _share(
                    sum(row["either"] for row in lines_of),
                    sum(row["campaigns"] for row in lines_of),
                )
            )
        rows.append([noise, *cells])
    return _table(
        ["noise", *(_described(name, *design[1:]) for name, design in long_form.DESIGNS.items())],
        rows,
    )


def _described(name, factors, blocks, tables):
    kinds = "a factor of 4 levels" if isinstance(factors, list) else f"{factors} factors"
    return f"{name}: {kinds}, {blocks} blocks, {tables} tables"


def wrong():
    """Return the table of wrong recommendations, of the long form."""
    sums = _sums()
    truths = [f"trap/{{}}/{name}" for name in decisions.TRAPS] + ["random/{}/plain"]
    return _table(
        ["truth", *long_form.PAIRED],
        [
            [
                truth.split("/")[-1] if truth.startswith("trap") else "random",
                *(
                    _share(row["wrong"], row["campaigns"])
                    for row in (
                        sums.get(truth.format(design), Counter()) for design in long_form.PAIRED
                    )
                ),
            ]
            for truth in truths
        ],
    )


def headlines():
    """Return the table of headline intervals that hold the truth, of the long form: all, and what
    is recommended.
    """
    sums = _sums()
    truths = [f"small/{{}}/{name}" for name in long_form.SMALL] + ["random/{}/plain"]
    return _table(
        ["truth", *long_form.PAIRED],
        [
            [
                truth.split("/")[-1] if truth.startswith("small") else "random",
                *(
                    f"{_share(row['held'], row['headlines'], False)} / "
                    f"{_share(row['covered'], row['confirmed'], False)}"
                    for row in (
                        sums.get(truth.format(design), Counter()) for design in long_form.PAIRED
                    )
                ),
            ]
            for truth in truths
        ],
    )


def power_table():
    """Return the table of claimed effects of 5, 10 and 20 %: by the report's test / as before, with
    as many visits.
    """
    rows = []
    for design, factors, blocks, tables in POWERS:
        plan = decisions.plan_of(design, factors, blocks, tables=tables)
        visits = blocks * worlds.visits_of(plan)
        old = visits // (len(plan["profiles"]) + 1)
        before = decisions.plan_of(design, factors, old, tables=tables, control_visits=2)
        shares = [
            [
                100 * claims.power(design_plan, tables, ratio, POWER_CAMPAIGNS)
                for design_plan in (plan, before)
            ]
            for ratio in (1.05, 1.1, 1.2)
        ]
        rows.append(
            [
                f"{design}, {factors} factors",
                f"{blocks}, {visits}, {tables}",
                *(
                    f"{now[0]:.0f} % / {then[1]:.0f} %; {now[2]:.0f} % / {then[3]:.0f} %"
                    for now, then in shares
                ),
            ]
        )
    return _table(["design", "blocks, visits, tables", "+5 %", "+10 %", "+20 %"], rows)


def intervals():
    """Return the table of the intervals that were tried."""
    places = [(name, blocks) for name in truth.NOISES for blocks in (6, 8, 12)]
    results = [truth_candidates.compare(truth.NOISES[name], blocks) for name, blocks in places]
    return _table(
        ["noise, blocks", *truth_candidates.CANDIDATES],
        [
            [
                "{}, {}".format(*case),
                *(f"{_percent(share)} ({width:.1f})" for share, width in row.values()),
            ]
            for case, row in zip(places, results)
        ],
    )


def gate():
    """Return the table of module compare: false differences and regressions, and what it finds."""
    rows = []
    for design in comparisons.DESIGNS:
        for kind in comparisons.NOISES:
            different, failed = comparisons.judged(design, kind, pairs=2000).T
            rows.append(
                [
                    design,
                    kind,
                    *(
                        "{} (≤ {})".format(*map(_percent, truth.bounded(counts)))
                        for counts in (different, failed)
                    ),
                    *(
                        _percent(comparisons.regressions_seen(design, kind, ratio))
                        for ratio in (0.9, 0.8)
                    ),
                ]
            )
    return _table(
        ["design", "noise", "any difference", "gate fails", "found: 10 % worse", "20 % worse"], rows
    )


def noise():
    """Return what the recorded noise is."""
    kept = truth.recorded_noise()
    text = "Recorded noise: {}; {} trials; a trial scatters by {}, a block by {}, drift {} a block.".format(
        kept["source"],
        kept["trials"],
        *(_percent(kept[key]) for key in ("trial_sd", "block_sd", "drift_per_block")),
    )
    print(text, end="\n\n")
    return text


def fill(path, makers):
    """Replace what stands between the markers of each table in a page."""
    with open(path, encoding="utf-8") as stream:
        page = stream.read()
    for make in makers:
        start = f"<!-- {make.__name__} -->"
        end = "<!-- end -->"
        page = re.sub(
            f"{start}\n.*?{end}",
            lambda _found: f"{start}\n{make()}\n{end}",  # noqa: B023
            page,
            flags=re.DOTALL,
        )
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(page)


PAGES = {
    "decisions/statistics.md": [
        report_claims,
        wrong,
        headlines,
        power_table,
        noise,
        false_claims,
        coverage,
        smallest,
        leaders,
        gate,
    ],
    "decisions/intervals.md": [intervals],
}

if __name__ == "__main__":
    pages_asked = sys.argv[1:] or [make.__name__ for makers in PAGES.values() for make in makers]
    for page, makers in PAGES.items():
        fill(DOCS / page, [make for make in makers if make.__name__ in pages_asked])
