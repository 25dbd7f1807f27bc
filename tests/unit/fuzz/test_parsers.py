# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A short run of make fuzz: hypothesis mutates real samples of what every parser reads."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import ParseError
from ansible_collections.offload.lab.tests.instruments.fuzz.mutate import mutate
from ansible_collections.offload.lab.tests.instruments.fuzz.parsers import PARSERS
from ansible_collections.offload.lab.tests.instruments.fuzz.trial import HangError, try_one
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

EXAMPLES = {"campaign file": 20}  # the YAML reader takes milliseconds


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_mutated_samples_give_rows_or_the_typed_error(name):
    corpus_dir()
    parse = PARSERS[name][0]
    samples = PARSERS[name][1]()

    @settings(
        max_examples=EXAMPLES.get(name, 200), deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.randoms(use_true_random=True))
    def check(random):
        assert try_one(parse, mutate(random, samples)) in ("rows", "error")

    check()


def test_a_sample_itself_gives_rows():
    corpus_dir()
    for name, (parse, samples) in PARSERS.items():
        assert "rows" in {try_one(parse, text) for text in samples()}, name


def untyped(_text):
    raise KeyError("THROUGHPUT")


def endless(_text):
    while True:
        pass


def test_what_is_no_typed_error_is_seen():
    with pytest.raises(KeyError):
        try_one(untyped, "")


def test_a_hang_is_seen():
    with pytest.raises(HangError):
        try_one(endless, "", 0.1)


def test_a_typed_error_is_told():
    def refuse(_text):
        raise ParseError("not a row", 1)

    assert try_one(refuse, "") == "error"
