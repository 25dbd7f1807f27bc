# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words survive a shell as they are, and none of them leaves its place in a unit file."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base import quoting
from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.tests.security.systemd_words import systemd_words

HOSTILE = [
    "a;id;x",
    "$(id)",
    "`id`",
    "a b",
    "'",
    '"',
    "\\",
    "*",
    "%n",
    "${HOME}",
    "~",
    "&& id",
    "{{ 7 * 7 }}",
]


@pytest.mark.parametrize("word", HOSTILE + ["two\nlines", ""])
def test_a_shell_sees_one_word_as_it_is(word):
    line = quoting.shell_line(["printf", "[%s]", word])
    shown = subprocess.run(["sh", "-c", line], capture_output=True, check=True, text=True)
    assert shown.stdout == f"[{word}]"


@pytest.mark.parametrize("word", HOSTILE)
def test_systemd_sees_one_word_as_it_is(word):
    line = quoting.exec_start(["/bin/printf", word, "end"])
    assert line.startswith("ExecStart=") and line.count("\n") == 1
    assert systemd_words(line[len("ExecStart=") : -1]) == ["/bin/printf", word, "end"]


@pytest.mark.parametrize("text", ["a\nExecStart=/bin/id", "a\rb", "a\0b", "\u2028", "a\x1b[2J"])
def test_a_line_break_is_refused(text):
    for function in (quoting.one_line, quoting.unit_value):
        with pytest.raises(InputError, match="line break"):
            function(text)
    with pytest.raises(InputError):
        quoting.exec_start(["/bin/true", text])


def test_specifiers_are_text():
    assert quoting.unit_value("50 % of %i") == "50 %% of %%i"
