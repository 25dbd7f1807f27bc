# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import csv
import io

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._untrusted import markdown
from ansible_collections.offload.lab.plugins.plugin_utils._untrusted.texts import (
    LONGEST,
    UNSAFE,
    cell,
    clean,
    clean_all,
    comment,
    dump_variables,
    is_strict,
    lines,
    printable,
)

TEXTS = st.text(alphabet=st.characters(codec=None), max_size=60) | st.text(
    alphabet="{}%#[]jinja2:=+-@<>`|\\\n\r\t\x1b\x9b\u2028\ud800 'x", max_size=30
)


class Loader(yaml.SafeLoader):
    """Reads the tag."""


Loader.add_constructor(UNSAFE, lambda loader, node: loader.construct_scalar(node))


@given(TEXTS)
def test_a_clean_text_is_one_line_and_no_template(text):
    once = clean(text)
    assert clean(once) == once and len(once.splitlines()) <= 1
    assert once.isprintable() or is_printable_but_for_formats(once)
    assert not any(mark in once for mark in ("{{", "{%", "{#", "#jinja2:", "\x1b", "\x9b"))


def is_printable_but_for_formats(text):
    """Return whether what is not printable is neither a control character nor half a character."""
    return not any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in text)


def test_a_clean_text_shows_what_was_in_it():
    text = "a\x1b[31m{{ x }}{{{% y %}#jinja2:z\n\u2028\u202eb"
    assert clean(text) == "a\\u001b[31m{ { x }}{ { {% y %}# jinja2:z  \\u202eb".replace("{%", "{ %")


def test_a_long_text_is_cut_and_says_so():
    assert (
        clean("x" * 9000).endswith("x ... (9000 characters)") and len(clean("x" * 9000)) <= LONGEST
    )
    assert clean("x" * LONGEST) == "x" * LONGEST


def test_a_document_is_cleaned_with_its_keys():
    document = {"a{{b": ["{{", 1, None, True, {"c\n": 2.5}]}
    assert clean_all(document, "x") == {"a{ {b": ["{ {", 1, None, True, {"c ": 2.5}]}


def test_names_that_would_be_the_same_are_refused():
    with pytest.raises(InputError, match="two names differ in control characters"):
        clean_all({"nodes": {"a\n": 1, "a ": 2}}, "manifest.json")


def test_a_document_without_end_is_refused():
    document = []
    for _level in range(60):
        document = [document]
    with pytest.raises(InputError, match="nested more than 40 levels"):
        clean_all(document, "manifest.json")


@given(TEXTS, TEXTS)
def test_variables_read_back_and_are_no_templates(key, value):
    text = dump_variables({"top": {key: [value, {"a": value}]}, "n": {"x": 1}})
    top = yaml.load(text, Loader)["top"]  # noqa: S506 # of SafeLoader
    assert top in ({key: [value, {"a": value}]}, {clean(key): [clean(value), {"a": clean(value)}]})
    for event in yaml.parse(text):
        if isinstance(event, yaml.ScalarEvent) and event.tag is None:
            assert is_strict(event.value)


def test_ordinary_variables_are_ordinary_yaml():
    variables = {"a": {"rx": True, "drivers": {"eth0": "mlx5_core"}, "number": "12", "none": None}}
    assert yaml.safe_load(dump_variables(variables)) == variables
    assert UNSAFE not in dump_variables(variables)


@given(TEXTS)
def test_a_comment_stays_one(text):
    assert is_strict(comment(text)) and len(comment(text).splitlines()) <= 1


@given(TEXTS)
def test_markdown_has_no_markup_of_the_text(text):
    for escaped in (markdown.escape(text), markdown.cell(text)):
        assert "<" not in escaped and "\n" not in escaped and "://" not in escaped
        plain = escaped.replace("\\\\", "")
        assert plain.count("`") == plain.count("\\`") and plain.count("[") == plain.count("\\[")
    assert markdown.cell(text).count("|") == markdown.cell(text).count("\\|")
    assert markdown.code(text).count("`") == 2


def test_markdown_of_ordinary_texts_is_the_text():
    for text in ("1.8x (1.7 to 1.9)", "tx-udp_tnl-segmentation: on", "-3 %", "~ 1.02"):
        assert markdown.escape(text) == markdown.cell(text) == text
    assert markdown.escape("# <b> [x](http://y) `z` & | a*b") == (
        "\\# &lt;b> \\[x\\](http:\\//y) \\`z\\` &amp; | a\\*b"
    )


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1"])
def test_a_text_is_no_formula(text):
    assert cell(text) == "'" + text


def test_numbers_and_other_texts_stay_as_they_are():
    values = [-3.5, 0, None, True, "a=b", "x-1", "", " 1"]
    assert [cell(value) for value in values] == values
    stream = io.StringIO()
    csv.writer(stream).writerow(map(cell, [-3.5, "=1"]))
    assert stream.getvalue() == "-3.5,'=1\r\n"


def test_lines_of_a_console():
    assert lines("a\x1b[2J\nb") == ["a\\u001b[2J", "b"] and lines(["a\nb", "c"]) == ["a", "b", "c"]
    assert printable("\x9b\r") == "\\u009b "
