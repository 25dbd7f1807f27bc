# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML that Ansible loads as variables: ``-e @file``, ``vars_files``, ``include_vars``. Pure.

Ansible takes each text of such a file for a template. A text with other than the strict characters
is written with the tag ``!unsafe``, so Ansible takes it literally. docs/decisions/data.md says why.
"""

from __future__ import annotations

from typing import Any

import yaml

from .texts import STRICT, clean, is_strict

UNSAFE = "!unsafe"


class Dumper(yaml.SafeDumper):
    """Writes plain values, and marks each text that could be a template."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if is_strict(text):
        return dumper.represent_str(text)
    return dumper.represent_scalar(UNSAFE, clean(text), style='"')


Dumper.add_representer(str, _text)


def dump_variables(variables: dict[str, Any], width: int = 120) -> str:
    """Return variables of Ansible as YAML."""
    return yaml.dump(variables, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=width)


def comment(text: str) -> str:
    """Return a text as it may stand in a comment: one line of strict characters."""
    return "".join(character if STRICT.match(character) else "_" for character in clean(text))
