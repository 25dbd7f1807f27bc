# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How systemd reads the value of ExecStart (systemd.service(5)), as far as our units need it."""

from __future__ import annotations


def systemd_words(value):
    """Return the words of a value: quotes, escapes, then specifiers and variables."""
    words_found = []
    position = 0
    while position < len(value):
        if value[position] == " ":
            position += 1
            continue
        word = ""
        quote = value[position] if value[position] in "\"'" else ""
        position += bool(quote)
        while position < len(value) and value[position] != (quote or " "):
            position += value[position] == "\\"
            word += value[position]
            position += 1
        position += bool(quote)
        assert "%" not in word.replace("%%", ""), f"a specifier in {value}"
        assert "$" not in word.replace("$$", ""), f"a variable in {value}"
        words_found.append(word.replace("%%", "%").replace("$$", "$"))
    return words_found
