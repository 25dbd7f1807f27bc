# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._store import results_store

MIDNIGHT = datetime(2026, 11, 27)


def at(text):
    return MIDNIGHT + timedelta(hours=int(text[:2]), minutes=int(text[3:]))


@pytest.mark.parametrize(
    ("window", "open_at", "closed_at"),
    [
        ("08:00-09:30", ["08:00", "09:29"], ["07:59", "09:30", "00:00"]),
        ("22:00-05:30", ["22:00", "23:59", "00:00", "05:29"], ["05:30", "21:59", "12:00"]),
    ],
)
def test_it_is_open_from_its_first_minute_to_its_last(window, open_at, closed_at):
    parsed = results_store.parse(window)
    assert all(parsed.is_open(at(time)) for time in open_at)
    assert not any(parsed.is_open(at(time)) for time in closed_at)


def test_outside_it_nothing_is_begun_and_the_message_says_when():
    results_store.check_open("22:00-05:30", at("23:00"))
    results_store.check_open("", at("12:00"))
    with pytest.raises(InputError, match=r"it is 12:00 .* from 22:00 to 05:30 only"):
        results_store.check_open("22:00-05:30", at("12:00"))


@given(st.text(max_size=12))
def test_any_text_is_a_window_or_refused(text):
    try:
        window = results_store.parse(text)
    except InputError:
        return
    assert window is None or window.begin != window.end


@given(st.integers(0, 1439), st.integers(0, 1439), st.integers(0, 1439))
def test_a_window_and_the_rest_of_the_day_are_the_day(begin, end, minute):
    if begin != end:
        now = MIDNIGHT + timedelta(minutes=minute)
        opened = results_store.TimeWindow(begin, end).is_open(now)
        other = results_store.TimeWindow(begin=end, end=begin)
        assert opened != other.is_open(now)
