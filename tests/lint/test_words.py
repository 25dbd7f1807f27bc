# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain words: in names, options, messages, comments and pages.

words.yml has the words, and for each folder the number of cases that are left. A number may only
fall. ``python tests/lint/test_words.py`` lowers the numbers to what is left now.
"""

from __future__ import annotations

import ast
import collections
import functools
import re
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("words.yml")
RULES = yaml.safe_load(FILE.read_text())
ODD_TURN = re.compile(rf"\b(?:{'|'.join(RULES['odd_turns'])})\b", re.IGNORECASE)
COMMENT = re.compile(r"(?:^|  )\s*#:? (.*)")
VAGUE = set(RULES["vague_names"])
LONGEST_LIFE = 5  # lines from the binding of a vague name to its last use
SHORTEST_TEXT = 21  # a shorter string is a key or a value, no sentence
FOLDERS = [
    *(f"plugins/{path.name}" for path in sorted((CHECKOUT / "plugins").iterdir()) if path.is_dir()),
    *(f"tests/{path.name}" for path in sorted((CHECKOUT / "tests").iterdir()) if path.is_dir()),
    "tools",
    "docs",
    "roles",
    "playbooks",
]
SCOPES = (
    ast.FunctionDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
# Errors that a user sees, and the place of their argument ``to_do``.
ERRORS = {"InputError": 2, "LabError": 2, "BusyError": 2, "CommandError": 4}


def files(folder, pattern):
    """Return the files of a folder that git would know; what tests write is not among them."""
    ignored = {"__pycache__", "output", "recorded", ".build"}
    paths = (CHECKOUT / folder).rglob(pattern)
    return sorted(path for path in paths if not ignored & set(path.parts))


@functools.cache
def nodes_of(path):
    """Return the nodes of a Python file."""
    return list(ast.walk(ast.parse(path.read_text())))


def strings(path):
    """Yield (line, text) of each string that may be a sentence: docstrings and messages."""
    for node in nodes_of(path):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and " " in text.strip() and len(text) >= SHORTEST_TEXT:
            yield node.lineno, text


def comments(path):
    """Yield (line, text) of each comment."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if comment := COMMENT.search(line):
            yield number, comment.group(1)


def prose(path):
    """Yield (line, text) of what a file says to a reader; code of a page is left out."""
    if path.suffix == ".py":
        yield from strings(path)
        yield from comments(path)
        return
    text = re.sub(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)", "X", path.read_text(), flags=re.M | re.S)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(("    ", "#", "<!--")):
            yield number, line


def odd_turns(folder):
    """Return ``FILE:LINE: TURN`` of each odd turn in a folder."""
    paths = [*files(folder, "*.py"), *files(folder, "*.md")]
    return [
        f"{path.relative_to(CHECKOUT)}:{line}: {match.group(0)!r}"
        for path in paths
        for line, text in prose(path)
        for match in ODD_TURN.finditer(text)
    ]


def free_names(scope, lives):
    """Return ``{name: lines}`` of the vague names that a scope uses and does not bind.

    Add (name, first line, last line) of each one that it binds to ``lives``.
    """
    bound = set()
    lines = collections.defaultdict(list)
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, SCOPES):
            for name, inner in free_names(node, lives).items():
                lines[name] += inner
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, (ast.Name, ast.arg)):
            name = node.arg if isinstance(node, ast.arg) else node.id
            lines[name].append(node.lineno)
            if isinstance(node, ast.arg) or isinstance(node.ctx, ast.Store):
                bound.add(name)
    lives += [(name, min(lines[name]), max(lines[name])) for name in bound & VAGUE]
    return {name: lines[name] for name in VAGUE & set(lines) - bound}


def vague_names(folder):
    """Return ``FILE:LINE: NAME`` of each vague name that lives for too many lines."""
    cases = []
    for path in files(folder, "*.py"):
        lives = []
        free_names(nodes_of(path)[0], lives)
        cases += [
            f"{path.relative_to(CHECKOUT)}:{first}: {name} lives for {last - first + 1} lines"
            for name, first, last in lives
            if last - first >= LONGEST_LIFE
        ]
    return cases


def refused_words():
    """Return the words of the page's column "not" that have no right sense."""
    page = (CHECKOUT / "docs/decisions/words.md").read_text()
    table = page.split("| thing | word | not |")[1]
    cells = [row.split("|")[3] for row in table.strip().splitlines()[1:]]
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


REFUSED = [word for word in refused_words() if word not in RULES["right_in_another_sense"]]
REFUSED_WORD = re.compile(rf"\b(?:{'|'.join(REFUSED)})(?:s|ed|ing)?\b", re.IGNORECASE)
# In a name the word alone: "a look" is look, looks or looked.
REFUSED_IN_NAME = re.compile(
    rf"(?:^|_)(?:{'|'.join(word.removeprefix('a ').replace(' ', '_') for word in REFUSED)})"
    r"(?:s|ed|ing)?(?:_|$)"
)


def refused_in_texts(folder):
    """Return ``FILE:LINE: WORD`` of each word of column "not" in comments, messages and pages."""
    return [
        f"{path.relative_to(CHECKOUT)}:{line}: {match.group(0)!r}"
        for path in [*files(folder, "*.py"), *files(folder, "*.md")]
        for line, text in prose(path)
        for match in REFUSED_WORD.finditer(text)
    ]


def option_names(path):
    """Yield the names of the options that a module's documentation or a role's arguments list."""
    if path.suffix == ".yml":
        documents = [yaml.safe_load(path.read_text())]
    else:
        constants = [node for node in nodes_of(path) if isinstance(node, ast.Assign)]
        texts = [
            node.value.value
            for node in constants
            if getattr(node.targets[0], "id", "") == "DOCUMENTATION"
            and isinstance(node.value, ast.Constant)
        ]
        documents = [yaml.safe_load(text) for text in texts]
    while documents:
        document = documents.pop()
        if isinstance(document, list):
            documents += document
        elif isinstance(document, dict):
            options = document.get("options")
            yield from options if isinstance(options, dict) else ()
            documents += document.values()


def refused_in_names(folder):
    """Return ``FILE: NAME`` of each public name and option with a word of column "not"."""
    names = [
        (path, node.name)
        for path in files(folder, "*.py")
        for node in nodes_of(path)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
    ]
    for path in [*files(folder, "*.py"), *files(folder, "argument_specs.yml")]:
        names += [(path, option) for option in option_names(path)]
    return [
        f"{path.relative_to(CHECKOUT)}: {name}"
        for path, name in names
        if REFUSED_IN_NAME.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    ]


def argument(call, position, keyword):
    """Return an argument of a call, or None."""
    named = [item.value for item in call.keywords if item.arg == keyword]
    return (named or call.args[position : position + 1] or [None])[0]


def raised_errors(folder):
    """Yield (file and line, what is wrong, what to do) of each error that a user sees, as code."""
    for path in files(folder, "*.py"):
        for node in nodes_of(path):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            name = getattr(node.exc.func, "id", "")
            if name in ERRORS:
                place = f"{path.relative_to(CHECKOUT)}:{node.lineno}"
                advice = argument(node.exc, ERRORS[name], "to_do")
                yield place, argument(node.exc, 0, "what"), advice


def beginning(node):
    """Return the text with which an expression begins, or "" if that is a value."""
    while isinstance(node, (ast.BinOp, ast.JoinedStr)):
        node = node.left if isinstance(node, ast.BinOp) else node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


INSTRUCTIONS = set(RULES["instructions"].split())
SENTENCE = re.compile(r"(?:^|[.?!:] )(?:Then |So |Else |Or )?([A-Z][a-z]+)")


def has_instruction(text):
    """Return whether a sentence of a text begins with an instruction."""
    return bool(set(SENTENCE.findall(text)) & INSTRUCTIONS)


def text_of(node):
    """Return the text of an expression, with "…" for a value; None for a single value."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "…" for part in node.values)
    if isinstance(node, ast.BinOp):
        return (text_of(node.left) or "…") + (text_of(node.right) or "…")
    return None


def errors_without_advice(folder):
    """Return ``FILE:LINE: WHAT IS WRONG`` of each error that says no user what to do.

    An advice that is a value, such as a constant of the file, counts as given. An error whose whole
    text is a value passes another message on, with its advice.
    """
    rows = [(place, what, advice, text_of(advice)) for place, what, advice in raised_errors(folder)]
    return [
        f"{place}: {text_of(what)!r}, {text!r}"
        for place, what, advice, text in rows
        if text_of(what) is not None
        and (advice is None or (text is not None and not has_instruction(text)))
    ]


def entries(document):
    """Yield the mappings of a YAML document, at each depth."""
    if isinstance(document, dict):
        yield document
    for part in document.values() if isinstance(document, dict) else document:
        if isinstance(part, (dict, list)):
            yield from entries(part)


@functools.cache
def failures_of(path):
    """Return the texts with which the tasks of a file fail."""
    mappings = entries(yaml.load(path.read_text(), yaml.CBaseLoader) or [])
    texts = [
        entry.get("fail_msg") or entry.get("ansible.builtin.fail", {}).get("msg")
        for entry in mappings
    ]
    return [re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "…", " ".join(text.split())) for text in texts if text]


def failures(folder):
    """Yield (file, text) of each text with which a task of a role or playbook fails."""
    for path in files(folder, "*.yml"):
        yield from ((path, text) for text in failures_of(path))


def failures_without_advice(folder):
    """Return ``FILE: TEXT`` of each failing task that says no user what to do."""
    return [
        f"{path.relative_to(CHECKOUT)}: {text}"
        for path, text in failures(folder)
        if re.search("[A-Za-z]", text) and not has_instruction(text)
    ]


def begins_with_instruction(folder):
    """Return each message that begins with what to do instead of with what is wrong."""
    texts = [(place, text_of(what) or "") for place, what, _advice in raised_errors(folder)]
    texts += [(path.relative_to(CHECKOUT), text) for path, text in failures(folder)]
    return [
        f"{place}: {text}"
        for place, text in texts
        if text.split(" ")[0] in INSTRUCTIONS and not text.startswith("Open vSwitch")
    ]


FOR_USERS = [folder for folder in FOLDERS if not folder.startswith(("tests", "tools"))]
RULES_OF_FOLDERS = {
    "odd_turns": (odd_turns, FOLDERS),
    "vague_names": (vague_names, FOLDERS),
    "refused_in_texts": (refused_in_texts, FOLDERS),
    "refused_in_names": (refused_in_names, FOR_USERS),
    "errors_without_advice": (errors_without_advice, FOR_USERS),
    "failures_without_advice": (failures_without_advice, FOR_USERS),
    "begins_with_instruction": (begins_with_instruction, FOR_USERS),
}


def cases_left(rule):
    """Return ``{folder: cases}`` of a rule, for the folders that have any."""
    cases_in, folders = RULES_OF_FOLDERS[rule]
    cases = {folder: cases_in(folder) for folder in folders}
    return {folder: rows for folder, rows in cases.items() if rows}


@pytest.mark.parametrize("rule", RULES_OF_FOLDERS)
def test_no_folder_has_more_cases_than_before(rule):
    allowed = RULES["left"].get(rule, {})
    more = {
        folder: cases
        for folder, cases in cases_left(rule).items()
        if len(cases) > allowed.get(folder, 0)
    }
    text = "\n".join(case for cases in more.values() for case in cases)
    counts = {folder: (len(cases), allowed.get(folder, 0)) for folder, cases in more.items()}
    assert not more, (
        f"{rule}: (now, allowed) {counts}. docs/decisions/words.md has the words.\n{text}"
    )


def test_each_word_with_a_right_sense_is_in_the_table():
    assert set(RULES["right_in_another_sense"]) <= set(refused_words())


BAD = """
def sent_again(found):
    # which is mended; a look shows it




    if found:
        raise InputError("Give a name", "name")
"""
BAD_TASK = "- ansible.builtin.fail:\n    msg: Give a name.\n- fail_msg: There is none.\n"
NUMBER_OF_BAD = {"refused_in_texts": 2, "begins_with_instruction": 2}


@pytest.mark.parametrize("rule", RULES_OF_FOLDERS)
def test_each_rule_finds_its_case(rule, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "CHECKOUT", tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "bad.yml").write_text(BAD_TASK)
    cases_in, _folders = RULES_OF_FOLDERS[rule]
    assert len(cases_in(".")) == NUMBER_OF_BAD.get(rule, 1)


def lower():
    """Write the numbers that are left now, except those that have risen."""
    head, _line, _counts = FILE.read_text().partition("left:")
    counts = {}
    for rule in RULES_OF_FOLDERS:
        allowed = RULES["left"].get(rule, {})
        fallen = {
            folder: min(len(cases), allowed.get(folder, 0))
            for folder, cases in cases_left(rule).items()
        }
        counts[rule] = {folder: number for folder, number in fallen.items() if number}
    FILE.write_text(head + yaml.safe_dump({"left": counts}))


if __name__ == "__main__":
    lower()
