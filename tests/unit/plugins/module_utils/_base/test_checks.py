# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base import checks
from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.tests.unit.plugins.module_utils._base.anything import (
    ANYTHING,
)


@given(ANYTHING)
def test_any_value_is_checked_or_refused(value):
    for check in (
        checks.name,
        checks.label,
        checks.size,
        checks.boolean,
        lambda value, what: checks.number(value, what, 0, 10),
        lambda value, what: checks.number(value, what, 0, 10, float),
        lambda value, what: checks.mapping(value, what, ("a",)),
    ):
        try:
            check(value, "value")
        except InputError as error:
            assert str(error).startswith("value") and len(str(error)) < 300


@given(st.text())
def test_a_name_is_one_word_of_a_path_and_of_a_command(value):
    try:
        checked_name = checks.name(value, "name")
    except InputError:
        return
    assert (
        checked_name == value
        and "/" not in value
        and value not in (".", "..")
        and not value.startswith("-")
    )
    assert value.isascii() and value.isprintable() and " " not in value


@pytest.mark.parametrize(
    "value, expected", [(16384, 16384), ("16384", 16384), ("16K", 16384), ("1m", 1048576)]
)
def test_sizes(value, expected):
    assert checks.size(value, "size") == expected


@pytest.mark.parametrize(
    "value", [0, -1, "1G", "1.5K", " 1", "1 ", "", None, True, 1.0, 2**31, "9" * 13, "١"]
)
def test_wrong_sizes(value):
    with pytest.raises(InputError, match="^size"):
        checks.size(value, "size")


@pytest.mark.parametrize(
    "value, expected", [("yes", True), ("Off", False), (True, True), (0, False), ("1", True)]
)
def test_booleans(value, expected):
    assert checks.boolean(value, "switch") is expected


@pytest.mark.parametrize("value", [None, "maybe", 2, "", [], {}])
def test_no_booleans(value):
    with pytest.raises(InputError, match="^switch .*: neither on nor off"):
        checks.boolean(value, "switch")
