# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of Open vSwitch's ``other_config`` that act without a restart of its daemon. Pure.

The device ``lo`` stands for its host. A key that we set has a mark in ``external_ids``. A key without
the mark, and Open vSwitch that also has bridges of others, are left alone. Keys:
ovs-vswitchd.conf.db(5), table Open_vSwitch.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping

from .._base.checks import shown
from .._base.errors import InputError, LabError
from .._base.network import HOST
from .._ovs.ovs_state import SET_MARK, owner_of, quoted
from .._ovs.tables import Row, parse_tables
from .host import NOT_A_HOST
from .kind import NODE, Described, KindState, Reader, Values
from .listed import Listed, unsupported

UNSET = "unset"
KEYS = (
    "emc-insert-inv-prob",
    "flow-limit",
    "max-idle",
    "max-revalidator",
    "min-revalidate-pps",
    "n-handler-threads",
    "n-revalidator-threads",
    "pmd-auto-lb",
    "smc-enable",
    "tx-flush-interval",
)
READ = ["ovs-vsctl", "--timeout=10", "--format=json"]
READ += ["list", "Open_vSwitch", "--", "list", "Bridge"]
SET = ["ovs-vsctl", "--timeout=60"]
VALUE = re.compile(r"[0-9]{1,10}\Z|true\Z|false\Z", re.ASCII)
ALLOWED = "a number, 'true', 'false' or 'unset'"


class OvsSettings(Listed):
    """Settings of Open vSwitch as a whole."""

    name = "ovs"
    about = "sets a key of Open vSwitch's `other_config`; `unset` removes it"
    availability = "`ovs-vsctl`; where all bridges are the lab's, and nobody else has set the key"
    takes = "numbers, `true`, `false`, `unset`"
    also = KEYS
    settings = None
    devices = [NODE]
    program = "ovs-vsctl"
    lasts = False  # the lab's switch keeps them: offload_lab_ovs_settings

    def value(self, level: str) -> str:
        if level == UNSET or VALUE.match(str(level)):
            return str(level)
        raise ValueError(ALLOWED)

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        states = dict.fromkeys(devices, unsupported(NOT_A_HOST))
        if HOST in devices and not netns:
            states[HOST] = self.state(*reader.read_output(READ, None))
        return states

    def state(self, listing: Any, reason: str | None) -> KindState:
        try:
            tables = parse_tables(listing) if not reason else []
        except LabError as error:
            return unsupported(str(error))
        if len(tables) != 2 or not tables[0]:
            return unsupported(reason or "Open vSwitch lists no settings")
        foreign = [str(row["name"]) for row in tables[1] if owner_of(row) is None]
        if foreign:
            return unsupported(f"Open vSwitch also has {shown(foreign[0])}, which is not the lab's")
        return _state_of(tables[0][0])

    def described(self, state: KindState) -> Described:
        return {} if state.get("reason") == NOT_A_HOST else super().described(state)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if text == UNSET or VALUE.match(text):
            return text
        raise InputError(
            f"{shown(value)} is no value of Open vSwitch", f"{where} {name}", f"Give {ALLOWED}."
        )

    def steps(self, change: Values, name: str) -> list[list[str]]:
        return [_step(key, str(value)) for key, value in change.items()]


def _state_of(root: Row) -> KindState:
    """Return the state of the keys, from the row of table Open_vSwitch."""
    values = root.get("other_config") or {}
    marks = root.get("external_ids") or {}
    current: dict[str, str | None] = {key: str(values.get(key, UNSET)) for key in KEYS}
    foreign = [key for key in KEYS if key in values and SET_MARK + key not in marks]
    return {
        "supported": True,
        "current": {**current, **dict.fromkeys(foreign)},
        "reasons": dict.fromkeys(foreign, "somebody else has set it in Open vSwitch's database"),
    }


def _step(key: str, value: str) -> list[str]:
    """Return the transaction that sets or removes a key and its mark."""
    mark = SET_MARK + key
    root = ["Open_vSwitch", "."]
    if value != UNSET:
        settings = [f"other_config:{key}={quoted(value)}", f"external_ids:{mark}=set"]
        return [*SET, "set", *root, *settings]
    remove = ["remove", *root]
    return [*SET, *remove, "other_config", key, "--", *remove, "external_ids", mark]


OVS = OvsSettings()
