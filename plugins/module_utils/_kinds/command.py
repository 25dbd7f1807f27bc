# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A setting that the collection does not know: commands of the user set it and read it back. Pure.

A snapshot has the commands that restore, as they were when it was written.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping

from .._base.checks import name as checked_name
from .._base.checks import shown
from .._base.errors import InputError, LabError
from .command_levels import GROUP, KEYS, Argv, Setting, definition, filled, value_of
from .kind import (
    NODE,
    Asked,
    Described,
    Judged,
    KindState,
    NotAsAsked,
    Reader,
    SettingPlan,
    Values,
)
from .listed import Listed


class Command(Listed):
    """A setting that commands of the user set and read back."""

    name = GROUP
    about = "runs your own commands"
    availability = "`offload_lab_commands`, on hosts in `offload_lab_allow_commands`"
    takes = "names of the command's levels"
    devices = [NODE]
    program = "command"
    lasts = False  # what a command means at a boot is not known

    def value(self, level: str) -> str:
        try:
            return checked_name(level, "level")
        except InputError as error:
            raise ValueError("a name of at most 64 letters, digits, '.', '_' and '-'") from error

    def setting_name(self, name: str) -> str:
        return name

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        return {
            device: _state(settings if isinstance(settings, dict) else {}, device, netns, reader)
            for device, settings in devices.items()
        }

    def described(self, state: KindState) -> Described:
        return {GROUP: state} if state["current"] else {}

    def kept(self, described: Described) -> Values:
        state = described.get(GROUP, {"current": {}})
        return {command: _kept(state, command) for command in state["current"]}

    def plan(
        self, requested: Asked, state: KindState, device: str, report_fixed: bool
    ) -> SettingPlan:
        """Plan what can be read back. A snapshot's commands run in any case."""
        settings = self.asked_of(requested)
        stuck = _unreadable(settings, state)
        if stuck and not report_fixed:
            self._refuse(stuck, device)
        texts = {
            command: settings[command]["value"] for command in settings if command not in stuck
        }
        change = {
            command: {**state["commands"][command], "value": text}
            for command, text in texts.items()
            if command in state["commands"] and state["current"][command] != text
        }
        return {"requested": texts, "change": change, "fixed": stuck}

    def steps(self, change: Values, name: str) -> list[list[str]]:
        lines: list[list[str]] = []
        for setting in change.values():
            argvs = setting["set"] if setting["value"] else setting["unset"]
            lines += [filled(argv, setting["value"], name) for argv in argvs]
        return lines

    def predict(self, state: KindState, change: Values) -> KindState:
        texts = {command: setting["value"] for command, setting in change.items()}
        return {**state, "current": {**state["current"], **texts}}

    def judge(self, plan: SettingPlan, before: KindState, after: KindState, exact: bool) -> Judged:
        not_honoured, side_effects = super().judge(plan, before, after, exact)
        for command, missed in not_honoured.items():
            if command in after["reasons"]:
                missed["reason"] = after["reasons"][command]
        return not_honoured, side_effects


def _unreadable(settings: Values, state: KindState) -> dict[str, NotAsAsked]:
    """Return the commands that cannot be read back, each with the reason; none of a snapshot."""
    return {
        command: {"asked": setting["value"], "reason": state["reasons"][command]}
        for command, setting in settings.items()
        if state["current"][command] is None and not setting.get("kept")
    }


def _state(settings: Values, device: str, netns: str | None, reader: Reader) -> KindState:
    """Read commands, each with the paths of its programs."""
    commands: dict[str, Setting] = {}
    current: dict[str, str | None] = {}
    reasons: dict[str, str] = {}
    for command, setting in settings.items():
        current[command] = None
        try:
            commands[command] = _with_programs(setting, reader)
            current[command] = _read(commands[command], device, netns, reader)
        except LabError as error:
            reasons[command] = str(error)
    return {"supported": True, "current": current, "commands": commands, "reasons": reasons}


def _with_programs(setting: Any, reader: Reader) -> Setting:
    """Return a command whose programs are paths that only root can change."""
    if not isinstance(setting, dict):
        setting = {}  # a name without its commands
    keys = {key: value for key, value in setting.items() if key in KEYS}
    unset = keys.get("unset")
    if unset and isinstance(unset[0], list):
        keys["unset"] = unset[0]
    checked = definition(keys, f"command {shown(setting.get('value'))}")
    checked["read"] = _with_program(checked["read"], reader)
    for argvs in (checked["set"], checked.get("restore", []), checked.get("unset", [])):
        argvs[:] = [_with_program(argv, reader) for argv in argvs]
    return checked


def _with_program(argv: Argv, reader: Reader) -> Argv:
    return [reader.find_program(argv[0]), *argv[1:]]


def _read(setting: Setting, device: str, netns: str | None, reader: Reader) -> str:
    """Return the value that is set now, empty for none; raises :class:`LabError` where it cannot be
    read or could not be restored.
    """
    argv = filled(setting["read"], "", device)
    line = " ".join(argv)
    text, reason = reader.read_output(argv, netns)
    if reason is not None:
        raise LabError(f"it cannot be read ({reason})", line, "Correct 'read'.")
    if "match" in setting:
        match = re.search(setting["match"], text)
        text = (match.group(1) or "") if match else ""
    value = " ".join(text.split())
    if not value and "unset" not in setting:
        raise LabError(
            "it prints no value, so this could not be restored",
            line,
            "Correct 'read' or 'match', or give 'unset', which removes the setting.",
        )
    return value_of(value, line) if value else ""


def _kept(state: KindState, command: str) -> Setting:
    """Return what a snapshot keeps of a command: what restores it, and the value."""
    setting: Setting = {**state["commands"].get(command, {})}
    setting["set"] = setting.pop("restore", []) or setting.get("set", [])
    setting["value"] = state["current"][command]
    setting["kept"] = True
    if command in state["reasons"]:
        setting["reason"] = state["reasons"][command]
    return setting


COMMAND = Command()
