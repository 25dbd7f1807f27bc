# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback for bench_overhead.py: when each task begins, as JSON lines in the file that TIMELINE
names.
"""

from __future__ import annotations

import json
import os
import time

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: timeline
type: aggregate
short_description: When each task begins
description: Writes a JSON line a task to the file that the environment variable TIMELINE names.
"""


class CallbackModule(CallbackBase):
    """Writes ``{"at": s, "task": name}``, and of a visit's measuring ``{"at": s, "sampled_s": s}``."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "timeline"
    CALLBACK_NEEDS_ENABLED = True

    def _write(self, **row):
        with open(os.environ["TIMELINE"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps(dict(row, at=time.time())) + "\n")

    def v2_playbook_on_task_start(self, task, is_conditional):
        """A task begins, on the first of its hosts."""
        self._write(task=task.get_name())

    def v2_runner_on_ok(self, result):
        """A host is done with a task: of a visit, the client."""
        facts = (
            getattr(result, "result", None) or result._result
        )  # ansible-core before 2.20 has the second name
        if "sampled_s" in facts:
            self._write(sampled_s=facts["sampled_s"])
