# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils import _values
from ansible_collections.offload.lab.plugins.module_utils._errors import InputError

ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()) | st.binary()


@given(ANYTHING)
def test_any_value_is_checked_or_refused(value):
    for check in (_values.name, _values.label, _values.address, _values.size, _values.boolean,
                  lambda given, what: _values.number(given, what, 0, 10),
                  lambda given, what: _values.number(given, what, 0, 10, float),
                  lambda given, what: _values.mapping(given, what, ("a",))):
        try:
            check(value, "value")
        except InputError as error:
            assert str(error).startswith("value") and len(str(error)) < 300


@given(st.text())
def test_a_name_is_one_word_of_a_path_and_of_a_command(value):
    try:
        found = _values.name(value, "name")
    except InputError:
        return
    assert found == value and "/" not in value and value not in (".", "..") and not value.startswith("-")
    assert value.isascii() and value.isprintable() and " " not in value


@pytest.mark.parametrize("value, expected", [(16384, 16384), ("16384", 16384), ("16K", 16384), ("1m", 1048576)])
def test_sizes(value, expected):
    assert _values.size(value, "size") == expected


@pytest.mark.parametrize("value", [0, -1, "1G", "1.5K", " 1", "1 ", "", None, True, 1.0, 2 ** 31, "9" * 13, "١"])
def test_wrong_sizes(value):
    with pytest.raises(InputError, match="^size"):
        _values.size(value, "size")


@pytest.mark.parametrize("value, expected", [("fd00:0:0::1", "fd00::1"), ("198.18.0.1", "198.18.0.1")])
def test_addresses(value, expected):
    assert _values.address(value, "address") == expected


@pytest.mark.parametrize("value", ["198.18.0.1/24", "fe80::1%eth0;", 1, b"\x01\x02\x03\x04", None, ""])
def test_wrong_addresses(value):
    with pytest.raises(InputError, match="^address"):
        _values.address(value, "address")


@pytest.mark.parametrize("value, expected", [("yes", True), ("Off", False), (True, True), (0, False), ("1", True)])
def test_booleans(value, expected):
    assert _values.boolean(value, "switch") is expected
