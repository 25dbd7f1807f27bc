# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that the sentences of every golden report keep: no two of them contradict each other, and a
number counts what its sentence says.
"""

from __future__ import annotations

import re

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT

GOLDEN = {path.name: path for path in (CHECKOUT / "tests/unit/recorded/golden").iterdir()}
SET = re.compile(r"^(?:▲ Set|\? Best so far, not confirmed:) (.*)", re.MULTILINE)
AMOUNT = re.compile(r"[\d.]+ % (?:more|less)|[\d.]+ times (?:the|as much)")
INTERVAL = re.compile(r"\((?:intervals within )?(?:between )?[\d.]+ [^)]*\)")
NOT_KNOWN = re.compile(r"Not known in (\d+) of (\d+) comparisons?:")
SETTLED = re.compile(r"would settle (?:(it)|all (\d+)|(\d+) of these (\d+))[,:]")
COSTS = re.compile(
    r"Whether it costs .* is not known for \d+ comparisons?: (.*?)(?: and \d+ more)?\.$"
)


def text(name):
    """Return report.txt with each sentence of the answer on a line."""
    report_text = (GOLDEN[name] / "report.txt").read_text()
    answer, *rest = report_text.split("\n\n", 1)
    return re.sub(r"\n  (?!ansible-playbook)", " ", answer), "".join(rest)


def rows(table):
    """Return the rows of the console's tables, ``{title: [cells]}``."""
    rows_found = {}
    for part in table.split("\n\n"):
        title, *lines = part.splitlines()
        title = re.split(r"  +", title)[0]
        rows_found[title] = [
            re.split(r"  +", line.strip()) for line in lines if line.startswith("  ")
        ]
    return rows_found


@pytest.fixture(params=sorted(GOLDEN), name="golden")
def _golden(request):
    return request.param


def test_each_amount_of_the_first_line_has_its_interval(golden):
    first = SET.search(text(golden)[0])
    if first:
        assert first[1][0] not in ":,", "no setting is named"
        assert 1 <= len(AMOUNT.findall(first[1])) == len(INTERVAL.findall(first[1])) <= 3


def test_the_count_of_unknown_comparisons_is_that_of_the_tables(golden):
    answer, tables = text(golden)
    matched = NOT_KNOWN.search(answer)
    if matched:
        marks = re.findall(r"^  \S.* ([\d.]+\??|~) +[\d.]+ to [\d.]+", tables, re.MULTILINE)
        assert len(marks) == int(matched[2])
        assert sum(mark.endswith("?") for mark in marks) == int(matched[1])
        settled = SETTLED.search(answer)
        if settled:
            first_group, every, some, these = settled.groups()
            assert (first_group is None) == (matched[1] != "1") and every in (None, matched[1])
            assert some is None or (these == matched[1] and int(some) < int(these))


def test_no_cost_is_unknown_where_there_is_no_difference_that_matters(golden):
    answer, tables = text(golden)
    for sentence in answer.splitlines():
        matched = COSTS.search(sentence)
        quantity, _for, workload = matched[1].partition(" for ") if matched else ("", "", "")
        test, _over, workload = workload.partition(" over ")
        if quantity in ("throughput", "transaction rate"):
            path, mtu, pair = re.fullmatch(r"(\S+) at (MTU \d+)(?:, (.*))?", workload).groups()
            title = " · ".join(filter(None, (path, mtu, test.lower(), pair)))
            assert any("~" not in cells for cells in rows(tables)[title][1:]), sentence


def test_imported_logs_confirm_nothing_and_say_what_is_not_known():
    assert "imported" in GOLDEN
    for path in GOLDEN["imported"].iterdir():
        report_text = path.read_text()
        assert (
            "Set :" not in report_text
            and "paired" not in report_text
            and "same block" not in report_text
        )
        if path.suffix != ".yml":
            assert "onfirmed" not in report_text
            assert "do not say in which order and at what time the runs were made" in report_text
        else:
            assert "profile: null" in report_text and "confirmed: false" in report_text
