# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutations of real samples: cut, torn, doubled, spliced, bits flipped, numbers and words
exchanged. Pure.
"""

from __future__ import annotations

import json

LONGEST = 1500  # characters of a sample that are used together; parsers work line by line
WORDS = (
    "",
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    "9" * 25,
    "9" * 5000,
    "-",
    ":",
    "\t",
    "\n",
    "\r",
    "\x00",
    "\ufeff",
    "\ud800",
    "\u0663",
    "\x1c",
    "[fixed]",
    "[requested on]",
    "n/a",
    "on",
    "off",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "\\",
    "null",
    "true",
    "NaN",
    '["set", []]',
    '["map", [[1, 2]]]',
    "&a",
    "*a",
    "!!python/object:os.system",
    "- ",
    "? ",
    "%",
    "../",
    "$(id)",
    "Features for eth0:",
    "cpu0",
    "CPU0",
    "MIGRATED",
    "[" * 3000,
    "{" * 300,
    "a: " * 200,
    "=",
    ",",
    " ",
    "<<: *a",
)
VALUES = (
    None,
    True,
    0,
    -1,
    10**30,
    1e300,
    "",
    "x",
    "9000",
    [],
    {},
    [[]],
    ["set", 1],
    ["set", [["uuid"]]],
    ["map", [[1]]],
    ["map", [[[], 1]]],
    ["uuid", None],
    {"a": {}},
    [None],
    "\ud800",
)


def window(random, text):
    """Return whole lines of a text, mostly its beginning, where headers stand."""
    if len(text) <= LONGEST:
        return text
    start = 0 if random.random() < 0.6 else text.find("\n", random.randrange(len(text))) + 1
    return text[start : start + LONGEST]


def _place(random, text):
    return random.randrange(len(text) + 1)


def cut(random, text):
    """Leave out a part."""
    at = _place(random, text)
    return text[:at] + text[at + random.choice((1, 3, 10, 100)) :]


def tear(random, text):
    """End early, as a crash does."""
    return text[: _place(random, text)]


def flip(random, text):
    """Flip one bit of a character."""
    at = _place(random, text)
    if at == len(text):
        return text
    return text[:at] + chr(ord(text[at]) ^ (1 << random.randrange(8))) + text[at + 1 :]


def insert(random, text):
    """Put a word in."""
    at = _place(random, text)
    return text[:at] + random.choice(WORDS) + text[at:]


def replace(random, text):
    """Put a word in the place of another."""
    parts = text.split(" ")
    parts[random.randrange(len(parts))] = random.choice(WORDS)
    return " ".join(parts)


def swap_lines(random, text):
    """Move, double or drop a line."""
    lines = text.split("\n")
    taken = lines.pop(random.randrange(len(lines)))
    for _count in range(random.choice((0, 1, 2, 50))):
        lines.insert(random.randrange(len(lines) + 1), taken)
    return "\n".join(lines)


STEPS = (cut, tear, flip, flip, insert, insert, replace, replace, swap_lines)


def change_value(random, text):
    """Exchange or drop one value inside a JSON document, which stays one."""
    node_value = document = json.loads(text)
    while True:
        keys = list(node_value) if isinstance(node_value, dict) else range(len(node_value))
        if not keys:
            return text
        key = random.choice(keys)
        if not isinstance(node_value[key], (dict, list)) or random.random() < 0.3:
            break
        node_value = node_value[key]
    if random.random() < 0.2:
        del node_value[key]
    else:
        node_value[key] = random.choice(VALUES)
    return json.dumps(document)


def is_json(text):
    """Return whether a sample is one JSON document."""
    try:
        return isinstance(json.loads(text), (dict, list))
    except ValueError:
        return False


def mutate(random, samples):
    """Return one mutated input: a sample, or two halves of different ones, changed up to six times."""
    if random.random() < 0.7 and is_json(samples[0]):
        return change_value(random, random.choice(samples))
    text = window(random, random.choice(samples))
    if random.random() < 0.1:
        other = window(random, random.choice(samples))
        text = text[: _place(random, text)] + other[_place(random, other) :]
    for _count in range(random.choice((1, 1, 2, 3, 6))):
        text = random.choice(STEPS)(random, text)
    return text
