# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of modules that a playbook runs before all others on a host: a host without a usable
Python is one clear message.
"""

from __future__ import annotations

import re

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from .controller import Answered, TaskVars

NEEDED = "3.8 or later (3.9 with ansible-core 2.20)"
# What the shell, an old Python, and ansible-core's own check of the version print.
_MISSING = re.compile(
    r"interpreter '[^']*' was not found"
    r"|^\S*sh: .*python[0-9.]*: (?:not found|No such file or directory)",
    re.MULTILINE,
)
_TOO_OLD = re.compile(r"\bSyntaxError: |requires a minimum of Python", re.MULTILINE)


def python_problem(result: Answered, interpreter: str) -> str:
    """Return why a module did not start for want of a Python, and the fix; "" for other results."""
    text = f"{result.get('msg', '')}\n{result.get('module_stderr', '')}"
    if not result.get("failed"):
        return ""
    if _MISSING.search(text):
        return (
            f"there is no Python at {interpreter}. Modules need Python {NEEDED}. Install it without "
            "one: ansible HOST -i INVENTORY --become -m ansible.builtin.raw -a 'apt-get install -y "
            "python3' (or dnf install, zypper install, apk add). If it is elsewhere, set "
            "ansible_python_interpreter."
        )
    if _TOO_OLD.search(text):
        return (
            f"{interpreter} is too old. Modules need Python {NEEDED}. Install a newer one, on "
            "RHEL 8: dnf install python3.11, and set ansible_python_interpreter: "
            "/usr/bin/python3.11 for this host."
        )
    return ""


class FirstModule(ActionBase):
    """Runs the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: TaskVars | None = None) -> Answered:
        result: Answered = super().run(tmp, task_vars)
        result.update(self._execute_module(task_vars=task_vars))
        interpreter = str(getattr(self, "_used_interpreter", None) or "the interpreter")
        problem = python_problem(result, interpreter.lstrip("#!"))
        if problem:
            raise AnsibleActionFail(f"{(task_vars or {}).get('inventory_hostname')}: {problem}")
        return result
