# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIGKILL to the controller at the boundary before task number OFFLOAD_LAB_KILL_AT, or named
OFFLOAD_LAB_KILL_TASK.

Each boundary that was reached is a line "NUMBER ROLE : TASK" of the file OFFLOAD_LAB_BOUNDARIES.
"""

from __future__ import annotations

import os
import signal

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: kill_at
type: notification
short_description: kills the controller between two tasks, for tests
description: Kills the controller between two tasks, for tests.
requirements: [enabled in the configuration]
"""


class CallbackModule(CallbackBase):
    """Counts the tasks that begin; all that came before has ended on every host."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "kill_at"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        super().__init__()
        self.number = 0
        self.kill_at = int(os.environ.get("OFFLOAD_LAB_KILL_AT", "0"))
        self.kill_task = os.environ.get("OFFLOAD_LAB_KILL_TASK")

    def v2_playbook_on_task_start(self, task, is_conditional):  # noqa: ARG002 # the base class names it
        """Write the boundary down, and end here if it is the one."""
        self.number += 1
        with open(os.environ["OFFLOAD_LAB_BOUNDARIES"], "a") as stream:
            stream.write(f"{self.number} {task.get_name()}\n")
        if self.number == self.kill_at or (self.kill_task and self.kill_task in task.get_name()):
            os.kill(os.getpid(), signal.SIGKILL)
