# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Harm to a network on which others work: what a node watches while its settings are varied; and the
part of the dead man's switch that strikes, see _restore/strikes.py.

An address no longer answers, a device is gone, or a check of the user's fails. The dead man's
switch asks several times a second, and restores the node at the first harm.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from typing import Any, Callable, Sequence, TypedDict

from .._base import network
from .._base.errors import InputError, LabError
from .._host import daemons, echo, files
from .._host.netns import inside
from .._host.runner import start
from . import protection, strikes
from .sign_of_life import STRUCK, WATCHED
from .strikes import ANSWER_S

PATIENCE_S = 1.2  # without an answer; with the restore a node is back within 2 seconds
LEAST_REQUESTS = 3  # that stay without an answer: one packet is lost on the best of networks
# Requests to an address that does not answer when the switch is armed. They take 2 s together: the
# kernel asks for a neighbour again after 1 s.
FIRST_REQUESTS = 5
CHECK_S = 2.0  # that a check may take
CHECK_PAUSE_S = 0.5  # between two runs of a check
KILLED_S = 0.5  # in which a check that was killed is gone


class Answering(TypedDict):
    """An address that has to answer to an echo request."""

    netns: str | None
    address: str


class WatchedDevice(TypedDict):
    """A device that has to be there."""

    netns: str | None
    name: str


class Watchlist(TypedDict):
    """What is watched on a node."""

    answers: list[Answering]
    silent: list[Answering]  # those that did not answer when the switch was armed: not watched
    devices: list[WatchedDevice]
    commands: list[list[str]]  # each has to end with status 0
    patience: float  # s without an answer
    strikes: bool  # the silence of an address but the controller's is an answer, no harm
    controller: str | None  # its address, where it is one of the answers


def checked(options: dict[str, Any]) -> Watchlist:
    """Return what is to be watched; raises InputError for a value that is none."""
    answers: list[Answering] = []
    for item in options.get("answers") or []:
        address = str(network.address(item["address"], "harms: address"))
        answers.append({"netns": _netns(item), "address": address})
    devices: list[WatchedDevice] = []
    for item in options.get("devices") or []:
        name = network.device_name(item["name"])
        devices.append({"netns": _netns(item), "name": name})
    commands = [list(map(str, command)) for command in options.get("commands") or []]
    if not all(commands):
        raise InputError(
            "has no words", "harms: commands", "Give each as a list: [ping, -c1, ...]."
        )
    patience = float(options.get("patience") or PATIENCE_S)
    if not 0.5 <= patience <= 60:
        raise InputError("not from 0.5 to 60", f"harms: patience {patience}", "Give seconds.")
    return {
        "answers": answers,
        "silent": [],
        "devices": devices,
        "commands": commands,
        "patience": patience,
        "strikes": bool(options.get("strikes")),
        "controller": None,
    }


def _netns(item: dict[str, Any]) -> str | None:
    """Return the name of the namespace that is given, None for the node's own."""
    return network.namespace_name(item["netns"]) if item.get("netns") else None


def without_silent(watched: Watchlist) -> Watchlist:
    """Return what can be watched; addresses that do not answer even now are listed apart."""
    targets = [echo.Target(item["netns"], item["address"]) for item in watched["answers"]]
    answering: set[echo.Target] = set()
    for _request in range(FIRST_REQUESTS):  # the first may wait for a neighbour, and be lost
        waiting = [target for target in targets if target not in answering]
        if waiting:
            answering |= echo.ask(waiting, ANSWER_S)
    kept: list[Answering] = []
    silent: list[Answering] = []
    for target in targets:
        row: Answering = {"netns": target.netns, "address": target.address}
        (kept if target in answering else silent).append(row)
    return {**watched, "answers": kept, "silent": silent}


def is_asked(watched: Watchlist | None, requested: Watchlist | None) -> bool:
    """Return whether a switch watches what is asked for."""
    if watched is None or requested is None:
        return watched is requested
    addresses = [echo.Target(**item) for item in watched["answers"] + watched["silent"]]
    targets = [echo.Target(**item) for item in requested["answers"]]
    same_addresses = set(addresses) == set(targets)
    return same_addresses and {**watched, "answers": [], "silent": []} == {
        **requested,
        "answers": [],
    }


def remember(watched: Watchlist | None) -> None:
    """Write down what the switch watches; None: nothing."""
    if watched is None:
        daemons.forget(WATCHED)
    else:
        files.write(WATCHED, json.dumps(watched), 0o600)


def remembered() -> Watchlist | None:
    """Return what the switch watches, None for nothing; raises ValueError or OSError for a file that
    cannot be read.
    """
    try:
        with open(WATCHED) as stream:
            watched: Watchlist = json.load(stream)
            return watched
    except FileNotFoundError:
        return None


def is_there(device: WatchedDevice) -> bool:
    """Return whether a device is there, and its namespace."""
    try:
        with inside(device["netns"]):
            return bool(socket.if_nametoindex(device["name"]))
    except (LabError, OSError):
        return False


class Silence:
    """How long an address has not answered."""

    def __init__(self, now: float) -> None:
        self.since = now
        self.requests = 0

    def lasts(self, now: float, patience: float) -> bool:
        """Return whether it is longer than the patience, and than a few lost packets."""
        return now - self.since > patience and self.requests >= LEAST_REQUESTS


class UserCheck:
    """A command of the user's, run again and again in a thread."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = list(argv)
        self.process: subprocess.Popen[Any] | None = None
        self.since = 0.0  # when it was started
        self.due = 0.0

    def harm(self, now: float) -> str | None:
        """Return what is wrong, None when the command goes on or has ended well."""
        if self.process is None:
            return self._start(now) if now >= self.due else None
        status = self.process.poll()
        if status is None and now - self.since <= CHECK_S:
            return None
        self.end()
        self.due = now + CHECK_PAUSE_S
        if status is None:
            return f"{self._named()} did not end within {CHECK_S:.0f} s"
        return f"{self._named()} ended with status {status}" if status else None

    def _named(self) -> str:
        # Its arguments may hold a password, and reports show this text.
        return f"the check {self.argv[0]!r}"

    def _start(self, now: float) -> str | None:
        null = subprocess.DEVNULL
        try:
            # Of a session of its own: what the check has started ends with it.
            self.process = start(
                self.argv, start_new_session=True, stdin=null, stdout=null, stderr=null
            )
        except LabError as error:
            return f"{self._named()} {error.what}"
        protection.expose(self.process.pid)
        self.since = now
        return None

    def end(self) -> None:
        """End the command, and all it has started, also what a command that has ended left behind."""
        if self.process is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that waits for a disk ends later
            self.process.wait(KILLED_S)
        self.process = None


class HarmWatch:
    """Looks for harm; :meth:`seen` takes at most ANSWER_S."""

    def __init__(self, watched: Watchlist) -> None:
        self.watched = watched
        self.checks = [UserCheck(command) for command in watched["commands"]]
        self.targets = [echo.Target(item["netns"], item["address"]) for item in watched["answers"]]
        self.silent_end: str | None = None  # the address of the last harm, where it is a strike
        self.start_again()

    def start_again(self) -> None:
        """Count silences from now on."""
        now = time.monotonic()
        self.silences = {target: Silence(now) for target in self.targets}

    def all_answer_since(self, moment: float) -> bool:
        """Return whether each address has answered the last request, which came after a moment."""
        return all(
            silence.since > moment and not silence.requests for silence in self.silences.values()
        )

    def seen(self) -> str | None:
        """Return the present harm, None without any."""
        self.silent_end = None
        gone = [device for device in self.watched["devices"] if not is_there(device)]
        if gone:
            name = network.device_key(gone[0]["name"], gone[0]["netns"])
            return f"device {name} is gone"
        return self._silent() or self._failed()

    def _silent(self) -> str | None:
        sent_at = time.monotonic()
        answered = echo.ask(self.targets, ANSWER_S) if self.targets else set()
        for target, silence in self.silences.items():
            silence.requests += 1
            if target in answered:
                self.silences[target] = Silence(sent_at)
            elif silence.lasts(time.monotonic(), self.watched["patience"]):
                lasted = time.monotonic() - silence.since
                origin = f" from namespace {target.netns}" if target.netns else ""
                if self.watched.get("strikes") and target.address != self.watched["controller"]:
                    self.silent_end = target.address
                return f"{target.address} did not answer{origin} for {lasted:.1f} s"
        return None

    def _failed(self) -> str | None:
        now = time.monotonic()
        for check in self.checks:
            harm = check.harm(now)
            if harm:
                return harm
        return None

    def end(self) -> None:
        """End the checks that still run."""
        for check in self.checks:
            check.end()


# From the restore until the path must answer again: the other end may restore itself 2 s later, and
# neighbours may have to be found again.
SILENT_AGAIN_S = 10.0


class StrikingWatch:
    """Looks for harm, and strikes where that is an answer.

    ``restore`` restores the node when no module changes it. ``read_back`` does so while the module that
    asks for the end of a strike has the lock. Both return whether the node is restored.
    """

    def __init__(
        self, harms: HarmWatch, restore: Callable[[], bool], read_back: Callable[[], bool]
    ) -> None:
        self.harms = harms
        self.restore = restore
        self.read_back = read_back
        self.since = time.monotonic()  # of the last restore
        self.unrestored = False
        self.counted_from = strikes.counted_from()
        strike = strikes.current()
        if strike:  # the switch that has marked it was killed
            self._restore()

    def _restore(self) -> None:
        self.unrestored = not self.restore()
        self.harms.start_again()
        self.since = time.monotonic()

    def seen(self) -> str | None:
        """Return the harm for which the switch fires, None without one or after a strike."""
        strike = strikes.current()
        if strike is None:
            self._count_from_change()
        reason = self.harms.seen()
        if self.unrestored:
            return strike["reason"] if strike else "the node could not be restored"
        if strike:
            return self._after_strike(reason)
        address = self.harms.silent_end
        if (
            reason is None
            or address is None
            or not strikes.mark({"address": address, "reason": reason})
        ):
            return reason
        self._restore()
        return reason if self.unrestored else None

    def _count_from_change(self) -> None:
        """Count silences again where a profile was set since."""
        changed = strikes.counted_from()
        if changed != self.counted_from:
            self.counted_from = changed
            self.harms.start_again()

    def _after_strike(self, reason: str | None) -> str | None:
        """Return the harm that no profile explains; end the strike where that is asked for."""
        if reason and self.harms.silent_end is None:
            return reason
        if reason:
            waited = time.monotonic() - self.since > SILENT_AGAIN_S
            return f"{reason} with the settings as found" if waited else None
        if strikes.end_is_asked_for() and self.harms.all_answer_since(self.since):
            self.unrestored = not self.read_back()
            if not self.unrestored:
                self.harms.start_again()
                daemons.forget(STRUCK)
        return None

    def end(self) -> None:
        """End the checks that still run."""
        self.harms.end()
