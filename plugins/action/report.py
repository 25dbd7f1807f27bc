# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module report: the report of a campaign, made on the controller; see
plugins/modules/report.py.
"""

from __future__ import annotations

import os
from typing import Any

from ..plugin_utils._action.controller import (
    Answered,
    ControllerAction,
    Options,
    Spec,
    TaskVars,
    say,
)
from ..plugin_utils._campaign.chosen import IN_RESULTS, results_folder, search_folders
from ..plugin_utils._live import refresh
from ..plugin_utils._report import html
from ..plugin_utils._report.report import make_report
from ..plugin_utils._statistics.libraries import preload

# A live report is made after most blocks, each in a fork, which would import these again.
preload()
html.preload()

SPEC: Spec = {
    "results": {"type": "path"},
    **IN_RESULTS,
    "live": {"type": "str", "choices": ["refresh", "end"]},
}
MOST_TABLE = 20000  # characters of the table in the task's result: an event must stay small


class ActionModule(ControllerAction):
    """Make the report and return where it is, its headline and its table."""

    SPEC = SPEC

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        if options["live"]:
            return self._live(options)
        result = make_report(self._folder(options), check=self._task.check_mode)
        page = result["files"]["report.html"]
        issue = result["files"].get("issue.md")
        script = result["files"].get("reproduce.sh")
        lines = [*result["table"].splitlines(), "", f"Report: {page}"]
        lines += [f"For an issue tracker: {issue}"] if issue else []
        lines += [f"The fault without Ansible: {script}"] if script else []
        for line in lines:
            say(f"  {line}")
        returned: dict[str, Any] = {**result, "table": result["table"][:MOST_TABLE], "report": page}
        if not self._task.diff:
            returned.pop("diff")
        return returned

    def _live(self, arguments: dict[str, Any]) -> Answered:
        """Keep the report of a running campaign current.

        Whatever is wrong with it, the campaign goes on.
        """
        try:
            done = {"refresh": refresh.refresh, "end": refresh.end}[arguments["live"]](
                self._folder(arguments)
            )
        except Exception as error:  # whatever it is, hours of measuring are worth more
            done = {"made": False, "line": f"no live report: {error}"}
        say(f"  {done['line']}")
        return {"changed": False, **done}

    def _folder(self, arguments: dict[str, Any]) -> str:
        """Return the results folder of the campaign that is asked for."""
        if arguments["results"]:
            return os.path.abspath(arguments["results"])
        return results_folder(arguments, search_folders(self._loader.get_basedir()))
