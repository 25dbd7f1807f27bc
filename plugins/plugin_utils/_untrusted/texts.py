# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of nodes, results folders, logs and campaign files: what they may hold, also as variables of
Ansible (``-e @file``, ``vars_files``, ``include_vars``). Pure.

Nobody promises who wrote them. Whatever they say, they are data: never a template, never more than
a line, never a control sequence of a terminal, never a formula of a spreadsheet.

YAML that Ansible loads as variables: ``-e @file``, ``vars_files``, ``include_vars``. Pure.

Ansible takes each text of such a file for a template. A text with other than the strict characters
is written with the tag ``!unsafe``, so Ansible takes it literally. docs/decisions/data.md says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from ...module_utils._base.errors import InputError

LONGEST = 4096  # characters of a text that is kept
DEEPEST = 40  # levels of lists and mappings of a document
# A text of these characters is no template, whatever the delimiters, and needs no quotes.
STRICT = re.compile(r"[A-Za-z0-9 ._+:~/@,=()-]*\Z", re.ASCII)
# Control characters, what separates lines or turns their direction, and halves of characters.
CONTROLS = "\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
CONTROL = re.compile(f"[{CONTROLS}]")
# What begins a template of Jinja, and the head with which Ansible takes other delimiters.
TEMPLATE = re.compile(r"\{(?=[{%#])|#(?=jinja2:)")
ODD = re.compile(f"[{CONTROLS}]|{TEMPLATE.pattern}")
SPACES = "\n\r\t\u2028\u2029"
BEGINS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are their wide forms
UNSAFE = "!unsafe"


def is_strict(text: str) -> bool:
    """Return whether a text holds only characters that mean nothing in any format."""
    return STRICT.match(text) is not None


def is_plain(text: str) -> bool:
    """Return whether a text is surely clean: a quick look, since there are many."""
    ascii_line = text.isascii() and text.isprintable() and len(text) <= LONGEST
    return ascii_line and "{" not in text and "#" not in text


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    return " " if character in SPACES else f"\\u{ord(character):04x}"


def printable(text: str) -> str:
    """Return a text as one line without control characters: the others are shown by their numbers."""
    return CONTROL.sub(_visible, text)


def clean(text: str) -> str:
    """Return a text as one line of a bounded length that is no template: delimiters are torn apart."""
    if is_plain(text):
        return text
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 40]} ... ({len(text)} characters)"
    if ODD.search(text) is None:
        return text
    return TEMPLATE.sub(lambda match: f"{match.group()} ", printable(text))


def clean_all(document: Any, where: str) -> Any:
    """Return a JSON document with clean texts, its keys too; ``where`` names it in an error."""
    return _clean_all(document, where, DEEPEST)


def _clean_all(value: Any, where: str, levels: int) -> Any:
    if isinstance(value, str):
        return clean(value)
    if not isinstance(value, (dict, list)):
        return value
    if not levels:
        raise InputError(f"nested more than {DEEPEST} levels deep", where, "Restore the file.")
    if isinstance(value, list):
        return [_clean_all(item, where, levels - 1) for item in value]
    cleaned = {clean(str(key)): _clean_all(item, where, levels - 1) for key, item in value.items()}
    if len(cleaned) != len(value):
        raise InputError(
            "two names differ in control characters or template delimiters alone",
            f"{where}: {', '.join(sorted(cleaned)[:3])}",
            "See who has made them.",
        )
    return cleaned


def lines(text: str | Iterable[str]) -> list[str]:
    """Return the lines of a text, or of texts, for a console."""
    texts = [text] if isinstance(text, str) else text
    printed: list[str] = []
    for part in texts:
        printed += map(printable, part.split("\n"))
    return printed


def cell(value: Any) -> Any:
    """Return a value of a cell; a text that would be a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(BEGINS) else value


UNSAFE = "!unsafe"


class Dumper(yaml.SafeDumper):
    """Writes plain values, and marks each text that could be a template."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if is_strict(text):
        return dumper.represent_str(text)
    return dumper.represent_scalar(UNSAFE, clean(text), style='"')


Dumper.add_representer(str, _text)


def dump_variables(variables: Mapping[str, object], width: int = 120) -> str:
    """Return variables of Ansible as YAML."""
    return yaml.dump(variables, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=width)


def comment(text: str) -> str:
    """Return a text as it may stand in a comment: one line of strict characters."""
    return "".join(character if STRICT.match(character) else "_" for character in clean(text))
