# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of a host and the values of their levels, as ``offload_lab_commands`` defines them. Pure.

A plan, a recommendation and a report have the names of commands and levels alone, so a results file
decides nothing that is run.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, TypedDict

from .._base.checks import mapping, shown
from .._base.errors import InputError

GROUP = "command"
KEYS = ("set", "read", "restore", "unset", "match", "levels")
REQUIRED = ("set", "read", "levels")
VALUE_PLACE = "{value}"
DEVICE_PLACE = "{device}"
# No character that a shell or a template could take for more than a value.
VALUE = re.compile(r"[A-Za-z0-9._+:/@,=%-]+(?: [A-Za-z0-9._+:/@,=%-]+)*\Z", re.ASCII)
NUMBER = re.compile(r"-[0-9.]+\Z", re.ASCII)
LONGEST = 200
VALUES = f"at most {LONGEST} letters, digits, spaces and the signs . _ + : / @ , = % -"
PAGE = "See 'Vary something that we do not know'."
Argv = List[str]
Values = Dict[str, str]  # by level


class Setting(TypedDict, total=False):
    """A command of one level: what module ethtool takes, and what a snapshot keeps."""

    set: list[Argv]
    read: Argv
    restore: list[Argv]
    unset: list[Argv]
    match: str
    value: str | None  # None: it could not be read
    kept: bool  # by a snapshot; ``set`` is what restores then
    reason: str  # why it could not be read


class Allowed(NamedTuple):
    """The commands of a host, and the hosts where commands may be run."""

    host: str
    commands: Mapping[str, Any]
    hosts: Sequence[str]


def _wrong(what: str, where: str) -> InputError:
    """Return the error for a command that cannot be used."""
    return InputError(f"is no command: {what}", where, PAGE)


def _argv(value: Any, where: str) -> Argv:
    """Return a list of arguments."""
    if not isinstance(value, list) or not value:
        raise _wrong(f"{shown(value)} is not a list of arguments", where)
    for word in value:
        if not isinstance(word, (str, int)) or "\0" in str(word):
            raise _wrong(f"the argument {shown(word)} is not a text", where)
    return [str(word) for word in value]


def _argvs(value: Any, where: str) -> list[Argv]:
    """Return lists of arguments from one, or from a list of them; one argument has the value."""
    several = isinstance(value, list) and value and isinstance(value[0], list)
    argvs = [_argv(argv, where) for argv in (value if several else [value])]
    if not any(VALUE_PLACE in word for word in sum(argvs, [])):
        raise _wrong(f"no argument has {VALUE_PLACE}", where)
    return argvs


def value_of(text: Any, where: str) -> str:
    """Return a value of a command; raises :class:`InputError` where it could mean more than a value."""
    value = level_name(text)
    if len(value) > LONGEST or not VALUE.match(value):
        raise InputError(f"{shown(value)} cannot be a value", where, f"Use {VALUES}.")
    return value


def level_name(level: Any) -> str:
    """Return a level or value as text; YAML reads ``off`` and ``on`` without quotes as bool."""
    return {True: "on", False: "off"}[level] if isinstance(level, bool) else str(level)


def _match(pattern: Any, where: str) -> str:
    try:
        groups = re.compile(str(pattern)).groups
    except re.error:
        groups = 0
    if groups != 1:
        raise _wrong(f"{shown(pattern)} is not a pattern with one group", where)
    return str(pattern)


def definition(raw: Any, where: str) -> Setting:
    """Return a command without its levels; raises :class:`InputError` where it cannot be used."""
    keys = mapping(raw, where, KEYS)
    setting: Setting = {"read": _argv(keys.get("read"), f"{where}, read")}
    setting["set"] = _argvs(keys.get("set"), f"{where}, set")
    if keys.get("restore"):
        setting["restore"] = _argvs(keys["restore"], f"{where}, restore")
    if keys.get("unset"):
        setting["unset"] = [_argv(keys["unset"], f"{where}, unset")]
    if keys.get("match"):
        setting["match"] = _match(keys["match"], f"{where}, match")
    return setting


def levels_of(raw: Any, where: str) -> Values:
    """Return the value of each level of a command."""
    levels = raw.get("levels")
    if not isinstance(levels, dict) or not levels:
        raise _wrong("'levels' is not a mapping of names to values", where)
    return {
        level_name(level): value_of(value, f"{where}, level {level}")
        for level, value in levels.items()
    }


def _of_level(command: str, level: Any, allowed: Allowed) -> Setting:
    """Return the command of a level."""
    where = f"{allowed.host}: command {command}"
    if allowed.host not in allowed.hosts:
        raise InputError(
            "commands are not allowed on this host",
            where,
            "Add the host to offload_lab_allow_commands if they may change it.",
        )
    if command not in allowed.commands:
        raise _wrong("offload_lab_commands does not have it", where)
    setting = definition(allowed.commands[command], where)
    values = levels_of(allowed.commands[command], where)
    if level_name(level) not in values:
        raise _wrong(f"{shown(level)} is none of its levels, {', '.join(values)}", where)
    return {**setting, "value": values[level_name(level)]}


def with_commands(settings: Mapping[str, Any], allowed: Allowed) -> dict[str, Any]:
    """Return settings by device class with the commands themselves in place of their levels."""
    full = dict(settings)
    for device_class, groups in settings.items():
        if isinstance(groups, dict) and groups.get(GROUP):
            levels = groups[GROUP].items()
            of_levels = {command: _of_level(command, level, allowed) for command, level in levels}
            full[device_class] = {**groups, GROUP: of_levels}
    return full


def filled(argv: Argv, value: str, device: str) -> Argv:
    """Return a list of arguments with value and device in their places."""
    optional = value.startswith("-") and not NUMBER.match(value)
    if optional and any(word.startswith(VALUE_PLACE) for word in argv):
        raise InputError(
            f"{shown(value)} cannot be a value",
            argv[0],
            "Use another value: this one looks like an option.",
        )
    return [word.replace(DEVICE_PLACE, device).replace(VALUE_PLACE, value) for word in argv]
