# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a running campaign: it claims nothing, costs little, and is whole whenever it is
killed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import time

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import Estimate
from ansible_collections.offload.lab.plugins.plugin_utils._live import refresh
from ansible_collections.offload.lab.plugins.plugin_utils._search import decide
from ansible_collections.offload.lab.plugins.plugin_utils._trials.records import encode
from ansible_collections.offload.lab.tests.instruments.simulation import searching, synthetic
from ansible_collections.offload.lab.tests.report_pages import Page
from ansible_collections.offload.lab.tests.unit.builders import made


@pytest.fixture(scope="module")
def measured():
    """A campaign of large effects: its plan and all trials of the planned blocks; the confirmation
    is to come.
    """
    plan = synthetic.make_plan(
        2, design="one_at_a_time", blocks=8, paths=("physical",), workloads=("tcp_stream",)
    )
    return plan, list(synthetic.make_trials(plan))


def test_all_planned_blocks_claim_nothing_before_the_end(tmp_path, measured):
    synthetic.write(str(tmp_path), *measured)
    refreshed = refresh.refresh(str(tmp_path))
    assert refreshed["made"] and "Nominated so far:" in refreshed["line"]
    page = Page((tmp_path / "report.html").read_text())
    page_text = " ".join(page.words)
    assert (
        "Running: 32 of at most 56 visits done" in page_text
        and "Nothing is claimed before the end" in page_text
    )
    assert "better so far:" in page_text and "1.4" in page_text
    assert not {"better", "worse"} & set(
        re.findall(r'<li class="(\w+)"', (tmp_path / "report.html").read_text())
    )
    assert 'http-equiv="refresh"' in (tmp_path / "report.html").read_text()
    assert not (tmp_path / "recommended.yml").exists() and not (tmp_path / "analysis.json").exists()
    assert (
        "1.4" in (tmp_path / "report.txt").read_text()
        and "?" in (tmp_path / "report.txt").read_text()
    )


def test_a_search_shows_its_prediction_and_counts_what_it_has_not_decided(tmp_path):
    plan = searching.make_search(trials=2, factors=["tso", "gso", "gro", "rx"])
    machine = searching.Machine(lambda levels: 0.5 * (levels["tso"] == "on"), "plain", 3)
    begun = decide.begin(plan)
    record = []
    searching.measure(machine, plan["visits"], plan["profiles"], record)
    decided = decide.decide(plan, begun, record)
    first = len(plan["visits"])
    texts = {
        "plan.json": json.dumps(plan),
        "search.json": json.dumps(decided),
        "trials.jsonl": "".join(
            encode({**trial, "started": time.time() - 900}) for trial in record
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    refreshed = refresh.refresh(str(tmp_path))
    assert refreshed["made"] and re.search(
        rf"{first} of at most {first + plan['search']['rounds'] + 18} visits done",
        refreshed["line"],
    )
    assert re.search(
        r"predicted to be the best after \d+ visits: \S.* times all_off .*% sure", refreshed["line"]
    )
    assert "unknown" not in refreshed["line"] and "nominated" not in refreshed["line"]


def test_the_end_is_the_ordinary_report(tmp_path, measured):
    synthetic.write(str(tmp_path), *measured)
    assert refresh.end(str(tmp_path))["made"] is False, "none was made while it ran"
    refresh.refresh(str(tmp_path))
    assert refresh.end(str(tmp_path))["made"] is True
    text = (tmp_path / "report.html").read_text()
    assert (
        "Running:" not in text and "refresh" not in text and not (tmp_path / "live.json").exists()
    )


@pytest.mark.parametrize(
    ("visits", "blocks", "seconds", "allowed"),
    [(2, 1, 1000, 0.35), (42, 1, 1000, 12.35), (6, 3, 10, 0.5), (20, 10, 38, 1.9), (1, 1, 5, 0.05)],
)
def test_at_most_a_part_of_a_second_a_visit_and_of_the_time(visits, blocks, seconds, allowed):
    assert refresh.allowed(visits, blocks, seconds) == pytest.approx(allowed)


@pytest.mark.parametrize("cost", [0.3, 2.8, 30.0])
@pytest.mark.parametrize("visits", [2, 3, 42])
def test_whatever_it_costs_it_is_renewed_at_some_time(cost, visits):
    blocks = next(
        n for n in range(1, 1000) if cost <= refresh.allowed(visits * n, n, 4 * visits * n)
    )
    assert blocks <= 1 + cost / min(0.05 * visits, 0.05 * 4 * visits)


def test_a_dear_report_waits_until_its_visits_are_made(tmp_path, measured):
    plan, trials = measured
    synthetic.write(str(tmp_path), plan, trials[:16])
    size = (tmp_path / "trials.jsonl").stat().st_size
    state = {"cost": 0.8, "size": size, "blocks": 0, "visits": 0, "since": time.time() - 1000}
    (tmp_path / "live.json").write_text(json.dumps(state))
    refreshes = []
    for number in range(16, len(trials), 4):
        with open(tmp_path / "trials.jsonl", "a", encoding="utf-8") as stream:
            stream.writelines(encode(trial) for trial in trials[number : number + 4])
        refreshes.append(refresh.refresh(str(tmp_path)))
    assert not refreshes[0]["made"] and "waits for more visits: it takes" in refreshes[0]["line"]
    assert any(state["made"] for state in refreshes[1:])


def test_without_a_record_or_state_it_says_so_and_goes_on(tmp_path, measured):
    assert refresh.refresh(str(tmp_path))["line"] == "no live report: nothing is measured yet"
    synthetic.write(str(tmp_path), *measured)
    (tmp_path / "live.json").write_text("{")
    assert refresh.refresh(str(tmp_path))["made"] is True


def _refresh_for_ever(folder, trials):
    while True:
        for trial in trials:
            with open(os.path.join(folder, "trials.jsonl"), "a", encoding="utf-8") as stream:
                stream.write(encode(trial))
            (state := os.path.join(folder, "live.json")) and os.path.exists(state) and os.remove(
                state
            )
            refresh.refresh(folder)


def test_killed_at_any_moment_the_page_is_whole(tmp_path, measured):
    plan, trials = measured
    synthetic.write(str(tmp_path), plan, trials[:8])
    refresh.refresh(str(tmp_path))
    places = multiprocessing.get_context("fork")
    for turn in range(6):
        worker = places.Process(target=_refresh_for_ever, args=(str(tmp_path), trials[8 + turn :]))
        worker.start()
        time.sleep(0.15 + 0.07 * turn)
        worker.kill()
        worker.join()
        text = (tmp_path / "report.html").read_text()
        assert text.endswith("</html>") and Page(text)
    (tmp_path / "live.json").unlink(missing_ok=True)
    refresh.refresh(str(tmp_path))
    assert not list(tmp_path.glob(".live-*")), "what the killed ones left is cleared away"


@pytest.mark.parametrize(
    ("low", "high", "better", "state"),
    [
        (1.05, 1.2, "higher", "better"),
        (1.05, 1.2, "lower", "worse"),
        (0.8, 0.9, "higher", "worse"),
        (0.98, 1.02, "higher", "same"),
        (0.9, 1.2, "higher", "unknown"),
        (None, None, "higher", "unknown"),
        (1.05, 1.2, None, "unknown"),
    ],
)
def test_how_a_comparison_stands(low, high, better, state):
    assert refresh.standing(made(Estimate, low=low, high=high), better, 3.0) == state
