# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An XDP program that passes each packet on: what such a program alone costs. Pure.

``ip link`` lists programs. Ours is known by its name. A program of the host is left alone.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._base.checks import shown
from .._base.errors import InputError
from .kind import KernelCall, KindState, NotAsAsked, Reader, SettingPlan, Values
from .listed import Listed, rows_of, unsupported

OURS = "offload_lab"  # BPF_OBJ_NAME_LEN allows 15 characters
OFF = "off"
GENERIC = "generic"
NATIVE = "native"
LEVELS = [OFF, GENERIC, NATIVE]
MODES = {1: NATIVE, 2: GENERIC, 3: "offloaded"}  # XDP_ATTACHED_* of linux/if_link.h


def programs_of(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return ``[{mode, name, id, tag}]`` of the XDP programs of a device that ip lists."""
    listed = row.get("xdp")
    attached = listed.get("attached") if isinstance(listed, dict) else None
    programs: list[dict[str, Any]] = []
    for entry in attached if isinstance(attached, list) else [listed]:
        if isinstance(entry, dict) and isinstance(entry.get("prog"), dict):
            program = entry["prog"]
            mode = MODES.get(_number(entry.get("mode")), "unknown")
            known = {key: program[key] for key in ("name", "id", "tag") if key in program}
            programs.append({"mode": mode, **known})
    return programs


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


class Xdp(Listed):
    """An XDP program that passes each packet on."""

    name = "xdp"
    about = "attaches an XDP program that passes each packet on, in the driver or behind it"
    availability = (
        "`ip -d link`; Linux 5.7 and later; `native` needs the driver, and often a small MTU"
    )
    takes = "`off`, `generic`, `native`"
    settings = ["program"]
    levels = LEVELS
    program = "bpf"
    lasts = False  # no program of a host attaches it

    def value(self, level: str) -> str:
        if level in LEVELS:
            return level
        raise ValueError(f"one of {', '.join(LEVELS)}")

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        text, reason = reader.read_output(["ip", "-d", "-j", "link", "show"], netns)
        links = {str(row.get("ifname")): row for row in rows_of(text)}
        states: dict[str, KindState] = {}
        for name in devices:
            programs = programs_of(links.get(name, {}))
            for program in programs:  # ip of 2021 and before lists no names
                program.setdefault("name", reader.read_program_name(program.get("id")))
            listed = programs if name in links else None
            states[name] = self.state(listed, reason)
        return states

    def state(self, listing: Any, reason: str | None) -> KindState:
        if listing is None:
            return unsupported(reason or "ip does not list the device")
        foreign = [program for program in listing if program.get("name") != OURS]
        if foreign or len(listing) > 1:
            name = shown((foreign or listing)[0].get("name"))
            return unsupported(f"the host has an XDP program of its own, {name}")
        mode = listing[0]["mode"] if listing else OFF
        if mode not in LEVELS:
            return unsupported(f"a program is attached in a mode that cannot be restored, {mode}")
        return {"supported": True, "current": {"program": mode}}

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        level = OFF if value is False else value
        if level in LEVELS:
            return str(level)
        raise InputError(
            f"{shown(value)} is not a mode of XDP",
            f"{where} {name}",
            f"Use one of {', '.join(LEVELS)}.",
        )

    def steps(self, change: Values, name: str) -> list[list[str]]:
        return []

    def calls(self, change: Values, name: str) -> list[KernelCall]:
        return [
            KernelCall(["bpf", "xdp", name, level], "set_xdp", (name, level))
            for level in change.values()
        ]

    def refused(self, plan: SettingPlan, after: KindState) -> dict[str, NotAsAsked]:
        """A driver without native XDP refuses it, and so does one whose MTU is too large."""
        reason = "the driver takes no native XDP program, or none at this MTU"
        now = self.values(after)
        return {
            name: {"asked": value, "reason": reason}
            for name, value in plan["requested"].items()
            if value == NATIVE and now.get(name) == OFF
        }


XDP = Xdp()
