# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that are listed as names and values: what to change, within what the device allows. Pure.

The state of such a kind is ``{"supported": True, "current": {name: value}, "maximum": {name:
value}}`` or ``{"supported": False, "reason": text}``.
"""

from __future__ import annotations

import difflib
import json
from typing import Any, Callable, Iterable, Mapping, NoReturn

from .._base.checks import boolean, number, shown
from .._base.errors import InputError
from .kind import (
    Asked,
    DeviceKind,
    Judged,
    KindState,
    NotAsAsked,
    Reader,
    SettingPlan,
    SideEffect,
    Values,
)

MAXIMUM = 2**32 - 1


def unsupported(reason: str | None) -> KindState:
    """Return the state of what a device does not have."""
    return {"supported": False, "reason": reason or "Operation not supported"}


def rows_of(text: str) -> list[dict[str, Any]]:
    """Return the rows of a JSON list that ip or tc prints, none for any other text."""
    try:
        rows = json.loads(text)
    except ValueError:
        return []
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def printed(value: Any) -> str:
    """Return a value as ethtool's arguments have it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


class Listed(DeviceKind):
    """A kind that is listed as names and values, by ethtool where nothing else is said."""

    devices = ["underlay"]
    read_option: str
    set_option: str
    parse: Callable[[str], Any]

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        listings = reader.read_listing(self.read_option, self.parse, list(devices), netns)
        return {name: self.state(*listing) for name, listing in listings.items()}

    def state(self, listing: Any, reason: str | None) -> KindState:
        """Return the state that a parsed listing shows, or that its reason explains."""
        return {"supported": True, "current": listing} if listing else unsupported(reason)

    def plan(
        self, requested: Asked, state: KindState, device: str, report_fixed: bool
    ) -> SettingPlan:
        named = {self.setting_name(name): value for name, value in self.asked_of(requested).items()}
        stuck = self._stuck(named, state, device)
        if stuck and not report_fixed:
            self._refuse(stuck, device)
        values = {
            name: self.checked(name, value, state, f"{device}, {self.name}")
            for name, value in named.items()
            if name not in stuck
        }
        current = self.values(state)
        change = {name: value for name, value in values.items() if current[name] != value}
        return {"requested": values, "change": change, "fixed": stuck}

    def _stuck(self, named: Values, state: KindState, device: str) -> dict[str, NotAsAsked]:
        """Return what the device cannot set; raises :class:`InputError` for unknown names."""
        if not state["supported"]:
            return {
                name: {"asked": value, "reason": state["reason"]} for name, value in named.items()
            }
        for name in named:
            self._check_known(name, state["current"], device)
        reasons = state.get("reasons", {})
        return {
            name: {"asked": value, "reason": reasons.get(name, "n/a")}
            for name, value in named.items()
            if state["current"][name] is None
        }

    def _check_known(self, name: str, current: Values, device: str) -> None:
        """Raise :class:`InputError` for a name that is not listed for this kind."""
        if name not in current:
            close = difflib.get_close_matches(name, sorted(current), n=3, cutoff=0.5)
            raise InputError(
                f"{shown(name)} is not a setting of {self.name}",
                device,
                f"Did you mean {' or '.join(close or sorted(current))}?",
            )

    def _refuse(self, stuck: dict[str, NotAsAsked], device: str) -> NoReturn:
        """Raise the error for settings that the device does not have."""
        name = sorted(stuck)[0]
        raise InputError(
            f"{self.name} {name!r} cannot be set here ({stuck[name]['reason']})",
            device,
            "Leave it out, or set 'fixed: report' to go on without it.",
        )

    def checked(self, name: str, value: Any, state: KindState, where: str) -> Any:
        """Return a value in the form of the list; raises :class:`InputError` where it is out of range."""
        if value == "auto":
            return value
        current = state["current"][name]
        if isinstance(current, bool) or current == "auto":
            return boolean(value, f"{where} {name}")
        maximum = state.get("maximum", {}).get(name)
        return number(value, f"{where} {name}", 0, MAXIMUM if maximum is None else maximum)

    def steps(self, change: Values, name: str) -> list[list[str]]:
        arguments: list[str] = []
        for item, value in change.items():
            arguments += [item, printed(value)]
        return [["ethtool", self.set_option, name, *arguments]] if change else []

    def predict(self, state: KindState, change: Values) -> KindState:
        if not state["supported"]:
            return state
        return dict(state, current=dict(state["current"], **change))

    def judge(self, plan: SettingPlan, before: KindState, after: KindState, exact: bool) -> Judged:
        new = self.values(after)
        not_honoured: dict[str, NotAsAsked] = {
            name: {"asked": value, "active": new.get(name)}
            for name, value in plan["requested"].items()
            if new.get(name) != value
        }
        side_effects: dict[str, SideEffect] = {
            name: {"before": value, "after": new.get(name)}
            for name, value in self.values(before).items()
            if name not in plan["requested"] and new.get(name) != value
        }
        return not_honoured, side_effects
