# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of action plugins that work on the controller: options go in, one result or one message
comes out.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ...module_utils._base.errors import LabError
from .._untrusted.texts import lines


def say(text: str) -> None:
    """Show a text, line by line."""
    for line in lines(text):
        Display().display(line)


def warn(text: str) -> None:
    """Show a warning."""
    Display().warning(" ".join(lines(text)))


Spec = dict[str, dict[str, Any]]  # of options, by name, as Ansible's argument specs
TaskVars = dict[str, Any]  # of the host that the task is for
Options = dict[str, Any]  # of the task, after SPEC has checked them
Answered = dict[str, Any]  # what a module returns: its documentation has the keys


class ControllerAction(ActionBase):
    """Checks the options against ``SPEC`` and ``NEEDS``, and returns what :meth:`answer` returns."""

    _requires_connection = False
    SPEC: ClassVar[Spec]
    NEEDS: ClassVar[dict[str, Any]] = {}  # of options to each other, such as required_together

    def run(self, tmp: str | None = None, task_vars: TaskVars | None = None) -> Answered:
        result: Answered = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(self.SPEC, **self.NEEDS)
        try:
            result.update(self.answer(options, task_vars or {}))
        except LabError as error:
            raise AnsibleActionFail(str(error)) from None
        return result

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        """Return the result for checked options."""
        raise NotImplementedError
