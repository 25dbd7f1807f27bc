# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that are files of sysfs: one for a device, or one for each of its queues. Pure.

A kind of one file has one setting, such as ``{"ns": 20000}``. A kind of queues has one that means
all of them, such as ``{"cpus": "all"}``, and each queue by its name, such as ``{"rx-0": "3"}``.
"""

from __future__ import annotations

import os
import re
from typing import Any, Iterable, Mapping

from .._base import checks
from .._base.quoting import shell_line
from .kind import Asked, Judged, KindState, NotAsAsked, Reader, SettingPlan, Values, number
from .listed import Listed, unsupported

FOLDER = "/sys/class/net"
QUEUE = re.compile(r"(?:rx|tx|irq|napi)-[0-9]{1,7}\Z", re.ASCII)


def listing(names: Iterable[str], files: Iterable[str]) -> list[str]:
    """Return the command that lists files below the folders of devices, each line with its path.

    grep -r goes through the folders of queues; a file that cannot be read is passed over.
    """
    named = list(files)
    included = [f"--include={os.path.basename(file)}" for file in named]
    below = sorted({"queues" if file.startswith("queues/") else file for file in named})
    paths: list[str] = []
    for name in names:
        paths += [f"{FOLDER}/{name}/{path}" for path in below]
    return ["grep", "-rsH", *sorted(set(included)), "", *paths]


def parse_listing(text: str) -> dict[str, dict[str, str]]:
    """Return ``{device: {path below its folder: text}}`` of what :func:`listing` prints."""
    by_device: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if line.startswith(FOLDER + "/"):
            name, _slash, rest = line[len(FOLDER) + 1 :].partition("/")
            path, _colon, value = rest.partition(":")
            by_device.setdefault(name, {})[path] = value.strip()
    return by_device


class Sysfs(Listed):
    """A kind that is a file of sysfs, for a device or for each of its queues."""

    settings: list[str]  # its one setting
    file: str  # below the device's folder; of queues as queues/rx-*/rps_cpus
    lacks: str  # why a device does not have it
    program = "sysfs"
    each = "queue"  # what a variable of a shell is called that has one file

    @property
    def of_queues(self) -> bool:
        """Return whether the kind is a file for each queue."""
        return "*" in self.file

    def from_text(self, text: str) -> Any:
        """Return the value of a file's text; raises ``ValueError`` for what is none."""
        raise NotImplementedError

    def to_text(self, value: Any) -> str:
        """Return a value in the form of its file."""
        return str(value)

    def for_all(self, value: Any, where: str) -> Any:
        """Return what the setting that means all queues asks of each."""
        return value

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        files = reader.read_files(list(devices), netns)
        return {name: self.state(files.get(name, {}), None) for name in devices}

    def state(self, listing: Any, reason: str | None) -> KindState:
        current: dict[str, Any] = {}
        for path, text in sorted(listing.items(), key=lambda file: (len(file[0]), file[0])):
            item = self._item(path)
            if item:
                current[item] = self._value(text)
        if any(value is not None for value in current.values()):
            return {"supported": True, "current": current}
        return unsupported(reason or self.lacks)

    def _value(self, text: str) -> Any:
        try:
            return self.from_text(text)
        except ValueError:
            return None  # n/a: what is not understood is neither set nor restored

    def _item(self, path: str) -> str | None:
        """Return the name of the queue or the setting that a path is, None for other files."""
        if not self.of_queues:
            return self.settings[0] if path == self.file else None
        match = re.fullmatch(re.escape(self.file).replace(r"\*", "([0-9]+)"), path, re.ASCII)
        return self.file.split("/")[1].replace("*", match.group(1)) if match else None

    def path_of(self, name: str, item: str) -> str:
        """Return the path of the file of a queue or a setting."""
        parts = self.file.split("/")
        below = "/".join([parts[0], item, parts[2]]) if self.of_queues else self.file
        return f"{FOLDER}/{name}/{below}"

    def plan(
        self, requested: Asked, state: KindState, device: str, report_fixed: bool
    ) -> SettingPlan:
        named = dict(self.asked_of(requested))
        if self.of_queues and state["supported"] and self.settings[0] in named:
            value = self.for_all(named.pop(self.settings[0]), f"{device}, {self.name}")
            named = {**dict.fromkeys(state["current"], value), **named}
        return super().plan({self.group: named}, state, device, report_fixed)

    def _stuck(self, named: Values, state: KindState, device: str) -> dict[str, NotAsAsked]:
        """A queue that is gone is not an unknown name: it comes back with its channel."""
        gone: dict[str, NotAsAsked] = {}
        if state["supported"] and self.of_queues:
            absent = [name for name in named if QUEUE.match(name) and name not in state["current"]]
            gone = {
                name: {"asked": named[name], "reason": f"there is no such {self.each}"}
                for name in absent
            }
        rest = {name: value for name, value in named.items() if name not in gone}
        return {**gone, **super()._stuck(rest, state, device)}

    def _check_known(self, name: str, current: Values, device: str) -> None:
        super()._check_known(name, {self.settings[0]: None, **current}, device)

    def steps(self, change: Values, name: str) -> list[list[str]]:
        return []

    def writes(self, change: Values, name: str) -> list[tuple[str, str]]:
        return [(self.path_of(name, item), self.to_text(value)) for item, value in change.items()]

    def shell(self, settings: Values, name: str) -> list[str]:
        texts = {self.to_text(value) for value in settings.values()}
        if self.of_queues and len(texts) == 1:
            files = f"{FOLDER}/{shell_line([name])}/{self.file}"
            write = f"{shell_line(['echo', texts.pop()])} >${self.each}"
            return [f"for {self.each} in {files}; do {write}; done"]
        return [
            f"{shell_line(['echo', text])} >{shell_line([path])}"
            for path, text in self.writes(settings, name)
        ]

    def judge(self, plan: SettingPlan, before: KindState, after: KindState, exact: bool) -> Judged:
        missed, others = super().judge(plan, before, after, exact)
        if not self.of_queues:
            return missed, others
        return self._together(missed), others

    def _together(self, missed: dict[str, NotAsAsked]) -> dict[str, NotAsAsked]:
        """Return what is not as asked under the name that means all queues; one may stand for all."""
        if not missed:
            return {}
        first = missed[sorted(missed)[0]]
        return {self.settings[0]: {**first, "queues": sorted(missed)}}


class Number(Sysfs):
    """A kind whose files have a number."""

    most = 2**32 - 1

    value = staticmethod(number)

    def from_text(self, text: str) -> int:
        return int(text)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        return int(checks.number(value, f"{where} {name}", 0, self.most))
