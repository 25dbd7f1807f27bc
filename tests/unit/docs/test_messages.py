# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/troubleshooting.md: a message that stops a user has a row, found by its first four words.

A message is the first argument of an error that the plugins raise, or the text with which a task of
a role or playbook fails. Values that a message inserts are "…" in both.
"""

from __future__ import annotations

import ast
import re

from ansible_collections.offload.lab.tests.support import CHECKOUT

# This number may only fall. Who adds or rewords a message adds its beginning to the page.
WITHOUT_A_ROW = 0
ERRORS = {
    "InputError",
    "LabError",
    "CommandError",
    "BusyError",
    "NotRestoredError",
    "AnsibleConnectionFailure",
}
PAGE = (CHECKOUT / "docs/troubleshooting.md").read_text()
FAILS = re.compile(r"^( *)(?:fail_msg|msg): *(?:>-\n((?:\1 +.*\n)+)|\"?(.+)\n)", re.MULTILINE)


def beginning(message):
    """Return the first four words of a message, without values and punctuation at its start."""
    words_of_message = [word.strip(".,:;()'\"") for word in message.split()]
    while words_of_message and not re.search(r"\w", words_of_message[0]):
        del words_of_message[0]
    words_of_message = words_of_message[:4]
    while words_of_message and not re.search(r"\w", words_of_message[-1]):
        del words_of_message[-1]
    return " ".join(words_of_message)


def text_of(node):
    """Return the text of an expression, with "…" for what it inserts."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return "…"


def errors_of_plugins():
    """Yield each message with its file and line."""
    for path in sorted((CHECKOUT / "plugins").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            name = getattr(node.exc.func, "id", "")
            if name in ERRORS and node.exc.args:
                location = f"{path.relative_to(CHECKOUT)}:{node.lineno}"
                yield text_of(node.exc.args[0]), location


def failures_of_tasks():
    """Yield each text with which a task fails, with its file."""
    for folder in ("roles", "playbooks"):
        for path in sorted((CHECKOUT / folder).rglob("*.yml")):
            text = path.read_text()
            for match in FAILS.finditer(text):
                before = text[: match.start()].splitlines()[-1:]
                if "fail_msg" not in match.group(0) and "ansible.builtin.fail:" not in "".join(
                    before
                ):
                    continue
                message = match.group(2) or match.group(3)
                message = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "…", message, flags=re.DOTALL)
                yield message, str(path.relative_to(CHECKOUT))


def rows():
    """Return the beginnings in the first cells of the page's tables."""
    cells = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    return {beginning(code) for cell in cells for code in re.findall(r"`([^`]+)`", cell)}


def messages():
    """Return ``{beginning: places}`` of all messages; one that only inserts values has none."""
    by_beginning = {}
    for message, location in [*errors_of_plugins(), *failures_of_tasks()]:
        start = beginning(message)
        if len(re.findall(r"[^\W\d_]{2,}", start)) > 1:
            by_beginning.setdefault(start, []).append(location)
    return by_beginning


def test_each_message_has_a_row():
    beginnings = rows()
    missing = {start: places for start, places in messages().items() if start not in beginnings}
    listed = "\n".join(f"{start!r}: {', '.join(places)}" for start, places in missing.items())
    advice = (
        "Add their first four words to a row of docs/troubleshooting.md, or lower WITHOUT_A_ROW"
    )
    assert len(missing) == WITHOUT_A_ROW, (
        f"{len(missing)} messages have no row. {advice}:\n{listed}"
    )


def test_messages_are_found():
    assert len(messages()) > 200
    assert beginning("…: the plan has … trials, more") == "the plan has"
