# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for channels, rings, coalescing and hash fields: what to change, within what the device
allows. Pure.

A kind's state is ``{"supported": True, "current": {name: value}, "maximum": {name: value}}`` or
``{"supported": False, "reason": text}``.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Iterable, NoReturn

from .._base.checks import boolean, number, shown
from .._base.errors import InputError
from .features_plan import Plan
from .rss import check_letters

# The order in which they are set: a new number of channels resets what the others rest on.
SET_OPTIONS = {"channels": "-L", "rings": "-G", "coalesce": "-C", "rx_flow_hash": "-N"}
FLOW_TYPE = re.compile(r"^[a-z][a-z0-9]{1,8}\Z")
MAXIMUM = 2**32 - 1


def plan_setting(
    kind: str, asked: dict[str, Any], state: dict[str, Any], device: str, report_fixed: bool = False
) -> Plan:
    """Return ``{"asked": {name: value}, "change": {name: value}, "fixed": {name: state}}`` for one
    kind of setting.

    Raises :class:`InputError` for unknown names, values out of range, and what the device cannot
    set, the latter unless ``report_fixed``.
    """
    asked = {
        name if kind == "rx_flow_hash" else name.replace("_", "-"): value
        for name, value in asked.items()
    }
    if not state["supported"]:
        stuck = {name: {"asked": value, "reason": state["reason"]} for name, value in asked.items()}
        return (
            refuse(kind, stuck, device)
            if not report_fixed
            else {"asked": {}, "change": {}, "fixed": stuck}
        )
    current = state["current"]
    for name in asked:
        check_known(kind, name, current, device)
    stuck = {
        name: {"asked": value, "reason": state.get("reasons", {}).get(name, "n/a")}
        for name, value in asked.items()
        if current[name] is None
    }
    if stuck and not report_fixed:
        refuse(kind, stuck, device)
    wanted = {
        name: check_value(kind, name, value, state, device)
        for name, value in asked.items()
        if name not in stuck
    }
    return {
        "asked": wanted,
        "fixed": stuck,
        "change": {name: value for name, value in wanted.items() if current[name] != value},
    }


def refuse(kind: str, stuck: dict[str, Any], device: str) -> NoReturn:
    """Raise the error for settings that the device does not have."""
    name = sorted(stuck)[0]
    raise InputError(
        f"{kind} {name!r} cannot be set here ({stuck[name]['reason']})",
        device,
        "Leave it out, or set 'fixed: report' to go on without it.",
    )


def check_known(kind: str, name: str, current: dict[str, Any], device: str) -> None:
    """Raise :class:`InputError` for a name that ethtool does not list for this kind of setting."""
    if name not in current:
        close = difflib.get_close_matches(name, sorted(current), n=3, cutoff=0.5) or sorted(current)
        raise InputError(
            f"{shown(name)} is not a setting of {kind}",
            device,
            f"Did you mean {' or '.join(close)}?",
        )


def check_value(kind: str, name: str, value: Any, state: dict[str, Any], device: str) -> Any:
    """Return ``value`` as ethtool lists it, to be compared; raises :class:`InputError` where it is
    out of range.
    """
    where = f"{device}, {kind}"
    if kind == "rx_flow_hash":
        return check_letters(str(value), f"{where} {name}")
    if value == "auto":
        return value
    current = state["current"][name]
    if isinstance(current, bool) or current == "auto":
        return boolean(value, f"{where} {name}")
    maximum = state.get("maximum", {}).get(name)
    return number(value, f"{where} {name}", 0, MAXIMUM if maximum is None else maximum)


def check_flow_types(flow_types: Iterable[str], device: str) -> None:
    """Raise :class:`InputError` for names that cannot be flow types such as udp4."""
    for flow_type in flow_types:
        if not FLOW_TYPE.match(flow_type):
            raise InputError(
                f"{shown(flow_type)} is not a flow type", device, "Use one such as udp4 or tcp6."
            )


def setting_steps(kind: str, change: dict[str, Any], name: str) -> list[list[str]]:
    """Return the argument lists that change one kind of setting of the device ``name``."""
    option = SET_OPTIONS[kind]
    if kind == "rx_flow_hash":
        return [
            ["ethtool", option, name, "rx-flow-hash", flow_type, letters]
            for flow_type, letters in change.items()
        ]
    words = [word for item, value in change.items() for word in (item, printed(value))]
    return [["ethtool", option, name] + words] if change else []


def printed(value: Any) -> str:
    """Return a value as ethtool's arguments have it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def predict_setting(state: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return the state expected after the change."""
    return dict(state, current=dict(state["current"], **change)) if state["supported"] else state


def judge_setting(
    plan: Plan, before: dict[str, Any], after: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return ``(not_honoured, side_effects)``: what is not as asked after the change, and what else
    changed.
    """
    old, new = before.get("current", {}), after.get("current", {})
    not_honoured = {
        name: {"asked": value, "active": new.get(name)}
        for name, value in plan["asked"].items()
        if new.get(name) != value
    }
    side_effects = {
        name: {"before": value, "after": new.get(name)}
        for name, value in old.items()
        if name not in plan["asked"] and new.get(name) != value
    }
    return not_honoured, side_effects
