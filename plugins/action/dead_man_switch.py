# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module dead_man_switch: starts the heartbeat of the controller.

The heartbeat is a process of its own. It beats while the playbook waits for a slow task, a full
queue of events or a person, and ends with the playbook: the end of a container, or of a cancelled
job, ends both.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._base.errors import LabError
from ..module_utils._host.processes import started_at
from ..module_utils._host.waiting import wait_until
from ..module_utils._restore.sign_of_life import HEARTBEAT
from ..plugin_utils._action.controller import Answered, TaskVars

NAME = ".lease"  # a file of the results folder, which no store keeps
PATIENCE_S = 5.0  # until another process has written it


def _read(path: str) -> str:
    with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as stream:
        return stream.read().strip()
    return ""


def folder_id(folder: str) -> str:
    """Return what a results folder is known by; the file is made where it is missing."""
    path = os.path.join(folder, NAME)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as stream:
            stream.write(secrets.token_hex(16) + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise LabError(
            f"the campaign's nodes cannot be taken ({error.strerror})",
            path,
            "Set offload_lab_results_dir to a folder you may write to.",
        )
    if not wait_until(lambda: bool(_read(path)), patience=PATIENCE_S):
        raise LabError("the file is empty", path, "Remove it, then run the campaign again.")
    return _read(path)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        return str(os.geteuid())


def _id(owner: Mapping[str, Any], controller: str) -> str:
    if owner.get("store"):
        return f"{owner['store']}/{owner['campaign']}"
    if owner.get("results"):
        return folder_id(str(owner["results"]))
    playbook = os.getppid()
    return f"{controller} {playbook} {started_at(playbook)}"


def completed(owner: Mapping[str, Any]) -> Answered:
    """Return the owner with its controller, its user, and what it is known by on nodes."""
    controller = socket.gethostname()
    who = {"controller": controller, "user": _user(), "id": _id(owner, controller)}
    return {**who, **{key: value for key, value in owner.items() if value}}


# Where the switch was disarmed the file is gone, and the heartbeat ends.
BEAT = f"test -e {HEARTBEAT} && touch {HEARTBEAT}"
FAILURES = 3  # one after the other, until the heartbeat gives up


class ActionModule(ActionBase):
    """Arm or disarm the switch of a node."""

    def run(self, tmp: str | None = None, task_vars: TaskVars | None = None) -> Answered:
        result: Answered = super().run(tmp, task_vars)
        arguments = self._task.args
        if arguments.get("state") == "claimed" and isinstance(arguments.get("owner"), dict):
            arguments = {**arguments, "owner": self._owner(arguments["owner"])}
        result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
        seconds = float(arguments.get("heartbeat") or 0)
        armed = arguments.get("state", "armed") == "armed"
        if armed and seconds > 0 and not result.get("failed") and not self._task.check_mode:
            self._start_heartbeat(seconds, os.getppid())
        return result

    def _owner(self, owner: dict[str, Any]) -> Answered:
        """Return who takes the node; in check mode nothing is written, and nothing is taken."""
        if self._task.check_mode:
            return owner
        try:
            return completed(owner)
        except LabError as error:
            raise AnsibleActionFail(str(error)) from None

    def _start_heartbeat(self, seconds: float, playbook: int) -> None:
        """Start the process; it is nobody's child, so nobody waits for it."""
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        try:
            os.setsid()
            if os.fork() == 0:
                self._become_silent()
                self._beat(seconds, playbook)
        finally:
            os._exit(0)

    @staticmethod
    def _become_silent() -> None:
        """Leave the files of the playbook alone: who reads its output must see its end."""
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.closerange(3, 1024)

    def _beat(self, seconds: float, playbook: int) -> None:
        """Beat while the playbook lives and the switch is armed. One that was killed has ended, even
        if whoever started it has not noticed yet.
        """
        born = started_at(playbook)
        failures = 0
        due = time.monotonic()
        while failures < FAILURES:
            answer: dict[str, Any] = {}
            with suppress(Exception):  # a node that does not answer for a moment
                answer = self._low_level_execute_command(BEAT)
            failures = 0 if answer.get("rc") == 0 else failures + 1
            due = max(due + seconds, time.monotonic())
            while time.monotonic() < due:
                if born is None or started_at(playbook) != born:
                    return
                time.sleep(min(0.5, seconds))
