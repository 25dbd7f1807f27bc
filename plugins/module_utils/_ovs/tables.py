# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure reading of the tables that ``ovs-vsctl --format=json`` and ``ovsdb-client --format=json``
print.

A document is ``{"data": [[value, ...], ...], "headings": [column, ...]}``, one for each ``list`` or
``find`` of the command. Values are as in RFC 7047, section 5.1.
"""

from __future__ import annotations

import json
from typing import Any, Dict, NoReturn, Union

from .._base.errors import ParseError

ADVICE = "Give the output of ovs-vsctl --format=json list TABLE."

Atom = Union[str, float]  # a number, too, that is whole, and a boolean
Row = Dict[str, Any]  # by column: an atom, a list of them (a set) or a dictionary (a map)


def _fail(what: str, line: int) -> NoReturn:
    raise ParseError(what, line, ADVICE)


def _atom(value: Any, line: int) -> Atom:
    """Return a string, number or boolean; a UUID is its string."""
    if isinstance(value, (str, int, float)):
        return value
    if (
        isinstance(value, list)
        and len(value) == 2
        and value[0] in ("uuid", "named-uuid")
        and isinstance(value[1], str)
    ):
        return value[1]
    _fail(f"not an OVSDB value: {json.dumps(value):.60}", line)


def _map(pairs: list[Any], line: int) -> dict[Atom, Atom]:
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        _fail("a map has an entry that is not a pair", line)
    return {_atom(key, line): _atom(value, line) for key, value in pairs}


def _value(value: Any, line: int) -> Atom | list[Atom] | dict[Atom, Atom]:
    """Return the Python value of an OVSDB value: a set is a list, a map is a dictionary."""
    if isinstance(value, list) and len(value) == 2 and value[0] in ("set", "map"):
        if not isinstance(value[1], list):
            _fail(f"a {value[0]} without its list of entries", line)
        return (
            _map(value[1], line) if value[0] == "map" else [_atom(item, line) for item in value[1]]
        )
    return _atom(value, line)


def _row(headings: list[str], values: Any, line: int) -> Row:
    if not isinstance(values, list) or len(values) != len(headings):
        _fail(f"a row does not have a value for each of the {len(headings)} columns", line)
    return {name: _value(value, line) for name, value in zip(headings, values)}


def _table(document: Any, line: int) -> list[Row]:
    table = document if isinstance(document, dict) else {}
    rows = table.get("data")
    headings = table.get("headings")
    if not isinstance(rows, list) or not isinstance(headings, list):
        _fail("not a table with data and headings", line)
    if not all(isinstance(name, str) for name in headings):
        _fail("not a table with data and headings", line)
    return [_row(headings, values, line) for values in rows]


def parse_tables(text: str) -> list[list[Row]]:
    """Return a list of tables, each a list of rows ``{column: value}``; empty text has no table."""
    tables: list[list[Row]] = []
    decoder = json.JSONDecoder()
    position = 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        line = text.count("\n", 0, position) + 1
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            _fail(f"not JSON ({error})", line)
        tables.append(_table(document, line))
    return tables


def parse_query(text: str) -> list[list[Row]]:
    """Return the tables that ``ovsdb-tool query`` prints: ``[{"rows": [{column: value}]}, ...]``,
    one a select.
    """
    try:
        results = json.loads(text)
        if not isinstance(results, list):
            raise ValueError("it is not a list")
        tables: list[list[Row]] = []
        for result in results:
            tables.append([_query_row(row) for row in result["rows"]])
        return tables
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise ParseError(
            f"not the result of a query ({error})",
            1,
            "Check for a damaged database: ovsdb-tool show-log",
        )


def _query_row(row: Row) -> Row:
    return {name: _value(value, 1) for name, value in row.items()}


def optional(value: Any) -> Any:
    """Return the value of a column that may be empty: OVSDB writes "no value" as an empty set."""
    return None if value == [] else value
