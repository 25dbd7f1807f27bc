# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages for users are short and plain: their words, long sentences, odd turns and dates.

docs/decisions has the reasons, and docs/what-was-run.md has the runs with machines and dates: they
are not pages for users.
"""

from __future__ import annotations

import re

import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT

MOST_WORDS = 30_000
LONG = 25  # words of a sentence
LONG_SHARE = 0.015
A_THOUSAND = 0.2  # odd turns, and dates or commits, in a thousand words
TURNS = yaml.safe_load((CHECKOUT / "tests/lint/words.yml").read_text())["odd_turns"]
ODD = re.compile(rf"\b(?:{'|'.join(TURNS)})\b", re.IGNORECASE)
RUN = re.compile(r"\b20\d\d-\d\d-\d\d\b|\bcommit [0-9a-f]{7,}|\bother work|\bw(?:as|ere) run\b")
BLOCK = re.compile(r"^```.*?^```|^(?: {4}|#|<!--).*?$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")
PARTS = re.compile(r"\n\n|\n(?=[|*-] )|\n(?=\d\. )| \| ")


def pages():
    """Return the pages for users."""
    names = [*CHECKOUT.glob("docs/**/*.md"), *CHECKOUT.glob("roles/*/README.md")]
    names += [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md"]
    runs = CHECKOUT / "docs/what-was-run.md"
    return [name for name in names if name != runs and "decisions" not in name.parts]


def prose(text):
    """Return the paragraphs, items and cells of a page; code and the ends of links are one word."""
    text = CODE.sub("X", BLOCK.sub("", text))
    return [" ".join(part.strip("|-* \n").split()) for part in PARTS.split(text)]


TEXTS = {str(path.relative_to(CHECKOUT)): prose(path.read_text()) for path in pages()}
WORDS = sum(len(part.split()) for parts in TEXTS.values() for part in parts)


def hits(pattern):
    """Return what a pattern finds, with the page and the words around it."""
    return [
        (page, match.group(0), part[max(0, match.start() - 40) : match.end() + 40])
        for page, parts in TEXTS.items()
        for part in parts
        for match in pattern.finditer(part)
    ]


def test_the_pages_for_users_are_short():
    assert len(TEXTS) > 50
    assert WORDS <= MOST_WORDS


def test_odd_turns_are_rare():
    odd_turns = hits(ODD)
    assert len(odd_turns) <= A_THOUSAND * WORDS / 1000, odd_turns


def test_dates_and_commits_are_rare():
    run_marks = hits(RUN)
    assert len(run_marks) <= A_THOUSAND * WORDS / 1000, run_marks


def test_sentences_are_short():
    sentences = [
        (page, sentence)
        for page, parts in TEXTS.items()
        for part in parts
        for sentence in re.split(r"(?<=[.!?:;])\s+", part)
        if len(sentence.split()) > 2
    ]
    long = [(page, text) for page, text in sentences if len(text.split()) > LONG]
    assert len(long) <= LONG_SHARE * len(sentences), long
